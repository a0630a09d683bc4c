"""Amounts that a statement gives to something else than its source: the dose of one arm, the share of another group.

An amount belongs to the words of its part of the sentence, and to the parts that hold no amount of its kind. In a part
with several of them each word belongs to the nearest. Amounts of other kinds count as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from tools.language.figures import LESS, MORE, UNITS, fold, joins, placed_figures, placed_rates
from tools.language.terms import term
from tools.language.word_lists import word_list

_CLAUSE: Final = re.compile(r"\.(?= )|\b(?:but|however|although|whereas|while)\b")
_PART: Final = re.compile(rf"[,;:)]|\b(?:and|or(?! (?:{LESS}|{MORE})\b)|(?=then\b)|versus|vs|compared (?:to|with))\b")
_ORDER: Final = frozenset(("before", "after", "then", "until"))
"""Stop words that tell one amount from another."""
_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")
_RATE: Final = "rate"
_UNBOUND: Final = (_RATE, "time", "long time")
"""Kinds that a sentence as a whole may have: the words beside a duration differ from writer to writer."""


class _Amount(NamedTuple):
    start: int
    end: int
    kind: str
    name: str
    words: str


class Binding(NamedTuple):
    """Amounts that are written as one span, in the usual unit of their kind, and the terms that they belong to."""

    kind: str
    amounts: frozenset[str]
    words: str
    terms: frozenset[str]


class SourceUnit(NamedTuple):
    """A sentence or row of a source, and its terms."""

    text: str
    terms: frozenset[str]


def misbound(statement: str, nearest: Iterable[SourceUnit], units: Sequence[SourceUnit]) -> list[str]:
    """Return the amounts whose terms the units have beside another amount, and fewer of them beside this one."""
    near = _bindings(nearest)
    return [
        one.words
        for one in bindings(statement)
        if not any(one.amounts <= other.amounts and one.terms <= other.terms for other in near)
        and _has_rival(one, near, units)
        and is_elsewhere(one, [other for other in _bindings(units) if other.kind == one.kind])
    ]


def exchanged(statement: str, nearest: Sequence[SourceUnit], units: Sequence[SourceUnit]) -> list[str]:
    """Return an amount of ``statement`` that has changed places with another one of its kind, if there is one.

    Words beside the one are beside the other in the nearest units that hold both, or else in all units. A paraphrase
    has few of the words around an amount, but does not swap those of two amounts.
    """
    said = bindings(statement, every=True)
    for one, other in combinations(said, 2):
        if one.kind == other.kind and one.amounts != other.amounts:
            held = [unit for unit in nearest if all(_beside(each.amounts, (unit,)) for each in (one, other))]
            there = [_beside(each.amounts, held or units) for each in (one, other)]
            telling = [(each.terms - rest.terms) & (there[0] ^ there[1]) for each, rest in ((one, other), (other, one))]
            moved = [telling[0] & there[1], telling[1] & there[0]]
            if all(moved) and (moved[0] == telling[0] or moved[1] == telling[1]):
                return [one.words]
    return []


def _beside(amounts: frozenset[str], units: Iterable[SourceUnit]) -> frozenset[str]:
    """Return the terms that belong to ``amounts`` in the units."""
    found = (one for unit in units for one in bindings(unit.text, every=True))
    return frozenset[str]().union(*(one.terms for one in found if one.amounts == amounts))


def _has_rival(said: Binding, near: Iterable[Binding], units: Iterable[SourceUnit]) -> bool:
    """Return whether an amount has more of the terms than the nearest units beside this one; read as few as needed."""
    here = said.terms.intersection(frozenset().union(*(one.terms for one in near if said.amounts <= one.amounts)))
    amounts = frozenset(one for one in said.terms if " " in one)
    rivals = (unit for unit in units if said.terms & (unit.terms | amounts) > here)
    return any(said.terms & one.terms > here for one in _bindings(rivals) if one.kind == said.kind)


def _bindings(units: Iterable[SourceUnit]) -> list[Binding]:
    return [one for unit in units if _DIGIT.search(unit.text) for one in bindings(unit.text)]


def is_elsewhere(said: Binding, found: Sequence[Binding]) -> bool:
    """Return whether an amount of ``found`` other than that of ``said`` has more of its terms.

    An amount that is also stated without words, as in the list of a record, may belong to any of them.
    """
    own = [one.terms for one in found if said.amounts <= one.amounts]
    if frozenset() in own:
        return False
    here = said.terms.intersection(frozenset().union(*own))
    others = [one.terms for one in found if said.amounts.isdisjoint(one.amounts)] if own else []
    return any(said.terms & other > here for other in others)


@lru_cache(maxsize=4_096)
def bindings(sentence: str, *, every: bool = False) -> tuple[Binding, ...]:
    """Return the figures of ``sentence`` that have a unit, or ``every`` one, with the terms that they belong to."""
    text = fold(sentence)
    amounts = sorted(_amounts(text, every=every))
    inside = [(one.start, other.start) for one, other in pairwise(amounts) if _is_span(text[one.end : other.start])]
    return tuple(
        one
        for start, end in _split(_CLAUSE, text, 0, len(text), inside)
        if (here := [amount for amount in amounts if start <= amount.start < end])
        for one in _of_clause(text, list(_split(_PART, text, start, end, inside)), here, inside, every)
    )


def _is_span(between: str) -> bool:
    """Return whether two amounts are one span, or the same one in two units: "300 mg/g (30 mg/mmol)"."""
    return joins(between) or between.strip() == "("


def _amounts(text: str, *, every: bool = False) -> Iterator[_Amount]:
    for start, end, figure in placed_figures(text, words=True):
        if figure.unit or every:
            kind, factor = UNITS[figure.unit] if figure.unit else ("", 1.0)
            yield _Amount(start, end, kind, f"{figure.value * factor:g} {kind}", str(figure))
    for start, end, rate in placed_rates(text):
        yield _Amount(start, end, _RATE, f"{rate.daily:g} {_RATE}", rate.words)


def _of_clause(
    text: str,
    parts: Sequence[tuple[int, int]],
    amounts: Sequence[_Amount],
    inside: Sequence[tuple[int, int]],
    every: bool,
) -> Iterator[Binding]:
    stop = word_list("stop")
    words = [
        [
            (word.start(), term(word[0]))
            for word in _WORD.finditer(text, *part)
            if (word[0] in _ORDER or word[0] not in stop)
            and not any(one.start <= word.start() < one.end for one in amounts)
        ]
        for part in parts
    ]
    for kind in {one.kind for one in amounts}.difference(() if every else _UNBOUND):
        spans: list[list[_Amount]] = []
        for one in amounts:
            if one.kind == kind and spans and (spans[-1][-1].start, one.start) in inside:
                spans[-1].append(one)
            elif one.kind == kind:
                spans.append([one])
        near: list[set[str]] = [set() for _ in spans]
        for (start, end), of_part in zip(parts, words, strict=True):
            held = [place for place, span in enumerate(spans) if start <= span[0].start < end]
            others = ((one.start, one.name) for one in amounts if one.kind != kind and start <= one.start < end)
            for at, word in (*of_part, *others):
                nearest = min(held, key=lambda each: _distance(at, spans[each]), default=None)
                for terms in near if nearest is None else (near[nearest],):
                    terms.add(word)
        for span, terms in zip(spans, near, strict=True):
            yield Binding(kind, frozenset(one.name for one in span), span[0].words, frozenset(terms))


def _distance(at: int, span: Sequence[_Amount]) -> int:
    return max(span[0].start - at, at - span[-1].end)


def _split(
    pattern: re.Pattern[str], text: str, start: int, end: int, inside: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text between the matches of ``pattern`` that are not inside a span of figures."""
    for match in pattern.finditer(text, start, end):
        if not any(first < match.start() < last for first, last in inside):
            yield start, match.start()
            start = match.end()
    yield start, end
