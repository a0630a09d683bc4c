"""Unusual spellings of ages, units and names."""

import pytest

from chat_app.offline.reading.dialogue import Exchange
from tests.unit.test_offline_calculations import TOOLS, read


@pytest.mark.parametrize(
    "question",
    [
        "eGFR 72 y ♀, creatinine 98 micromoles per litre",
        "eGFR 72 jährige, Krea 98 mikromol/l",
        "eGFR F72 Cr 98 µmol/l",
        "eGFR: F/72, Cr 98umol",
        "72/F SCr 98 mcmol/L egfr",
        "CKD EPI 2021, woman 72 y, Cr 98 µmol/l",
    ],
)
def test_spellings_of_age_sex_and_unit(question: str) -> None:
    assert read(Exchange(question)) == [("egfr", {"age": "72 years", "sex": "female", "creatinine": "98 µmol/l"})]


def test_a_name_with_a_hyphen_is_known_without_it() -> None:
    assert TOOLS["calculate_egfr"].relevant_to("CKD EPI 2021, creatinine 1.3, 50 yr male")


def test_metres_with_the_m_as_decimal_point() -> None:
    assert read(Exchange("bmi 1m76 81kg")) == [("bmi", {"weight": "81 kg", "height": "1.76 m"})]
