"""Finds the names of medicines and classes inside a longer question."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import LONGEST_NAME, NameCandidate, class_named, named_alone, together
from tools.drug_database.names.query_words import BESIDE, CONTEXT, JOINING, NOISE, PRODUCT_WORDS, TypedQuery
from tools.language.longest_matches import longest_matches
from tools.language.vocabulary.clinical_vocabulary import abbreviation_meanings
from tools.language.vocabulary.common_words import is_ordinary

_SHORTEST = 3


class NameSpan(NamedTuple):
    """The words from ``start`` to ``end``, which name the medicines ``found``."""

    start: int
    end: int
    found: tuple[NameCandidate, ...]
    note: str = ""
    aside: bool = False
    """Whether the words more likely name a disease, a food or the like than a medicine, such as ``alcohol``."""


def find_spans(index: NameIndex, question: TypedQuery) -> list[NameSpan]:
    """Return the longest names inside the question, from left to right, without overlap."""

    def span(start: int, end: int) -> NameSpan | None:
        part = question.words[start:end]
        return _span(index, part, start) if _may_be_name(part, question) else None

    spans = [found for _, _, found in longest_matches(len(question.words), LONGEST_NAME, span)]
    return spans if question.asks_together else _joined(index, spans, question)


def _may_be_name(part: Sequence[str], question: TypedQuery) -> bool:
    """Return whether ``part`` may be one name, without a comma inside.

    An abbreviation that is also an ordinary word counts only in capitals. An abbreviation joined by a hyphen to one
    that means no medicine does not count: ``CKD-EPI``.
    """
    if not question.listed.isdisjoint(pairwise(part)):
        return False
    known = aliases()
    alias = known.name(part[0]) if len(part) == 1 else None
    if alias is not None and alias.kind == "abbreviation":
        if part[0] not in question.capitals and is_ordinary(part[0]) and alias.alias.isupper():
            return False
        beside = [other for one, other in question.hyphenated if one == part[0]]
        if any(abbreviation_meanings(one) and not (known.name(one) or known.drug_class(one)) for one in beside):
            return False
    return question.may_be_name(part)


def _span(index: NameIndex, part: Sequence[str], start: int) -> NameSpan | None:
    if all(word in NOISE for word in part) or (len(part) == 1 and len(part[0]) < _SHORTEST):
        return None
    text = " ".join(part)
    found, note = named_alone(index, text)
    members = () if found and index.whole(text) else class_named(index, text)
    if members and found and found[0].how == "brand":
        found = []
    if not found and not members:
        return None
    aside = all(word in CONTEXT or word in NOISE for word in part)
    return NameSpan(start, start + len(part), tuple(found) or members, note, aside)


def _joined(index: NameIndex, spans: list[NameSpan], question: TypedQuery) -> list[NameSpan]:
    """Join neighbouring names that are the parts of one combination, the longest run first.

    "With", a comma and a line break separate two medicines. Without an amount before the comma they do not if the
    question names only these parts: "amlodipine, valsartan".
    """
    for length in range(len(spans), 1, -1):
        for first in range(len(spans) - length + 1):
            run = spans[first : first + length]
            alone = length == len(spans)
            if not _adjacent(run, question, alone=alone) or any(span.found[0].how == "class" for span in run):
                continue
            whole = together(index, [span.found[0] for span in run])
            if whole is not None:
                one = NameSpan(run[0].start, run[-1].end, (whole,))
                return [*spans[:first], one, *_joined(index, spans[first + length :], question)]
    return spans


def _adjacent(run: Sequence[NameSpan], question: TypedQuery, *, alone: bool) -> bool:
    """Return whether only joining words, forms and strengths separate the names of ``run``.

    ``alone`` tells whether the question has no other names.
    """
    words = question.words
    for one, other in pairwise(run):
        between = words[one.end : other.start]
        if not all(word in JOINING or word in PRODUCT_WORDS or word[0].isdigit() for word in between):
            return False
        listed = not question.listed.isdisjoint(pairwise(words[one.end - 1 : other.start + 1]))
        has_amount = any(word[0].isdigit() for word in between)
        if (listed and (has_amount or not alone)) or not (alone or BESIDE.isdisjoint(between)):
            return False
    return True
