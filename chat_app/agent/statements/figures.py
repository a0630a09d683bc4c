"""The figures of a sentence with their units and bounds, and whether a source has the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from tools.language.units_of_measure import COUNTS, DECIMAL, UNITS, any_spelling

Bound = Literal["", "up", "down"]
_UNIT: Final = any_spelling(UNITS)
_FIGURE: Final = re.compile(
    rf"(?<![a-z\d.])(?P<number>{DECIMAL})(?![a-z\d]*[a-z]\d)"
    rf"(?:[ -]?(?P<unit>{_UNIT})(?![a-z])(?P<per>(?: ?/ ?| per )(?:{_UNIT})(?![a-z]))?)?"
)
_WORD_FIGURE: Final = re.compile(rf"\b(?P<number>{'|'.join(COUNTS)})\b(?:[ -](?P<unit>{_UNIT})(?![a-z]))?")
_FREQUENCY: Final = re.compile(r" (?:times|daily|weekly|monthly|yearly|a|per)\b")
_RANGE: Final = re.compile(r" ?(?:-|–|to|and|or|/) ?$")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BEFORE: Final = re.compile(
    r"(?:(?P<down>≤|<=?|\b(?:below|under|less than|lower than|fewer than|at most|up to|no more than|not more than"
    r"|younger than|not exceed\w*|maximum of|within))"
    r"|(?P<up>≥|>=?|\b(?:above|over|more than|greater than|higher than|at least|exceed\w*|older than|minimum of"
    rf"|longer than))) ?(?:every )?(?:{DECIMAL} ?(?:/|to|-|–) ?)?$"
)
"""A bound before a figure, or before the first figure of its range."""
_AFTER: Final = re.compile(
    r"[^.;,]{0,20}?\b(?:or|and) (?:(?P<down>less|lower|fewer|younger|below|under|shorter)"
    r"|(?P<up>more|higher|greater|older|above|over|longer))\b"
)


_INTERVAL: Final = re.compile(
    r"(?:\b(?:per|a|each|every) |/ ?)(?P<per>hour|day|week|month|year)\b"
    r"|\b(?P<word>hourly|daily|nightly|weekly|fortnightly|monthly|yearly|annual(?:ly)?)\b"
)
_SAME_INTERVAL: Final = {"nightly": "daily", "annual": "yearly", "annually": "yearly", "day": "daily"}


class Figure(NamedTuple):
    """A number with its unit as written (empty for none), the unit it is per, and whether it is a one-sided bound."""

    value: float
    unit: str = ""
    per: str = ""
    bound: Bound = ""

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()


def fold(text: str) -> str:
    """``text`` in lower case with one spelling for micro and degree signs and for thousands."""
    return _THOUSANDS.sub("", text.casefold().replace("\u03bc", "µ").replace("\u00a0", " "))


@lru_cache(maxsize=4_096)
def figures(text: str, *, words: bool = False) -> tuple[Figure, ...]:
    """Return the figures of ``text``; number words only before a unit or frequency, or all of them with ``words``."""
    folded = fold(text)
    found = [(match.start(), _figure(folded, match, float(match["number"]))) for match in _FIGURE.finditer(folded)]
    found += [
        (match.start(), _figure(folded, match, float(COUNTS[match["number"]])))
        for match in _WORD_FIGURE.finditer(folded)
        if words or match["unit"] or _FREQUENCY.match(folded, match.end())
    ]
    found.sort(key=lambda each: each[0])
    return tuple(_ranged(folded, found))


@lru_cache(maxsize=4_096)
def intervals(text: str) -> tuple[str, ...]:
    """Return how often ``text`` says that something is done, in words: daily, weekly."""
    found = ((match["word"] or match["per"]) for match in _INTERVAL.finditer(fold(text)))
    return tuple(_SAME_INTERVAL.get(one) or (one if one.endswith("ly") else f"{one}ly") for one in found)


def _figure(text: str, match: re.Match[str], value: float) -> Figure:
    unit, per = match["unit"], match.groupdict().get("per") or ""
    before, after = text[max(0, match.start() - 32) : match.start()], text[match.end() : match.end() + 32]
    bound = _BEFORE.search(before) or (_AFTER.match(after) if " or " in after or " and " in after else None)
    side: Bound = "" if bound is None else "down" if bound["down"] else "up"
    return Figure(value, unit or "", per.strip(" /").removeprefix("per "), side)


def _ranged(text: str, found: list[tuple[int, Figure]]) -> Iterable[Figure]:
    """Give the first figure of ``5 to 10 mg`` the unit of the second."""
    for (start, figure), following in zip(found, [*found[1:], None], strict=False):
        if following is not None and not figure.unit and _RANGE.search(text[start : following[0]]):
            yield figure._replace(unit=following[1].unit, per=following[1].per)
        else:
            yield figure


def compare(figure: Figure, sources: Sequence[Figure]) -> Literal["same", "unit", "bound", "number"]:
    """Return whether ``sources`` hold ``figure``, or in what the nearest of them differs."""
    equal = [source for source in sources if _is_equal(figure, source)]
    if equal:
        opposed = [source for source in equal if figure.bound and source.bound and source.bound != figure.bound]
        return "bound" if len(opposed) == len(equal) else "same"
    return "unit" if any(source.value == figure.value for source in sources) else "number"


def _is_equal(one: Figure, other: Figure) -> bool:
    if one.per and other.per and UNITS[one.per] != UNITS[other.per]:
        return False
    if not one.unit or not other.unit:
        return one.value == other.value
    (kind, factor), (other_kind, other_factor) = UNITS[one.unit], UNITS[other.unit]
    return kind == other_kind and abs(one.value * factor - other.value * other_factor) <= 1e-6 * abs(one.value * factor)
