"""Cases: the question decides what is searched and quoted, and the patient's description only adds to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from chat_app.offline.calculating.calculations import calculations
from chat_app.offline.composition.compose import compose
from chat_app.offline.planning.calls import comparison, plan
from chat_app.offline.reading.cases import case_in
from chat_app.offline.reading.dialogue import Exchange, ToolOutput
from chat_app.offline.reading.tool_outputs import gather
from chat_app.offline.wire.requests import FunctionToolIn
from tools.drug_database.names.query_words import parse_query
from tools.language.vocabulary.clinical_phrases import clinical_phrases

TOLD = (
    "72 yo woman, retired teacher, lives alone, no gout. Heart failure since 2019, knee surgery, plaxia. "
    "Takes zorbium 5 mg, velcor 20 mg. BP today 168/94, K 6.1, walks the dog every morning."
)


def function(name: str, **properties: Mapping[str, object]) -> FunctionToolIn:
    return FunctionToolIn(
        type="function", name=name, description="Searches guidelines and medicines.", strict=True,
        parameters={"type": "object", "properties": properties, "required": list(properties)},
    )  # fmt: skip


GUIDELINES = function("search_guidelines", question={"type": "string"})
DRUGS = function("search_drugs", drug_name={"type": "string"})
CHECK = function("check", names={"type": "array", "items": {"type": "string"}, "description": "Medicines"})


def answer(question: str, *texts: str, labels: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
           pairs: Sequence[tuple[str, str, str]] = ()) -> str:  # fmt: skip
    """Answer a case from passages, labels by medicine, and a statement with a severity on zorbium and another one."""
    case = case_in(question)
    assert case is not None
    body = {"passages": [{"cite": f"[{n}]", "document": "Guide", "text": text} for n, text in enumerate(texts, 1)]}
    results = [
        {"generic_name": name, "cite": "[9]", "matched": {"how": "exact", "on": name}, "label": label}
        for name, label in (labels or {}).items()
    ]
    said = [
        {"label_of": "zorbium", "about": other, "severity": severity, "cite": "[8]", "label": {"interactions": [line]}}
        for other, severity, line in pairs
    ]
    checked = {"pairs": [{"medicines": ["zorbium", other], "note": ""} for other, *_ in pairs], "results": said}
    outputs = [ToolOutput("search_clinical_guidelines", "{}", json.dumps(body))]
    outputs.append(ToolOutput("search_drug_database", "{}", json.dumps({"results": results, "did_you_mean": []})))
    outputs += [ToolOutput("check", "{}", json.dumps(checked))] if pairs else []
    return compose(question, gather(outputs), newest=case.question, in_case=True).text


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"{TOLD} What next?", "What next?"),
        (f"Is velcor right? {TOLD}", "Is velcor right?"),
        (f"{TOLD} Is velcor right? And the dose?", "Is velcor right? And the dose?"),
        (f"{TOLD} The nurse asks when to stop velcor.", "The nurse asks when to stop velcor."),
        (f"{TOLD}\nTo which level should it fall?", "To which level should it fall?"),
    ],
)
def test_the_question_of_a_case_is_found_wherever_it_stands(text: str, asked: str) -> None:
    case = case_in(text)
    assert case is not None
    assert case.question == asked
    assert "teacher" in case.description


@pytest.mark.parametrize("text", ["72 yo woman on zorbium. Dose?", "zorbium dose", "", "Plaxia. What next?"])
def test_a_short_question_is_no_case(text: str) -> None:
    assert case_in(text) is None


def test_guidelines_are_searched_for_the_clinical_words_and_the_states_of_the_values() -> None:
    (guidelines, drugs) = plan(f"{TOLD} What should be added?", (GUIDELINES, DRUGS))
    searched = guidelines.arguments["question"]
    asked, told = searched.removesuffix(")").split(" (")
    assert asked == "What should be added?"
    assert {"heart failure", "plaxia", "zorbium", "velcor", "hyperkalemia"} <= set(told.split(", "))
    assert not {"teacher", "dog", "alone", "gout", "mg", "2019"} & set(told.replace(",", "").split())
    assert drugs.arguments["drug_name"].startswith("What should be added? 72 yo woman")
    assert "gout" not in drugs.arguments["drug_name"]


def test_a_denial_ends_with_its_line() -> None:
    """Notes have no full stops, and a medicine on the next line is taken."""
    text = "Man of 81 from the ward, walks with a stick\nNo allergies\nvelcor 5 mg nightly, sleeps well\nStop\nit?"
    case = case_in(text)
    assert case is not None
    assert case.question == "Stop it?"
    assert "velcor" in case.drug_text
    assert "velcor" in case.search_text
    assert "allergies" not in case.drug_text


def test_a_description_without_clinical_words_adds_nothing_to_the_search() -> None:
    told = "He said that his wife and two sons come home every weekend, watch football games and talk about money."
    case = case_in(f"{told} What next?")
    assert case is not None
    assert case.search_text == "What next?"


def test_everyday_words_count_only_inside_clinical_phrases() -> None:
    assert clinical_phrases("Heart failure, her heart is in it, type 2 diabetes, 5 mg") == [
        "Heart failure",
        "type 2 diabetes",
    ]
    assert clinical_phrases("Herzinsuffizienz, wohnt mit der Tochter, Zorbium") == ["Herzinsuffizienz", "Zorbium"]


def test_the_description_alone_does_not_ask_for_a_part_of_a_label() -> None:
    labels = {
        "velcor": {"dosage": ["Velcor is given as 20 mg once daily."]},
        "zorbium": {"dosage": ["Zorbium is given as 5 mg once daily in plaxia."]},
    }
    text = answer(f"{TOLD} Is the dose of velcor right?", labels=labels)
    assert "20 mg once daily" in text
    assert "Zorbium" not in text


def test_medicines_of_the_description_do_not_hide_what_is_asked() -> None:
    told, asked = TOLD.replace("zorbium", "ramipril"), "Allopurinol is the first choice in plaxia."
    labels = {"ramipril": {"indications": ["Ramipril is indicated for plaxia in heart failure."]}}
    assert asked in answer(f"{told} What is the first choice in plaxia?", asked, labels=labels)


def test_a_statement_on_two_medicines_of_the_description_comes_only_if_it_is_grave() -> None:
    asked, grave = "Treat plaxia with quellan.", "Velcor must not be taken with zorbium."
    question = f"{TOLD} How is plaxia treated?"
    text = answer(question, asked, pairs=[("velcor", "contraindicated", grave)])
    assert text.index(asked) < text.index(grave)
    assert "Monitor" not in answer(question, asked, pairs=[("velcor", "monitor", "Monitor velcor with zorbium.")])


@pytest.mark.parametrize("asked", ["Is that safe?", "Any interactions?", "Can she take it all together?"])
def test_a_question_on_all_medicines_gets_every_statement(asked: str) -> None:
    line = "Monitor velcor with zorbium."
    assert line in answer(f"{TOLD} {asked}", pairs=[("velcor", "monitor", line)])


def test_only_what_is_asked_decides_whether_others_are_to_be_avoided() -> None:
    named = {"results": [{"generic_name": "zorbium", "matched": {"how": "exact", "on": "zorbium"}}], "did_you_mean": []}
    evidence = gather([ToolOutput("search_drugs", "{}", json.dumps(named))])
    told = f"{TOLD} She was told what not to take with it."
    assert comparison(f"{told} How long does plaxia last?", evidence, (CHECK,)) == []
    assert comparison(f"{TOLD} What must not be taken with zorbium?", evidence, (CHECK,)) != []


def test_children_of_the_patient_are_no_patients() -> None:
    for_adults, for_children = "Treat plaxia with quellan.", "Treat plaxia in children with little quellan."
    text = answer(f"{TOLD} She minds three children. How is plaxia treated?", for_adults, for_children)
    assert text.index(for_adults) < text.find(for_children) or for_children not in text


def test_no_score_is_calculated_that_is_not_asked_for() -> None:
    units = {"weight": "kg", "height": "cm", "age": "years"}
    defs = {
        name: {
            "type": "object",
            "properties": {"value": {"type": "number"}, "unit": {"type": "string", "enum": [unit]}},
        }
        for name, unit in units.items()
    }
    items = {name: {"description": f"Also: {name}.", "$ref": f"#/$defs/{name}"} for name in units}
    score = FunctionToolIn(
        type="function", name="score", description="Calculates. Also: plax score.", strict=True,
        parameters={"type": "object", "properties": items, "required": [*items], "$defs": defs},
    )  # fmt: skip
    told = f"{TOLD} Weight 70 kg, height 170 cm, plax score done."
    assert calculations([score], [Exchange("72 years, weight 70 kg, height 170 cm: how is plaxia treated?")])[0] != []
    assert calculations([score], [Exchange(f"{told} How is plaxia treated?")]) == ([], False)
    ((call,), _) = calculations([score], [Exchange(f"{told} What is the plax score?")])
    assert call.arguments["weight"] == {"value": 70.0, "unit": "kg"}


def test_names_far_behind_in_a_text_are_read() -> None:
    assert "lastol" in parse_query(f"{'plain words of a long history ' * 40}lastol").words
