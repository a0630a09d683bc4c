"""The quantities that a patient's values measure: their names, units and bounds, as questions and texts write them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tools.language.figures import ABOVE, BELOW, DECIMAL, LESS, MORE
from tools.language.measurement_units import any_spelling, spellings, units_of

_OTHER_UNIT: Final = rf"(?! ?-?(?!in\b)(?:(?:{units_of()})(?![a-z])|[a-zµ]+/))"
NUMBER: Final = rf"(?<![\d.])(?:{DECIMAL})(?![\d.]*\d)"
_BARE: Final = re.compile(r"\)? ?(?:$|[,;:|)]|\.(?!\d)|(?:or|and|oder|und)\b)")
"""The text after a number without a unit."""
_GAP: Final = r"(?!\w)[^\d.;|]{0,25}"
"""Between the name of a quantity and its value."""
_GOAL: Final = re.compile(r"\b(?:goals?|targets?|ziel\w*)\b")
"""Words before a number that is a goal, not a value of the patient or a condition for the text to apply."""
_MORE_THAN: Final = 1.0001
_NONE: Final[Mapping[str, str]] = {}
_NO_STAGES: Final[Mapping[str, tuple[float, float]]] = {}
_PART: Final = re.compile(r"(?<!\?P)<(\w+)>")
_PERIOD: Final = "period"
"""Prefix of the names of the groups for periods."""
JOINED: Final = re.compile(r"[ )]*(?:\([^)]*\))? ?(?:and|und) ")


class Range(NamedTuple):
    """Bounds of a quantity in its first unit, and where a text gives them."""

    low: float
    high: float
    start: int
    end: int


class Value(NamedTuple):
    """A value of the patient, from ``amount`` to ``most`` in the quantity's first unit; usually both are the same."""

    amount: float
    most: float
    quantity: MeasuredQuantity
    name: str
    said: str
    """The number as written, with its unit and the words of a bound."""
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Return whether the value is a number, not a range that its stage tells."""
        return self.amount == self.most


class MeasuredQuantity:
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
        critical: Ranges of adults' values that may be an immediate danger to life.
        bounds: Whether bounds in a text tell to whom it applies. Bounds of a blood pressure are goals.
        staged: Patterns for a stage that tells the range of the value; ``<stage>`` stands for one of ``stages``.
        stages: The ranges of the stages in the first unit.
    """

    def __init__(
        self, names: str, units: dict[str, float], plausible: tuple[float, float], *,
        exact: bool = False, alone: bool = False, asked: Sequence[str] = (), words: Mapping[str, str] = _NONE,
        periods: Sequence[tuple[str, float]] = (), not_after: str = "",
        called: Sequence[tuple[float, float | None, str]] = (), critical: Sequence[tuple[float, float | None]] = (),
        bounds: bool = True, staged: Sequence[str] = (),
        stages: Mapping[str, tuple[float, float]] = _NO_STAGES,
    ) -> None:  # fmt: skip
        self.units = {name: factor for unit, factor in units.items() for name in ([unit] if exact else spellings(unit))}
        self.plausible, self.alone, self.called, self.critical = plausible, alone, called, critical
        self.has_bounds = bounds
        unit = rf"(?:{any_spelling(self.units)})(?![a-z/])" if units else r"(?!)"
        named = rf"\b(?:{names})"
        self.named = re.compile(named)
        self.before = re.compile(rf"{named}{_GAP}$")
        number = rf"(?P<number>{NUMBER})(?! ?(?:-|–|to|bis) ?\d)"
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
        stage = f"(?P<stage>{'|'.join(stages)})(?:a[1-3])?(?![\\w.]){_OTHER_UNIT}"
        self.staged, self.stages = [re.compile(pattern.replace("<stage>", stage)) for pattern in staged], stages
        self.periods = {f"{_PERIOD}{place}": factor for place, (_, factor) in enumerate(periods)}
        self.bound = re.compile(
            rf"(?:(?:(?P<down>{BELOW})|(?P<up>{ABOVE}|\b(?:from|ab)\b)) ?)?(?P<name>(?:an? )?{named}(?: of)? )?"
            rf"{not_after}"
            rf"(?P<low>{NUMBER})(?: ?(?P<first>{unit}))?(?: ?(?:-|–|to|bis) ?(?:(?:{BELOW}) )?(?P<high>{NUMBER}))?"
            rf"(?: ?(?P<unit>{unit})|{_OTHER_UNIT})"
            rf"(?:(?: \([^)]*\))? (?:or|and|oder|und) (?:(?P<more>{MORE})|(?P<less>{LESS}))\b)?"
        )

    def value_in(self, question: str) -> Value | None:
        """Return the value that ``question`` states; "above 10" is a little more than 10."""
        for match in (found for pattern in self.asked for found in pattern.finditer(question)):
            if _GOAL.search(question, match.start(), match.start("number")):
                continue
            parts = match.groupdict()
            given = float(match["number"]) * next((self.periods[one] for one in self.periods if parts.get(one)), 1.0)
            units = [parts["unit"]] if parts.get("unit") else list(self.units) or [""]
            amounts = {given * self.units.get(unit, 1) for unit in units}
            likely = [amount for amount in amounts if self.plausible[0] <= amount <= self.plausible[1]]
            if len(likely) == 1:
                more = _MORE_THAN if parts.get("up") else 1 / _MORE_THAN if parts.get("down") else 1
                start = match.start("number")
                said = f"{parts.get('up') or parts.get('down') or ''} {question[start : match.end()]}".strip()
                amount = likely[0] * more
                return Value(amount, amount, self, question[match.start() : start], said, start, match.end())
        found = next(filter(None, (pattern.search(question) for pattern in self.staged)), None)
        return found and Value(*self.stages[found["stage"]], self, "", found[0], *found.span())

    def bounds_in(self, text: str) -> Iterator[Range]:
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
                yield Range(ends[0] * factor, ends[1] * factor, match.start(), match.end())

    def _continues(self, text: str, last: int, match: re.Match[str]) -> bool:
        """Return whether a bound without a name continues the one that ends at ``last``, or its row names it."""
        if match["unit"] or match["first"]:
            row = "|" in text and self.named.search(text) is not None
            return row or bool(last and JOINED.fullmatch(text[last : match.start()]))
        return bool(last and self.alone and _BARE.match(text, match.end()))


QUANTITIES: Final = tuple(
    MeasuredQuantity(**entry)
    for entry in json.loads((Path(__file__).parent / "clinical" / "quantities.json").read_bytes())["quantities"]
)
"""The quantities, age first."""
