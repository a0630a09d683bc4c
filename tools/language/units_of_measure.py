"""Numbers and units of measurement as texts write them: one table for every reader of figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import Final

DECIMAL: Final = r"\d+(?:\.\d+)?"
_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
COUNTS: Final = {word: value for value, word in enumerate(_NUMBERS.split())} | {"once": 1, "twice": 2, "thrice": 3}
_DECIMAL_COMMA: Final = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")
_KINDS: Final = {
    "mass": "ng=1e-6; µg|mcg|ug|microgram|micrograms=1e-3; mg|milligram|milligrams=1; g|gram|grams=1e3"
            "; kg|kgs|kilo|kilos|kilogram|kilograms=1e6; lb|lbs|pound|pounds=453592.37",
    "volume": "ml=1; dl=100; l|litre|litres|liter|liters=1e3",
    "amount": "µmol|umol|micromol|mcmol=1e-3; mmol|meq=1; mol=1e3",
    "time": "ms|msec|milliseconds=1; s|sec|second|seconds=1e3; min|minute|minutes=6e4; h|hr|hrs|hour|hours=3.6e6"
            "; days|day=8.64e7; weeks|week=6.048e8",
    "long time": "months|month|months old|month old|monate|mo=1; years|year|years old|year old|year-old|yrs|yr|y/o|yo"
                 "|y.o.|y|jahre|jahren|jährige|jähriger|jährigen|jähriges|j=12",
    "length": "mm=1; cm|centimetres|centimeters=10; in|inches|inch=25.4; m|metre|metres|meter|meters=1e3",
    "share": "%|percent|per cent=1",
    "pressure": "mmHg|mm hg=1",
    "activity": "units|unit|iu|u=1",
    "energy": "kcal|calories=1",
    "area": "m2|m²=1",
    "rate": "beats/min|beats per minute|bpm|/min|min-1=1; breaths/min|breaths per minute|/min|per minute=1",
}  # fmt: skip
"""For each kind its units: their spellings, the usual one first, and the factor to a unit of the kind."""
_SPELLINGS: Final[dict[str, list[str]]] = {
    "mg/dl": ["mg/dl", "mg per dl", "mg%", "mg/100 ml"],
    "g/dl": ["g/dl", "g%"],
    "µmol/l": ["µmol/l", "umol/l", "micromol/l", "mcmol/l", "µmol", "umol"],
    "mmol/l": ["mmol/l", "meq/l", "mmol", "meq"],
}
UNITS: Final[dict[str, tuple[str, float]]] = {}
"""Each spelling with its kind and its factor."""
for kind, units in _KINDS.items():
    for unit in units.split("; "):
        names, _, factor = unit.partition("=")
        _SPELLINGS[names.partition("|")[0]] = names.casefold().split("|")
        UNITS.update(dict.fromkeys(names.casefold().split("|"), (kind, float(factor))))


def spellings(unit: str) -> list[str]:
    """Return the ways to write ``unit``; one that is not in the table is written as it is named."""
    above, _, below = unit.partition("/")
    parts = (spellings(above), ("/",), spellings(below)) if below else ((unit,),)
    return _SPELLINGS.get(unit) or ["".join(part) for part in product(*parts)]


def any_spelling(names: Iterable[str]) -> str:
    """Return a pattern for any of the spellings ``names``, the longest first."""
    return "|".join(map(re.escape, sorted(set(names), key=len, reverse=True)))


def with_decimal_points(text: str) -> str:
    """Return ``text`` with decimal commas as points: ``2,5`` is ``2.5``, ``2,500`` is left alone."""
    return _DECIMAL_COMMA.sub(".", text)
