"""A question on a list of medicines is answered for each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from chat_app.offline import phrases
from chat_app.offline.composition.each_medicine import compose_each
from chat_app.offline.planning.medicine_lists import of_each
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from chat_app.offline.reading.tool_outputs import gather

LIST = "zorbium 5 mg\nvelcor 20 mg\nplaxin 1 g"
LABELS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "zorbium": {
        "renal_dosing": ["Zorbium is contraindicated when creatinine clearance is below 30 mL/min."],
        "warnings": ["Zorbium can cause hyperkalemia."],
        "dosage": ["Zorbium is withheld 3 days before surgery."],
    },
    "velcor": {
        "renal_dosing": ["At creatinine clearance of 60 mL/min or above velcor is given as 20 mg."],
        "warnings": ["Velcor can cause cough."],
        "dosage": ["Below an eGFR of 30 mL/min/1.73 m2 velcor is halved.", "Velcor is taken with food."],
    },
    "plaxin": {"pregnancy": ["Plaxin is stopped in pregnancy."], "warnings": ["Plaxin can cause hyperkalemia."]},
}


@pytest.mark.parametrize(
    "question",
    [
        f"{LIST}\nwhich of these raise potassium?",
        f"{LIST}\nanything to stop before surgery?",
        "72F, on zorbium 5 mg, velcor 20 mg and plaxin. Which need adjusting before surgery?",
        f"Are her medicines ok in pregnancy?\n{LIST}",
        f"{LIST}\nwelche davon machen Husten?",
        f"{LIST}\nmuss etwas pausiert werden vor der Operation?",
    ],
)
def test_a_question_on_a_list_is_asked_of_each_medicine(question: str) -> None:
    asked = of_each(question, evidence())

    assert list(asked) == ["zorbium", "velcor", "plaxin"]
    assert all(name in one and not any(other in one for other in asked if other != name) for name, one in asked.items())


@pytest.mark.parametrize(
    "question",
    [
        f"{LIST}\nany interactions?",
        f"{LIST}\nDo any of these clash?",
        f"{LIST}\nWhat should be stopped before zorbium?",
        "Retired teacher, hip surgery in 2017, hearing aids, glaucoma, gardens daily, sings in the church choir. Takes "
        "zorbium, velcor and plaxin. Sleeps badly, ankles swollen, no cough. Which of these raise potassium?",
    ],
)
def test_another_question_is_not(question: str) -> None:
    assert of_each(question, evidence()) == {}


def test_the_medicines_are_in_the_order_of_the_list() -> None:
    asked = of_each("plaxin 1 g, velcor 20 mg, zorbium 5 mg. Which of these raise potassium?", evidence())

    assert list(asked) == ["plaxin", "velcor", "zorbium"]


def test_two_medicines_are_no_list() -> None:
    found = evidence(names=("zorbium", "velcor"))

    assert of_each("zorbium 5 mg\nvelcor 20 mg\nwhich of these raise potassium?", found) == {}


def test_names_in_another_language_count() -> None:
    found = evidence(names=("zorbium", "velcor", "chlorthalidone"))

    asked = of_each("Zorbium 5 mg, Velcor 20 mg, Chlortalidon 25 mg. Welche machen Husten?", found)

    assert list(asked) == ["zorbium", "velcor", "chlorthalidone"]


def test_medicines_that_are_not_loaded_are_named() -> None:
    note = "Plaxofil is not in the drug database."
    found = evidence()
    found = replace(found, lookups=[replace(each, not_loaded=(note,)) for each in found.lookups])

    question = f"{LIST}\nplaxofil 1 g\nwhich of these cause hyperkalemia?"
    answered = compose_each(question, of_each(question, found), found, ())

    assert answered is not None
    assert answered.text.endswith(note)


def test_a_list_is_answered_medicine_by_medicine() -> None:
    text = answer(f"{LIST}\nwhich of these cause hyperkalemia?")

    assert "Zorbium can cause hyperkalemia." in text
    assert "Plaxin can cause hyperkalemia." in text
    assert "cough" not in text
    assert text.endswith(phrases.NOT_STATED.format(names="velcor"))


def test_the_values_of_the_patient_choose_the_statements() -> None:
    text = answer(f"Creatinine clearance 22 mL/min\n{LIST}\nanything to stop?")

    assert "Zorbium is contraindicated when creatinine clearance is below 30 mL/min." in text
    assert "velcor is given as 20 mg" not in text


def test_a_bound_counts_in_any_section() -> None:
    text = answer(f"eGFR 22\n{LIST}\nanything to reduce?")

    assert "Below an eGFR of 30 mL/min/1.73 m2 velcor is halved." in text
    assert "Velcor is taken with food." not in text


def test_a_sentence_on_none_of_the_medicines_is_left_out() -> None:
    passage = EvidencePassage(
        "Diets cause hyperkalemia. Spironolactone can cause hyperkalemia. Zorbium must not be stopped in hyperkalemia."
    )
    found = replace(evidence(), passages=[passage])

    question = f"{LIST}\nwhich of these cause hyperkalemia?"
    answered = compose_each(question, of_each(question, found), found, ())

    assert answered is not None
    assert "Zorbium must not be stopped" in answered.text
    assert not any(other in answered.text for other in ("Spironolactone", "Diets"))
    assert answered.text.endswith(phrases.NOT_STATED.format(names="velcor"))


def test_what_may_be_done_need_not_be_said_in_the_same_words() -> None:
    text = answer(f"{LIST}\nwhich need adjusting before surgery?")

    assert "Zorbium is withheld 3 days before surgery." in text
    assert text.endswith(phrases.NOT_STATED.format(names="velcor and plaxin"))


def test_a_group_of_patients_is_enough() -> None:
    text = answer(f"{LIST}\nare these ok in pregnancy?")

    assert "Plaxin is stopped in pregnancy." in text
    assert "Zorbium" not in text


def test_grave_interactions_follow() -> None:
    text = answer(f"{LIST}\nwhich of these cause hyperkalemia?", clash=True)

    assert text.index("Plaxin can cause hyperkalemia.") < text.index("Velcor with zorbium is contraindicated.")


@pytest.mark.parametrize(
    "asked",
    [
        "which of these cause baldness?",
        "What is the potassium goal in dialysis?",
        "Which antibiotic would you choose for pneumonia?",
    ],
)
def test_without_a_clear_answer_for_any_there_is_none(asked: str) -> None:
    questions = of_each(f"{LIST}\n{asked}", evidence())

    assert questions
    assert compose_each("", questions, evidence(), ()) is None


def answer(question: str, *, clash: bool = False) -> str:
    found = evidence(clash=clash)
    answered = compose_each(question, of_each(question, found), found, ())
    assert answered is not None
    return answered.text


def evidence(*, clash: bool = False, names: Sequence[str] = tuple(LABELS)) -> Evidence:
    """Return what a search for all three medicines brings, and a statement on two of them."""
    results = [
        {"generic_name": name, "label": LABELS.get(name, {}), "cite": "", "matched": {"how": "exact", "on": name}}
        for name in names
    ]
    outputs = [
        ToolOutput(
            "search_drugs",
            '{"drug_name": "zorbium, velcor, plaxin"}',
            json.dumps({"results": results, "did_you_mean": []}),
        )
    ]
    if clash:
        said = {
            "generic_name": "velcor", "label_of": "velcor", "about": "zorbium", "severity": "contraindicated",
            "label": {"interactions": ["Velcor with zorbium is contraindicated."]}, "cite": "",
        }  # fmt: skip
        pairs = {"pairs": [{"medicines": ["zorbium", "velcor"]}], "results": [said]}
        outputs.append(ToolOutput("check", "{}", json.dumps(pairs)))
    return gather(outputs)
