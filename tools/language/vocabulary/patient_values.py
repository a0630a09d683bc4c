"""Reads a patient's values, such as age or a laboratory result, from a question, and bounds on them from a text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from tools.language.figures import (
    ABOVE,
    BELOW,
    DECIMAL,
    LESS,
    MORE,
    any_spelling,
    fold,
    spellings,
    units_of,
    with_decimal_points,
)
from tools.language.vocabulary.unmarked_ages import unmarked_ages

_OTHER_UNIT: Final = rf"(?! ?-?(?!in\b)(?:(?:{units_of()})(?![a-z])|[a-zµ]+/))"
_NUMBER: Final = rf"(?<![\d.])(?:{DECIMAL})(?![\d.]*\d)"
_BOUND_BEFORE: Final = re.compile(rf"(?:{BELOW}|{ABOVE}) ?$", re.IGNORECASE)
_NUMBER_ALONE: Final = re.compile(
    r"\W*(?:(?:and|at|of|if|when|it(?:['’]?s)?|is|was|were|drops?|falls?|fell|rises?|rose|goes|went|gets|down|up|to|now|only|with"
    rf"|bei|mit|und) )*(?P<bound>(?:(?:{BELOW}|{ABOVE}) ?)?{_NUMBER})(?: (?:though|then|now|instead))?\W*"
)
_BARE: Final = re.compile(r"\)? ?(?:$|[,;:|)]|\.(?!\d)|(?:or|and|oder|und)\b)")
"""The text after a number without a unit."""
_GAP: Final = r"(?!\w)[^\d.;|]{0,25}"
"""Between the name of a quantity and its value."""
_GOAL: Final = re.compile(r"\b(?:goals?|targets?|ziel\w*)\b")
"""Words before a bound that is a goal, not a condition for the text to apply."""
_JOINED: Final = re.compile(r"[ )]*(?:\([^)]*\))? ?(?:and|und) ")
_MORE_THAN: Final = 1.0001
_NEXT: Final = 1.02
"""Maximum ratio of the start of a range to the end of the one before it, as for 125 and 126."""
_SIDES: Final = 2
"""Maximum number of bounds in a text that says what to do on one side, and when to go back."""
_FIRST_PART: Final = re.compile(r"(?<=[a-z]) *\d+ ?/ ?$")
"""The systolic pressure after the name of both pressures."""
_NONE: Final[Mapping[str, str]] = {}
_PART: Final = re.compile(r"(?<!\?P)<(\w+)>")
_PERIOD: Final = "period"
"""Prefix of the names of the groups for periods."""
_AREA: Final = re.compile(r" ?(?:/|per) ?1\.73 ?m[2²]")


class _Range(NamedTuple):
    low: float
    high: float
    start: int
    end: int


class _Value(NamedTuple):
    amount: float
    quantity: _Quantity
    name: str
    said: str
    """The number as written, with its unit and the words of a bound."""
    start: int
    end: int


class _Quantity:
    """A quantity of ``clinical/quantities.json``.

    Args:
        names: A pattern for its names.
        units: Its units with their factors to the first one; empty for a quantity without a unit.
        plausible: The plausible range in the first unit. A value without a unit is read in the only unit in which it is
            plausible.
        exact: Whether the units have no other spellings.
        alone: Whether a unit identifies the quantity without its name.
        asked: Patterns for the value in a question, if it is not a number with a unit. ``<period>`` stands for
            ``periods``, ``<bare>`` means that no unit follows, and other names in angle brackets refer to ``words``.
        words: Patterns by their name in ``asked``.
        periods: Patterns for the periods in which a question may state the value, with their factors to the first unit.
        not_after: A lookbehind for words that a bound must not follow.
        called: Ranges of adults' values in the first unit, each with the name of the state; None for no upper end.
        bounds: Whether bounds in a text tell to whom it applies. Bounds of a blood pressure are goals.
    """

    def __init__(
        self, names: str, units: dict[str, float], plausible: tuple[float, float], *,
        exact: bool = False, alone: bool = False, asked: Sequence[str] = (), words: Mapping[str, str] = _NONE,
        periods: Sequence[tuple[str, float]] = (), not_after: str = "",
        called: Sequence[tuple[float, float | None, str]] = (), bounds: bool = True,
    ) -> None:  # fmt: skip
        self.units = {name: factor for unit, factor in units.items() for name in ([unit] if exact else spellings(unit))}
        self.plausible, self.alone, self.called = plausible, alone, called
        self.has_bounds = bounds
        unit = rf"(?:{any_spelling(self.units)})(?![a-z/])" if units else r"(?!)"
        named = rf"\b(?:{names})"
        self.named = re.compile(named)
        self.before = re.compile(rf"{named}{_GAP}$")
        number = rf"(?P<number>{_NUMBER})(?! ?(?:-|–|to|bis) ?\d)"
        self.asked = [re.compile(
            rf"{named}(?!\w)(?:[^\d.;?|]{{0,12}}?(?:(?P<down>{BELOW})|(?P<up>{ABOVE}))|[^\d.;?|]{{0,15}}?) ?{number}"
            rf"(?: ?(?P<unit>{unit})|{_OTHER_UNIT})"
        )]  # fmt: skip
        if alone:
            period = "|".join(f"(?P<{_PERIOD}{place}>{words})" for place, (words, _) in enumerate(periods))
            parts = {"bare": _OTHER_UNIT, "period": f"(?:{period})"} | {name: f"(?:{words[name]})" for name in words}
            for pattern in asked or [rf"{number}[ -]?(?P<unit>{unit})"]:
                written = _PART.sub(lambda found: parts[found[1]], pattern)
                self.asked.append(re.compile(written))
        self.periods = {f"{_PERIOD}{place}": factor for place, (_, factor) in enumerate(periods)}
        self.bound = re.compile(
            rf"(?:(?:(?P<down>{BELOW})|(?P<up>{ABOVE}|\b(?:from|ab)\b)) ?)?(?P<name>(?:an? )?{named}(?: of)? )?"
            rf"{not_after}"
            rf"(?P<low>{_NUMBER})(?: ?(?P<first>{unit}))?(?: ?(?:-|–|to|bis) ?(?:(?:{BELOW}) )?(?P<high>{_NUMBER}))?"
            rf"(?: ?(?P<unit>{unit})|{_OTHER_UNIT})"
            rf"(?:(?: \([^)]*\))? (?:or|and|oder|und) (?:(?P<more>{MORE})|(?P<less>{LESS}))\b)?"
        )

    def value_in(self, question: str) -> _Value | None:
        """Return the value that ``question`` states; "above 10" is a little more than 10."""
        for match in (found for pattern in self.asked if (found := pattern.search(question))):
            parts = match.groupdict()
            given = float(match["number"]) * next((self.periods[one] for one in self.periods if parts.get(one)), 1.0)
            units = [parts["unit"]] if parts.get("unit") else list(self.units) or [""]
            amounts = {given * self.units.get(unit, 1) for unit in units}
            likely = [amount for amount in amounts if self.plausible[0] <= amount <= self.plausible[1]]
            if len(likely) == 1:
                more = _MORE_THAN if parts.get("up") else 1 / _MORE_THAN if parts.get("down") else 1
                start = match.start("number")
                said = f"{parts.get('up') or parts.get('down') or ''} {question[start : match.end()]}".strip()
                return _Value(likely[0] * more, self, question[match.start() : start], said, start, match.end())
        return None

    def bounds_in(self, text: str) -> Iterator[_Range]:
        """Yield the bounds and ranges of the quantity in ``text``, in its first unit."""
        last = 0
        for match in self.bound.finditer(text) if self.has_bounds else ():
            low, unit = float(match["low"]), match["unit"] or match["first"]
            factor = self.units.get(unit or "", 1)
            named = bool(match["name"] or self.before.search(text, 0, match.start()))
            if not (named or (self.alone and unit) or self._continues(text, last, match)):
                continue
            if match["high"]:
                ends = (low, float(match["high"]))
            elif match["up"] or match["more"]:
                ends = (low, math.inf)
            elif match["down"] or match["less"]:
                ends = (0.0, low)
            else:
                continue
            last = match.end()
            cell = text[max(0, match.start() - 30) : match.start()].rpartition("|")[2]
            if not _GOAL.search(cell):
                yield _Range(ends[0] * factor, ends[1] * factor, match.start(), match.end())

    def _continues(self, text: str, last: int, match: re.Match[str]) -> bool:
        """Return whether a bound without a name continues the one that ends at ``last``, or its row names it."""
        if match["unit"] or match["first"]:
            row = "|" in text and self.named.search(text) is not None
            return row or bool(last and _JOINED.fullmatch(text[last : match.start()]))
        return bool(last and self.alone and _BARE.match(text, match.end()))


_QUANTITIES: Final = tuple(
    _Quantity(**entry)
    for entry in json.loads((Path(__file__).parent / "clinical" / "quantities.json").read_bytes())["quantities"]
)
"""The quantities, age first."""


def fits_patient(question: str, cells: str | Sequence[str]) -> bool | None:
    """Return whether a text, or a table row with a header before each cell, applies to the question's patient.

    The result is None if the text gives no bounds for a value of the question. A value on a bound is within it.
    """
    text = cells if isinstance(cells, str) else " | ".join(cells)
    found = [
        any(bound.low <= value.amount <= bound.high for bound in bounds)
        for value in _values(question)
        if (bounds := _bounds(value.quantity, text))
        and not (_states(value) and text is not cells and _hold_all(bounds))
    ]
    return all(found) if found else None


def _hold_all(bounds: Sequence[_Range]) -> bool:
    """Return whether ``bounds`` cover all values, as in a table with a column for each range."""
    reach = 0.0
    for bound in sorted(bounds):
        if bound.low > reach * _NEXT:
            return False
        reach = max(reach, bound.high)
    return reach == math.inf and len(bounds) > _SIDES


def patient_age(text: str) -> float | None:
    """Return the age in years that ``text`` states."""
    return next((value.amount for value in _values(text) if value.quantity is _QUANTITIES[0]), None)


def excludes_age(question: str, text: str) -> bool:
    """Return whether ``text`` is on another age than that of ``question``, and has no bounds on other values."""
    age = patient_age(question)
    if age is None or any(_bounds(each, text) for each in _QUANTITIES[1:]):
        return False
    bounds = _bounds(_QUANTITIES[0], text)
    return bool(bounds) and not any(bound.low <= age <= bound.high for bound in bounds)


def gives_values(question: str) -> bool:
    """Return whether ``question`` states a value of the patient."""
    return bool(_values(question))


def without_values(question: str) -> str:
    """Return ``question``, folded, without the patient's values, since texts have bounds and not the same numbers."""
    folded = _folded(question)
    for value in sorted((one for one in _values(question) if one.quantity.has_bounds), key=lambda one: -one.start):
        folded = f"{folded[: value.start]} {folded[value.end :]}"
    return folded


def with_new_values(question: str, added: str) -> str:
    """Return ``question`` with those of the patient's values replaced that ``added`` states, too.

    A number alone, as in "and below 30?", replaces the value of ``question`` if there is only one.
    """
    given, new = _values(question), {value.quantity: value.said for value in _values(added)}
    number = _NUMBER_ALONE.fullmatch(_folded(added))
    if not new and len(given) == 1 and number and (named := given[0].quantity.named.search(given[0].name)):
        again = _values(f"{named[0]} {number['bound']}")
        new = {value.quantity: value.said for value in again if value.quantity is given[0].quantity}
    if len(_folded(question)) == len(question):
        for value in sorted((each for each in given if each.quantity in new), key=lambda each: -each.start):
            before = _BOUND_BEFORE.sub("", question[: value.start])
            question = f"{before}{new[value.quantity]}{question[value.end :]}"
    return question


def other_values(told: str, question: str) -> list[str]:
    """Return the patient's values that ``told`` states, of quantities of which ``question`` states none."""
    given = {value.quantity for value in _values(question)}
    return [f"{value.name}{value.said}" for value in _values(told) if value.quantity not in given]


def with_told_values(question: str, told: str) -> str:
    """Return ``question`` with the values of ``told``, which replace its own values of the same quantities."""
    more = ", ".join(other_values(told, question))
    renewed = with_new_values(question, told)
    return f"{renewed} ({more})" if renewed and more else renewed or more


def value_names(question: str, bounded_in: str | None = None) -> str:
    """Return the words by which ``question`` names the patient's values, or only values with bounds in a text."""
    return " ".join(
        value.name for value in _values(question) if bounded_in is None or _bounds(value.quantity, bounded_in)
    )


def abnormal_values(question: str) -> list[tuple[str, str]]:
    """Return the names of the patient's values outside the reference range, each with the state that it indicates."""
    found = [
        (_FIRST_PART.sub("", value.name).strip(), called) for value in _values(question) for called in _states(value)
    ]
    return [one for one in dict.fromkeys(found) if one[0]]


def _states(value: _Value) -> list[str]:
    """Return the states that a value outside the reference range indicates."""
    called = value.quantity.called
    return [name for low, high, name in called if low <= value.amount < (math.inf if high is None else high)]


@lru_cache(maxsize=256)
def _values(question: str) -> tuple[_Value, ...]:
    folded = _folded(question)
    found = [value for each in _QUANTITIES if (value := each.value_in(folded))]
    if not found or found[0].quantity is not _QUANTITIES[0]:
        free = [age for age in unmarked_ages(folded) if not any(one.start <= age.span[0] < one.end for one in found)]
        found[:0] = [_Value(age.years, _QUANTITIES[0], "", f"{age.years} yo", *age.span) for age in free[:1]]
    return tuple(found)


def _folded(text: str) -> str:
    return _AREA.sub("", with_decimal_points(fold(text)))


@lru_cache(maxsize=4_096)
def _bounds(quantity: _Quantity, text: str) -> tuple[_Range, ...]:
    """Return the bounds in ``text``, with two joined by "and" as one, such as "below 70 and at least 54"."""
    found: list[_Range] = []
    for bound in quantity.bounds_in(folded := _folded(text)):
        last = found[-1] if found else None
        low, high = max(bound.low, last.low if last else 0), min(bound.high, last.high if last else math.inf)
        if last and low < high and _JOINED.fullmatch(folded[last.end : bound.start]):
            found[-1] = _Range(low, high, last.start, bound.end)
        else:
            found.append(bound)
    return tuple(found)
