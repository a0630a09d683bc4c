"""Measured values with their units, and the range in which each is plausible.

Each class lists its units, and the factor of each to the first. A value outside the range is a slip of the keyboard or
of the unit, so the tool asks instead of computing.
"""

from typing import ClassVar, Generic, Literal, Self, TypeVar

from tools.calculators.models import InputNeeded
from tools.calculators.wording import either, translate
from tools.types import Frozen

Unit = TypeVar("Unit", bound=str)
Sex = Literal["female", "male"]


class Quantity(Frozen, Generic[Unit]):
    """A number and its unit."""

    FACTORS: ClassVar[tuple[tuple[str, float], ...]] = ()
    """Each unit with its factor to the first one."""
    PLAUSIBLE: ClassVar[tuple[float, float]] = (0, 0)
    """The lowest and highest plausible value, in the first unit."""
    USUAL: ClassVar[bool] = False
    """True when a number without a unit is always in the first one."""

    value: float
    unit: Unit | None

    @classmethod
    def units(cls) -> dict[str, float]:
        """Return the units in their order, each with its factor to the first one."""
        return dict(cls.FACTORS)

    @property
    def amount(self) -> float:
        """The value in the first unit."""
        return self.value * (self.units()[self.unit] if self.unit else 1)

    @property
    def text(self) -> str:
        """The value as given, and in the first unit where that is another."""
        first = next(iter(self.units()))
        given = f"{self.value:g} {translate(self.unit or first)}"
        return given if self.unit in {None, first} else f"{given} ({self.amount:.4g} {translate(first)})"

    def checked(self, label: str) -> tuple[Self, str]:
        """Return the quantity with a unit, and a note if the unit was inferred; raise ``InputNeeded``."""
        units = self.units()
        low, high = self.PLAUSIBLE
        if self.unit is None and len(units) > 1 and not self.USUAL:
            fitting = [unit for unit, factor in units.items() if low <= self.value * factor <= high]
            if len(fitting) != 1:
                raise InputNeeded(translate("Give the unit of {label} ({units}).", label=label, units=either(units)))
            inferred = self.model_validate({"value": self.value, "unit": fitting[0]})
            told = "{label}: no unit was given; {value} is plausible only in {unit}."
            return inferred, translate(told, label=label, value=f"{self.value:g}", unit=translate(fitting[0]))
        if not low <= self.amount <= high:
            told = "Check {label}: {value} is outside the accepted range of {low} to {high} {unit}."
            bounds = {"low": f"{low:g}", "high": f"{high:g}", "unit": translate(next(iter(units)))}
            raise InputNeeded(translate(told, label=label, value=self.text, **bounds))
        return self, ""


class Age(Quantity[Literal["years", "months"]]):
    """Age at any time of life."""

    FACTORS = (("years", 1), ("months", 1 / 12))
    PLAUSIBLE = (0, 120)
    USUAL = True


class AdultAge(Age):
    """Age of an adult."""

    PLAUSIBLE = (18, 120)


class Weight(Quantity[Literal["kg", "lb"]]):
    """Body weight; 1 lb = 0.45359237 kg."""

    FACTORS = (("kg", 1), ("lb", 0.45359237))
    PLAUSIBLE = (2, 400)


class AdultWeight(Weight):
    """Body weight of an adult."""

    PLAUSIBLE = (25, 400)


class Height(Quantity[Literal["cm", "m", "in"]]):
    """Height or length; 1 in = 2.54 cm."""

    FACTORS = (("cm", 1), ("m", 100), ("in", 2.54))
    PLAUSIBLE = (40, 250)


class AdultHeight(Height):
    """Height of an adult."""

    PLAUSIBLE = (100, 250)


class CalfDifference(Quantity[Literal["cm"]]):
    """Difference between the circumferences of both calves."""

    FACTORS = (("cm", 1),)
    PLAUSIBLE = (0, 30)


class Creatinine(Quantity[Literal["mg/dl", "µmol/l"]]):
    """Serum creatinine; 1 mg/dl = 88.4 µmol/l."""

    FACTORS = (("mg/dl", 1), ("µmol/l", 1 / 88.4))
    PLAUSIBLE = (0.15, 25)


class Bilirubin(Quantity[Literal["mg/dl", "µmol/l"]]):
    """Total bilirubin; 1 mg/dl = 17.1 µmol/l."""

    FACTORS = (("mg/dl", 1), ("µmol/l", 1 / 17.1))
    PLAUSIBLE = (0.05, 80)


class Albumin(Quantity[Literal["g/dl", "g/l"]]):
    """Serum albumin."""

    FACTORS = (("g/dl", 1), ("g/l", 0.1))
    PLAUSIBLE = (0.5, 7)


class Calcium(Quantity[Literal["mg/dl", "mmol/l"]]):
    """Total serum calcium; 1 mmol/l = 4.008 mg/dl."""

    FACTORS = (("mg/dl", 1), ("mmol/l", 4.008))
    PLAUSIBLE = (3, 25)


class Sodium(Quantity[Literal["mmol/l"]]):
    """Serum sodium; mEq/l is mmol/l."""

    FACTORS = (("mmol/l", 1),)
    PLAUSIBLE = (90, 200)


class Potassium(Quantity[Literal["mmol/l"]]):
    """Serum potassium; mEq/l is mmol/l."""

    FACTORS = (("mmol/l", 1),)
    PLAUSIBLE = (1, 12)


class Chloride(Quantity[Literal["mmol/l"]]):
    """Serum chloride; mEq/l is mmol/l."""

    FACTORS = (("mmol/l", 1),)
    PLAUSIBLE = (50, 160)


class Bicarbonate(Quantity[Literal["mmol/l"]]):
    """Serum bicarbonate; mEq/l is mmol/l."""

    FACTORS = (("mmol/l", 1),)
    PLAUSIBLE = (1, 60)


class Urea(Quantity[Literal["mmol/l", "mg/dl"]]):
    """Blood urea; 1 mmol/l = 6.006 mg/dl."""

    FACTORS = (("mmol/l", 1), ("mg/dl", 1 / 6.006))
    PLAUSIBLE = (0.3, 100)


class UreaNitrogen(Quantity[Literal["mg/dl", "mmol/l"]]):
    """Blood urea nitrogen; 1 mmol/l = 2.801 mg/dl."""

    FACTORS = (("mg/dl", 1), ("mmol/l", 2.801))
    PLAUSIBLE = (1, 280)


class InternationalRatio(Quantity[Literal["ratio"]]):
    """International normalised ratio."""

    FACTORS = (("ratio", 1),)
    PLAUSIBLE = (0.5, 20)


class HeartRate(Quantity[Literal["beats/min"]]):
    """Heart rate."""

    FACTORS = (("beats/min", 1),)
    PLAUSIBLE = (20, 300)


class RespiratoryRate(Quantity[Literal["breaths/min"]]):
    """Respiratory rate."""

    FACTORS = (("breaths/min", 1),)
    PLAUSIBLE = (4, 80)


class BloodPressure(Quantity[Literal["mmHg"]]):
    """Systolic or diastolic pressure."""

    FACTORS = (("mmHg", 1),)
    PLAUSIBLE = (20, 300)


class QTInterval(Quantity[Literal["ms", "s"]]):
    """Measured QT interval."""

    FACTORS = (("ms", 1), ("s", 1000))
    PLAUSIBLE = (200, 800)


class OpioidAmount(Quantity[Literal["mg", "µg/h"]]):
    """Amount of one dose in mg, or rate of a patch in µg/h."""

    FACTORS = (("mg", 1), ("µg/h", 1))
    PLAUSIBLE = (0.1, 2000)


class Frequency(Quantity[Literal["times a day"]]):
    """Doses a day."""

    FACTORS = (("times a day", 1),)
    PLAUSIBLE = (0.1, 24)
