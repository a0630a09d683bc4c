"""Measured values with their units, and the range in which each is plausible.

``data/quantities.json`` lists the units of each kind, and the factor of each to the first. A value outside the range is
a slip of the keyboard or of the unit, so the tool asks instead of computing. One outside the typical range is computed
with and remarked on. A number without a unit is read in the only unit in which it is plausible; if it is plausible in
several, the tool asks. A kind with ``seldom_low`` is not read in a unit that puts it below its typical range.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar, cast

from pydantic import create_model

from tools.calculators.wording import either, translate
from tools.errors import ToolError
from tools.types import Frozen

Unit = TypeVar("Unit", bound=str)
DATA: Final = Path(__file__).parent / "data"


class InputNeeded(ToolError):
    """An input is missing, implausible or ambiguous; the message asks for it."""


class Quantity(Frozen, Generic[Unit]):
    """A number and its unit."""

    FACTORS: ClassVar[Mapping[str, float]] = {}
    """Each unit with its factor to the first one."""
    PLAUSIBLE: ClassVar[tuple[float, float]] = (0, 0)
    """The lowest and highest plausible value, in the first unit."""
    TYPICAL: ClassVar[tuple[float, float]] = (0, float("inf"))
    """The range outside of which a plausible value is computed with, and the result says that it is unusual."""
    USUAL: ClassVar[bool] = False
    """True when a number without a unit is always in the first one."""
    SELDOM_LOW: ClassVar[bool] = False
    """True when a number without a unit is not in one that puts it below the typical range."""

    value: float
    unit: Unit | None

    @property
    def amount(self) -> float:
        """The value in the first unit."""
        return self.value * (self.FACTORS[self.unit] if self.unit else 1)

    @property
    def text(self) -> str:
        """The value as given, and in the first unit where that is another."""
        first = next(iter(self.FACTORS))
        given = f"{self.value:g} {translate(self.unit or first)}"
        return given if self.amount == self.value else f"{given} ({self.amount:.4g} {translate(first)})"

    @property
    def readings(self) -> list[Self]:
        """The quantity in each unit that a number without a unit may have; itself if it has one."""
        if self.unit or len(self.FACTORS) == 1 or self.USUAL:
            return [self]
        plausible = self._plausible
        usual = [one for one in plausible if not self.SELDOM_LOW or one.amount >= self.TYPICAL[0]]
        return usual if len(usual) == 1 else plausible

    @property
    def _plausible(self) -> list[Self]:
        units = [self.model_copy(update={"unit": unit}) for unit in self.FACTORS]
        return [one for one in units if _is_within(self.PLAUSIBLE, one.amount)]

    def checked(self, label: str) -> tuple[Self, str]:
        """Return the quantity with a unit, and a note if that was inferred or the value is unusual.

        Raise ``InputNeeded`` for an implausible value, and where the unit must be given.
        """
        if len(self.readings) != 1:
            raise InputNeeded(translate("Give the unit of {label} ({units}).", label=label, units=either(self.FACTORS)))
        read = self.readings[0]
        if read is not self:
            told = "{label}: no unit was given; {value} is plausible only in {unit}."
            others = [str(one.unit) for one in self._plausible if one.unit != read.unit]
            if others:
                told = "{label}: no unit was given; {unit} was assumed; {value} is unusual in {units}."
            names = {"unit": translate(read.unit or ""), "units": either(others)}
            return read, translate(told, label=label, value=f"{self.value:g}", **names)
        if not _is_within(self.PLAUSIBLE, self.amount):
            told = "Check {label}: {value} is outside the accepted range of {low} to {high} {unit}."
            low, high = self.PLAUSIBLE
            bounds = {"low": f"{low:g}", "high": f"{high:g}", "unit": translate(next(iter(self.FACTORS)))}
            raise InputNeeded(translate(told, label=label, value=self.text, **bounds))
        if not _is_within(self.TYPICAL, self.amount):
            return self, translate("Check {label}: {value} is unusual.", label=label, value=self.text)
        return self, ""


def _is_within(bounds: tuple[float, float], amount: float) -> bool:
    return bounds[0] <= amount <= bounds[1]


def _kind(
    name: str,
    about: str,
    factors: Mapping[str, float],
    plausible: tuple[float, float],
    *,
    usual: bool = False,
    seldom_low: bool = False,
    typical: tuple[float, float] = Quantity.TYPICAL,
) -> type[Quantity[Any]]:
    """Return a kind of quantity whose schema takes the units of ``factors`` alone."""
    base: Any = Quantity
    option: Any = Literal
    kind = cast("type[Quantity[Any]]", create_model(name, __base__=base[option[tuple(factors)]], __doc__=about))
    kind.FACTORS, kind.PLAUSIBLE, kind.TYPICAL = factors, plausible, typical
    kind.USUAL, kind.SELDOM_LOW = usual, seldom_low
    return kind


KINDS: Final[Mapping[str, type[Quantity[Any]]]] = {
    name: _kind(name, **kind) for name, kind in json.loads((DATA / "quantities.json").read_bytes()).items()
}
"""The kinds of measurements by their name in ``data/calculators.json``."""
