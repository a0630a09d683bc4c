"""Measured values in ordinary words: shorthand, spellings of units, and the numbers that stand beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tools.language.folding import fold_phrase
from tools.language.named_lists import any_of
from tools.language.units_of_measure import COUNTS, DECIMAL, any_spelling, spellings, with_decimal_points

_LATIN: Final = {"od": 1, "qd": 1, "bd": 2, "bid": 2, "tds": 3, "tid": 3, "qds": 4, "qid": 4}
_EVERY: Final = re.compile(r"\b(?:q|every|alle) ?(\d+) ?-?(?:h|hrs?|hours?|hourly|stunden)\b")
_COUNTED: Final = re.compile(
    rf"\b({'|'.join(COUNTS)}|\d+)(?: ?(?:times|x|×|mal))? ?"
    r"(?:daily|a day|per day|/ ?day|/ ?d|each day|täglich|am tag)\b"
)
_LATIN_WORD: Final = re.compile(rf"\b({'|'.join(_LATIN)})\b")
_DAILY: Final = re.compile(r"(?<!times)(?: (?:daily|a day|per day|nightly|at night|at bedtime|täglich)|/ ?d(?:ay)?)\b")
_FEET: Final = re.compile(r"\b(\d) ?(?:ft|feet|foot|')(?: ?(\d{1,2})(?: ?(?:in|inch|inches|\"|'')(?!\w))?)?")
_INCHES: Final = re.compile(r"(?<=\d) ?\"")
_PRESSURE: Final = re.compile(r"(?<![\d./])(\d{2,3}) ?/ ?(\d{2,3})(?: ?mm ?hg)?(?![\d./]| ?m[cg])")
_AGE_AND_SEX: Final = re.compile(
    r"(?<![\d.])(\d{1,3})[ -]?(?=(?:m|f|w|male|female|man|woman|lady|gentleman|mann|frau)(?:\b|,))(?!m/)"
)
_IS_AGED: Final = re.compile(r"\b((?:he|she|who|patient|er|sie) (?:is|ist) \d{1,3})(?=[,.;?]|$| and\b| und\b)")
_FILLERS: Final = r"(?:[ :=~]|\b(?:is|of|was|at|level|now|about|approximately|with|a|the|measured|ist|von|bei)\b)*"
NUMBER: Final = rf"(?<![\w.]){DECIMAL}"
_OTHER_UNIT: Final = re.compile(r" ?(?:[a-zµ%]+/[a-z0-9]+|%)")


class Measured(NamedTuple):
    """A number of the text, its unit if one is written, and its place."""

    value: float
    unit: str | None
    start: int
    end: int


def plain(text: str) -> str:
    """Return ``text`` folded, with clinical shorthand written out: decimal commas, feet, 110/70, 75 m, bid."""
    words = with_decimal_points(fold_phrase(text))
    words = _FEET.sub(lambda found: f"{int(found[1]) * 12 + int(found[2] or 0)} in", words)
    words = _INCHES.sub(" in", words)
    words = _PRESSURE.sub(_pressure, words)
    words = _AGE_AND_SEX.sub(r"\1 years ", words)
    words = _IS_AGED.sub(r"\1 years", words)
    words = _EVERY.sub(lambda found: f" {24 / int(found[1]):g} times a day" if int(found[1]) else found[0], words)
    words = _COUNTED.sub(lambda found: f" {COUNTS.get(found[1], found[1])} times a day", words)
    words = _LATIN_WORD.sub(lambda found: f" {_LATIN[found[1]]} times a day", words)
    return " ".join(_DAILY.sub(" 1 times a day", words).split())


def _pressure(found: re.Match[str]) -> str:
    high, low = int(found[1]), int(found[2])
    return f"systolic {high} mmhg diastolic {low} mmhg" if 300 >= high > low >= 20 else found[0]


def _unit_pattern(units: Sequence[str]) -> str:
    return any_spelling(fold_phrase(one) for unit in units for one in spellings(unit))


def named_value(text: str, aliases: Sequence[str], units: Sequence[str]) -> Measured | None:
    """Return the number beside one of ``aliases``: ``creatinine of 1.3 mg/dl``, or ``1.3 mg/dl creatinine``."""
    unit = rf"(?: ?-?(?P<unit>{_unit_pattern(units)})(?![\w/]))"
    name = any_of(aliases)
    for match in re.finditer(rf"(?:{name})[+\-−]?{_FILLERS}(?P<number>{NUMBER}){unit}?", text):
        if match["unit"] is not None or not _OTHER_UNIT.match(text, match.end()):
            return _measured(match, units)
    behind = re.search(rf"(?P<number>{NUMBER}){unit}(?: of| of the)? (?:{name})(?!{_FILLERS}\d)", text)
    return _measured(behind, units) if behind else None


def values_with_unit(text: str, units: Sequence[str]) -> list[Measured]:
    """Every number with one of ``units`` behind it."""
    pattern = rf"(?P<number>{NUMBER}) ?-?(?P<unit>{_unit_pattern(units)})(?![\w/])"
    return [_measured(match, units) for match in re.finditer(pattern, text)]


def _measured(match: re.Match[str], units: Sequence[str]) -> Measured:
    written = match["unit"]
    unit = next((one for one in units if written in map(fold_phrase, spellings(one))), None)
    end = match.end("unit") if written is not None else match.end("number")
    return Measured(float(match["number"]), unit, match.start("number"), end)
