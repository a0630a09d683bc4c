"""The names of medicines and classes inside a longer question."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import LONGEST_NAME, NameCandidate, class_named, named_alone, together
from tools.drug_database.names.query_words import BESIDE, CONTEXT, JOINING, NOISE, PRODUCT_WORDS, TypedQuery
from tools.language.vocabulary.clinical_vocabulary import abbreviation_meanings
from tools.language.vocabulary.common_words import is_ordinary

_SHORTEST = 3


class NameSpan(NamedTuple):
    """The words from ``start`` up to ``end`` name the medicines ``found``."""

    start: int
    end: int
    found: tuple[NameCandidate, ...]
    note: str = ""
    aside: bool = False
    """Whether the words more likely tell what the question is about beside a medicine, such as ``alcohol``."""


def find_spans(index: NameIndex, question: TypedQuery) -> list[NameSpan]:
    """Find the longest names inside the question, from left to right, without overlap."""
    words = question.words
    spans: list[NameSpan] = []
    start = 0
    while start < len(words):
        ends = range(min(len(words), start + LONGEST_NAME), start, -1)
        parts = (words[start:end] for end in ends)
        tried = (_span(index, part, start) for part in parts if _may_be_name(part, question))
        span = next((one for one in tried if one), None)
        if span:
            spans.append(span)
        start = span.end if span else start + 1
    return spans if question.asks_together else _joined(index, spans, question)


def _may_be_name(part: Sequence[str], question: TypedQuery) -> bool:
    """Return whether ``part`` may be one name: an ordinary word is an abbreviation only where it is in capitals.

    Beside a hyphen and a clinical abbreviation that is no medicine it is none: ``CKD-EPI``. A comma ends a name.
    """
    if not question.listed.isdisjoint(pairwise(part)):
        return False
    known = aliases()
    alias = known.name(part[0]) if len(part) == 1 else None
    if alias is not None and alias.kind == "abbreviation":
        if part[0] not in question.capitals and is_ordinary(part[0]) and alias.alias.isupper():
            return False
        beside = [other for one, other in question.hyphenated if one == part[0]]
        if any(
            abbreviation_meanings(one) and not aliases().name(one) and not aliases().drug_class(one) for one in beside
        ):
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
    """Neighbouring names that are the parts of one combination become one span, the longest run first.

    "With" and a comma join the parts of one only where no other medicine is named: else they join medicines.
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
    """Return whether only joining words, forms and strengths separate the names; ``alone`` tells of all of them."""
    words = question.words
    for one, other in pairwise(run):
        between = words[one.end : other.start]
        if not all(word in JOINING or word in PRODUCT_WORDS or word[0].isdigit() for word in between):
            return False
        if not alone and (
            not BESIDE.isdisjoint(between) or (words[one.end - 1], words[other.start]) in question.listed
        ):
            return False
    return True
