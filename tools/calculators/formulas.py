"""The published formulas; their texts, inputs, bands and sources are in ``data/calculators.json``.

A formula takes each input by its name there, measurements as numbers in their first unit, and returns one value for
each of the listed results, unrounded.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from math import log, sqrt
from typing import Any, Final, Literal, NamedTuple, Optional

from pydantic import Field, create_model

from tools.calculators.quantities import DATA, KINDS, InputNeeded
from tools.calculators.wording import translate
from tools.types import Frozen

Sex = Literal["female", "male"]
_MG_PER_MMOL_OF_CALCIUM: Final = 4.008


class Computed(NamedTuple):
    """The values of the results, None for one that an optional input is missing for, and what makes them up."""

    values: tuple[float | None, ...]
    workings: tuple[str, ...] = ()
    left_out: str = ""
    """What was stated but is not in the values, which are then lower limits."""


def egfr(age: float, sex: Sex, creatinine: float) -> Computed:
    """Return the CKD-EPI 2021 estimate."""
    female = sex == "female"
    kappa, alpha = (0.7, -0.241) if female else (0.9, -0.302)
    ratio = creatinine / kappa
    return Computed((142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.2 * 0.9938**age * (1.012 if female else 1),))


def creatinine_clearance(age: float, sex: Sex, weight: float, creatinine: float) -> Computed:
    """Return the Cockcroft–Gault estimate."""
    return Computed(((140 - age) * weight / (72 * creatinine) * (0.85 if sex == "female" else 1),))


def bmi(weight: float, height: float) -> Computed:
    """Return the body mass index."""
    return Computed((weight / (height / 100) ** 2,))


def bsa(weight: float, height: float) -> Computed:
    """Return the body surface area by Mosteller and by Du Bois."""
    return Computed((sqrt(height * weight / 3600), 0.007184 * height**0.725 * weight**0.425))


def qtc(qt: float, heart_rate: float | None, rr_interval: float | None, sex: Sex | None) -> Computed:
    """Return the QT interval corrected by Bazett and by Fridericia; ``sex`` matters for the limits alone."""
    del sex
    if rr_interval is None and heart_rate is None:
        raise InputNeeded(translate("Give the heart rate or the RR interval."))
    interval = rr_interval or 60 / (heart_rate or 60)
    return Computed((qt / interval**0.5, qt / interval ** (1 / 3)))


def corrected_calcium(calcium: float, albumin: float) -> Computed:
    """Return the corrected calcium in mg/dl and in mmol/l."""
    corrected = calcium + 0.8 * (4 - albumin)
    return Computed((corrected, corrected / _MG_PER_MMOL_OF_CALCIUM))


def anion_gap(
    sodium: float, chloride: float, bicarbonate: float, albumin: float | None, potassium: float | None
) -> Computed:
    """Return the gap, the gap corrected for albumin, and the gap with potassium."""
    gap = sodium - (chloride + bicarbonate)
    corrected = None if albumin is None else gap + 2.5 * (4.4 - albumin)
    return Computed((gap, corrected, None if potassium is None else gap + potassium))


def meld3(
    *, sex: Sex, bilirubin: float, sodium: float, inr: float, creatinine: float, albumin: float, dialysis: bool | None
) -> Computed:
    """Return MELD 3.0 with its terms."""
    bili, ratio = max(bilirubin, 1), max(inr, 1)
    crea = 3.0 if dialysis else min(max(creatinine, 1), 3)
    below = 137 - min(max(sodium, 125), 137)
    lack = 3.5 - min(max(albumin, 1.5), 3.5)
    terms = (
        (translate("female sex"), 1.33 if sex == "female" else 0.0),
        (translate("bilirubin"), 4.56 * log(bili)),
        (translate("sodium"), 0.82 * below),
        (translate("sodium × bilirubin"), -0.24 * below * log(bili)),
        (translate("INR"), 9.09 * log(ratio)),
        (translate("creatinine"), 11.14 * log(crea)),
        (translate("albumin"), 1.85 * lack),
        (translate("albumin × creatinine"), -1.83 * lack * log(crea)),
        (translate("constant"), 6.0),
    )
    return Computed((sum(value for _, value in terms),), tuple(f"{name}: {value:+.2f}" for name, value in terms))


_PATCH: Final = "fentanyl transdermal"
_OPIOIDS: Final = json.loads((DATA / "opioids.json").read_bytes())
"""The names of the opioids and routes, and the factors to morphine by mouth or from the fentanyl patch."""
_DRUGS: Final = (*_OPIOIDS["factors"], *_OPIOIDS["without_factor"])
_ROUTES: Final = tuple(_OPIOIDS["routes"])
_ONE_OF: Any = Literal
_OR_NULL: Any = Optional
_AMOUNT: Any = KINDS["OpioidAmount"]
_FREQUENCY: Any = KINDS["Frequency"]

OpioidDose = create_model(
    "OpioidDose",
    __base__=Frozen,
    __doc__="One opioid that is taken regularly.",
    drug=(_ONE_OF[_DRUGS], Field(description=_OPIOIDS["description"])),
    route=(_OR_NULL[_ONE_OF[_ROUTES]], Field(default=None, description=_OPIOIDS["route"])),
    dose=(_OR_NULL[_AMOUNT], Field(description="The amount of one dose, or the rate of a patch.")),
    frequency=(_OR_NULL[_FREQUENCY], Field(description="How often the dose is taken; null for a patch.")),
)


def opioid_mme(opioids: Sequence[Any]) -> Computed:
    """Return the morphine milligram equivalents of a day, without opioids and routes that have no factor."""
    if not opioids:
        raise InputNeeded(translate("Give each opioid with the amount of one dose and how often it is taken."))
    workings: list[str] = []
    total = 0.0
    patch = ("fentanyl", "transdermal")
    opioids = [one.model_copy(update={"drug": _PATCH}) if (one.drug, one.route) == patch else one for one in opioids]
    unconverted = [f"{translate(one.drug)} ({translate(reason)})" for one in opioids if (reason := _no_factor(one))]
    items = ", ".join(unconverted)
    told = "Not converted: {items}. CDC 2022 states factors only for doses by mouth and for the fentanyl patch."
    left_out = translate(told, items=items) if items else ""
    if len(unconverted) == len(opioids):
        raise InputNeeded(left_out)
    for opioid in opioids:
        if _no_factor(opioid):
            continue
        amount, text = _daily(opioid)
        factor = _OPIOIDS["factors"][opioid.drug]
        total += amount * factor
        workings.append(f"{translate(opioid.drug)}: {text} × {factor:g} = {amount * factor:g} MME")
    return Computed((total,), tuple(workings), left_out)


def _no_factor(opioid: Any) -> str:
    """Return why no factor fits the opioid: another route, or that there is none; "" for one that is converted."""
    if opioid.route not in {None, "transdermal" if opioid.drug == _PATCH else "oral"}:
        return str(opioid.route)
    # Fentanyl without a route may be a patch.
    return "" if opioid.drug in {*_OPIOIDS["factors"], "fentanyl"} else "no factor"


def _daily(opioid: Any) -> tuple[float, str]:
    """Return the daily amount in mg, or the rate of a patch in µg/h, and how it was worked out."""
    dose = opioid.dose
    if opioid.drug not in _OPIOIDS["factors"]:
        raise InputNeeded(translate("Only the fentanyl patch is converted: give its rate in µg/h."))
    if dose is None or (opioid.drug == _PATCH) != (dose.unit == "µg/h"):
        wanted = "µg/h" if opioid.drug == _PATCH else translate("mg for each dose")
        raise InputNeeded(translate("Give the dose of {drug} in {unit}.", drug=translate(opioid.drug), unit=wanted))
    if opioid.drug == _PATCH:
        return dose.value, f"{dose.value:g} µg/h"
    if opioid.frequency is None:
        raise InputNeeded(
            translate("How often a day is {drug} {dose} mg taken?", drug=translate(opioid.drug), dose=f"{dose.value:g}")
        )
    times = opioid.frequency.amount
    return dose.value * times, f"{dose.value:g} mg × {times:g} {translate('times a day')}"


FORMULAS: Final[Mapping[str, Callable[..., Computed]]] = {
    formula.__name__: formula
    for formula in (egfr, creatinine_clearance, bmi, bsa, qtc, corrected_calcium, anion_gap, meld3, opioid_mme)
}
INPUTS: Final[Mapping[str, Any]] = {"sex": Sex, "criterion": bool, "opioids": list[OpioidDose]}
"""The kinds of inputs that are no measurements."""
