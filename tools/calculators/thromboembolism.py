"""Pre-test probability of deep vein thrombosis and of pulmonary embolism: the Wells scores."""

from __future__ import annotations

from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source, band_of
from tools.calculators.points import Item, add_up
from tools.calculators.quantities import CalfDifference, HeartRate

_DVT: Final = Source(
    title="Evaluation of D-dimer in the diagnosis of suspected deep-vein thrombosis",
    citation="Wells PS, Anderson DR, Rodger M, et al. N Engl J Med 2003;349:1227-1235",
    year="2003",
    url="https://doi.org/10.1056/NEJMoa023153",
)
_PE: Final = Source(
    title="Derivation of a simple clinical model to categorize patients probability of pulmonary embolism: increasing "
    "the models utility with the SimpliRED D-dimer",
    citation="Wells PS, Anderson DR, Rodger M, et al. Thromb Haemost 2000;83:416-420",
    year="2000",
    url="https://doi.org/10.1055/s-0037-1613830",
)
_DVT_BANDS: Final = (
    Band(label="Less than 2", low=-2, meaning="Deep-vein thrombosis is unlikely"),
    Band(label="2 or higher", low=2, meaning="Deep-vein thrombosis is likely"),
)
_PE_BANDS: Final = (
    Band(label="4 or less (<2 low, 2 to 4 moderate)", low=0, meaning="Pulmonary embolism unlikely"),
    Band(label="More than 4 (to 6 moderate, >6 high)", low=4.5, meaning="Pulmonary embolism likely"),
)


def calculate_wells_dvt(
    *,
    active_cancer: bool | None = None,
    paralysis: bool | None = None,
    bedridden: bool | None = None,
    tenderness: bool | None = None,
    leg_swollen: bool | None = None,
    calf_difference: CalfDifference | None = None,
    pitting_oedema: bool | None = None,
    collateral_veins: bool | None = None,
    previous_dvt: bool | None = None,
    alternative_diagnosis: bool | None = None,
) -> Calculation:
    """Score the pre-test probability of deep vein thrombosis (Wells, 2003).

    One point for each criterion; −2 when another diagnosis is at least as likely. Also: Wells, Wells score, Wells DVT,
    Wells score for DVT, DVT Wells, Wells score for deep vein thrombosis, Wells criteria for DVT.

    Args:
        active_cancer: Active cancer (treatment within 6 months, or palliative). Also: active cancer, cancer,
            malignancy, Krebs.
        paralysis: Paralysis, paresis or recent plaster of the leg. Also: paralysis, paresis, plaster, cast,
            immobilised leg.
        bedridden: Bedridden for 3 days or more, or major surgery within 12 weeks. Also: bedridden, bed rest, surgery,
            operation, immobilised, immobilized, bettlägerig.
        tenderness: Localised tenderness along the deep veins. Also: tenderness, tender.
        leg_swollen: Entire leg swollen. Also: entire leg swollen, whole leg swollen, leg swollen, entire leg swelling.
        calf_difference: Calf swelling, measured difference between both sides. Also: calf swelling, calf difference,
            calf, calf circumference difference.
        pitting_oedema: Pitting oedema confined to the symptomatic leg. Also: pitting oedema, pitting edema, oedema,
            edema.
        collateral_veins: Collateral superficial veins (not varicose). Also: collateral veins, superficial veins,
            collateral superficial veins.
        previous_dvt: Previously documented deep vein thrombosis. Also: previous DVT, prior DVT, history of DVT,
            previous deep vein thrombosis.
        alternative_diagnosis: Alternative diagnosis at least as likely. Also: alternative diagnosis.
    """
    swollen = None if calf_difference is None else calf_difference.amount >= 3
    score = add_up(
        (
            Item("Active cancer", 1, active_cancer),
            Item("Paralysis, paresis or recent plaster of the leg", 1, paralysis),
            Item("Bedridden for ≥3 days or major surgery within 12 weeks", 1, bedridden),
            Item("Localised tenderness along the deep veins", 1, tenderness),
            Item("Entire leg swollen", 1, leg_swollen),
            Item("Calf at least 3 cm larger than on the other side", 1, swollen),
            Item("Pitting oedema confined to the symptomatic leg", 1, pitting_oedema),
            Item("Collateral superficial veins", 1, collateral_veins),
            Item("Previously documented deep vein thrombosis", 1, previous_dvt),
            Item("Alternative diagnosis at least as likely", -2, alternative_diagnosis),
        )
    )
    return Calculation(
        title="Wells score for deep vein thrombosis",
        results=(Result(name="Wells score", value=score.total, unit="points"),),
        formula="One point each: active cancer, paralysis or plaster, bedridden ≥3 days or major surgery within 12 "
        "weeks, localised tenderness, entire leg swollen, calf ≥3 cm larger, pitting oedema, collateral superficial "
        "veins, previous deep vein thrombosis; −2: alternative diagnosis at least as likely",
        valid_for="Outpatients with suspected deep vein thrombosis",
        source=_DVT,
        workings=score.workings,
        bands=_DVT_BANDS,
        interpretation=band_of(score.total, _DVT_BANDS),
        notes=score.notes,
    )


def calculate_wells_pe(
    *,
    heart_rate: HeartRate,
    signs_of_dvt: bool | None = None,
    most_likely: bool | None = None,
    immobilised: bool | None = None,
    previous_thromboembolism: bool | None = None,
    haemoptysis: bool | None = None,
    cancer: bool | None = None,
) -> Calculation:
    """Score the pre-test probability of pulmonary embolism (Wells, 2000).

    Signs of DVT 3, alternative diagnosis less likely 3, heart rate >100/min 1.5, immobilisation or surgery 1.5,
    previous DVT or PE 1.5, haemoptysis 1, malignancy 1. Also: Wells, Wells score, Wells PE, Wells score for
    PE, PE Wells, Wells score for pulmonary embolism, Wells criteria for PE.

    Args:
        heart_rate: Heart rate. Also: heart rate, HR, pulse, Herzfrequenz, Puls.
        signs_of_dvt: Clinical signs and symptoms of deep vein thrombosis (leg swelling and pain on palpation). Also:
            signs of DVT, symptoms of DVT, signs of deep vein thrombosis, leg swelling.
        most_likely: An alternative diagnosis is less likely than pulmonary embolism. Also: PE most likely,
            alternative diagnosis less likely, PE is the most likely diagnosis, no alternative diagnosis.
        immobilised: Immobilisation for 3 days or more, or surgery within 4 weeks. Also: immobilisation,
            immobilization, immobilised, immobilized, surgery, operation, bed rest, bedridden.
        previous_thromboembolism: Previous deep vein thrombosis or pulmonary embolism. Also: previous DVT, prior DVT,
            previous PE, prior PE, history of DVT, history of PE, previous VTE, prior VTE.
        haemoptysis: Haemoptysis. Also: haemoptysis, hemoptysis, coughing blood, Hämoptyse.
        cancer: Malignancy (treatment within 6 months, or palliative). Also: cancer, malignancy, Krebs.
    """
    score = add_up(
        (
            Item("Clinical signs and symptoms of deep vein thrombosis", 3, signs_of_dvt),
            Item("Alternative diagnosis less likely than pulmonary embolism", 3, most_likely),
            Item("Immobilisation for ≥3 days or surgery within 4 weeks", 1.5, immobilised),
            Item("Previous deep vein thrombosis or pulmonary embolism", 1.5, previous_thromboembolism),
            Item("Haemoptysis", 1, haemoptysis),
            Item("Malignancy", 1, cancer),
        ),
        stated=(Item("Heart rate >100/min", 1.5, heart_rate.amount > 100),),
    )
    return Calculation(
        title="Wells score for pulmonary embolism",
        results=(Result(name="Wells score", value=score.total, unit="points", decimals=1),),
        formula="Signs of deep vein thrombosis 3 + alternative diagnosis less likely 3 + heart rate >100/min 1.5 + "
        "immobilisation ≥3 days or surgery within 4 weeks 1.5 + previous thromboembolism 1.5 + haemoptysis 1 + "
        "malignancy 1",
        valid_for="Adults with suspected pulmonary embolism",
        source=_PE,
        workings=score.workings,
        bands=_PE_BANDS,
        interpretation=band_of(score.total, _PE_BANDS),
        notes=score.notes,
    )
