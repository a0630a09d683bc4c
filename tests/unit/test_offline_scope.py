"""An answer quotes what a document says, and what it is about only where that is asked."""

from __future__ import annotations

import json

import pytest

from chat_app.offline import phrases
from chat_app.offline.composition.compose import compose
from chat_app.offline.composition.draft import Draft
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.evidence import EvidencePassage, Quote
from chat_app.offline.reading.tool_outputs import gather
from tests.unit.test_offline_patients import answer
from tools.language.quotable_units import Unit

TITLE_PAGE = (
    "Guide\nCauses, tests and treatment of plaxia in adults, condensed from published guidance.\n"
    "This document covers plaxia in adults. Acute plaxia and its treatment are not covered.\n"
    "Treatment\nZorbium is the preferred treatment of plaxia."
)


@pytest.mark.parametrize("question", ["treatment of plaxia", "causes and tests of plaxia"])
def test_a_description_and_scope_of_a_document_answer_nothing(question: str) -> None:
    text = answer(question, TITLE_PAGE)
    assert "Zorbium is the preferred" in text
    assert "condensed" not in text
    assert "cover" not in text


def test_a_question_for_what_a_document_covers_is_answered_by_its_scope() -> None:
    assert "not covered" in answer("Does the guideline cover acute plaxia?", TITLE_PAGE)


def test_a_heading_and_its_remark_are_not_repeated() -> None:
    remarked = "Zorbium (label for: oral; no label for: nasal)"

    def quote(text: str, title: str = "") -> Quote:
        return Unit(text), EvidencePassage(text, title=title)

    draft = Draft()
    draft.quotes([quote("Stop it.", f"{remarked}, warnings:")])
    draft.quotes([quote("Taper it.", f"{remarked}, warnings:"), quote("Take it.", f"{remarked}, dosage:")])
    draft.quotes([quote("Measure it.")], phrases.FROM_GUIDELINES)
    draft.quotes([quote("Give it.")], phrases.FROM_GUIDELINES)
    draft.quotes([quote("Read it.", f"{remarked}, dosage:"), quote("Ask for it.")], phrases.FROM_GUIDELINES)
    assert draft.text == (
        f"{remarked}, warnings:\n\n- Stop it.\n- Taper it.\n\nZorbium, dosage:\n\n- Take it.\n\n"
        "From the guidelines:\n\n- Measure it.\n- Give it.\n\n"
        "Zorbium, dosage:\n\n- Read it.\n\nMore from the sources:\n\n- Ask for it."
    )


def test_the_most_telling_word_that_no_guideline_contains_is_named() -> None:
    terms = [{"term": "zorbium", "weight": 9.0, "absent": True}, {"term": "plaxia", "weight": 2.0}]
    for absent, named in ((True, True), (False, False)):
        terms[0]["absent"] = absent
        body = {"passages": [{"cite": "[1]", "document": "Guide", "text": "Plaxia is treated early."}], "terms": terms}
        text = compose(
            "zorbium in plaxia", gather([ToolOutput("search_clinical_guidelines", "{}", json.dumps(body))])
        ).text
        assert ("contains this word: zorbium." in text) is named


INDICATED = {
    "zorbium": "Zorbium is indicated for plaxia of the skin.",
    "lorbium": "Lorbium is indicated for skin grafts.",
}


def drugs(matched: str, **indications: str) -> ToolOutput:
    rows = [
        {
            "generic_name": name,
            "cite": f"[{number}]",
            "matched": {"how": matched, "on": name},
            "label": {"indications": [said], "dosage": [f"For plaxia take {name} at night."]},
        }
        for number, (name, said) in enumerate(indications.items(), start=2)
    ]
    return ToolOutput("search_drug_database", "{}", json.dumps({"results": rows, "did_you_mean": []}))


def guideline(text: str) -> ToolOutput:
    passage = {"cite": "[1]", "document": "Guide", "text": text}
    terms = [{"term": "plaxia", "weight": 5.0}]
    return ToolOutput("search_clinical_guidelines", "{}", json.dumps({"passages": [passage], "terms": terms}))


@pytest.mark.parametrize("question", ["Which drug for plaxia?", "womit plaxia behandeln", "tratamiento de plaxia"])
def test_a_medicine_that_no_guideline_gives_is_found_by_its_indication(question: str) -> None:
    text = compose(question, gather([guideline("Boils are drained."), drugs("text", **INDICATED)])).text
    assert "Zorbium is indicated for plaxia" in text
    assert "Lorbium" not in text
    assert "at night" not in text


@pytest.mark.parametrize("matched", ["text", "class"])
def test_an_indication_follows_what_a_guideline_says_less_closely(matched: str) -> None:
    for question in ("plaxia", "plaxia in a 70 year old", "plaxia, adult"):
        text = compose(question, gather([guideline("Boils are drained."), drugs(matched, **INDICATED)])).text
        assert "No sentence clearly answers" in text
        assert "Zorbium is indicated for plaxia" in text
        assert "Lorbium" not in text
    closer = compose("plaxia", gather([guideline("Plaxia is rare."), drugs(matched, **INDICATED)])).text
    assert "Zorbium" not in closer


def test_the_labels_of_an_asked_class_are_read_and_their_uses_do_not_answer_for_what_is_banned() -> None:
    found = [guideline("Boils are drained."), drugs("class", **INDICATED)]
    assert "For plaxia take zorbium at night" in compose("Which zorbin for plaxia?", gather(found)).text
    banned = compose("Which zorbin is not allowed in plaxia?", gather(found)).text
    assert "at night" in banned
    assert "is indicated" not in banned
    others = compose("Which zorbin for plaxia?", gather([found[0], drugs("text", **INDICATED)])).text
    assert "at night" not in others


def test_bounds_that_fit_the_patient_come_before_indications() -> None:
    rows = "Plaxia is treated with fluids at a potassium above 6 mmol/L. Plaxia is treated with rest at 3 to 5 mmol/L."
    text = compose("plaxia, potassium 6.4, what to give?", gather([guideline(rows), drugs("text", **INDICATED)])).text
    assert text.index("fluids") < text.index("is indicated")
    assert "with rest" not in text


def test_an_indication_comes_neither_before_a_guideline_nor_where_no_medicine_is_asked_for() -> None:
    answered = compose(
        "Which drug for plaxia?", gather([guideline("Treat plaxia with amoxicillin."), drugs("text", **INDICATED)])
    )
    assert "amoxicillin" in answered.text
    assert "Zorbium" not in answered.text
    untold = compose("How common is plaxia?", gather([guideline("Boils are drained."), drugs("text", **INDICATED)]))
    assert "Zorbium" not in untold.text
