"""Finds what a question names besides the medicines that a search found: classes, foods, herbs, unknown medicines."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from tools.drug_database.labels.interaction_parties import medicine
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import aliases, is_known_word, singular
from tools.drug_database.names.foreign_names import international_key, ions_of
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import NameCandidate, not_loaded
from tools.drug_database.names.name_spans import find_spans
from tools.drug_database.names.query_words import CONTEXT, JOINING, NOISE, TypedQuery, with_joining_words, without_form
from tools.drug_database.records.queries import DrugHit
from tools.language.folding import fold_name
from tools.language.query_expansion import Expansion
from tools.language.vocabulary.common_words import is_ordinary

_ARTICLES: Final = frozenset({"der", "die", "das", "den", "dem", "el", "la", "los", "las"})
"""German and Spanish articles; English ones are in ``NOISE``."""
_NAMED: Final = frozenset({"exact", "brand", "synonym"})
_LONGEST_NAME: Final = 4
_SHORTEST_UNKNOWN: Final = 4
_PARTS: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[+,/&]")
_JOINS: Final = frozenset("+,/&") | JOINING - {"in"}


def named_beside(
    index: NameIndex,
    question: TypedQuery,
    expanded: Sequence[Expansion],
    text: str,
    hits: Sequence[DrugHit],
    *,
    misspelt: Collection[str],
) -> tuple[str, ...]:
    """Return the classes, foods, herbs and unlisted or misspelt medicines in ``text``, without the medicines found.

    A word that no vocabulary has counts as a medicine if it is joined to one; an element counts as its preparations. If
    no medicine was found, the result is empty unless ``text`` says nothing else, or asks about taking them together.
    """
    terms = label_terms()
    english = _in_english(question.whole, expanded)
    groups = terms.groups_in(text) | terms.groups_in(english)
    unlisted = _unlisted(index, question, english)
    # "Eisen" is not another partner besides "Eisenpräparate".
    members = frozenset(filter(is_ordinary, terms.members_of(groups)))
    names = {*unlisted.values(), *misspelt} - members
    names |= terms.vaccines_in(" ".join((english, *(name for one in expanded for name in one.same))))
    records = [hit.record for hit in hits if hit.matched.how in _NAMED]
    if not records and len(groups | names) < 2:
        return ()
    covered = {*terms.words_of(groups), *(word for part in (*unlisted, *misspelt) for word in part.split())}
    if not records and not (question.asks_together or _is_all(english, covered)):
        return ()
    own = [medicine(record).groups for record in records]
    named_words = _named_words(text, covered, [fold_name(hit.matched.on) for hit in hits], expanded)
    others = {word for one in expanded for word in one.asked.split()}
    unread = _unread(text, question, named_words, others)
    return tuple(sorted(groups.difference(*own) | names | set(unread)))


def _named_words(
    text: str, covered: Iterable[str], names: Sequence[str], expanded: Iterable[Expansion]
) -> frozenset[str]:
    """Return the words of ``names``, and of states named by an element, with their spellings in ``text``."""
    words = frozenset(covered).union(*map(str.split, names))
    keys = set(map(international_key, (*words, *names)))
    spelt = (word for word in map(fold_name, _PARTS.findall(text)) if international_key(word) in keys)
    # "Low potassium" means hypokalemia, not a preparation of potassium.
    states = (one.asked for one in expanded if ions_of(one.asked) and not any(map(ions_of, one.same)))
    return words.union(spelt, *map(str.split, states))


def named_first(candidates: Sequence[NameCandidate]) -> dict[str, NameCandidate]:
    """Return the best candidate of each medicine that a text names, by its name in the text."""
    best: dict[str, NameCandidate] = {}
    for one in candidates:
        if one.how in _NAMED:
            best.setdefault(one.on, one)
    return best


def past_limit(index: NameIndex, candidates: Sequence[NameCandidate], hits: Sequence[DrugHit]) -> list[str]:
    """Return the medicines that a text names besides those of the shown ``hits``."""
    shown = {hit.matched.on for hit in hits}
    named = {one.on: one for one in candidates if one.how in _NAMED and one.on not in shown}
    return [index.entries[one.entry].generic for one in named.values()] if hits else []


def _in_english(folded: str, expanded: Iterable[Expansion]) -> str:
    """Translate the classes and substances of a folded question to English."""
    terms = label_terms()
    for one in expanded:
        if one.same and not terms.groups_in(one.asked) and not aliases().name(one.asked):
            called = next((name for name in one.same if terms.groups_in(name)), one.same[0])
            folded = f" {folded} ".replace(f" {one.asked} ", f" {called} ").strip()
    return folded


def _unlisted(index: NameIndex, question: TypedQuery, english: str) -> dict[str, str]:
    """Return the known names of medicines without a record, by the words that were typed.

    Left out are parts of a name that has a record, and names that would contain "and" and such a name.
    """
    terms, words = label_terms(), question.words
    spans = [(span.start, span.end) for span in find_spans(index, question)]
    runs = [
        (start, start + length) for length in range(_LONGEST_NAME, 0, -1) for start in range(len(words) - length + 1)
    ]
    free = dict.fromkeys(" ".join(words[start:end]) for start, end in runs if _is_free(words, start, end, spans))
    known = {" ".join(words[start:end]) for start, end in runs} - free.keys()
    found: dict[str, str] = {}
    for part in (*sorted(terms.members_in(english) - known), *free):
        ordinary = part in CONTEXT or (is_ordinary(part) and part not in terms.members)
        if ordinary or any(part in longer.split() for longer in found):
            continue
        if (name := not_loaded(index, part)) and not terms.group_named(name):
            found[part] = name
    return found


def _is_free(words: Sequence[str], start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether the words from ``start`` to ``end`` may be a name besides the names at ``spans``.

    They may contain a whole shorter name, but no joining word beside it.
    """
    touched = [(first, last) for first, last in spans if first < end and start < last]
    more = all(start <= first and last <= end and last - first < end - start for first, last in touched)
    return not touched or (more and JOINING.isdisjoint(words[start:end]))


def _is_all(english: str, covered: Collection[str]) -> bool:
    """Return whether ``covered`` has all words of a question that say something."""
    words = (word for word in fold_name(english).split() if word not in NOISE | JOINING | _ARTICLES)
    return all(word in covered or singular(word) in covered for word in words)


def _unread(text: str, question: TypedQuery, names: Collection[str], others: Collection[str]) -> Iterator[str]:
    """Yield elements and unknown words that a word or sign joins to one of ``names``, or to another such word.

    A comma joins only in a list that continues, or before the last word of the text.
    """
    parts = [(part, without_form(fold_name(part)) or part) for part in _PARTS.findall(with_joining_words(text))]
    kept = [(part, word) for part, word in parts if word in _JOINS or word not in NOISE]
    for turn in (kept, kept[::-1]):
        words = [word for _, word in turn]
        for (part, word), one, sign, after in zip(turn[2:], words, words[1:], [*words[3:], ""], strict=False):
            joined = one in names and sign in _JOINS and (sign != "," or not after or after in _JOINS)
            if not joined or not {word, singular(word)}.isdisjoint(names):
                continue
            salts = () if after in names else _salts(word, question)
            if salts or _may_be_name(word, question, others):
                names = {*names, word}
                yield from salts or (part,)


def _salts(word: str, question: TypedQuery) -> Iterable[str]:
    """Return the preparations that an element means beside a medicine: "iron", but not "iron level"."""
    terms = label_terms()
    for element in ions_of(word):
        salt = f" {element} salt "
        return terms.group_named(salt) & terms.groups_in(f" {question.whole} ".replace(f" {word} ", salt))
    return ()


def _may_be_name(word: str, question: TypedQuery, others: Collection[str]) -> bool:
    return (
        word.isalpha()
        and len(word) >= _SHORTEST_UNKNOWN
        and word not in question.capitals
        and {word, singular(word)}.isdisjoint(others)
        and not is_known_word(word)
    )
