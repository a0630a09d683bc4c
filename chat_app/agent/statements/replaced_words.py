"""Finds words of a statement that replace or exchange words of the clauses that it repeats.

A word can only replace one of its kind: another number, another medicine, or its opposite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Final

from chat_app.agent.statements.cited_sources import AlignedStatement, SourceUnit
from chat_app.agent.statements.polarity import contrasts, has_negation, is_contrast, polarity

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


def replaced(aligned: AlignedStatement) -> Iterator[str]:
    """Yield the words of a statement in whose place the clause with most of the other words has one of their kind.

    The clauses with the word itself must have clearly fewer of the other words, of which only those that the sources
    have count.
    """
    names = aligned.names
    for part in aligned.unit.clauses:
        medicines = names(part)
        turned = () if has_negation(part.text) else list(filter(contrasts().get, part.terms))
        if not (medicines or turned) or len(said := part.terms & aligned.known) < _FEWEST_TERMS:
            continue
        near = _clauses(aligned.units, said, _COVERED * (len(said) - _MOST_NAMES))
        for one in medicines if near else ():
            everyone, others = names(aligned.unit) | part.terms, medicines - {one}
            rivals = [unit for unit in near if others <= (there := names(unit)) and not there - {one} <= everyone]
            rivals = [unit for unit in rivals if one not in names(unit)]
            holders = [unit for unit in _clauses(aligned.units) if one in names(unit)] if rivals else []
            if holders and _is_nearer(said - medicines, rivals, holders, _COVERED):
                yield one
        for one in turned:
            rivals = [unit for unit in near if one not in unit.terms and _has_opposite(one, unit, part.terms)]
            holders = _clauses(aligned.units, frozenset({one}), 1) if rivals else []
            if rivals and _is_nearer(said - {one}, rivals, holders, _OPPOSED):
                yield one


def _clauses(units: Sequence[SourceUnit], said: frozenset[str] = frozenset(), least: float = 0) -> list[SourceUnit]:
    """Return the clauses of ``units`` with at least so many of the terms ``said``."""
    near = (unit for unit in units if len(said & unit.terms) >= least)
    return [clause for unit in near for clause in unit.clauses if len(said & clause.terms) >= least]


def _has_opposite(one: str, unit: SourceUnit, said: frozenset[str]) -> bool:
    """Return whether ``unit`` has an opposite of ``one`` and does not deny it, which would keep the meaning."""
    found = unit.terms
    return is_contrast(one, found, said) and is_contrast(one, found - polarity(unit.text).denied, said)


def _is_nearer(
    rest: frozenset[str], rivals: Sequence[SourceUnit], holders: Sequence[SourceUnit], covered: float
) -> bool:
    """Return whether one of ``rivals`` has enough of the words ``rest``, and clearly more than each of ``holders``."""
    own = max((len(rest & unit.terms) for unit in holders), default=0)
    least = max(covered * len(rest), own + _FARTHER * len(rest))
    return len(rest) >= _FEWEST_TERMS and any(len(rest & unit.terms) >= least for unit in rivals)


def crossed(aligned: AlignedStatement) -> str:
    """Return a word that has changed places with another one of its kind; empty if none has.

    The two are in different parts of the statement, each beside a word that only the other one is beside in the parts
    of the nearest sentences and rows.
    """
    medicines = aligned.names(aligned.unit)
    counts = Counter(kind for word in aligned.terms for kind in _kind(word, medicines))
    if max(counts.values(), default=0) < 2:
        return ""
    kinds = [{word: kind for word in part if (kind := _kind(word, medicines))} for part in aligned.unit.parts]
    pairs = [
        (one, other, first - last, last - first)
        for (first, ours), (last, theirs) in combinations(zip(aligned.unit.parts, kinds, strict=True), 2)
        for one, other in product(ours, theirs)
        if one not in last and other not in first and not ours[one].isdisjoint(theirs[other])
    ]
    there = [part for unit in aligned.nearest for part in unit.parts] if pairs else []

    def beside(one: str, other: str) -> bool:
        return one == other or any(one in part and other in part for part in there)

    for one, other, first, last in pairs:
        if not beside(one, other):
            moved = [word for word in first if word != one and beside(other, word) and not beside(one, word)]
            back = [word for word in last if word != other and beside(one, word) and not beside(other, word)]
            if any(not beside(*each) for each in product(moved, back)):
                return one
    return ""


def _kind(word: str, medicines: frozenset[str]) -> frozenset[object]:
    """Return what ``word`` has in common with those that it may change places with; empty for most words."""
    if word[0].isdigit():
        return _NUMBER
    return _MEDICINE if word in medicines else frozenset(line for line, _ in contrasts().get(word, ()))
