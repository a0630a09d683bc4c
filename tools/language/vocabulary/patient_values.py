"""Age, weight and kidney function of a patient in a question, and the bounds for which a text speaks."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.figures import DECIMAL, fold

_UP: Final = r"≥|>=?|\b(?:above|over|at least|more than|older than)"
_DOWN: Final = r"≤|<=?|\b(?:below|under|up to|less than|younger than)"


class _Quantity(NamedTuple):
    """``asked`` finds a patient's value, ``bound`` the bounds and ranges of a text."""

    asked: re.Pattern[str]
    bound: re.Pattern[str]


def _quantity(asked: str, unit: str, not_after: str = "") -> _Quantity:
    return _Quantity(
        re.compile(asked),
        re.compile(
            rf"(?:(?P<up>{_UP})|(?P<down>{_DOWN}))? ?{not_after}(?<![\d.])(?P<low>{DECIMAL})"
            rf"(?: ?(?:-|–|to) ?(?P<high>{DECIMAL}))?(?:{unit}|(?= (?:or|and) (?:{_UP}|{_DOWN}) ?{DECIMAL}{unit}))"
            r"(?: (?:or|and) (?:(?P<more>more|above|older|higher|over)|(?P<less>less|below|younger|lower|under))\b)?"
        ),
    )


_QUANTITIES: Final = (
    _quantity(
        r"\b(\d{1,3})[ -]?(?:y/?o\b|(?:yr|year)s?[ -]old\b|jährig|jahre alt\b)",
        r" years\b(?: of age)?",
        r"(?<!every )(?<!for )(?<!within )(?<!last )(?<!at least )",
    ),
    _quantity(rf"\b({DECIMAL}) ?kg\b(?!/)", r" kg\b(?!/)"),
    _quantity(rf"\b(?:crcl|e?gfr|creatinine clearance)[^\d.;?]{{0,12}}({DECIMAL})", r" ml/min"),
)
"""Age, weight and kidney function; of years that are no age, such as an interval, bounds are not read."""


def fits_patient(question: str, text: str) -> bool | None:
    """Return whether ``text`` speaks of patients with the values in ``question``.

    None where it gives no bounds of a value that the question names. A value on a bound is within it.
    """
    found = [
        any(low <= value <= high for low, high in bounds)
        for value, quantity in _values(question)
        if (bounds := _bounds(quantity, text))
    ]
    return all(found) if found else None


@lru_cache(maxsize=256)
def _values(question: str) -> tuple[tuple[float, _Quantity], ...]:
    folded = fold(question)
    return tuple((float(found[1]), each) for each in _QUANTITIES if (found := each.asked.search(folded)))


@lru_cache(maxsize=4_096)
def _bounds(quantity: _Quantity, text: str) -> tuple[tuple[float, float], ...]:
    bounds: list[tuple[float, float]] = []
    for match in quantity.bound.finditer(fold(text)):
        low = float(match["low"])
        if match["high"]:
            bounds.append((low, float(match["high"])))
        elif match["up"] or match["more"]:
            bounds.append((low, math.inf))
        elif match["down"] or match["less"]:
            bounds.append((0.0, low))
    return tuple(bounds)
