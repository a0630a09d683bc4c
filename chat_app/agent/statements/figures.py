"""The figures of a sentence with their units and bounds, and whether a source has the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Bound = Literal["", "up", "down"]
_KINDS: Final = {
    "mass": "ng=1e-6 mcg=1e-3 µg=1e-3 mg=1 g=1e3 kg=1e6 lb=453592.37 lbs=453592.37",
    "volume": "ml=1 dl=100 l=1e3 litres=1e3",
    "amount": "µmol=1e-3 mmol=1 meq=1 mol=1e3",
    "time": "s=0.016666667 seconds=0.016666667 min=1 minutes=1 h=60 hours=60 days=1440 weeks=10080",
    "long time": "months=1 years=12",
    "length": "mm=1 cm=10 in=25.4 m=1e3",
    "share": "%=1 percent=1 per_cent=1",
    "pressure": "mmhg=1 mm_hg=1",
    "activity": "units=1 iu=1 u=1",
    "energy": "kcal=1 calories=1",
    "area": "m2=1 m²=1",
}
_UNITS: Final = {
    name.replace("_", " "): (kind, float(factor))
    for kind, units in _KINDS.items()
    for name, _, factor in (unit.partition("=") for unit in units.split())
}
"""Each unit with its kind and its factor to the kind's first one."""
_SINGULAR: Final = {"hour", "day", "week", "month", "year", "minute", "second", "unit"}
_UNIT: Final = "|".join(sorted({*map(re.escape, _UNITS), *_SINGULAR}, key=len, reverse=True))
_COUNTED: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_WORDS: Final = {word: value for value, word in enumerate(_COUNTED.split())} | {"once": 1, "twice": 2, "thrice": 3}
_FIGURE: Final = re.compile(
    rf"(?<![a-z\d.])(?P<number>\d+(?:\.\d+)?)(?![a-z\d]*[a-z]\d)"
    rf"(?:[ -]?(?P<unit>{_UNIT})(?![a-z])(?P<per>(?: ?/ ?| per )(?:{_UNIT})(?![a-z]))?)?"
)
_WORD_FIGURE: Final = re.compile(rf"\b(?P<number>{'|'.join(_WORDS)})\b(?:[ -](?P<unit>{_UNIT})(?![a-z]))?")
_FREQUENCY: Final = re.compile(r" (?:times|daily|weekly|monthly|yearly|a|per)\b")
_RANGE: Final = re.compile(r" ?(?:-|–|to|and|or|/) ?$")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BEFORE: Final = re.compile(
    r"(?:(?P<down>≤|<=?|\b(?:below|under|less than|lower than|fewer than|at most|up to|no more than|not more than"
    r"|younger than|not exceed\w*|maximum of|within))"
    r"|(?P<up>≥|>=?|\b(?:above|over|more than|greater than|higher than|at least|exceed\w*|older than|minimum of"
    r"|longer than))) ?(?:\d+(?:\.\d+)? ?(?:/|to|-|–) ?)?$"
)
"""A bound before a figure, or before the first figure of its range."""
_AFTER: Final = re.compile(
    r"[^.;,]{0,20}?\b(?:or|and) (?:(?P<down>less|lower|fewer|younger|below|under|shorter)"
    r"|(?P<up>more|higher|greater|older|above|over|longer))\b"
)


class Figure(NamedTuple):
    """A number, its unit (empty when none is written), what it is per, and whether it bounds from one side."""

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
        (match.start(), _figure(folded, match, float(_WORDS[match["number"]])))
        for match in _WORD_FIGURE.finditer(folded)
        if words or match["unit"] or _FREQUENCY.match(folded, match.end())
    ]
    found.sort(key=lambda each: each[0])
    return tuple(_ranged(folded, found))


def _figure(text: str, match: re.Match[str], value: float) -> Figure:
    unit, per = match["unit"], match.groupdict().get("per") or ""
    before, after = text[max(0, match.start() - 32) : match.start()], text[match.end() : match.end() + 32]
    bound = _BEFORE.search(before) or (_AFTER.match(after) if " or " in after or " and " in after else None)
    side: Bound = "" if bound is None else "down" if bound["down"] else "up"
    return Figure(value, _plural(unit), _plural(per.strip(" /").removeprefix("per ")) if per else "", side)


def _plural(unit: str | None) -> str:
    return f"{unit}s" if unit in _SINGULAR else unit or ""


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
    if one.per and other.per and one.per != other.per and _UNITS.get(one.per) != _UNITS.get(other.per):
        return False
    if not one.unit or not other.unit:
        return one.value == other.value
    (kind, factor), (other_kind, other_factor) = _UNITS[one.unit], _UNITS[other.unit]
    return kind == other_kind and abs(one.value * factor - other.value * other_factor) <= 1e-6 * abs(one.value * factor)
