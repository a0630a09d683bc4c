"""Kidney function from serum creatinine: CKD-EPI 2021 and Cockcroft–Gault."""

from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source, band_of
from tools.calculators.quantities import AdultAge, AdultWeight, Creatinine, Sex

_CKD_EPI: Final = Source(
    title="New Creatinine- and Cystatin C–Based Equations to Estimate GFR without Race",
    citation="Inker LA, Eneanya ND, Coresh J, et al. N Engl J Med 2021;385:1737-1749",
    year="2021",
    url="https://doi.org/10.1056/NEJMoa2102953",
)
_KDIGO: Final = Source(
    title="KDIGO 2024 Clinical Practice Guideline for the Evaluation and Management of Chronic Kidney Disease",
    citation="Kidney Int 2024;105(4S):S117-S314",
    year="2024",
    url="https://kdigo.org/guidelines/ckd-evaluation-and-management/",
)
_COCKCROFT_GAULT: Final = Source(
    title="Prediction of creatinine clearance from serum creatinine",
    citation="Cockcroft DW, Gault MH. Nephron 1976;16:31-41",
    year="1976",
    url="https://doi.org/10.1159/000180580",
)
_CATEGORIES: Final = (
    Band(label="G5, <15", low=0, meaning="Kidney failure"),
    Band(label="G4, 15–29", low=15, meaning="Severely decreased"),
    Band(label="G3b, 30–44", low=30, meaning="Moderately to severely decreased"),
    Band(label="G3a, 45–59", low=45, meaning="Mildly to moderately decreased"),
    Band(label="G2, 60–89", low=60, meaning="Mildly decreased"),
    Band(label="G1, ≥90", low=90, meaning="Normal or high"),
)


def calculate_egfr(age: AdultAge, sex: Sex, creatinine: Creatinine) -> Calculation:
    """Estimate the glomerular filtration rate (CKD-EPI 2021, creatinine) in adults.

    eGFR = 142 × min(Scr/κ, 1)^α × max(Scr/κ, 1)^−1.200 × 0.9938^age × 1.012 [if female], in ml/min/1.73 m², Scr in
    mg/dl. Also: eGFR, GFR, CKD-EPI, kidney function, renal function, Nierenfunktion.

    Args:
        age: Age. Also: age, aged, Alter.
        sex: Sex. Also: woman = female, women = female, lady = female, girl = female, F = female, she = female, her
            = female, Frau = female, weiblich = female, man = male, gentleman = male, boy = male, M = male, he =
            male, his = male, Mann = male, männlich = male.
        creatinine: Serum creatinine. Also: Cr, SCr, creat, creatinine, Kreatinin, Krea.
    """
    female = sex == "female"
    kappa, alpha = (0.7, -0.241) if female else (0.9, -0.302)
    ratio = creatinine.amount / kappa
    rate = 142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.2 * 0.9938**age.amount * (1.012 if female else 1)
    return Calculation(
        title="eGFR (CKD-EPI 2021, creatinine)",
        results=(Result(name="eGFR", value=round(rate), unit="ml/min/1.73 m²"),),
        formula="eGFR = 142 × min(Scr/κ, 1)^α × max(Scr/κ, 1)^−1.200 × 0.9938^age × 1.012 [if female]; "
        "κ = 0.7 (female) or 0.9 (male), α = −0.241 (female) or −0.302 (male), Scr in mg/dl",
        valid_for="Adults of 18 years or more with stable kidney function",
        source=_CKD_EPI,
        bands=_CATEGORIES,
        bands_source=_KDIGO,
        interpretation=band_of(round(rate), _CATEGORIES),
        notes=("A category of chronic kidney disease needs the finding to last for more than 3 months.",),
    )


def calculate_creatinine_clearance(age: AdultAge, sex: Sex, weight: AdultWeight, creatinine: Creatinine) -> Calculation:
    """Estimate creatinine clearance (Cockcroft–Gault) in adults.

    CrCl = (140 − age) × weight / (72 × Scr) × 0.85 [if female], in ml/min, weight in kg, Scr in mg/dl.
    Also: CrCl, creatinine clearance, Cockcroft-Gault, Cockcroft, Kreatinin-Clearance.

    Args:
        age: Age. Also: age, aged, Alter.
        sex: Sex. Also: woman = female, women = female, lady = female, girl = female, F = female, she = female, her
            = female, Frau = female, weiblich = female, man = male, gentleman = male, boy = male, M = male, he =
            male, his = male, Mann = male, männlich = male.
        weight: Body weight, actual unless stated otherwise. Also: weight, wt, Gewicht.
        creatinine: Serum creatinine. Also: Cr, SCr, creat, creatinine, Kreatinin, Krea.
    """
    factor = 0.85 if sex == "female" else 1
    clearance = (140 - age.amount) * weight.amount / (72 * creatinine.amount) * factor
    return Calculation(
        title="Creatinine clearance (Cockcroft–Gault)",
        results=(Result(name="Creatinine clearance", value=round(clearance, 1), unit="ml/min", decimals=1),),
        formula="CrCl = (140 − age) × weight in kg / (72 × Scr in mg/dl) × 0.85 [if female]",
        valid_for="Adults of 18 years or more with stable kidney function",
        source=_COCKCROFT_GAULT,
        notes=("The result rests on the weight that was given: actual, ideal or adjusted weight change it.",),
    )
