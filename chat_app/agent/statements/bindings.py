"""Finds amounts that a statement binds to other words than its source, such as the dose of the other arm of a trial.

An amount is bound to the words of its part of the sentence, and of the parts without an amount of its kind. In a part
with several amounts of a kind, each word is bound to the nearest. Amounts of other kinds count as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from chat_app.agent.statements.cited_sources import AlignedStatement, SourceUnit
from tools.language.figures import LESS, MORE, joins, placed_figures, placed_rates
from tools.language.measurement_units import UNITS, fold_figures
from tools.language.terms import term
from tools.language.word_lists import word_list

_CLAUSE: Final = re.compile(r"\.(?= )|\b(?:but|however|although|whereas|while)\b")
_PART: Final = re.compile(rf"[,;:)]|\b(?:and|or(?! (?:{LESS}|{MORE})\b)|(?=then\b)|versus|vs|compared (?:to|with))\b")
_ORDER: Final = frozenset(("before", "after", "then", "until"))
"""Stop words that distinguish amounts."""
_WORD: Final = re.compile(r"[^\W_]+")
_RATE: Final = "rate"
_UNBOUND: Final = (_RATE, "time", "long time")
"""Kinds that are not bound to words, because the words beside a duration differ from writer to writer."""


class _Amount(NamedTuple):
    start: int
    end: int
    kind: str
    name: str
    words: str


class Binding(NamedTuple):
    """The amounts of one span ("5-10 mg"), in the usual unit of their kind, and the terms to which they are bound."""

    kind: str
    amounts: frozenset[str]
    words: str
    terms: frozenset[str]


def misbound(aligned: AlignedStatement) -> list[str]:
    """Return the amounts of a statement whose terms the units bind to another amount rather than to this one."""
    return [
        one.words
        for one in bindings(aligned.text)
        if not any(one.terms <= bound for bound in _bound(one.amounts, aligned.alike))
        and _is_elsewhere(one, aligned.units)
    ]


def exchanged(aligned: AlignedStatement) -> list[str]:
    """Return an amount of a statement that has changed places with another one of its kind, if any.

    The terms of each of the two are bound to the other one in the alike units that have both, or else in all units. A
    paraphrase has few of the words around an amount, but does not exchange those of two amounts.
    """
    kinds = [kind for kind, _ in {(one.kind, one.name) for one in _amounts(aligned.text)}]
    several = len(set(kinds)) < len(kinds)
    for one, other in combinations(bindings(aligned.text, every=True) if several else (), 2):
        apart = one.terms - other.terms and other.terms - one.terms
        if one.kind == other.kind and one.amounts != other.amounts and apart:
            held = [unit for unit in aligned.alike if all(_beside(each.amounts, (unit,)) for each in (one, other))]
            there = [_beside(each.amounts, held or aligned.units) for each in (one, other)]
            telling = [(each.terms - rest.terms) & (there[0] ^ there[1]) for each, rest in ((one, other), (other, one))]
            moved = [telling[0] & there[1], telling[1] & there[0]]
            if all(moved) and (moved[0] == telling[0] or moved[1] == telling[1]):
                return [one.words]
    return []


def _beside(amounts: frozenset[str], units: Iterable[SourceUnit]) -> frozenset[str]:
    """Return the terms that the units bind to ``amounts``."""
    found = (one for unit in _holding(amounts, units) for one in bindings(unit.text, every=True))
    return frozenset[str]().union(*(one.terms for one in found if one.amounts == amounts))


def _bound(amounts: frozenset[str], units: Iterable[SourceUnit]) -> list[frozenset[str]]:
    """Return the terms that each span with ``amounts`` is bound to."""
    found = (one for unit in _holding(amounts, units) for one in bindings(unit.text))
    return [one.terms for one in found if amounts <= one.amounts]


def _holding(amounts: frozenset[str], units: Iterable[SourceUnit]) -> Iterator[SourceUnit]:
    """Yield the units that have ``amounts``."""
    return (unit for unit in units if amounts <= {one.name for one in _amounts(unit.text)})


def _is_elsewhere(said: Binding, units: Sequence[SourceUnit]) -> bool:
    """Return whether the units bind more of the terms of ``said`` to another amount than to its own.

    An amount that the units also state without words, as in the list of a record, may be bound to any words.
    """
    beside = said.terms & _ORDER | {one for one in said.terms if " " in one}
    reach = [(said.terms & unit.terms | beside, unit) for unit in units]
    reach.sort(key=lambda one: -len(one[0]))
    rivals, here, is_held = reach, frozenset[str](), False
    for _, unit in reach:
        for bound in _bound(said.amounts, (unit,)):
            is_held, here = True, here | (said.terms & bound)
            rivals = [one for one in rivals if one[0] > here and _is_bound_to_another(said, here, one[1])]
            if not bound or not rivals:
                return False
    return is_held


def _is_bound_to_another(said: Binding, here: frozenset[str], unit: SourceUnit) -> bool:
    """Return whether ``unit`` binds more of the terms of ``said`` than ``here`` to another amount of its kind."""
    if all(one.kind != said.kind or one.name in said.amounts for one in _amounts(unit.text)):
        return False
    others = (one for one in bindings(unit.text) if one.kind == said.kind and said.amounts.isdisjoint(one.amounts))
    return any(said.terms & one.terms > here for one in others)


@lru_cache(maxsize=4_096)
def bindings(sentence: str, *, every: bool = False) -> tuple[Binding, ...]:
    """Return the figures of ``sentence`` with a unit, or ``every`` figure, with the terms to which they are bound."""
    text = fold_figures(sentence)
    amounts = [one for one in _amounts(sentence) if every or one.kind]
    if not any(every or one.kind not in _UNBOUND for one in amounts):
        return ()
    inside = [(one.start, other.start) for one, other in pairwise(amounts) if _is_span(text[one.end : other.start])]
    named = {place for one in amounts for place in range(one.start, one.end)}
    words = [one for one in _placed_terms(text) if one[0] not in named]
    return tuple(
        one
        for start, end in _split(_CLAUSE, text, 0, len(text), inside)
        if (here := [amount for amount in amounts if start <= amount.start < end])
        for one in _of_clause(list(_split(_PART, text, start, end, inside)), words, here, inside, every)
    )


@lru_cache(maxsize=1_024)
def _placed_terms(text: str) -> tuple[tuple[int, str], ...]:
    """Return the terms of ``text``, each with its position."""
    stop = word_list("stop") - _ORDER
    return tuple((found.start(), term(word)) for found in _WORD.finditer(text) if (word := found[0]) not in stop)


def _is_span(between: str) -> bool:
    """Return whether the text ``between`` two amounts makes them one span, or one amount in two units.

    An example of the latter is "300 mg/g (30 mg/mmol)".
    """
    return joins(between) or between.strip() == "("


@lru_cache(maxsize=1_024)
def _amounts(sentence: str) -> tuple[_Amount, ...]:
    """Return the rates and figures of ``sentence`` in order; the kind of a figure without a unit is empty."""
    text = fold_figures(sentence)
    found = [_Amount(*one[:2], _RATE, f"{one.value.daily:g} {_RATE}", one.value.words) for one in placed_rates(text)]
    for start, end, figure in placed_figures(text, words=True):
        kind, factor = UNITS[figure.unit] if figure.unit else ("", 1.0)
        found.append(_Amount(start, end, kind, f"{figure.value * factor:g} {kind}", str(figure)))
    return tuple(sorted(found))


def _of_clause(
    parts: Sequence[tuple[int, int]],
    words: Sequence[tuple[int, str]],
    amounts: Sequence[_Amount],
    inside: Sequence[tuple[int, int]],
    every: bool,
) -> Iterator[Binding]:
    """Yield the bindings of the ``amounts`` of a clause, whose ``parts`` and terms (``words``) are given."""
    within = [[one for one in words if start <= one[0] < end] for start, end in parts]
    for kind in dict.fromkeys(one.kind for one in amounts if every or one.kind not in _UNBOUND):
        spans: list[list[_Amount]] = []
        for one in amounts:
            if one.kind == kind and spans and (spans[-1][-1].start, one.start) in inside:
                spans[-1].append(one)
            elif one.kind == kind:
                spans.append([one])
        near: list[set[str]] = [set() for _ in spans]
        for (start, end), of_part in zip(parts, within, strict=True):
            held = [place for place, span in enumerate(spans) if start <= span[0].start < end]
            others = [(one.start, one.name) for one in amounts if one.kind != kind and start <= one.start < end]
            if len(held) > 1:
                for at, word in (*of_part, *others):
                    near[min(held, key=lambda each: _distance(at, spans[each]))].add(word)
            else:
                for terms in [near[each] for each in held] or near:
                    terms.update(word for _, word in (*of_part, *others))
        for span, terms in zip(spans, near, strict=True):
            yield Binding(kind, frozenset(one.name for one in span), span[0].words, frozenset(terms))


def _distance(at: int, span: Sequence[_Amount]) -> int:
    return max(span[0].start - at, at - span[-1].end)


def _split(
    pattern: re.Pattern[str], text: str, start: int, end: int, inside: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text between the matches of ``pattern`` that are not inside a span of figures."""
    for match in pattern.finditer(text, start, end):
        if not (inside and any(first < match.start() < last for first, last in inside)):
            yield start, match.start()
            start = match.end()
    yield start, end
