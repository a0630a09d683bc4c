"""Finds figures in texts: numbers, units of measurement, bounds, and how often something is done."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from tools.language.measurement_units import UNITS, any_spelling, fold_figures, units_of

DECIMAL: Final = r"\d+(?:\.\d+)?"
_NUMBERS: Final = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
_TENS: Final = "ten twenty thirty forty fifty sixty seventy eighty ninety"
COUNTS: Final = (
    {word: value for value, word in enumerate(_NUMBERS.split())}
    | {"once": 1, "twice": 2, "thrice": 3}
    | {word: 10 * value for value, word in enumerate(_TENS.split(), start=1)}
)
_MULTIPLES: Final = COUNTS | {"doubled": 2, "tripled": 3, "quadrupled": 4}
_TIMES: Final = {"einmal": 1, "zweimal": 2, "dreimal": 3, "viermal": 4}
LATIN_COUNTS: Final = {"od": 1, "qd": 1, "bd": 2, "bid": 2, "tds": 3, "tid": 3, "qds": 4, "qid": 4}
"""Times a day by the Latin abbreviations of prescriptions."""
_DECIMAL_COMMA: Final = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")


def with_decimal_points(text: str) -> str:
    """Return ``text`` with decimal commas as points: ``2,5`` is ``2.5``, ``2,500`` is left alone."""
    return _DECIMAL_COMMA.sub(".", text)


Bound = Literal["", "up", "down", "near"]
_UNIT: Final = any_spelling(UNITS)
_FIGURE: Final = re.compile(
    r"(?P<number>\d(?<![a-z\d.]\d)\d*(?:\.\d+)?)(?![a-z\d]*[a-z]\d)"
    rf"(?:[ -]?(?!in [a-z])(?P<unit>{_UNIT})(?![a-z])(?P<per>(?: ?/ ?| per )(?:{_UNIT})(?![a-z]))?)?"
)
_WORD_FIGURE: Final = re.compile(
    rf"\b(?=[a-z])(?P<number>{'|'.join(_MULTIPLES)})(?:fold)?\b"
    rf"(?![ -](?:thirds|quarters)\b)(?:[ -](?P<unit>{_UNIT})(?![a-z]))?"
)
_RANGE: Final = re.compile(r" ?(?:-|–|to|and|or|/) ?")
BELOW: Final = (
    r"≤|<=?|\b(?:below|under|less than|lower than|fewer than|at most|up to|younger than"
    r"|not? (?:above|over|(?:more|greater|higher|older|longer|later) than)|not (?:to |be )*exceed\w*|maximum of|within"
    r"|unter|höchstens|weniger als|bis zu|maximal|nicht (?:über|mehr als))"
)
ABOVE: Final = (
    r"≥|>=?|\b(?:above|over|more than|greater than|higher than|at least|exceed\w*|older than|minimum of|longer than"
    r"|no(?:t)? (?:less|fewer|lower|younger|shorter) than|not (?:below|under)|über|mindestens|mehr als"
    r"|nicht (?:unter|weniger als))"
)
_BEFORE: Final = re.compile(
    r"(?:\b(?=\w)|(?=[≤<≥>~≈]))"
    rf"(?:(?P<down>{BELOW}|\bnot (?:to )?exceed(?: [a-z]+){{1,4}})|(?P<up>{ABOVE})"
    r"|(?P<near>[~≈]|\b(?:about|approximately|around|roughly|nearly|etwa|rund)))"
    rf" ?(?:every )?(?:{DECIMAL} ?(?:/|to|-|–) ?)?$"
)
"""A bound before a figure, or before the first figure of its range."""
LESS: Final = "less|lower|fewer|younger|below|under|shorter|weniger|jünger"
MORE: Final = "more|higher|greater|older|above|over|longer|mehr|älter"
_AFTER: Final = re.compile(rf"[^.;,]{{0,20}}?\b(?:or|and|oder|und) (?:(?P<down>{LESS})|(?P<up>{MORE})|(?P<near>so)\b)")
_PERIODS: Final = {
    word: days for words, days in (
        ("min minute minutes minuten", 1 / 1440), ("h hr hrs hour hours stunden", 1 / 24),
        ("d day days night nights tag tage", 1), ("week weeks woche wochen", 7),
        ("month months monat monate", 30.4375), ("year years jahr jahre", 365.25),
    ) for word in words.split()
}  # fmt: skip
"""Length of each period in days."""
_COUNTS: Final = COUNTS | _TIMES | {"other": 2, "second": 2}
_ADVERBS: Final = {"hourly": "h", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month",
    "yearly": "year", "annual": "year", "annually": "year", "täglich": "day", "tägl": "day", "tgl": "day",
    "wöchentlich": "week", "monatlich": "month", "jährlich": "year"}  # fmt: skip
_COUNT: Final = rf"{DECIMAL}|{'|'.join(COUNTS)}"
_TIMES_A: Final = r"(?:times|doses|x|×|mal)(?!\w)"
_A_PERIOD: Final = r"(?:d|day|week|month|year|tag)\b"
_RATE: Final = re.compile(
    r"(?:\b(?=\w)|(?=/))"
    rf"(?:(?:every|alle|q|intervals of)[ -]?"
    rf"(?:(?P<each>{_COUNT}|other|second)(?: ?(?:-|–|to|or|bis) ?(?P<until>{_COUNT}))?[ -]?)?"
    rf"(?P<period>{'|'.join(_PERIODS)})\b"
    rf"|(?P<hours>{DECIMAL})[ -]?hourly\b"
    rf"|(?:(?P<count>once|twice|thrice|{'|'.join(_TIMES)}|(?:{_COUNT})(?= ?{_TIMES_A}|(?: or more)?/{_A_PERIOD}))"
    rf"(?: ?{_TIMES_A}| or more)?[ -]?)?"
    r"(?:(?=[aep])(?<!within )(?<!for )(?<!in )(?<!after )\b(?:per|an?|each|pro) (?P<per>day|night|week"
    rf"|month|year|tag|woche|monat|jahr)\b|/ ?(?P<slash>{_A_PERIOD})|\b(?P<adverb>{'|'.join(_ADVERBS)})\b)"
    rf"|(?P<latin>{'|'.join(map('[.]?'.join, LATIN_COUNTS))})\b)"
)
"""How often something is done: ``every 12 hours``, ``8 hourly``, ``3x daily``, ``three times weekly``, ``bid``."""
_SAME: Final = 1e-6
_ABOUT: Final = 0.1
"""Relative difference up to which an approximate figure is the same."""


class Figure(NamedTuple):
    """A number with its unit as written, the unit after "per", and whether it is a bound or approximate."""

    value: float
    unit: str = ""
    per: str = ""
    bound: Bound = ""

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()


_Found = TypeVar("_Found")


class Placed(NamedTuple, Generic[_Found]):
    """A figure or rate and its position in the folded text."""

    start: int
    end: int
    value: _Found


@lru_cache(maxsize=4_096)
def figures(text: str, *, words: bool = False) -> tuple[Figure, ...]:
    """Return the figures of ``text`` without its rates; number words only before a unit, or all with ``words``."""
    return tuple(one.value for one in placed_figures(fold_figures(text), words=words))


@lru_cache(maxsize=4_096)
def placed_figures(folded: str, *, words: bool = False) -> tuple[Placed[Figure], ...]:
    """Return the figures of a text that ``fold_figures`` returned, each with its position."""
    matches = [
        match
        for pattern in (_FIGURE, _WORD_FIGURE)
        for match in pattern.finditer(folded)
        if pattern is _FIGURE or words or match["unit"]
    ]
    often = [(rate.start, rate.end) for rate in placed_rates(folded)] if matches else []
    found = [
        Placed(*match.span(), _figure(folded, match, float(_MULTIPLES.get(match["number"], match["number"]))))
        for match in matches
        if not any(start <= match.start("number") < end for start, end in often)
    ]
    return tuple(_ranged(folded, sorted(found)))


_AMOUNT: Final = re.compile(
    rf"{DECIMAL}[ -]?(?:{units_of('mass', 'volume', 'activity')})(?![a-z]| ?/ ?(?:{units_of('volume')}|min)(?![a-z]))"
)


def has_amount(text: str) -> bool:
    """Return whether ``text`` states an amount that may be of a medicine, and not a concentration or clearance."""
    return _AMOUNT.search(fold_figures(text)) is not None


_WRITTEN: Final = re.compile(
    rf"\b{DECIMAL}(?:\s*(?:to|-|–)\s*{DECIMAL})?(?:(?:-|\s*)(?:{_UNIT}|fold)(?![a-z])|%)(?:/(?:{_UNIT}|dose)(?![a-z]))*"
    rf"(?:\s+(?:{_RATE.pattern}))?",
    re.IGNORECASE,
)


def written_figures(text: str) -> tuple[str, ...]:
    """Return the amounts, ranges and rates in ``text`` as written, each once."""
    return tuple(dict.fromkeys(match[0] for match in _WRITTEN.finditer(text)))


class Rate(NamedTuple):
    """How often something is done, in times a day, with the words that say so."""

    daily: float
    words: str


@lru_cache(maxsize=4_096)
def rates(text: str) -> tuple[Rate, ...]:
    """Return the rates in ``text``; ``every 12 hours`` equals ``twice daily``."""
    return tuple(one.value for one in placed_rates(fold_figures(text)))


@lru_cache(maxsize=4_096)
def placed_rates(folded: str) -> tuple[Placed[Rate], ...]:
    """Return the rates of a text that ``fold_figures`` returned, each with its position."""
    return tuple(
        Placed(*match.span(), Rate(round(daily, 4), match[0].strip()))
        for match in _RATE.finditer(folded) for daily in _daily(match)
    )  # fmt: skip


def _daily(match: re.Match[str]) -> Iterable[float]:
    if match["latin"]:
        return (LATIN_COUNTS[match["latin"].replace(".", "")],)
    if match["hours"]:
        return (24 / (float(match["hours"]) or 24),)
    if match["period"]:
        counts = (match["each"] or "once", match["until"])
        return tuple(1 / _PERIODS[match["period"]] / _count(each) for each in counts if each)
    period = match["per"] or match["slash"] or _ADVERBS[match["adverb"]]
    return (_count(match["count"] or "once") / _PERIODS[period],)


def _count(words: str) -> float:
    return float(_COUNTS.get(words, words)) or 1.0


def _figure(text: str, match: re.Match[str], value: float) -> Figure:
    unit, per = match["unit"], (match["per"] if match.re is _FIGURE else "") or ""
    before, after = text[max(0, match.start() - 32) : match.start()], text[match.end() : match.end() + 32]
    bound = _BEFORE.search(before) or (_AFTER.match(after) if " or " in after or " and " in after else None)
    side: Bound = ""
    if bound is not None:
        side = "down" if bound["down"] else "up" if bound["up"] else "near"
    return Figure(value, unit or "", per.strip(" /").removeprefix("per "), side)


def _ranged(text: str, found: Sequence[Placed[Figure]]) -> Iterable[Placed[Figure]]:
    """Give the first figure of ``5 to 10 mg`` the unit of the second."""
    for one, following in zip_longest(found, found[1:]):
        if following is not None and not one.value.unit and joins(text[one.end : following.start]):
            yield one._replace(value=one.value._replace(unit=following.value.unit, per=following.value.per))
        else:
            yield one


def joins(text: str) -> bool:
    """Return whether ``text``, between two figures, joins them to a range."""
    return _RANGE.fullmatch(text) is not None


def compare(figure: Figure, sources: Iterable[Figure]) -> Literal["same", "unit", "bound", "number"]:
    """Return "same" if ``sources`` have ``figure``, otherwise how the closest of them differs."""
    equal: list[Figure] = []
    other: list[Figure] = []
    for source in sources:
        if not equals(figure, source):
            other += [source] if source.value == figure.value else []
        elif (source.unit or not figure.unit) and not _opposed(figure, source):
            return "same"
        else:
            equal.append(source)
    if equal and (any(source.unit for source in equal) or not any(source.unit for source in other)):
        return "bound" if all(_opposed(figure, source) for source in equal) else "same"
    return "unit" if other or any(source.value == figure.value for source in equal) else "number"


def _opposed(one: Figure, other: Figure) -> bool:
    return {one.bound, other.bound} == {"up", "down"}


def equals(one: Figure, other: Figure) -> bool:
    """Return whether the figures are the same amount; ``one`` may be approximate."""
    most = _ABOUT if one.bound == "near" else _SAME
    if not (one.unit and other.unit):
        return math.isclose(one.value, other.value, rel_tol=most)
    (kind, factor), (other_kind, other_factor) = _measure(one, other), _measure(other, one)
    return kind == other_kind and math.isclose(one.value * factor, other.value * other_factor, rel_tol=most)


def _measure(figure: Figure, beside: Figure) -> tuple[str, float]:
    """Return the kind and factor of the unit of ``figure``; the unit after "per" counts only if both have one."""
    kind, factor = UNITS[figure.unit]
    if not (figure.per and beside.per):
        return kind, factor
    of, divisor = UNITS[figure.per]
    return f"{kind} per {of}", factor / divisor
