"""Severity of community-acquired pneumonia: CURB-65."""

from typing import Final

from tools.calculators.models import Band, Calculation, InputNeeded, Result, Source, band_of
from tools.calculators.point_scores import Item, add_up
from tools.calculators.quantities import AdultAge, BloodPressure, RespiratoryRate, Urea, UreaNitrogen
from tools.calculators.wording import translate

_LIM: Final = Source(
    title="Defining community acquired pneumonia severity on presentation to hospital: an international derivation and "
    "validation study",
    citation="Lim WS, van der Eerden MM, Laing R, et al. Thorax 2003;58:377-382",
    year="2003",
    url="https://doi.org/10.1136/thorax.58.5.377",
)
_GROUPS: Final = (
    Band(label="0 or 1", low=0, meaning="Mortality low (1.5%); likely suitable for home treatment"),
    Band(label="2", low=2, meaning="Mortality intermediate (9.2%); consider hospital supervised treatment"),
    Band(label="3 or more", low=3, meaning="Mortality high (22%); manage in hospital as severe pneumonia"),
)


def calculate_curb65(
    *,
    age: AdultAge,
    confusion: bool,
    respiratory_rate: RespiratoryRate,
    systolic: BloodPressure,
    diastolic: BloodPressure,
    urea: Urea | None = None,
    urea_nitrogen: UreaNitrogen | None = None,
) -> Calculation:
    """Score the severity of community-acquired pneumonia (CURB-65).

    One point each: new confusion, urea >7 mmol/l, respiratory rate ≥30/min, blood pressure <90 systolic or ≤60 mmHg
    diastolic, age ≥65 years. Also: CURB-65, CURB65, CURB 65, CURB.

    Args:
        age: Age. Also: age, aged, Alter.
        confusion: New confusion (abbreviated mental test ≤8, or new disorientation in person, place or time). Also:
            confusion, confused, disoriented, disorientated, verwirrt.
        respiratory_rate: Respiratory rate. Also: respiratory rate, RR, resp rate, breathing rate, Atemfrequenz.
        systolic: Systolic blood pressure. Also: systolic, SBP, systolisch.
        diastolic: Diastolic blood pressure. Also: diastolic, DBP, diastolisch.
        urea: Blood urea; give this or the urea nitrogen. Also: urea, Harnstoff.
        urea_nitrogen: Blood urea nitrogen; give this or the urea. Also: BUN, urea nitrogen.
    """
    if urea is None and urea_nitrogen is None:
        raise InputNeeded(
            translate("Give the blood urea (mmol/l or mg/dl) or the blood urea nitrogen (mg/dl or mmol/l).")
        )
    # 1 mmol/l of urea holds 2.801 mg/dl of nitrogen.
    amount = urea.amount if urea is not None else urea_nitrogen.amount / 2.801 if urea_nitrogen is not None else 0
    low_pressure = systolic.amount < 90 or diastolic.amount <= 60
    score = add_up(
        (),
        stated=(
            Item("New confusion", 1, confusion),
            Item("Urea >7 mmol/l", 1, amount > 7),
            Item("Respiratory rate ≥30/min", 1, respiratory_rate.amount >= 30),
            Item("Blood pressure <90 mmHg systolic or ≤60 mmHg diastolic", 1, low_pressure),
            Item("Age ≥65 years", 1, age.amount >= 65),
        ),
    )
    return Calculation(
        title="CURB-65 score",
        results=(Result(name="CURB-65", value=score.total, unit="of 5 points"),),
        formula="One point each: new confusion, urea >7 mmol/l, respiratory rate ≥30/min, blood pressure <90 mmHg "
        "systolic or ≤60 mmHg diastolic, age ≥65 years",
        valid_for="Adults with community-acquired pneumonia, on presentation to hospital",
        source=_LIM,
        workings=score.workings,
        bands=_GROUPS,
        interpretation=band_of(score.total, _GROUPS),
    )
