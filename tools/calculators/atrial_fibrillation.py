"""Risk of stroke and of bleeding in atrial fibrillation: CHA2DS2-VASc and HAS-BLED."""

from __future__ import annotations

from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source, band_of
from tools.calculators.points import Item, add_up
from tools.calculators.quantities import AdultAge, Sex

_LIP: Final = Source(
    title="Refining clinical risk stratification for predicting stroke and thromboembolism in atrial fibrillation "
    "using a novel risk factor-based approach: the Euro Heart Survey on atrial fibrillation",
    citation="Lip GYH, Nieuwlaat R, Pisters R, Lane DA, Crijns HJGM. Chest 2010;137:263-272",
    year="2010",
    url="https://doi.org/10.1378/chest.09-1584",
)
_ACC_AHA: Final = Source(
    title="2023 ACC/AHA/ACCP/HRS Guideline for the Diagnosis and Management of Atrial Fibrillation",
    citation="Joglar JA, Chung MK, Armbruster AL, et al. Circulation 2024;149:e1-e156",
    year="2024",
    url="https://doi.org/10.1161/CIR.0000000000001193",
)
_PISTERS: Final = Source(
    title="A novel user-friendly score (HAS-BLED) to assess 1-year risk of major bleeding in patients with atrial "
    "fibrillation: the Euro Heart Survey",
    citation="Pisters R, Lane DA, Nieuwlaat R, de Vos CB, Crijns HJGM, Lip GYH. Chest 2010;138:1093-1100",
    year="2010",
    url="https://doi.org/10.1378/chest.10-0134",
)
_REASONABLE: Final = (
    "For patients with AF and an estimated annual thromboembolic risk of ≥1% but <2%/year (equivalent to CHA2DS2-VASc "
    "score of 1 in men and 2 in women), anticoagulation is reasonable to prevent stroke and systemic thromboembolism "
    "(class 2a)"
)
_RECOMMENDED: Final = (
    "For patients with AF and an estimated annual thromboembolic risk of ≥2%/year (eg, CHA2DS2-VASc score of ≥2 in men "
    "and ≥3 in women), anticoagulation is recommended to prevent stroke and systemic thromboembolism (class 1)"
)
_BLEEDING: Final = (
    Band(label="0", low=0, meaning="1.13 major bleeds per 100 patient-years"),
    Band(label="1", low=1, meaning="1.02 major bleeds per 100 patient-years"),
    Band(label="2", low=2, meaning="1.88 major bleeds per 100 patient-years"),
    Band(label="3", low=3, meaning="High risk (≥3); 3.74 major bleeds per 100 patient-years"),
    Band(label="4", low=4, meaning="High risk (≥3); 8.70 major bleeds per 100 patient-years"),
    Band(label="5", low=5, meaning="High risk (≥3); 12.50 major bleeds per 100 patient-years"),
    Band(label="6–9", low=6, meaning="High risk (≥3); too few patients to state a rate"),
)


def calculate_cha2ds2_vasc(
    *,
    age: AdultAge,
    sex: Sex,
    heart_failure: bool | None = None,
    hypertension: bool | None = None,
    diabetes: bool | None = None,
    stroke: bool | None = None,
    vascular_disease: bool | None = None,
) -> Calculation:
    """Score the risk of stroke in atrial fibrillation (CHA2DS2-VASc).

    Heart failure 1, hypertension 1, age ≥75 years 2, diabetes 1, stroke 2, vascular disease 1, age 65–74 years 1,
    female sex 1. Also: CHA2DS2-VASc, CHADSVASC, CHADS-VASc, CHA2DS2VASc, CHADS2-VASc, CHADS VASc.

    Args:
        age: Age. Also: age, aged, Alter.
        sex: Sex. Also: woman = female, women = female, lady = female, girl = female, F = female, she = female, her
            = female, Frau = female, weiblich = female, man = male, gentleman = male, boy = male, M = male, he =
            male, his = male, Mann = male, männlich = male.
        heart_failure: Congestive heart failure or left ventricular dysfunction. Also: heart failure, CHF, HF, HFrEF,
            HFpEF, CCF, LV dysfunction, Herzinsuffizienz.
        hypertension: Hypertension. Also: hypertension, hypertensive, HTN, high blood pressure, Hypertonie,
            Bluthochdruck. Not: pulmonary hypertension, portal hypertension, intracranial hypertension.
        diabetes: Diabetes mellitus. Also: diabetes, diabetic, DM, T2DM, T1DM, Diabetiker,
            Diabetikerin. Not: diabetes insipidus.
        stroke: Previous stroke, TIA or thromboembolism. Also: stroke, TIA, CVA, thromboembolism, Schlaganfall.
            Not: heat stroke.
        vascular_disease: Vascular disease (previous myocardial infarction, peripheral artery disease, aortic plaque).
            Also: vascular disease, MI, myocardial infarction, heart attack, PAD, PVD, peripheral artery disease,
            aortic plaque, Herzinfarkt, pAVK.
    """
    years, female = age.amount, sex == "female"
    score = add_up(
        (
            Item("Congestive heart failure or left ventricular dysfunction", 1, heart_failure),
            Item("Hypertension", 1, hypertension),
            Item("Diabetes mellitus", 1, diabetes),
            Item("Previous stroke, TIA or thromboembolism", 2, stroke),
            Item("Vascular disease", 1, vascular_disease),
        ),
        stated=(
            Item("Age ≥75 years", 2, years >= 75),
            Item("Age 65–74 years", 1, 65 <= years < 75),
            Item("Female sex", 1, female),
        ),
    )
    least = 2 if female else 1
    bands = (
        Band(label=f"{least}, {sex}", low=least, meaning=_REASONABLE),
        Band(label=f"≥{least + 1}, {sex}", low=least + 1, meaning=_RECOMMENDED),
    )
    return Calculation(
        title="CHA2DS2-VASc score",
        results=(Result(name="CHA2DS2-VASc", value=score.total, unit="of 9 points"),),
        formula="Heart failure 1 + hypertension 1 + age ≥75 years 2 + diabetes 1 + stroke, TIA or thromboembolism 2 + "
        "vascular disease 1 + age 65–74 years 1 + female sex 1",
        valid_for="Adults with atrial fibrillation, without mechanical valve or moderate to severe mitral stenosis",
        source=_LIP,
        workings=score.workings,
        bands=bands,
        bands_source=_ACC_AHA,
        interpretation=band_of(score.total, bands) or f"Below {least}: the guideline states no band",
        notes=score.notes,
    )


def calculate_has_bled(
    *,
    age: AdultAge,
    uncontrolled_hypertension: bool | None = None,
    abnormal_kidney_function: bool | None = None,
    abnormal_liver_function: bool | None = None,
    stroke: bool | None = None,
    bleeding: bool | None = None,
    labile_inr: bool | None = None,
    platelet_drugs: bool | None = None,
    alcohol: bool | None = None,
) -> Calculation:
    """Score the risk of major bleeding in atrial fibrillation (HAS-BLED).

    One point each for the nine criteria below; age counts above 65 years. Also: HAS-BLED, HASBLED, HAS BLED.

    Args:
        age: Age. Also: age, aged, Alter.
        uncontrolled_hypertension: Uncontrolled hypertension (systolic >160 mmHg). Also: uncontrolled hypertension,
            uncontrolled HTN, uncontrolled blood pressure, unkontrollierte Hypertonie.
        abnormal_kidney_function: Abnormal kidney function (dialysis, transplantation, creatinine ≥200 µmol/l). Also:
            dialysis, kidney transplant, renal transplant, abnormal kidney function, abnormal renal function, Dialyse.
        abnormal_liver_function: Abnormal liver function (cirrhosis, or bilirubin >2× with AST, ALT or AP >3× the upper
            limit). Also: cirrhosis, liver disease, abnormal liver function, Leberzirrhose.
        stroke: Previous stroke. Also: stroke, CVA, Schlaganfall.
        bleeding: Previous major bleeding or predisposition to bleeding (such as anaemia). Also: bleeding, bleed,
            haemorrhage, hemorrhage, anaemia, anemia, Blutung, Anämie.
        labile_inr: Labile INR (time in therapeutic range <60 %). Also: labile INR, labile INRs, unstable INR.
        platelet_drugs: Antiplatelet agents or NSAIDs. Also: antiplatelet, antiplatelets, aspirin, clopidogrel,
            ticagrelor, prasugrel, ibuprofen, naproxen, diclofenac, NSAID, NSAIDs, NSAR.
        alcohol: Alcohol excess (≥8 units a week). Also: alcohol, alcohol excess, alcohol abuse, Alkohol.
    """
    score = add_up(
        (
            Item("Uncontrolled hypertension (systolic >160 mmHg)", 1, uncontrolled_hypertension),
            Item("Abnormal kidney function", 1, abnormal_kidney_function),
            Item("Abnormal liver function", 1, abnormal_liver_function),
            Item("Previous stroke", 1, stroke),
            Item("Previous major bleeding or predisposition", 1, bleeding),
            Item("Labile INR", 1, labile_inr),
            Item("Antiplatelet agents or NSAIDs", 1, platelet_drugs),
            Item("Alcohol excess (≥8 units a week)", 1, alcohol),
        ),
        stated=(Item("Age >65 years", 1, age.amount > 65),),
    )
    return Calculation(
        title="HAS-BLED score",
        results=(Result(name="HAS-BLED", value=score.total, unit="of 9 points"),),
        formula="One point each: uncontrolled hypertension (systolic >160 mmHg), abnormal kidney function, abnormal "
        "liver function, stroke, bleeding history or predisposition, labile INR, age >65 years, antiplatelet agents or "
        "NSAIDs, alcohol excess",
        valid_for="Adults with atrial fibrillation",
        source=_PISTERS,
        workings=score.workings,
        bands=_BLEEDING,
        interpretation=band_of(score.total, _BLEEDING),
        notes=score.notes,
    )
