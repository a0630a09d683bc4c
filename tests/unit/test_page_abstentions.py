"""What the page offers when nothing answers: another name, another source, a near heading, other words."""

from __future__ import annotations

from typing import Any

import pytest

from chat_app.events import Outcome
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.rendering.next_steps import abstained, other_names, suggestions
from tools.types import Function, FunctionOutput, Passage

NEAR = Passage(id="p", kind="guideline", document_id="d", title="Asthma", text="x", section="Asthma › Inhalers")
QUESTION = "What is the dose of Metfromin?"


def output(name: str = "search_clinical_guidelines", data: Any = None, **more: Any) -> FunctionOutput:
    return FunctionOutput(name=name, input=Function(call_id="c", name=name), output=data, **more)


def labels(look_ups: list[FunctionOutput], options: PageOptions | None = None, language: Any = "en") -> list[str]:
    given = suggestions(QUESTION, look_ups, options or PageOptions(), language, extracts=False)
    return [suggestion.label for suggestion in given]


def test_headings_that_came_near_are_offered_and_last_that_the_question_be_put_in_other_words() -> None:
    assert labels([output(passages=(NEAR,))]) == ["Inhalers (Asthma)", "Rephrase the question"]


def test_a_name_that_was_perhaps_meant_stands_in_the_question_in_its_place() -> None:
    data = {"query": {"name": "metfromin"}, "results": [], "did_you_mean": ["metformin"]}
    (name,) = other_names(QUESTION, [output("search_drug_database", data)], "en")
    assert (name.label, name.question) == ("Ask about metformin instead", "What is the dose of metformin?")


def test_of_a_whole_question_the_misspelt_word_is_replaced() -> None:
    data = {"query": {"name": QUESTION}, "results": [], "did_you_mean": ["metformin"]}
    (name,) = other_names(QUESTION, [output("search_drug_database", data)], "en")
    assert name.question == "What is the dose of metformin?"


def test_names_of_an_interaction_check_are_offered_each_for_its_own() -> None:
    data = {"pairs": [], "unknown": [{"name": "metfromin", "did_you_mean": ["metformin", "metoprolol"]}, "odd"]}
    offered = other_names(QUESTION, [output("check_drug_interactions", data)], "en")
    assert [entry.question for entry in offered] == [
        "What is the dose of metformin?",
        "What is the dose of metoprolol?",
    ]


def test_a_name_that_is_not_in_the_question_is_not_offered() -> None:
    data = {"name": "lisinopirl", "did_you_mean": ["lisinopril"]}
    assert other_names(QUESTION, [output("get_drug_label", data), output(data=["x"])], "en") == []


@pytest.mark.parametrize(
    ("options", "label", "settings"),
    [
        (PageOptions(guidelines=False), "Search the guidelines, too", {"guidelines": True}),
        (PageOptions(documents=("d",)), "Search all guidelines", {"documents": []}),
        (PageOptions(drugs=False), "Search the drug database, too", {"drugs": True}),
    ],
)
def test_a_source_that_is_switched_off_is_offered(options: PageOptions, label: str, settings: dict[str, Any]) -> None:
    first = suggestions(QUESTION, [output()], options, "en", extracts=False)[0]
    assert (first.label, first.question, first.settings) == (label, QUESTION, settings)


def test_the_buttons_speak_the_readers_language() -> None:
    assert labels([], PageOptions(drugs=False), "de") == [
        "Auch die Arzneimitteldatenbank durchsuchen",
        "Die Frage umformulieren",
    ]


@pytest.mark.parametrize(
    ("outputs", "options", "cited", "outcome", "is_one"),
    [
        ([output()], PageOptions(), False, Outcome(), True),
        ([output()], PageOptions(), True, Outcome(), False),
        ([], PageOptions(), False, Outcome(), False),
        ([], PageOptions(drugs=False), False, Outcome(), False),
        ([], PageOptions(guidelines=False, drugs=False), False, Outcome(), True),
        ([output(error="Away.")], PageOptions(), False, Outcome(), False),
        ([output("add_guideline")], PageOptions(), False, Outcome(), False),
        ([output(), output("calculate_egfr", {"needs": "eGFR needs: Sex."})], PageOptions(), False, Outcome(), False),
        ([output()], PageOptions(), False, Outcome(kind="incomplete", reason="stopped"), False),
    ],
)
def test_an_answer_that_nothing_stands_behind_is_an_abstention(
    outputs: list[FunctionOutput], options: PageOptions, cited: bool, outcome: Outcome, is_one: bool
) -> None:
    assert abstained(outcome, outputs, options, cited=cited) is is_one
