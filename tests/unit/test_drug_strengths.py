"""Strengths of all sources in one notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.drug_database.records.strengths import combined, number, strength


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("500MG", "500 mg"),
        ("500 mg/1", "500 mg"),
        (".5 mg/1", "0.5 mg"),
        ("EQ 1MG BASE", "1 mg base equivalent"),
        ("EQ 500,000 UNITS BASE/VIAL", "500000 unit/vial base equivalent"),
        ("500 mg/5mL", "500 mg/5 mL"),
        ("50 ug/.5mL", "50 mcg/0.5 mL"),
        ("100 [iU]/mL", "100 unit/mL"),
        ("1%", "1%"),
        ("0.08MG/INH **Federal Register determination**", "0.08 mg/inhalation"),
        ("0.3MG/HR", "0.3 mg/hr"),
    ],
)
def test_a_strength_is_written_in_one_way(written: str, normal: str) -> None:
    assert strength(written) == normal


@pytest.mark.parametrize("odd", ["N/A", "5GM/10ML (500MG/ML)", "UNKNOWN", ""])
def test_what_is_no_amount_is_left_as_it_is(odd: str) -> None:
    assert strength(odd) == odd


def test_a_combination_is_written_in_the_order_of_its_ingredients() -> None:
    assert combined(["20 mg", "12.5 mg"]) == "20 mg / 12.5 mg"


@given(st.text(max_size=60))
def test_no_text_breaks_it_and_a_normal_form_stays(text: str) -> None:
    once = strength(text)
    assert strength(once) == once or "base equivalent" in once or "/" in once


@given(st.decimals(min_value=0, max_value=10_000_000, places=4, allow_nan=False))
def test_a_number_keeps_its_value(value: object) -> None:
    assert float(number(str(value))) == float(str(value))
