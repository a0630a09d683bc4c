"""An answer quotes what a document says, and what it is about only where that is asked."""

from __future__ import annotations

import json

import pytest

from chat_app.offline.composition.compose import compose
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.tool_outputs import gather
from tests.unit.test_offline_patients import answer

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


def test_the_most_telling_word_that_no_guideline_contains_is_named() -> None:
    terms = [{"term": "zorbium", "weight": 9.0, "absent": True}, {"term": "plaxia", "weight": 2.0}]
    for absent, named in ((True, True), (False, False)):
        terms[0]["absent"] = absent
        body = {"passages": [{"cite": "[1]", "document": "Guide", "text": "Plaxia is treated early."}], "terms": terms}
        text = compose(
            "zorbium in plaxia", gather([ToolOutput("search_clinical_guidelines", "{}", json.dumps(body))])
        ).text
        assert ("contains this word: zorbium." in text) is named
