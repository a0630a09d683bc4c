"""Calcium corrected for albumin, and the anion gap."""

from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source
from tools.calculators.quantities import Albumin, Bicarbonate, Calcium, Chloride, Potassium, Sodium

_PAYNE: Final = Source(
    title="Interpretation of serum calcium in patients with abnormal serum proteins",
    citation="Payne RB, Little AJ, Williams RB, Milner JR. Br Med J 1973;4:643-646; slope of 0.8 as in: Correcting the "
    "calcium. Br Med J 1977;1:598",
    year="1973",
    url="https://doi.org/10.1136/bmj.4.5893.643",
)
_FIGGE: Final = Source(
    title="Anion gap and hypoalbuminemia",
    citation="Figge J, Jabor A, Kazda A, Fencl V. Crit Care Med 1998;26:1807-1810",
    year="1998",
    url="https://doi.org/10.1097/00003246-199811000-00019",
)
_WINTER: Final = Source(
    title="The fall of the serum anion gap",
    citation="Winter SD, Pearson JR, Gabow PA, Schultz AL, Lepoff RB. Arch Intern Med 1990;150:311-313",
    year="1990",
    url="https://doi.org/10.1001/archinte.1990.00390140057012",
)
_MG_PER_MMOL: Final = 4.008


def calculate_corrected_calcium(calcium: Calcium, albumin: Albumin) -> Calculation:
    """Correct total serum calcium for albumin.

    Corrected calcium = calcium + 0.8 × (4.0 − albumin), in mg/dl, albumin in g/dl. Result in: mg/dl, mmol/l.
    Also: corrected calcium, adjusted calcium, calcium correction, albumin-corrected calcium, korrigiertes Calcium.

    Args:
        calcium: Total serum calcium. Also: calcium, Ca, Kalzium.
        albumin: Serum albumin. Also: albumin, alb.
    """
    corrected = calcium.amount + 0.8 * (4 - albumin.amount)
    return Calculation(
        title="Calcium corrected for albumin",
        results=(
            Result(name="Corrected calcium", value=round(corrected, 1), unit="mg/dl", decimals=1),
            Result(name="Corrected calcium", value=round(corrected / _MG_PER_MMOL, 2), unit="mmol/l", decimals=2),
        ),
        formula="Corrected calcium = calcium in mg/dl + 0.8 × (4.0 − albumin in g/dl); in SI units calcium in mmol/l + "
        "0.02 × (40 − albumin in g/l)",
        valid_for="An estimate; unreliable in critical illness, kidney failure and disturbed acid–base balance, where "
        "ionised calcium is measured",
        source=_PAYNE,
        notes=("Compare with the reference range of the laboratory.",),
    )


def calculate_anion_gap(
    sodium: Sodium,
    chloride: Chloride,
    bicarbonate: Bicarbonate,
    albumin: Albumin | None = None,
    potassium: Potassium | None = None,
) -> Calculation:
    """Calculate the serum anion gap, with correction for albumin if it is given.

    Anion gap = Na − (Cl + HCO3), in mmol/l; corrected = anion gap + 2.5 × (4.4 − albumin in g/dl).
    Result in: mmol/l. Also: anion gap, AG, Anionenlücke.

    Args:
        sodium: Serum sodium. Also: sodium, Na, Na+, Natrium.
        chloride: Serum chloride. Also: chloride, Cl, Cl-, Chlorid.
        bicarbonate: Serum bicarbonate. Also: bicarbonate, HCO3, HCO3-, bicarb, CO2, tCO2, Bikarbonat.
        albumin: Serum albumin. Also: albumin, alb.
        potassium: Serum potassium, for the gap with potassium. Also: potassium, K, K+, Kalium.
    """
    gap = sodium.amount - (chloride.amount + bicarbonate.amount)
    results = [Result(name="Anion gap", value=round(gap, 1), unit="mmol/l", decimals=1)]
    if albumin is not None:
        corrected = round(gap + 2.5 * (4.4 - albumin.amount), 1)
        results.append(Result(name="Anion gap corrected for albumin", value=corrected, unit="mmol/l", decimals=1))
    if potassium is not None:
        with_potassium = round(gap + potassium.amount, 1)
        results.append(Result(name="Anion gap with potassium", value=with_potassium, unit="mmol/l", decimals=1))
    return Calculation(
        title="Serum anion gap",
        results=tuple(results),
        formula="Anion gap = Na − (Cl + HCO3). Corrected: anion gap + 0.25 × (44 − albumin in g/l)",
        valid_for="The correction takes 44 g/l as the normal albumin, as its source does",
        source=_FIGGE,
        bands=(
            Band(label="3 to 11 mmol/l", low=3, meaning="Reference range with ion-selective electrodes"),
            Band(label="8 to 16 mmol/l", low=8, meaning="Traditional reference range"),
        ),
        bands_source=_WINTER,
        notes=("The reference range depends on the analyser: use that of the laboratory.",),
    )
