"""Doses of tablets and combinations, unusual spellings, and follow-ups that ask for another calculation."""

import json
from typing import Any

import pytest

from chat_app.offline.reading.dialogue import Exchange, ToolOutput
from tests.unit.test_offline_calculations import TOOLS, calculated, read

FIRST = "CrCl 80 y male 72 kg Cr 1.2 mg/dl"
PATIENT = {"age": "80 years", "sex": "male", "creatinine": "1.2 mg/dl"}


def _answered(question: str, name: str, arguments: str) -> Exchange:
    return Exchange(question, outputs=[ToolOutput(f"calculate_{name}", arguments, "{}")])


def _crcl() -> Exchange:
    given = '{"age": {"value": 80, "unit": "years"}, "sex": "male", "creatinine": {"value": 1.2, "unit": "mg/dl"}}'
    return _answered(FIRST, "creatinine_clearance", given)


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("MME: 2 tablets of hydrocodone 5 mg every 6 hours", "40"),
        ("MME: two 10 mg oxycodone tablets tid", "90"),
        ("MME hydromorphone 4 mg 1/2 tablet bid", "20"),
        ("MME morphine 15 mg tablets bid", "30"),
        ("MME oxycodone 5 mg x2 q6h", "60"),
        ("MME oxycodone-acetaminophen 10/325 mg q6h", "60"),
        ("MME acetaminophen-codeine 300/30 mg, 2 tabs qid", "36"),
        ("MME oxycodone 10 mg bid hydromorphone 4 mg qid", "110"),
        ("MME 10 mg oxycodone bid and 4 mg hydromorphone qid", "110"),
        ("MME: 50 mcg/hr fentanyl patch with hydromorphone 4 mg q4h", "240"),
        ("MME fentanyl 25 mcg per hour patch", "60"),
    ],
)
def test_the_dose_of_a_prescription(question: str, total: str) -> None:
    assert f"Total {total}.0 MME/day" in calculated(question)["opioid_mme"]


@pytest.mark.parametrize(
    ("doses", "total"),
    [
        ("Oxycodon 5 mg 1-1-1", "22.5"),
        ("Tramadol 50 mg 2-0-2-0", "40.0"),
        ("Morphin 30 mg ½-0-½", "30.0"),
        ("Morphin 10 mg 1-0-2", "30.0"),
        ("Hydromorphon 4 mg 3x1", "60.0"),
        ("Morphin 20 mg morgens, mittags und abends", "60.0"),
        ("codeine 60 mg nocte", "9.0"),
        ("morphine 20 mg in the morning and at bedtime", "40.0"),
    ],
)
def test_the_doses_of_a_scheme(doses: str, total: str) -> None:
    assert f"Total {total} MME/day" in calculated(f"MME {doses}")["opioid_mme"]


@pytest.mark.parametrize(
    "doses",
    ["Oxycodon 20 mg morgens und 10 mg abends", "morgens 20 mg, abends 10 mg Oxycodon", "Oxycodon 20-0-10 mg"],
)
def test_different_doses_of_a_day_are_asked_about(doses: str) -> None:
    assert "Give the dose of oxycodone" in calculated(f"MME {doses}")["opioid_mme"]


@pytest.mark.parametrize(
    ("doses", "unconverted"),
    [
        ("morphine 10 mg IV q4h", "morphine (parenteral)"),
        ("i.v. hydromorphone 2 mg q4h", "hydromorphone (parenteral)"),
        ("Morphin 10 mg subkutan 6x tgl", "morphine (parenteral)"),
        ("morphine 10 mg PO/IV q4h", "morphine (parenteral)"),
        ("intrathecal morphine 1 mg daily", "morphine (intrathecal)"),
        ("oxycodone 10 mg rectally bid", "oxycodone (rectal)"),
        ("fentanyl 200 mcg lozenge", "fentanyl (buccal)"),
        ("Tilidin 50 mg 2x tgl", "tilidine (no factor)"),
    ],
)
def test_a_dose_without_a_factor_is_named_and_not_in_the_total(doses: str, unconverted: str) -> None:
    output = json.loads(calculated(f"MME {doses}, tapentadol 50 mg bid")["opioid_mme"])
    assert output["result"] == "Total 40.0 MME/day"
    assert f"Not converted: {unconverted}." in output["notes"]
    assert "interpretation" not in output, "the whole dose may be above the first band"


def test_without_any_factor_there_is_no_total() -> None:
    assert json.loads(calculated("MME hydromorphone 2 mg IV q4h")["opioid_mme"]).keys() == {"needs"}


@pytest.mark.parametrize("doses", ["10 mg PO bid", "10 mg bid and IV ceftriaxone 2 g daily"])
def test_the_route_of_the_dose_by_mouth_or_of_another_medicine(doses: str) -> None:
    assert "Total 30.0 MME/day" in calculated(f"MME oxycodone {doses}")["opioid_mme"]


@pytest.mark.parametrize("dose", ["5 mg 1-2 tabs q4h", "5 mg, one or two tablets q4h", "10/5 mg bid"])
def test_a_dose_that_may_be_another_is_asked_for(dose: str) -> None:
    assert "Give the dose of oxycodone" in calculated(f"MME oxycodone {dose}")["opioid_mme"]


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


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ("stopped the aspirin", {"platelet_drugs": False}),
        ("ASS abgesetzt", {"platelet_drugs": False}),
        ("stopped warfarin after a GI bleed", {"bleeding": True}),
        ("GI bleed stopped", {"bleeding": True}),
        ("stroke ruled out, alcohol", {"stroke": False, "alcohol": True}),
        ("possible stroke, alcohol", {"alcohol": True}),
        ("minor nose bleed, alcohol", {"alcohol": True}),
        ("small subdural haemorrhage, alcohol", {"bleeding": True, "alcohol": True}),
        ("V. a. Schlaganfall, Alkohol", {"alcohol": True}),
        ("V.a. Schlaganfall, Alkohol", {"alcohol": True}),
        ("minor stroke, alcohol", {"stroke": True, "alcohol": True}),
        ("social drinker, stroke", {"stroke": True}),
        ("stroke, fully resolved", {"stroke": True}),
        ("cirrhosis resolved after transplantation, stroke", {"stroke": True}),
        ("leichte Blutung, Schlaganfall", {"stroke": True}),
        ("stroke? alcohol yes", {"alcohol": True}),
        ("alcohol, ?stroke", {"alcohol": True}),
        ("stroke (?), alcohol", {"alcohol": True}),
        ("stroke? no, alcohol? yes", {"stroke": False, "alcohol": True}),
        ("stroke, alcohol?", {"stroke": True, "alcohol": True}),
    ],
)
def test_a_medicine_that_was_stopped_and_a_doubtful_criterion(told: str, taken: dict[str, Any]) -> None:
    assert read(Exchange(f"HAS-BLED 70 y, {told}")) == [("has_bled", {"age": "70 years", **taken})]


@pytest.mark.parametrize(
    ("written", "hypertension", "diabetes"),
    [
        ("HTN- DM+", False, True),
        ("HTN -, DM +", False, True),
        ("-HTN, +DM", False, True),
        ("-HTN -DM", True, True),
        ("HTN 1 DM 0", True, False),
        ("HTN: 0, DM: 1", False, True),
        ("HTN - diabetic", True, True),
        ("w/o DM w/ HTN", True, False),
        ("HTN, pre-diabetes", True, None),
    ],
)
def test_signs_and_digits_for_yes_and_no(written: str, hypertension: bool, diabetes: bool | None) -> None:
    ((_, inputs),) = read(Exchange(f"CHA2DS2-VASc 74 y {written}"))
    assert (inputs.get("hypertension"), inputs.get("diabetes")) == (hypertension, diabetes)


def test_an_allergy_is_no_use_of_the_medicine() -> None:
    taken = {"age": "70 years", "alcohol": True}
    assert read(Exchange("HAS-BLED 70 y, alcohol, aspirin allergy")) == [("has_bled", taken)]


def test_an_earlier_value_is_not_used_for_that_of_today() -> None:
    assert read(Exchange("eGFR 70 y male Cr 0.9 last month, 1.6 today")) == [
        ("egfr", {"age": "70 years", "sex": "male"})
    ]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("eGFR und CrCl: Mann, 70 J, 80 kg, Krea 1,5 mg/dl", {"egfr", "creatinine_clearance"}),
        ("BMI, BSA and CrCl: 70 y m 80 kg 180 cm Cr 1.2 mg/dl", {"bmi", "bsa", "creatinine_clearance"}),
        ("creatinine clearance to check renal function, 70 y m 80 kg Cr 1.2 mg/dl", {"creatinine_clearance"}),
    ],
)
def test_every_calculator_of_a_list_is_used(question: str, names: set[str]) -> None:
    assert set(calculated(question)) == names


def test_a_follow_up_asks_for_another_calculation() -> None:
    assert read(_crcl(), Exchange("and the eGFR?")) == [("egfr", PATIENT)]
    # A value of the first question may be an input of the second calculator alone, and a new one wins.
    before = _answered("eGFR 80 y male 72 kg Cr 1.1 mg/dl", "egfr", "{}")
    asked = Exchange("and CrCl with Cr 1.2 mg/dl?")
    assert read(before, asked) == [("creatinine_clearance", {**PATIENT, "weight": "72 kg"})]


def test_criteria_are_read_by_their_own_definition() -> None:
    arguments = '{"age": {"value": 76, "unit": "years"}, "stroke": true}'
    before = _answered("CHA2DS2-VASc 76 y, TIA, on aspirin", "cha2ds2_vasc", arguments)
    taken = {"age": "76 years", "platelet_drugs": True}
    assert read(before, Exchange("and HAS-BLED?")) == [("has_bled", taken)]


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("eGFR 50 y male", [("egfr", {"age": "50 years", "sex": "male"})]),
        ("eGFR for a woman with Cr 1.2 mg/dl", [("egfr", {"sex": "female", "creatinine": "1.2 mg/dl"})]),
        ("and the eGFR with Cr 1.1, now 2.3?", [("egfr", {"age": "80 years", "sex": "male"})]),
        ("what eGFR is too low for metformin?", []),
    ],
)
def test_what_is_not_taken_over(question: str, calls: list[tuple[str, Any]]) -> None:
    assert read(_crcl(), Exchange(question)) == calls


@pytest.mark.parametrize(
    "creatinine", ["1.2/1.4 mg/dl", "1.2 and 1.4 mg/dl", "140/120 µmol/l", "1,2 bzw. 1,4 mg/dl", "1.2 mg/dl; 1.4 mg/dl"]
)
def test_two_values_without_an_order_are_asked_about(creatinine: str) -> None:
    assert "Serum creatinine" in json.loads(calculated(f"eGFR 67 y woman, creatinine {creatinine}")["egfr"])["needs"]


def test_one_value_in_two_units_and_a_pressure_are_one() -> None:
    assert "eGFR 45 ml" in calculated("eGFR 67 y woman, creatinine 1.3 mg/dl / 115 µmol/l")["egfr"]
    assert "CURB-65 1 of 5" in calculated("CURB-65 40 J, orientiert, AF 20, RR 85/70, Harnstoff 5 mmol/l")["curb65"]
    assert "Body weight" in json.loads(calculated("BMI 70/72 kg, 175 cm")["bmi"])["needs"]
