"""Severity of end-stage liver disease: MELD 3.0."""

from math import log
from typing import Final

from tools.calculators.models import Calculation, Result, Source
from tools.calculators.quantities import Albumin, Bilirubin, Creatinine, InternationalRatio, Sex, Sodium
from tools.calculators.wording import translate

_KIM: Final = Source(
    title="MELD 3.0: The Model for End-Stage Liver Disease Updated for the Modern Era",
    citation="Kim WR, Mannalithara A, Heimbach JK, et al. Gastroenterology 2021;161:1887-1895",
    year="2021",
    url="https://doi.org/10.1053/j.gastro.2021.08.050",
)


def calculate_meld3(
    *,
    sex: Sex,
    bilirubin: Bilirubin,
    sodium: Sodium,
    inr: InternationalRatio,
    creatinine: Creatinine,
    albumin: Albumin,
    dialysis: bool | None = None,
) -> Calculation:
    """Score the severity of end-stage liver disease (MELD 3.0).

    MELD 3.0 = 1.33 [if female] + 4.56 ln(bilirubin) + 0.82 (137 − Na) − 0.24 (137 − Na) ln(bilirubin) + 9.09 ln(INR) +
    11.14 ln(creatinine) + 1.85 (3.5 − albumin) − 1.83 (3.5 − albumin) ln(creatinine) + 6. Also: MELD, MELD 3.0, MELD3.

    Args:
        sex: Sex. Also: woman = female, women = female, lady = female, girl = female, F = female, she = female, her
            = female, Frau = female, weiblich = female, man = male, gentleman = male, boy = male, M = male, he =
            male, his = male, Mann = male, männlich = male.
        bilirubin: Total bilirubin. Also: bilirubin, bili, TBil.
        sodium: Serum sodium. Also: sodium, Na, Na+, Natrium.
        inr: International normalised ratio. Also: INR.
        creatinine: Serum creatinine. Also: Cr, SCr, creat, creatinine, Kreatinin, Krea.
        albumin: Serum albumin. Also: albumin, alb.
        dialysis: Dialysis twice, or 24 hours of continuous haemodialysis, within the last 7 days. Also: dialysis,
            haemodialysis, hemodialysis, Dialyse.
    """
    bili, ratio = max(bilirubin.amount, 1), max(inr.amount, 1)
    crea = 3.0 if dialysis else min(max(creatinine.amount, 1), 3)
    below = 137 - min(max(sodium.amount, 125), 137)
    lack = 3.5 - min(max(albumin.amount, 1.5), 3.5)
    terms = (
        ("female sex", 1.33 if sex == "female" else 0.0),
        ("bilirubin", 4.56 * log(bili)),
        ("sodium", 0.82 * below),
        ("sodium × bilirubin", -0.24 * below * log(bili)),
        ("INR", 9.09 * log(ratio)),
        ("creatinine", 11.14 * log(crea)),
        ("albumin", 1.85 * lack),
        ("albumin × creatinine", -1.83 * lack * log(crea)),
        ("constant", 6.0),
    )
    score = round(sum(value for _, value in terms))
    return Calculation(
        title="MELD 3.0 score",
        results=(Result(name="MELD 3.0", value=score, unit="points"),),
        formula="1.33 [if female] + 4.56 ln(bilirubin) + 0.82 (137 − Na) − 0.24 (137 − Na) ln(bilirubin) + "
        "9.09 ln(INR) + 11.14 ln(creatinine) + 1.85 (3.5 − albumin) − 1.83 (3.5 − albumin) ln(creatinine) + 6. "
        "Bilirubin, INR and creatinine are at least 1.0, creatinine at most 3.0 mg/dl (3.0 on dialysis), sodium 125 to "
        "137 mmol/l, albumin 1.5 to 3.5 g/dl",
        valid_for="Adults with chronic liver disease",
        source=_KIM,
        workings=tuple(f"{translate(name)}: {value:+.2f}" for name, value in terms),
        notes=(
            ()
            if dialysis is not None
            else ("Dialysis in the last 7 days was not stated: the measured creatinine was used.",)
        )
        + ("The source states no bands. For the allocation of organs in the USA the score is limited to 6 to 40.",),
    )
