"""The units of measurement of ``words/units.txt``: their spellings, kinds and factors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from tools.language.word_lists import word_entries

_THOUSANDS: Final = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_SHORT: Final[dict[str, list[str]]] = {
    "mg/dl": ["mg%", "mg/100 ml", "mg/100ml"],
    "g/dl": ["g%"],
    "µmol/l": ["µmol", "umol"],
    "mmol/l": ["mmol", "meq"],
}
"""Spellings of a concentration without its volume, or with another one."""


def fold_figures(text: str) -> str:
    """Return ``text`` in lower case with one micro sign, plain spaces, and thousands without commas."""
    return _THOUSANDS.sub("", text.casefold().replace("\u03bc", "µ").replace("\u00a0", " "))


def _listed() -> Iterator[tuple[str, str, float, list[str]]]:
    """Yield the usual name of each unit, its kind, its factor and its spellings."""
    for kind, units in word_entries("units").items():
        for unit in units.split("; "):
            names, _, factor = unit.partition("=")
            yield names.partition("|")[0], kind, float(factor), fold_figures(names).split("|")


_SPELLINGS: Final = {name: written for name, _, _, written in _listed()}
UNITS: Final = {spelling: (kind, factor) for _, kind, factor, written in _listed() for spelling in written}
"""Each spelling with its kind and its factor."""


def spellings(unit: str) -> list[str]:
    """Return the spellings of ``unit``; a unit that is not in the table has only its name."""
    above, _, below = unit.partition("/")
    parts = (spellings(above), ("/", " per ", " pro "), spellings(below)) if below else ((unit,),)
    return _SPELLINGS.get(unit) or ["".join(part) for part in product(*parts)] + _SHORT.get(unit, [])


def any_spelling(names: Iterable[str]) -> str:
    """Return a pattern for any of the spellings ``names``, the longest first."""
    return "|".join(map(re.escape, sorted(set(names), key=len, reverse=True)))


def units_of(*kinds: str) -> str:
    """Return a pattern for the units of ``kinds``, or for all units if none are given."""
    return any_spelling(name for name, (kind, _) in UNITS.items() if not kinds or kind in kinds)
