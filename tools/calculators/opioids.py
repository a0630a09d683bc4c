"""Daily opioid dose in morphine milligram equivalents."""

from typing import Final, Literal

from pydantic import Field

from tools.calculators.models import Band, Calculation, InputNeeded, Result, Source, band_of
from tools.calculators.quantities import Frequency, OpioidAmount
from tools.calculators.wording import translate
from tools.types import Frozen

_CDC: Final = Source(
    title="CDC Clinical Practice Guideline for Prescribing Opioids for Pain — United States, 2022",
    citation="Dowell D, Ragan KR, Jones CM, Baldwin GT, Chou R. MMWR Recomm Rep 2022;71(RR-3):1-95",
    year="2022",
    url="https://doi.org/10.15585/mmwr.rr7103a1",
)
Opioid = Literal[
    "codeine",
    "fentanyl transdermal",
    "hydrocodone",
    "hydromorphone",
    "methadone",
    "morphine",
    "oxycodone",
    "oxymorphone",
    "tapentadol",
    "tramadol",
]
_PATCH: Final = "fentanyl transdermal"
_FACTORS: Final[dict[Opioid, float]] = {
    "codeine": 0.15,
    "fentanyl transdermal": 2.4,
    "hydrocodone": 1.0,
    "hydromorphone": 5.0,
    "methadone": 4.7,
    "morphine": 1.0,
    "oxycodone": 1.5,
    "oxymorphone": 3.0,
    "tapentadol": 0.4,
    "tramadol": 0.2,
}
_DOSES: Final = (
    Band(
        label="≥50 MME/day",
        low=50,
        meaning="Before increasing total opioid dosage to ≥50 MME/day, clinicians should pause and carefully reassess "
        "evidence of individual benefits and risks",
    ),
)


class OpioidDose(Frozen):
    """One opioid that is taken regularly."""

    drug: Opioid = Field(description="The opioid. Also: fentanyl patch = fentanyl transdermal.")
    dose: OpioidAmount = Field(description="The amount of one dose, or the rate of a patch.")
    frequency: Frequency | None = Field(description="How often the dose is taken; null for a patch.")


def calculate_opioid_mme(opioids: list[OpioidDose]) -> Calculation:
    """Add up the daily opioid dose in morphine milligram equivalents (CDC 2022).

    MME/day = Σ dose × doses a day × conversion factor; transdermal fentanyl in µg/h × 2.4. Also: MME, morphine
    milligram equivalent, morphine milligram equivalents, morphine equivalent, morphine equivalents, OME, MEDD.

    Args:
        opioids: Each opioid with the amount of one dose and how often it is taken.
    """
    if not opioids:
        raise InputNeeded(translate("Give each opioid with the amount of one dose and how often it is taken."))
    terms: list[str] = []
    total = 0.0
    for opioid in opioids:
        amount, text = _daily(opioid)
        factor = _FACTORS[opioid.drug]
        total += amount * factor
        terms.append(f"{translate(opioid.drug)}: {text} × {factor:g} = {amount * factor:g} MME")
    return Calculation(
        title="Morphine milligram equivalents (CDC 2022)",
        results=(Result(name="Total", value=round(total, 1), unit="MME/day", decimals=1),),
        formula="Σ daily dose in mg × conversion factor; transdermal fentanyl in µg/h × 2.4. Factors: "
        + ", ".join(f"{name} {factor:g}" for name, factor in _FACTORS.items()),
        valid_for="Outpatients aged ≥18 years; equianalgesic dose conversions are only estimates",
        source=_CDC,
        workings=tuple(terms),
        bands=_DOSES,
        interpretation=band_of(total, _DOSES) or translate("Below 50 MME/day: the guideline states no band"),
        notes=(
            "Do not use the calculated dose in MMEs to determine the doses to use when converting one opioid to "
            "another.",
        ),
    )


def _daily(opioid: OpioidDose) -> tuple[float, str]:
    """Return the daily amount in mg, or the rate of a patch in µg/h, and how it was worked out."""
    dose = opioid.dose
    if (opioid.drug == _PATCH) != (dose.unit == "µg/h"):
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
