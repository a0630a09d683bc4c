"""Laboratory results in a question are no medicines; doses of the same substances are."""

from __future__ import annotations

import time

import pytest

from tools.drug_database.names.laboratory_results import without_results


@pytest.mark.parametrize(
    "result",
    [
        "Cortisol normal",
        "cortisol 120",
        "urea nine",
        "potassium five",
        "free T4 14",
        "potassium: 5.9",
        "potassium is now 5.9",
        "potassium (mmol/L) 5.9",
        "vitamin D is low",
        "her vitamin D level",
        "low magnesium",
        "raised urea and creatinine",
        "levels of calcium",
        "B12, folate and ferritin normal",
        "C-peptide and insulin levels normal",
        "T3 raised",
        "urea ok",
        "Kalium 5,9",
        "Harnstoff neun",
        "Kaliumspiegel",
        "Kortisol unauffällig",
        "erhöhtes Kalzium",
    ],
)
def test_an_analyte_with_its_result_is_removed(result: str) -> None:
    said = f"Warfarin and aspirin; {result}, digoxin"
    rest = without_results(said)
    assert "concentration, digoxin" in rest
    assert set(rest.split()) - {"concentration,"} <= {"Warfarin", "and", "aspirin;", "her", "digoxin"}


@pytest.mark.parametrize("unit", ["mmol/l", "mmol/L", "mg/dl", "g/l", "µmol/l", "ng/ml", "pg/ml", "mmol per litre"])
def test_a_concentration_is_a_result(unit: str) -> None:
    assert without_results(f"calcium 2.9 {unit}").startswith("concentration")


@pytest.mark.parametrize(
    "medicine",
    [
        "magnesium 2 g iv?",
        "calcium 20mmol",
        "potassium chloride 20 mmol",
        "potassium chloride 20",
        "insulin 10 units",
        "insulin 10",
        "vitamin D 800 IU",
        "vitamin D 1000 daily",
        "folate 5 mg",
        "on folate 5",
        "takes iron 200",
        "iron infusion",
        "iron one tablet twice a day",
        "progesterone 200 at night",
        "glucose 10%",
        "testosterone 250 mg/ml",
        "Magnesium 1-0-1",
        "Eisen 2 Tabletten",
        "high calcium diet",
        "vitamin D high dose",
        "is magnesium ok with omeprazole?",
        "calcium reduced the absorption of levothyroxine",
        "1. calcium\n2. ramipril",
    ],
)
def test_a_substance_that_is_given_stays(medicine: str) -> None:
    assert without_results(medicine) == medicine


@pytest.mark.parametrize("measured", ["lithium level 1.6", "digoxin level 2.4", "Lithiumspiegel 1,6", "phenytoin low"])
def test_a_medicine_whose_level_is_measured_stays(measured: str) -> None:
    assert without_results(f"{measured}, urea 22") == f"{measured}, concentration"


@pytest.mark.parametrize("part", ["serum ", "sodium, ", "low potassium (", "potassium : is of "])
def test_a_long_text_is_read_quickly(part: str) -> None:
    start = time.perf_counter()
    without_results(part * 3_000)
    assert time.perf_counter() - start < 5
