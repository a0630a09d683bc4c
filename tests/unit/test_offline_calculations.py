"""Which calculator a question wants, and its inputs in ordinary words.

The function declarations are those of the real calculators: the reader knows nothing but what they describe.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat_app.offline import phrases
from chat_app.offline.calculating.calculations import calculations
from chat_app.offline.calculating.measurements import plain
from chat_app.offline.composition.compose import compose
from chat_app.offline.reading.dialogue import Exchange, ToolOutput
from chat_app.offline.reading.tool_outputs import gather
from chat_app.offline.wire.requests import FunctionToolIn
from tools.calculators import calculator_tools
from tools.language.named_lists import listed
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_lines
from tools.types import Function

TOOLS = {tool.name: tool for tool in calculator_tools()}
DECLARED = [FunctionToolIn.model_validate(tool.definition.model_dump()) for tool in TOOLS.values()]


def read(*turns: Exchange) -> list[tuple[str, dict[str, Any]]]:
    """The calls: the name without its prefix, and the inputs that are given, quantities as text."""
    found, _ = calculations(DECLARED, turns)
    return [(call.name.removeprefix("calculate_"), _short(call.arguments)) for call in found]


def _short(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value['value']:g} {value['unit'] or '?'}" if isinstance(value, dict) else value
        for name, value in arguments.items()
        if value is not None
    }


@pytest.mark.parametrize(
    ("question", "name", "inputs"),
    [
        (
            "eGFR 67 yo woman creatinine 1.3 mg/dl",
            "egfr",
            {"age": "67 years", "sex": "female", "creatinine": "1.3 mg/dl"},
        ),
        (
            "CrCl 72 kg 80 y male Cr 140 µmol/l",
            "creatinine_clearance",
            {"age": "80 years", "sex": "male", "weight": "72 kg", "creatinine": "140 µmol/l"},
        ),
        (
            "eGFR einer 67-jährigen Frau mit Kreatinin 1,3 mg/dl?",
            "egfr",
            {"age": "67 years", "sex": "female", "creatinine": "1.3 mg/dl"},
        ),
        (
            "Please calculate her GFR: SCr was 98 umol/L, age 54",
            "egfr",
            {"age": "54 ?", "sex": "female", "creatinine": "98 µmol/l"},
        ),
        (
            "CHADSVASC 75 m htn dm",
            "cha2ds2_vasc",
            {"age": "75 years", "sex": "male", "hypertension": True, "diabetes": True},
        ),
        (
            "CHA₂DS₂-VASc for a 66-year-old woman with heart failure, without hypertension or diabetes",
            "cha2ds2_vasc",
            {"age": "66 years", "sex": "female", "heart_failure": True, "hypertension": False, "diabetes": False},
        ),
        (
            "cha2ds2vasc stroke risk 70F, pulmonary hypertension, family history of stroke, prior MI",
            "cha2ds2_vasc",
            {"age": "70 years", "sex": "female", "vascular_disease": True},
        ),
        ("BMI 5'11\" 180 lbs", "bmi", {"weight": "180 lb", "height": "71 in"}),
        ("What is the BSA of someone 1.75 m tall and 70 kg?", "bsa", {"weight": "70 kg", "height": "1.75 m"}),
        (
            "CURB-65: 78F confused, urea 9 mmol/l, RR 32, BP 85/55",
            "curb65",
            {
                "age": "78 years",
                "confusion": True,
                "urea": "9 mmol/l",
                "respiratory_rate": "32 ?",
                "systolic": "85 mmHg",
                "diastolic": "55 mmHg",
            },
        ),
        (
            "HAS-BLED in a 70 yo with cirrhosis, no alcohol, on NSAIDs",
            "has_bled",
            {"age": "70 years", "abnormal_liver_function": True, "alcohol": False, "platelet_drugs": True},
        ),
        ("QT 380, HR 120 QTc", "qtc", {"qt": "380 ?", "heart_rate": "120 ?"}),
        (
            "CrCl for a woman of 66, 12 stone 4, age 66, Cr 98 umol/l",
            "creatinine_clearance",
            {"sex": "female", "weight": "172 lb", "age": "66 ?", "creatinine": "98 µmol/l"},
        ),
        (
            "eGFR of a lady of 58, creatinine 1.4 mg/dl",
            "egfr",
            {"age": "58 years", "sex": "female", "creatinine": "1.4 mg/dl"},
        ),
        (
            "eGFR, Frau von 63, Kreatinin 1,3 mg/dl",
            "egfr",
            {"age": "63 years", "sex": "female", "creatinine": "1.3 mg/dl"},
        ),
        ("BMI: weight 80 kg (176 lb), height 180 cm", "bmi", {"weight": "80 kg", "height": "180 cm"}),
        (
            "eGFR of a 70-year-old man, diabetic for 20 years, creatinine 1.3 mg/dl",
            "egfr",
            {"age": "70 years", "sex": "male", "creatinine": "1.3 mg/dl"},
        ),
        (
            "eGFR 60 y woman, baseline creatinine 0.9 mg/dl, creatinine 1.8 mg/dl",
            "egfr",
            {"age": "60 years", "sex": "female", "creatinine": "1.8 mg/dl"},
        ),
        (
            "CHA2DS2-VASc for this 60-year-old woman with hypertension. Her mother had a stroke",
            "cha2ds2_vasc",
            {"age": "60 years", "sex": "female", "hypertension": True},
        ),
        ("QTc: QT 400 ms, HR 75, male", "qtc", {"qt": "400 ms", "heart_rate": "75 ?", "sex": "male"}),
        (
            "corrected calcium Ca 1.95 mmol/l albumin 25 g/l",
            "corrected_calcium",
            {"calcium": "1.95 mmol/l", "albumin": "25 g/l"},
        ),
        (
            "anion gap Na+ 140 Cl- 104 HCO3- 18",
            "anion_gap",
            {"sodium": "140 ?", "chloride": "104 ?", "bicarbonate": "18 ?"},
        ),
        (
            "MELD 3.0 woman bilirubin 3 mg/dl Na 128 INR 1.8 creatinine 2 mg/dl albumin 2.8 g/dl",
            "meld3",
            {
                "sex": "female",
                "bilirubin": "3 mg/dl",
                "sodium": "128 ?",
                "inr": "1.8 ?",
                "creatinine": "2 mg/dl",
                "albumin": "2.8 g/dl",
            },
        ),
        (
            "Wells score for DVT: active cancer, calf swelling 4 cm, no previous DVT",
            "wells_dvt",
            {"active_cancer": True, "calf_difference": "4 cm", "previous_dvt": False},
        ),
        (
            "Wells, HR 110, haemoptysis, surgery 2 weeks ago",
            "wells_pe",
            {"heart_rate": "110 ?", "haemoptysis": True, "immobilised": True},
        ),
        (
            "HAS-BLED 75 y creatinine 230 µmol/l, BP 180/95, TTR 55 %, INR very labile, bilirubin 3 mg/dl",
            "has_bled",
            {
                "age": "75 years",
                "systolic": "180 mmHg",
                "creatinine": "230 µmol/l",
                "time_in_range": "55 %",
                "labile_inr": True,
            },
        ),
        (
            "CHA2DS2-VASc 70 y man, HbA1c 8 %, EF 35 %",
            "cha2ds2_vasc",
            {"age": "70 years", "sex": "male", "ejection_fraction": "35 %"},
        ),
        (
            "Wells TVT: Mammakarzinom, linkes Bein deutlich geschwollen, Bein nicht gelähmt",
            "wells_dvt",
            {"active_cancer": True, "leg_swollen": True, "paralysis": False},
        ),
        ("eGFR CKD-EPI 2021 man, bilirubin 2 mg/dl, age 60", "egfr", {"age": "60 ?", "sex": "male"}),
        (
            "corrected calcium 7.8 mg/dl albumin 2.4 g/dl",
            "corrected_calcium",
            {"calcium": "7.8 mg/dl", "albumin": "2.4 g/dl"},
        ),
        (
            "Calcium korrigiert: 2,05 mmol/l bei Albumin 25 g/l",
            "corrected_calcium",
            {"calcium": "2.05 mmol/l", "albumin": "25 g/l"},
        ),
        ("QT 420 ms, RR interval 0.75 s", "qtc", {"qt": "420 ms", "rr_interval": "0.75 s"}),
        ("Bazett: QT 420 ms, RR 750 ms", "qtc", {"qt": "420 ms", "rr_interval": "750 ms"}),
        (
            "Wells PE 3 days bedrest, pulse 105",
            "wells_pe",
            {"heart_rate": "105 ?", "immobilised": True},
        ),
        ("eGFR male 45 creatinine 0.9 mmol/l", "egfr", {"age": "45 years", "sex": "male"}),
        ("eGFR with creatinine 120", "egfr", {"creatinine": "120 ?"}),
        ("Wells score for PE", "wells_pe", {}),
        ("Wells-Score bei Verdacht auf Lungenembolie", "wells_pe", {}),
        ("CHA2DS2-VASc score for a man", "cha2ds2_vasc", {"sex": "male"}),
        ("HAS-BLED for a 70 year old man with hypertension", "has_bled", {"age": "70 years"}),
        ("Calculate the eGFR", "egfr", {}),
        (
            "QTc: QT 400 ms, heart rate 88 woman",
            "qtc",
            {"qt": "400 ms", "heart_rate": "88 ?", "sex": "female"},
        ),
        (
            "CrCl 80 y, weight 72 kg, creatinine 98 male",
            "creatinine_clearance",
            {"age": "80 years", "sex": "male", "weight": "72 kg", "creatinine": "98 ?"},
        ),
        ("eGFR: age 75 m, creatinine 1.3 mg/dl", "egfr", {"age": "75 years", "sex": "male", "creatinine": "1.3 mg/dl"}),
        (
            "CHADSVASC hf 75 m",
            "cha2ds2_vasc",
            {"age": "75 years", "sex": "male", "heart_failure": True},
        ),
        *(
            (
                f"chads vasc 71 F {written}",
                "cha2ds2_vasc",
                {"age": "71 years", "sex": "female", "diabetes": diabetes, "stroke": stroke},
            )
            for written, diabetes, stroke in (
                ("diabetes no stroke", True, False),
                ("diabetes no, stroke yes", False, True),
                ("diabetes: no stroke: no", False, False),
                ("diabetes no stroke no", False, False),
                ("non-diabetic stroke", False, True),
            )
        ),
        (
            "chads vasc 59 F, no risk factors",
            "cha2ds2_vasc",
            {
                "age": "59 years",
                "sex": "female",
                "heart_failure": False,
                "hypertension": False,
                "diabetes": False,
                "stroke": False,
                "vascular_disease": False,
            },
        ),
        (
            "Work out the creatinine clearance, he is 74, weighs 81 kg and his creatinine is 1.9 mg/dL",
            "creatinine_clearance",
            {"age": "74 years", "sex": "male", "weight": "81 kg", "creatinine": "1.9 mg/dl"},
        ),
        ("What is the eGFR of a 67 year old woman?", "egfr", {"age": "67 years", "sex": "female"}),
        (
            "CrCl please, 80 y male, 72 kg",
            "creatinine_clearance",
            {"age": "80 years", "sex": "male", "weight": "72 kg"},
        ),
    ],
)
def test_a_question_that_names_a_calculator(question: str, name: str, inputs: dict[str, Any]) -> None:
    assert read(Exchange(question)) == [(name, inputs)]


@pytest.mark.parametrize(
    ("told", "previous"),
    [
        *((f"{before} DVT", True) for before in ("previous left leg", "prior", "history of", "s/p", "known h/o")),
        *((f"{before} TVT", True) for before in ("Z.n.", "Z. n.", "Zustand nach", "früher schon", "frühere")),
        *((f"DVT {behind}", True) for behind in ("in 2016", "2019", "5 years ago", "of the leg in the past", "before")),
        *((f"TVT {behind}", True) for behind in ("früher", "vor 3 Jahren", "in der Anamnese", "links 2015")),
        ("Beinvenenthrombose 2015", True),
        ("no previous DVT", False),
        ("keine TVT in der Anamnese", False),
        ("suspected DVT", None),
        ("DVT, previous surgery", None),
    ],
)
def test_what_a_patient_had_before_is_said_in_front_or_behind(told: str, previous: bool | None) -> None:
    ((_, inputs),) = read(Exchange(f"Wells PE: pulse 105, haemoptysis, {told}"))
    assert inputs.get("previous_thromboembolism") is previous


@pytest.mark.parametrize(
    ("question", "criterion", "present"),
    [
        ("HAS-BLED 70 y, drinks 3 units a week", "alcohol", False),
        ("HAS-BLED 70 y, drinks 3 units a day", "alcohol", True),
        ("HAS-BLED 70 y, alcohol 8 units/week", "alcohol", True),
        ("HAS-BLED 70 y, alcohol: less than 8 units a week", "alcohol", False),
        ("HAS-BLED 70 y, alcohol 4 drinks weekly", "alcohol", False),
        ("HAS-BLED 70 y, Alkohol 2 Einheiten/Woche", "alcohol", False),
        ("HAS-BLED 70 y, heavy drinking, insulin 4 units a day", "alcohol", True),
        ("HAS-BLED 70 y, alcohol", "alcohol", True),
        ("Wells PE HR 110, hip replacement 8 weeks ago", "immobilised", False),
        ("Wells PE HR 110, hip replacement 2 weeks ago", "immobilised", True),
        ("Wells PE HR 110, operiert vor 10 Tagen", "immobilised", True),
        ("Wells PE HR 110, 9 weeks after surgery", "immobilised", False),
        ("Wells DVT calf 4 cm, surgery 2 months ago", "bedridden", True),
        ("Wells DVT calf 4 cm, surgery 6 months ago", "bedridden", False),
        ("Wells DVT calf 4 cm, bedridden for 2 days", "bedridden", False),
        ("Wells DVT calf 4 cm, bedridden for 5 days", "bedridden", True),
        ("Wells DVT calf 4 cm, metastatic cancer 3 years ago", "active_cancer", True),
    ],
)
def test_an_amount_is_compared_with_the_bound_of_a_criterion(question: str, criterion: str, present: bool) -> None:
    ((_, inputs),) = read(Exchange(question))
    assert inputs[criterion] is present


def test_a_list_of_drugs_with_doses_and_frequencies() -> None:
    ((name, inputs),) = read(Exchange("MME of oxycodone 10 mg bid, fentanyl patch 25 mcg/h and morphine 30 mg q12h"))
    assert name == "opioid_mme"
    assert [(one["drug"], one["dose"]["value"], one["frequency"]) for one in inputs["opioids"]] == [
        ("oxycodone", 10, {"value": 2, "unit": "times a day"}),
        ("fentanyl transdermal", 25, None),
        ("morphine", 30, {"value": 2, "unit": "times a day"}),
    ]


@pytest.mark.parametrize(
    ("question", "opioid", "needed"),
    [
        ("MME oxycontin 40 mg bid", "oxycodone", None),
        ("MME oxycodone 10 to 20 mg four times daily", "oxycodone", "Give the dose of oxycodone in mg for each dose."),
        ("MME fentanyl patch", "fentanyl transdermal", "Give the dose of fentanyl transdermal in µg/h."),
        ("MME fentanyl 25", "fentanyl", "Only the fentanyl patch is converted: give its rate in µg/h."),
    ],
)
def test_an_opioid_is_known_by_its_brand_and_asked_about(question: str, opioid: str, needed: str | None) -> None:
    ((name, inputs),) = read(Exchange(question))
    assert [one["drug"] for one in inputs["opioids"]] == [opioid]
    output = TOOLS[f"calculate_{name}"].call(**inputs).output
    assert isinstance(output, dict)
    assert output.get("needs") == needed


@pytest.mark.parametrize(
    ("before", "then", "total"),
    [
        ("morphine 15 mg bid", "plus hydromorphone 2 mg qid", "70.0"),
        ("morphine 30 mg bid", "also Oramorph 10 mg qid", "100.0"),
        ("tramadol 50 mg qid", "and codeine 30 mg qid", "58.0"),
        ("tramadol 50 mg qid", "und dazu Morphin 10 mg 2x täglich", "60.0"),
        ("oxycodone 10 mg bid", "what's the MME with tramadol 50 mg qid as well?", "70.0"),
        ("oxycodone 10 mg bid", "she also takes tapentadol 100 mg bid and codeine 30 mg qid", "128.0"),
        ("oxycodone 10 mg bid, morphine 30 mg bid", "stop the oxycodone", "60.0"),
        ("oxycodone 10 mg bid, morphine 30 mg bid", "MME without the oxycodone?", "60.0"),
        ("oxycodone 10 mg bid, morphine 30 mg bid", "Oxycodon abgesetzt", "60.0"),
        ("oxymorphone 10 mg bid, tramadol 100 mg bid", "replace tramadol with morphine 15 mg bid", "90.0"),
        ("oxycodone 10 mg tid, tramadol 50 mg bid", "increase oxycodone to 20 mg", "110.0"),
        ("oxycodone 10 mg tid, tramadol 50 mg bid", "also increase the oxycodone to 20 mg tid", "110.0"),
        ("oxycodone 10 mg bid", "morphine 20 mg bid instead", "40.0"),
        ("oxycodone 10 mg bid", "what about tramadol 50 mg qid", "40.0"),
        ("oxycodone 10 mg bid", "and if it were tramadol 50 mg qid", "40.0"),
        ("oxycodone 10 mg bid", "MME of morphine 30 mg bid and also oxycodone 20 mg bid", "120.0"),
        ("oxycodone", "10 mg bid", "30.0"),
        ("oxycodone 5 mg bid", "actually 10 mg bid", "30.0"),
        ("oxycodone 5 mg bid", "and 10 mg bid?", "30.0"),
    ],
)
def test_a_follow_up_adds_to_a_list_or_takes_off_or_replaces(before: str, then: str, total: str) -> None:
    asked = _asked(f"MME of {before}")
    ((name, _),) = read(asked, Exchange(then))
    ((call,), _) = calculations(DECLARED, [asked, Exchange(then)])
    output = TOOLS[f"calculate_{name}"].call(**call.arguments).output
    assert isinstance(output, dict)
    assert output.get("result") == f"Total {total} MME/day"


def test_a_list_without_its_only_item_is_not_calculated() -> None:
    assert read(_asked("MME of oxycodone 10 mg bid"), Exchange("stop the oxycodone")) == []


def test_inputs_without_a_name_call_the_calculator_that_uses_most_of_them() -> None:
    ((name, inputs),) = read(Exchange("Apixaban in an 82 year old man weighing 58 kg with creatinine 1.6 mg/dl?"))
    assert name == "creatinine_clearance"
    assert inputs == {"age": "82 years", "sex": "male", "weight": "58 kg", "creatinine": "1.6 mg/dl"}


@pytest.mark.parametrize(
    "question",
    [
        "What CHA2DS2-VASc score needs anticoagulation?",
        "Dose of metformin with an eGFR of 25?",
        "Which antibiotic for a 70 year-old with CURB-65 of 3?",
        "QTc 480 ms in a 60-year-old woman on citalopram",
        "Treatment of hypertension in a 75 year old man with diabetes",
        "Is a target of 130/80 mmHg right in diabetes?",
        "How is creatinine clearance calculated?",
        "Amoxicillin/clavulanate 875/125 mg twice daily for a 70 kg man",
        "What is the eGFR cut-off for starting empagliflozin in a 70 year old woman?",
        "Which CHA2DS2-VASc points count in a 70 year old woman before ablation?",
        "BMI above 30: which drugs are approved for a woman of 50 years?",
        "What is HAS-BLED?",
        "HAS-BLED and NSAIDs",
        "HAS-BLED versus ORBIT in 80 year old patients",
        "MME limit for oxycodone",
        "Stroke risk score in women",
        "CURB-65 of a 70 year old: amoxicillin?",
        "Wofür ist der HAS-BLED-Score?",
        "Why does HAS-BLED count age above 65 years?",
        "corrected calcium of 3.1 mmol/l: which treatment follows?",
        "QTc 480 ms, HR 90",
        "How many MME is high for a patient on oxycodone?",
        "Which calculation of creatinine clearance is advised?",
        "anion gap",
        "Which dose follows when oxycodone 20 mg q12h = 60 MME is reduced by 10% in the second week?",
    ],
)
def test_other_questions_call_no_calculator(question: str) -> None:
    assert read(Exchange(question)) == []


@pytest.mark.parametrize(
    ("question", "name"),
    [("anion gap calculation", "anion_gap"), ("QTc calculator", "qtc"), ("BMI Rechner", "bmi")],
)
def test_a_calculation_that_is_named_alone_asks_for_its_inputs(question: str, name: str) -> None:
    assert [called for called, _ in read(Exchange(question))] == [name]


def test_a_value_in_a_unit_that_the_input_does_not_take_is_left_out() -> None:
    ((_, inputs),) = read(Exchange("eGFR 67 yo woman creatinine 1.3 g/l"))
    assert "creatinine" not in inputs


def _asked(question: str) -> Exchange:
    """A turn in which the real tool was called with what was read."""
    (call,) = calculations(DECLARED, [Exchange(question)])[0]
    output = TOOLS[call.name].call(**call.arguments).output
    done = ToolOutput(call.name, orjson.dumps(call.arguments).decode(), orjson.dumps(output).decode())
    return Exchange(question, outputs=[done])


def test_a_follow_up_gives_what_was_missing() -> None:
    before = _asked("eGFR of a 67 year old woman")
    assert '"needs"' in before.outputs[0].output
    expected = {"age": "67 years", "sex": "female", "creatinine": "1.3 mg/dl"}
    assert read(before, Exchange("1.3 mg/dl")) == [("egfr", expected)]
    assert read(before, Exchange("Her creatinine is 1.3 mg/dl")) == [("egfr", expected)]


@pytest.mark.parametrize(
    ("asked", "reply", "name", "value"),
    [
        ("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused", "mmol/L", "urea", "18 mmol/l"),
        ("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused", "its mmol", "urea", "18 mmol/l"),
        ("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused", "18 mmol/L", "urea", "18 mmol/l"),
        ("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused", "the units are mg/dl", "urea", "18 mg/dl"),
        ("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused", "18", "urea", "18 ?"),
        ("CURB-65: urea 18, RR 32, BP 85/50, confused", "mmol/l", "urea", "18 mmol/l"),
        ("CURB-65: urea 18, RR 32, BP 85/50, confused", "81", "age", "81 ?"),
        ("eGFR of a woman with creatinine 1.3 mg/dl", "67", "age", "67 ?"),
        ("eGFR einer 67-jährigen Frau", "es sind 130", "creatinine", "130 ?"),
    ],
)
def test_a_number_or_unit_alone_goes_to_the_only_input_that_it_can_be(
    asked: str, reply: str, name: str, value: str
) -> None:
    ((_, inputs),) = read(_asked(asked), Exchange(reply))
    assert inputs[name] == value


@pytest.mark.parametrize(
    "other", ["mg", "20 mg?", "9 days later", "what is 9?", "amoxicillin 9", "is it bad", "5 or 9"]
)
def test_what_is_no_value_of_the_missing_input_is_no_reply(other: str) -> None:
    assert read(_asked("CURB-65: 81 y, urea 18, RR 32, BP 85/50, confused"), Exchange(other)) == []


@pytest.mark.parametrize(
    ("question", "age"),
    [
        ("CURB-65: RR 32, BP 85/50, confused, 84", "84 years"),
        ("82, confused, RR 32, BP 85/50. CURB-65?", "82 years"),
        ("CURB-65: RR 32, BP 85/50, confused, in her 80s", None),
        ("CURB-65: RR 32, BP 85/50, confused, urea, 84", None),
    ],
)
def test_a_number_that_can_be_nothing_else_is_the_age(question: str, age: str | None) -> None:
    ((_, inputs),) = read(Exchange(question))
    assert inputs.get("age") == age


@pytest.mark.parametrize(
    ("question", "name", "value"),
    [
        ("CURB-65 72, urea 9, RR 22, BP 120/70, not confused", "age", "72 years"),
        ("CHA2DS2-VASc: 79, woman, hypertension. Anticoagulate?", "age", "79 years"),
        ("HAS-BLED 80 on aspirin", "age", "80 years"),
        ("HAS-BLED on aspirin 75 mg and labile INR", "age", None),
        ("CURB-65 urea 9, RR 22, BP 120/70, not confused, temp 38", "age", None),
        ("BMI 96 kg 1.70", "height", "1.7 ?"),
        ("BSA 64 kg, 172", "height", "172 ?"),
        ("eGFR 57 weiblich, Kreatinin 130 µmol/l", "age", "57 years"),
    ],
)
def test_a_number_alone_is_the_only_input_that_is_missing(question: str, name: str, value: str | None) -> None:
    ((_, inputs),) = read(Exchange(question))
    assert inputs.get(name) == value


@pytest.mark.parametrize(
    "question",
    ["CURB-65 3, RR 32, BP 85/55, confused, urea 9", "45 y, female, eGFR >90", "BMI 32, 96 kg, dose?",
     "eGFR 45, female, creatinine 120 µmol/l", "CHA2DS2-VASc 2 male, anticoagulate?"],
)  # fmt: skip
def test_a_number_after_the_name_that_may_be_the_result_is_no_input(question: str) -> None:
    assert read(Exchange(question)) == []


def test_a_follow_up_changes_one_input() -> None:
    before = _asked("eGFR 67 yo woman creatinine 1.3 mg/dl")
    ((_, inputs),) = read(before, Exchange("And with creatinine 1.8 mg/dl?"))
    assert inputs == {"age": "67 years", "sex": "female", "creatinine": "1.8 mg/dl"}


@pytest.mark.parametrize(
    ("asked", "correction", "name", "value"),
    [
        ("QTc: QT 380 HR 80", "HR was actually 120", "heart_rate", "120 ?"),
        ("QTc: QT 380 HR 80", "the QT is in fact 460", "qt", "460 ?"),
        ("eGFR 54 yo man creatinine 1.1 mg/dl", "correction, he's 71", "age", "71 years"),
        ("eGFR 54 yo man creatinine 1.1 mg/dl", "sorry, creatinine is 1.9", "creatinine", "1.9 mg/dl"),
        ("eGFR 54 yo man creatinine 1.1 mg/dl", "Kreatinin war doch 1,7", "creatinine", "1.7 mg/dl"),
        ("eGFR 54 yo man creatinine 124 µmol/l", "creatinine is actually 1.4", "creatinine", "1.4 ?"),
        ("CrCl 72 y woman 60 kg creatinine 1 mg/dl", "weight not 60 but 90", "weight", "90 kg"),
        ("CrCl 72 y woman 60 kg creatinine 1 mg/dl", "weight 70, not 60", "weight", "70 kg"),
        ("Corrected calcium: Ca 2.3 mmol/l, albumin 36 g/l", "albumin should be 29", "albumin", "29 g/l"),
        ("CURB-65: 81 y, urea 9 mmol/l, RR 22", "resp rate wasn't 22 but 34", "respiratory_rate", "34 ?"),
    ],
)
def test_a_correction_changes_one_input(asked: str, correction: str, name: str, value: str) -> None:
    ((_, inputs),) = read(_asked(asked), Exchange(correction))
    assert inputs[name] == value
    assert inputs.items() > {key: one for key, one in read(Exchange(asked))[0][1].items() if key != name}.items()


def test_none_of_these_denies_every_criterion_that_was_asked_for() -> None:
    before = _asked("Calculate CHA2DS2-VASc of a 70 year old man")
    ((_, inputs),) = read(before, Exchange("None of these."))
    assert inputs["age"] == "70 years"
    criteria = ("heart_failure", "hypertension", "diabetes", "stroke", "vascular_disease")
    assert [inputs[name] for name in criteria] == [False] * 5


@pytest.mark.parametrize("changed", ["and if she were a man?", "What if she is a man?", "und wenn sie ein Mann wäre?"])
def test_a_noun_says_more_of_the_sex_than_a_pronoun(changed: str) -> None:
    ((_, inputs),) = read(_asked("eGFR 67 yo woman creatinine 1.3 mg/dl"), Exchange(changed))
    assert inputs == {"age": "67 years", "sex": "male", "creatinine": "1.3 mg/dl"}


def test_another_question_after_a_calculation_is_no_follow_up() -> None:
    assert read(_asked("eGFR 67 yo woman creatinine 1.3 mg/dl"), Exchange("What is the dose of metformin?")) == []
    assert read(_asked("eGFR 67 yo woman creatinine 1.3 mg/dl"), Exchange("Can she have metformin?")) == []


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("What is the eGFR of a 67 yo woman with creatinine 1.3 mg/dl?", True),
        ("Calculate the CHA2DS2-VASc score", True),
        ("MME of oxycodone 10 mg bid", True),
        ("Is metformin safe in a 67 yo woman with creatinine 1.3 mg/dl and what is her eGFR?", False),
        ("eGFR of a 67 yo woman", True),
        ("MME of oxycodone 10 mg bid. Can it be combined with lorazepam?", False),
        ("QTc with QT 480 ms and heart rate 80, and can citalopram be given?", False),
        ("CrCl 70 y man 80 kg creatinine 2.5 mg/dl, dose of gabapentin?", False),
        ("CrCl 70 y man 80 kg creatinine 2.5 mg/dl, dose of Xarelto?", False),
    ],
)
def test_a_question_about_a_medicine_too_is_not_left_to_the_calculator(question: str, alone: bool) -> None:
    found, only = calculations(DECLARED, [Exchange(question)])
    assert len(found) == 1
    assert only == alone


def test_a_call_that_was_made_is_not_made_again() -> None:
    assert read(_asked("eGFR 67 yo woman creatinine 1.3 mg/dl")) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1,3 mg", "1.3 mg"),
        ("5 ft 11 in", "71 in"),
        ("BP 110/70", "bp systolic 110 mmhg diastolic 70 mmhg"),
        ("bp 165 sys, 70 diast", "bp systolic 165 mmhg, diastolic 70 mmhg"),
        ("syst bp 172", "systolic 172"),
        ("165 mmHg systolisch", "systolic 165 mmhg"),
        ("urea 9 age 70 systolic 165", "urea 9 age 70 systolic 165"),
        ("aged 70 systolic murmur", "aged 70 systolic murmur"),
        ("75 systolic hypertension", "75 systolic hypertension"),
        ("ef 30 systolic", "ef 30 systolic"),
        ("LVEF of 30 systolic", "lvef of 30 systolic"),
        ("ejection fraction 30 systolic", "ejection fraction 30 systolic"),
        ("ef 30 bp 95 systolic", "ef 30 bp systolic 95 mmhg"),
        ("875/125 mg", "875/125 mg"),
        ("75M", "75 years m"),
        ("1.80 m", "1.80 m"),
        ("30 mg/day", "30 mg 1 times a day"),
        ("10 mg every 6 hours", "10 mg 4 times a day"),
        ("10 mg three times daily", "10 mg 3 times a day"),
        ("10 mg tds", "10 mg 3 times a day"),
        ("20 mg 3x daily", "20 mg 3 times a day"),
        ("20 mg zweimal täglich", "20 mg 2 times a day"),
        ("20 mg 8 hourly", "20 mg 3 times a day"),
        ("25 mcg every 72 hours", "25 mcg 0.3333 times a day"),
        ("20 mg 2/day", "20 mg 2 times a day"),
        ("20 mg every 4-6 hours", "20 mg every 4-6 hours"),
    ],
)
def test_shorthand_is_written_out(written: str, expected: str) -> None:
    assert plain(written) == expected


@pytest.mark.parametrize(
    "question",
    [
        "eGFR 54 yo man creatinine 1.1 mg/dl then 2.3 mg/dl",
        "eGFR of a 54 yo man, creatinine from 88 µmol/l to 190 µmol/l",
        "Kreatinin 1,2-1,4 mg/dl, 54 Jahre, männlich, eGFR berechnen",
        "eGFR 54 yo man creatinine 1.1 mg/dl, now 2.3",
        "eGFR 54 yo man creatinine 110 nmol/l",
        "eGFR 54 yo man creatinine 1.1 mg",
        "Calculate the eGFR: 54 yo man, urine creatinine 20 mg/dl",
    ],
)
def test_of_several_values_or_another_unit_none_is_taken(question: str) -> None:
    assert read(Exchange(question)) == [("egfr", {"age": "54 years", "sex": "male"})]


@pytest.mark.parametrize(
    "question", ["eGFR for her husband, 70 y, Cr 1.3 mg/dl", "eGFR man or woman 70 y Cr 1.3 mg/dl"]
)
def test_the_sex_of_somebody_else_is_not_taken(question: str) -> None:
    assert read(Exchange(question)) == [("egfr", {"age": "70 years", "creatinine": "1.3 mg/dl"})]


@pytest.mark.parametrize(
    "question",
    [
        "CHA2DS2-VASc for the husband of a diabetic woman, 75 y, hypertension",
        "CHA2DS2-VASc for the son of a 98-year-old man with diabetes, 75 y, hypertension",
        "CHA2DS2-VASc for a diabetic woman's husband, 75 y, hypertension",
        "CHA2DS2-VASc: Tochter eines Diabetikers, 75 Jahre, Hypertonie",
    ],
)
def test_nothing_is_taken_of_a_person_whose_relative_is_asked_about(question: str) -> None:
    assert read(Exchange(question)) == [("cha2ds2_vasc", {"age": "75 years", "hypertension": True})]


@pytest.mark.parametrize(
    ("told", "of_patient"),
    [
        ("father had a stroke", {}),
        ("mother had diabetes and an uncle a heart attack", {}),
        ("whose brother has diabetes", {}),
        ("his sisters are diabetic", {}),
        ("family history of stroke and diabetes", {}),
        ("stroke in his father", {}),
        ("Schlaganfall beim Vater", {}),
        ("Mutter Diabetikerin", {}),
        ("father had a stroke and he has diabetes", {"diabetes": True}),
        ("mother of two with diabetes", {"diabetes": True}),
    ],
)
def test_what_is_told_of_relatives_is_not_taken(told: str, of_patient: dict[str, Any]) -> None:
    known = {"age": "74 years", "sex": "male", "hypertension": True}
    assert read(Exchange(f"CHA2DS2-VASc 74 m, HTN, {told}")) == [("cha2ds2_vasc", {**known, **of_patient})]


def test_a_relative_who_is_asked_about_is_the_patient() -> None:
    expected = {"age": "82 years", "hypertension": True, "diabetes": True}
    for of in ("my 82-year-old father with", "his father: 82 years,", "our mother, 82 y, with"):
        assert read(Exchange(f"CHA2DS2-VASc for {of} hypertension and diabetes")) == [("cha2ds2_vasc", expected)]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Child-Pugh: bilirubin 3.5 mg/dl, albumin 2.5 g/dl, INR 2.0", "Child-Pugh"),
        ("Berechne das Idealgewicht für einen Mann", "Idealgewicht"),
        ("HEART score 65 year old man with chest pain", "HEART score"),
        ("Calcule el peso ideal", "peso ideal"),
        ("When is a Child-Pugh score used?", ""),
        ("Child-Pugh 8: dose?", ""),
        ("CHA2DS2-VASc of a man of 70 years", ""),
    ],
)
def test_a_score_without_a_calculator_is_named_before_what_is_closest(question: str, name: str) -> None:
    passage = {"passages": [{"text": "Child-Pugh C: the dose of zorbin is halved by score.", "cite": "[1]"}]}
    evidence = gather([ToolOutput("search_clinical_guidelines", "{}", json.dumps(passage))])
    answer = compose(question, evidence).text
    assert answer.startswith(phrases.said(phrases.NO_CALCULATOR, language_of(question)).format(names=name)) == bool(
        name
    )
    closest = phrases.said(phrases.CLOSEST, language_of(question))
    assert not name or "zorbin" not in answer or closest in answer


def test_no_listed_score_has_a_calculator() -> None:
    names = [name for tool in TOOLS.values() for name in listed(tool.definition.description or "", "Also")]
    assert not {name.casefold() for name in names} & set(word_lines("scores"))


INDEPENDENT = Path(__file__).resolve().parents[1] / "benchmarks" / "independent_calculations.jsonl"


def calculated(question: str) -> dict[str, str]:
    """Return what each calculator that the question wants says, by its name."""
    found, _ = calculations(DECLARED, [Exchange(question)])
    said: dict[str, str] = {}
    for call in found:
        asked = Function(call_id="c", name=call.name, arguments=json.dumps(call.arguments))
        output = asyncio.run(TOOLS[call.name].acall(asked)).output
        said[call.name.removeprefix("calculate_")] = json.dumps(output, ensure_ascii=False)
    return said


def is_right(said: str, value: str) -> bool:
    if value == "missing":
        return '"needs"' in said
    numbers = map(float, re.findall(r"-?\d+(?:\.\d+)?", said))
    return any(abs(number - float(value)) <= max(0.06, abs(float(value)) * 0.012) for number in numbers)


def test_three_authors_who_did_not_know_the_product_are_understood() -> None:
    """163 questions that ask to calculate and 55 that do not; see docs/measurements.md for what was unseen when."""
    lines = [json.loads(line) for line in INDEPENDENT.read_text("utf-8").splitlines()]
    wanted = [line for line in lines if line["calculator"] != "none"]
    right = [
        line for line in wanted if is_right(calculated(line["question"]).get(line["calculator"], ""), line["value"])
    ]
    others = [line for line in lines if line["calculator"] == "none" and calculated(line["question"])]
    assert len(right) / len(wanted) >= 0.92
    assert len(others) <= 3
