"""Body mass index and body surface area."""

import math
from typing import Final

from tools.calculators.models import Band, Calculation, Result, Source, band_of
from tools.calculators.quantities import AdultHeight, AdultWeight, Height, Weight

_WHO: Final = Source(
    title="Obesity: preventing and managing the global epidemic. Report of a WHO consultation",
    citation="World Health Organization. WHO Technical Report Series 894. Geneva, 2000",
    year="2000",
    url="https://iris.who.int/handle/10665/42330",
)
_MOSTELLER: Final = Source(
    title="Simplified calculation of body-surface area",
    citation="Mosteller RD. N Engl J Med 1987;317:1098",
    year="1987",
    url="https://doi.org/10.1056/NEJM198710223171717",
)
_CLASSES: Final = (
    Band(label="<18.5", low=0, meaning="Underweight"),
    Band(label="18.5–24.9", low=18.5, meaning="Normal range"),
    Band(label="25.0–29.9", low=25, meaning="Pre-obese"),
    Band(label="30.0–34.9", low=30, meaning="Obese class I"),
    Band(label="35.0–39.9", low=35, meaning="Obese class II"),
    Band(label="≥40.0", low=40, meaning="Obese class III"),
)


def calculate_bmi(weight: AdultWeight, height: AdultHeight) -> Calculation:
    """Calculate the body mass index of an adult.

    BMI = weight / height², in kg/m². Also: BMI, body mass index.

    Args:
        weight: Body weight. Also: weight, wt, weighs, Gewicht.
        height: Height. Also: height, ht, tall, Größe.
    """
    index = round(weight.amount / (height.amount / 100) ** 2, 1)
    return Calculation(
        title="Body mass index",
        results=(Result(name="BMI", value=index, unit="kg/m²", decimals=1),),
        formula="BMI = weight in kg / (height in m)²",
        valid_for="Adults",
        source=_WHO,
        bands=_CLASSES,
        interpretation=band_of(index, _CLASSES),
    )


def calculate_bsa(weight: Weight, height: Height) -> Calculation:
    """Calculate the body surface area (Mosteller, and Du Bois for comparison).

    BSA = √(height × weight / 3600), in m², height in cm, weight in kg. Also: BSA, body surface area, Mosteller,
    Du Bois, Körperoberfläche.

    Args:
        weight: Body weight. Also: weight, wt, weighs, Gewicht.
        height: Height. Also: height, ht, tall, length, Größe.
    """
    area = math.sqrt(height.amount * weight.amount / 3600)
    du_bois = 0.007184 * height.amount**0.725 * weight.amount**0.425
    return Calculation(
        title="Body surface area (Mosteller)",
        results=(
            Result(name="BSA (Mosteller)", value=round(area, 2), unit="m²", decimals=2),
            Result(name="BSA (Du Bois)", value=round(du_bois, 2), unit="m²", decimals=2),
        ),
        formula="Mosteller: √(height in cm × weight in kg / 3600). "
        "Du Bois: 0.007184 × height in cm^0.725 × weight in kg^0.425 (Arch Intern Med 1916;17:863-871)",
        valid_for="Children and adults; use the formula that the dosing protocol names",
        source=_MOSTELLER,
    )
