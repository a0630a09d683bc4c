"""The QT interval corrected for heart rate: Bazett and Fridericia."""

from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source, band_of
from tools.calculators.quantities import HeartRate, QTInterval, Sex
from tools.calculators.wording import translate

_AHA: Final = Source(
    title="AHA/ACCF/HRS Recommendations for the Standardization and Interpretation of the Electrocardiogram, Part IV: "
    "the ST segment, T and U waves, and the QT interval",
    citation="Rautaharju PM, Surawicz B, Gettes LS, et al. Circulation 2009;119:e241-e250",
    year="2009",
    url="https://doi.org/10.1161/CIRCULATIONAHA.108.191096",
)


def calculate_qtc(qt: QTInterval, heart_rate: HeartRate, sex: Sex | None = None) -> Calculation:
    """Correct the QT interval for the heart rate (Bazett and Fridericia).

    Bazett: QTc = QT / √RR. Fridericia: QTc = QT / ∛RR. RR in s = 60 / heart rate. Result in: ms.
    Also: QTc, corrected QT, QTcB, QTcF, Bazett, Fridericia.

    Args:
        qt: Measured QT interval. Also: QT, QT interval.
        heart_rate: Heart rate. Also: heart rate, HR, rate, pulse, Herzfrequenz, HF, Puls.
        sex: Sex, for the limits. Also: woman = female, women = female, lady = female, girl = female, F = female,
            she = female, her = female, Frau = female, weiblich = female, man = male, gentleman = male, boy = male,
            M = male, he = male, his = male, Mann = male, männlich = male.
    """
    interval = 60 / heart_rate.amount
    bazett = round(qt.amount / interval**0.5)
    fridericia = round(qt.amount / interval ** (1 / 3))
    limit = {"female": 460, "male": 450}
    bands = tuple(
        Band(label=f"≥{limit[one]} ms, {translate(one)}", low=limit[one], meaning="Prolonged QT interval")
        for one in (("female", "male") if sex is None else (sex,))
    )
    short = Band(label="≤390 ms", low=0, meaning="Short QT interval")
    between = Band(label="Over 390 ms and under the limit for prolongation", low=391, meaning="Neither is stated")
    found = band_of(bazett, (short, between, *bands)) if sex is not None else ""
    return Calculation(
        title="Corrected QT interval",
        results=(
            Result(name="QTc (Bazett)", value=bazett, unit="ms"),
            Result(name="QTc (Fridericia)", value=fridericia, unit="ms"),
        ),
        formula="Bazett: QT / √RR. Fridericia: QT / ∛RR. RR in s = 60 / heart rate in beats/min",
        valid_for="Regular rhythm; at heart rates far from 60 beats/min Bazett over- or undercorrects",
        source=_AHA,
        bands=(short, *bands),
        interpretation=translate("{band} (by Bazett)", band=found)
        if found
        else "The limit for prolongation depends on the sex",
    )
