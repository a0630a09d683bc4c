"""Bounds of age, weight and kidney function in a text, and the values of the patient in a question."""

from __future__ import annotations

import pytest

from chat_app.offline.extraction.evidence import EvidencePassage
from chat_app.offline.extraction.question import read_question
from chat_app.offline.extraction.scoring import scored
from tools.language.vocabulary.patient_values import fits_patient


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("zorbium CrCl 40", "Zorbium, CrCl ≥ 50 mL/min: 1 day", False),
        ("zorbium CrCl 40", "Zorbium, CrCl < 50 mL/min: 2 days", True),
        ("zorbium with an eGFR of 25", "eGFR 30-44 mL/min/1.73 m2: 50 mg", False),
        ("zorbium GFR 30", "When eGFR is below 30 mL/min/1.73 m2 stop zorbium.", True),
        ("zorbium crcl 40", "At 60 mL/min or more 1 g, at 30 to 59 mL/min 500 mg.", True),
        ("zorbium CrCl 110", "CrCl > 95 or < 15 mL/min", True),
        ("zorbium CrCl 50", "CrCl > 95 or < 15 mL/min", False),
        ("zorbium, 45 kg", "Patients of 50 kg or more take 1000 mg.", False),
        ("zorbium, 95 kg", "25 mg (50 mg above 85 kg)", True),
        ("zorbium 15 mg/kg", "Patients above 85 kg take 50 mg.", None),
        ("zorbium for a 9 yr old", "At 12 years and older 2 inhalations are taken.", False),
        ("zorbium for an 8-year-old", "≥ 6 years: 100 mg", True),
        ("zorbium for an 84 year old", "Repeat the test every 3 to 5 years.", None),
        ("82yo 55 kg on zorbium", "At 80 years or older or a weight of 60 kg or less it is halved.", True),
        ("82yo 75 kg on zorbium", "At 80 years or older and a weight of 60 kg or less it is halved.", False),
        ("atrial fibrillation for 3 years", "At 12 years and older 2 inhalations are taken.", None),
        ("zorbium", "CrCl < 50 mL/min", None),
    ],
)
def test_the_bounds_of_a_text_hold_the_patients_values_or_not(question: str, text: str, fits: bool | None) -> None:
    assert fits_patient(question, text) is fits


def test_bounds_for_other_patients_are_left_out_only_where_some_hold_the_value() -> None:
    high, low = "Zorbium is paused 1 day at CrCl ≥ 50 mL/min.", "Zorbium is paused 2 days at CrCl < 50 mL/min."
    another = "Quixium is paused 3 days at CrCl < 50 mL/min."

    def shown(*texts: str) -> list[str]:
        question = read_question("zorbium pause CrCl 40", subjects=["zorbium"], medicines=["zorbium"])
        return [each.unit.text for each in scored(question, [*map(EvidencePassage, texts)])]

    assert shown(high, low) == [low]
    assert shown(high) == [high]
    assert shown(high, another) == [high, another]
