"""Measured values with their units, and the range in which each is plausible.

Each kind lists its units, and the factor of each to the first. A value outside the range is a slip of the keyboard or
of the unit, so the tool asks instead of computing. One outside the typical range is computed with and remarked on.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar, cast

from pydantic import create_model

from tools.calculators.wording import either, translate
from tools.errors import ToolError
from tools.types import Frozen

Unit = TypeVar("Unit", bound=str)


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

    def checked(self, label: str) -> tuple[Self, str]:
        """Return the quantity with a unit, and a note if that was inferred or the value is unusual.

        Raise ``InputNeeded`` for an implausible value, and where the unit must be given.
        """
        low, high = self.PLAUSIBLE
        if self.unit is None and len(self.FACTORS) > 1 and not self.USUAL:
            fitting = [unit for unit, factor in self.FACTORS.items() if low <= self.value * factor <= high]
            if len(fitting) != 1:
                raise InputNeeded(
                    translate("Give the unit of {label} ({units}).", label=label, units=either(self.FACTORS))
                )
            told = "{label}: no unit was given; {value} is plausible only in {unit}."
            note = translate(told, label=label, value=f"{self.value:g}", unit=translate(fitting[0]))
            return self.model_copy(update={"unit": fitting[0]}), note
        if not low <= self.amount <= high:
            told = "Check {label}: {value} is outside the accepted range of {low} to {high} {unit}."
            bounds = {"low": f"{low:g}", "high": f"{high:g}", "unit": translate(next(iter(self.FACTORS)))}
            raise InputNeeded(translate(told, label=label, value=self.text, **bounds))
        if not self.TYPICAL[0] <= self.amount <= self.TYPICAL[1]:
            return self, translate("Check {label}: {value} is unusual.", label=label, value=self.text)
        return self, ""


def _kind(
    name: str,
    about: str,
    factors: Mapping[str, float],
    plausible: tuple[float, float],
    *,
    usual: bool = False,
    typical: tuple[float, float] = Quantity.TYPICAL,
) -> type[Quantity[Any]]:
    """Return a kind of quantity whose schema takes the units of ``factors`` alone."""
    base: Any = Quantity
    option: Any = Literal
    kind = cast("type[Quantity[Any]]", create_model(name, __base__=base[option[tuple(factors)]], __doc__=about))
    kind.FACTORS, kind.PLAUSIBLE, kind.USUAL, kind.TYPICAL = factors, plausible, usual, typical
    return kind


_AGE: Final = {"years": 1, "months": 1 / 12}
_MASS: Final = {"kg": 1, "lb": 0.45359237}
_LENGTH: Final = {"cm": 1, "m": 100, "in": 2.54}
KINDS: Final[Mapping[str, type[Quantity[Any]]]] = {
    kind.__name__: kind
    for kind in (
        _kind("AdultAge", "Age of an adult.", _AGE, (18, 120), usual=True),
        _kind("Weight", "Body weight; 1 lb = 0.45359237 kg.", _MASS, (2, 400), typical=(2, 200)),
        _kind("AdultWeight", "Body weight of an adult.", _MASS, (25, 400), typical=(35, 200)),
        _kind("Height", "Height or length; 1 in = 2.54 cm.", _LENGTH, (40, 250)),
        _kind("AdultHeight", "Height of an adult.", _LENGTH, (100, 250), typical=(130, 210)),
        _kind("CalfDifference", "Difference between the circumferences of both calves.", {"cm": 1}, (0, 30)),
        _kind("Creatinine", "Serum creatinine; 1 mg/dl = 88.4 µmol/l.", {"mg/dl": 1, "µmol/l": 1 / 88.4}, (0.15, 25)),
        _kind("Bilirubin", "Total bilirubin; 1 mg/dl = 17.1 µmol/l.", {"mg/dl": 1, "µmol/l": 1 / 17.1}, (0.05, 80)),
        _kind("Albumin", "Serum albumin.", {"g/dl": 1, "g/l": 0.1}, (0.5, 7)),
        _kind("Calcium", "Total serum calcium; 1 mmol/l = 4.008 mg/dl.", {"mg/dl": 1, "mmol/l": 4.008}, (3, 25)),
        _kind("Sodium", "Serum sodium; mEq/l is mmol/l.", {"mmol/l": 1}, (90, 200)),
        _kind("Potassium", "Serum potassium; mEq/l is mmol/l.", {"mmol/l": 1}, (1, 12)),
        _kind("Chloride", "Serum chloride; mEq/l is mmol/l.", {"mmol/l": 1}, (50, 160)),
        _kind("Bicarbonate", "Serum bicarbonate; mEq/l is mmol/l.", {"mmol/l": 1}, (1, 60)),
        _kind("Urea", "Blood urea; 1 mmol/l = 6.006 mg/dl.", {"mmol/l": 1, "mg/dl": 1 / 6.006}, (0.3, 100)),
        _kind("UreaNitrogen", "Blood urea nitrogen; 1 mmol/l = 2.801 mg/dl.", {"mg/dl": 1, "mmol/l": 2.801}, (1, 280)),
        _kind("InternationalRatio", "International normalised ratio.", {"ratio": 1}, (0.5, 20)),
        _kind("HeartRate", "Heart rate.", {"beats/min": 1}, (20, 300)),
        _kind("RRInterval", "Interval between two heartbeats.", {"s": 1, "ms": 0.001}, (0.2, 3)),
        _kind("RespiratoryRate", "Respiratory rate.", {"breaths/min": 1}, (4, 80)),
        _kind("BloodPressure", "Systolic or diastolic pressure.", {"mmHg": 1}, (20, 300)),
        _kind("Percentage", "Share in percent.", {"%": 1}, (1, 100)),
        _kind("QTInterval", "Measured QT interval.", {"ms": 1, "s": 1000}, (200, 800)),
    )
}
"""The kinds of measurements by their name in ``data/calculators.json``."""
