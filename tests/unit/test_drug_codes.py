"""Codes: their recognition, their equal forms, and the records that they find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.drug_database.records.codes import asked_code, bucket, codes_of, product_codes, product_first
from tools.drug_database.records.drug_record import DrugRecord, Fact, Product

SMALL = Product(dosage_form="tablet", ndcs=("0093-7214",), packages=("0093-7214-01", "00093721456"), rxcuis=("861007",))
LARGE = Product(dosage_form="solution", ndcs=("63304-123",), packages=("63304-123-1",))
RECORD = DrugRecord(
    key="metformin",
    generic_name="metformin",
    ingredients=("metformin",),
    products=(SMALL, LARGE),
    rxcuis=(Fact(value="6809", sources=("rxnorm",)),),
)


@pytest.mark.parametrize(
    "typed",
    [
        "0093-7214-01",
        "00093-7214-01",
        "00093721401",
        "0093-7214",
        "NDC 0093-7214-01",
        "ndc:0093-7214",
        "what is NDC# 00093721401?",
        " 0093-7214-01 100 tablets",
        "package 0093-7214-1",
    ],
)
def test_all_forms_of_an_ndc_are_one_product(typed: str) -> None:
    asked = asked_code(typed)
    assert asked is not None
    assert asked.stored == ("ndc:000937214",)


def test_ten_digits_without_hyphens_are_read_in_all_three_ways() -> None:
    assert product_codes("0093721401") == ("000937214", "009370214", "009372140")


@pytest.mark.parametrize(
    ("typed", "stored"),
    [("RxCUI 6809", "rxcui:6809"), ("6809", "rxcui:6809"), ("rxcui:06809", "rxcui:6809"), ("is rxcui 86", "rxcui:86")],
)
def test_a_concept_id_is_a_number_alone_or_named_so(typed: str, stored: str) -> None:
    assert (asked_code(typed) or pytest.fail("no code")).stored == (stored,)


@pytest.mark.parametrize(
    "typed",
    [
        "metformin",
        "metformin 1000-2000 mg",
        "500 mg",
        "vitamin b12",
        "2024-01-02",
        "",
        "aspirin 81",
        "٠٠٩٣-٧٢١٤-٠١",
        "123456789",
    ],
)
def test_doses_dates_and_names_are_no_codes(typed: str) -> None:
    assert asked_code(typed) is None


def test_a_record_is_found_by_each_product_code_and_concept_once() -> None:
    assert list(codes_of(RECORD)) == ["ndc:000937214", "ndc:633040123", "rxcui:6809", "rxcui:861007"]


def test_the_product_with_the_code_comes_first() -> None:
    assert product_first(RECORD, ["ndc:633040123"]).products == (LARGE, SMALL)
    assert product_first(RECORD, ["rxcui:861007"]).products == (SMALL, LARGE)


@given(st.integers(0, 99_999), st.integers(0, 9_999), st.integers(0, 99))
def test_padding_and_hyphens_never_change_the_product(labeler: int, product: int, package: int) -> None:
    padded = f"{labeler:05d}-{product:04d}-{package:02d}"
    assert product_codes(padded) == product_codes(padded.replace("-", ""))
    assert bucket(f"ndc:{product_codes(padded)[0]}") == f"ndc:{labeler:05d}"


@given(st.text(max_size=400))
def test_no_text_breaks_the_look_for_a_code(typed: str) -> None:
    asked = asked_code(typed)
    assert asked is None or all(code.startswith(("ndc:", "rxcui:")) for code in asked.stored)
