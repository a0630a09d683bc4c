"""Finds words of a statement that replace or exchange words of the clauses that it repeats.

A word can only replace one of its kind: another number, another medicine, or its opposite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Final

from chat_app.agent.statements.bindings import SourceUnit
from chat_app.agent.statements.polarity import contrasts, is_contrast, negations, polarity
from tools.language.terms import terms

Names = Callable[[str], frozenset[str]]
"""The medicines that a text names, by the terms of their ingredients."""
_CLAUSE: Final = re.compile(
    r";|\b(?:but|however|although|whereas|while)\b|, (?=(?:and|or) (?:an?|are|in|is|it|the|they)\b)|\.(?= )"
)
_PART: Final = re.compile(
    r"[,;:]|\b(?:and|or|but|whereas|while|versus|vs|than|with|before|after|until|instead of|rather than|then|not"
    r"|compared (?:to|with)|followed by)\b|\.(?= )"
)
_SPAN: Final = re.compile(r"(?<=\d)[.,–-](?=\d)")
"""A sign inside a number or a range, which is one word."""
_COVERED: Final = 0.6
_OPPOSED: Final = 0.7
"""Minimum share of the other terms that are in the clause about another medicine, or in that with the opposite."""
_FARTHER: Final = 0.1
"""Share by which the clauses with the word itself have fewer of them; all three by ``fit_replaced_words``."""
_FEWEST_TERMS: Final = 3
_NUMBER: Final = frozenset({"number"})
_MEDICINE: Final = frozenset({"medicine"})
_MOST_NAMES: Final = 2
"""Words of a clause that another clause may lack at most before its share of the rest is counted."""


def clauses(unit: SourceUnit) -> Sequence[SourceUnit]:
    """Return the clauses of a sentence, with their terms."""
    split = [part for part in _CLAUSE.split(unit.text) if part.strip()]
    return [SourceUnit(part, frozenset(terms(part))) for part in split] if len(split) > 1 else [unit]


def replaced(statement: str, source: Sequence[SourceUnit], known: frozenset[str], names: Names) -> Iterator[str]:
    """Yield the words of ``statement`` in whose place the clause with most of the other words has one of their kind.

    The clauses with the word itself must have clearly fewer of the other words, of which only those ``known`` to the
    sources count.
    """
    for part in clauses(SourceUnit(statement, frozenset(terms(statement)))):
        said = part.terms & known
        near = [unit for unit in source if len(said & unit.terms) >= _COVERED * (len(said) - _MOST_NAMES)]
        if len(said) < _FEWEST_TERMS or not near:
            continue
        medicines, everyone = names(part.text), names(statement) | part.terms
        for one in medicines:
            others = medicines - {one}
            rivals = [unit for unit in near if others <= (there := names(unit.text)) and not there - {one} <= everyone]
            rivals = [unit for unit in rivals if one not in names(unit.text)]
            holders = [unit for unit in source if one in names(unit.text)] if rivals else ()
            if holders and _is_nearer(said - medicines, rivals, holders, _COVERED):
                yield one
        for one in () if negations(part.text) else filter(contrasts().get, part.terms):
            rivals = [unit for unit in near if one not in unit.terms and _has_opposite(one, unit, part.terms)]
            holders = [unit for unit in source if one in unit.terms] if rivals else ()
            if rivals and _is_nearer(said - {one}, rivals, holders, _OPPOSED):
                yield one


def _has_opposite(one: str, unit: SourceUnit, said: frozenset[str]) -> bool:
    """Return whether ``unit`` has an opposite of ``one`` and does not deny it, which would keep the meaning."""
    if not is_contrast(one, unit.terms, said):
        return False
    return not negations(unit.text) or is_contrast(one, unit.terms - polarity(unit.text).denied, said)


def _is_nearer(
    rest: frozenset[str], rivals: Sequence[SourceUnit], holders: Sequence[SourceUnit], covered: float
) -> bool:
    """Return whether one of ``rivals`` has enough of the words ``rest``, and clearly more than each of ``holders``."""
    own = max((len(rest & unit.terms) for unit in holders), default=0)
    least = max(covered * len(rest), own + _FARTHER * len(rest))
    return len(rest) >= _FEWEST_TERMS and any(len(rest & unit.terms) >= least for unit in rivals)


def crossed(statement: str, nearest: Iterable[Sequence[str]], names: Names) -> str:
    """Return a word that has changed places with another one of its kind; empty if none has.

    The two are in different parts of the statement, each beside a word that only the other one is beside in the parts
    of the ``nearest`` sentences and rows.
    """
    said = [part for part in map(_words, _PART.split(statement.casefold())) if part]
    medicines = names(statement)
    kinds = [{word: kind for word in part if (kind := _kind(word, medicines))} for part in said]
    pairs = [
        (one, other, first - last, last - first)
        for (first, ours), (last, theirs) in combinations(zip(said, kinds, strict=True), 2)
        if ours and theirs
        for one, other in product(ours, theirs)
        if one not in last and other not in first and not ours[one].isdisjoint(theirs[other])
    ]
    there = [_words(part) for parts in nearest for part in parts] if pairs else []

    def beside(one: str, other: str) -> bool:
        return one == other or any(one in part and other in part for part in there)

    for one, other, first, last in pairs:
        if not beside(one, other):
            moved = [word for word in first if word != one and beside(other, word) and not beside(one, word)]
            back = [word for word in last if word != other and beside(one, word) and not beside(other, word)]
            if any(not beside(*each) for each in product(moved, back)):
                return one
    return ""


@lru_cache(maxsize=2_048)
def parts(text: str) -> tuple[str, ...]:
    """Return the parts of a sentence within which words belong together."""
    return tuple(_PART.split(text.casefold()))


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    """Return the terms of ``text``, of which a range is one."""
    return frozenset(terms(_SPAN.sub("x", text)))


def _kind(word: str, medicines: frozenset[str]) -> frozenset[object]:
    """Return what ``word`` has in common with those that it may change places with; empty for most words."""
    if word[0].isdigit() or word in medicines:
        return _NUMBER if word[0].isdigit() else _MEDICINE
    return frozenset(line for line, _ in contrasts().get(word, ()))
