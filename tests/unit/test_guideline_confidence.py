"""How sure the search is: what the question names has to stand in the passage, what only asks need not."""

from __future__ import annotations

import pytest

from tools.guidelines.confidence import ANSWERABLE_FROM, confidence
from tools.guidelines.ranking import Candidate, weight_of
from tools.guidelines.retrieval import Found
from tools.guidelines.text import terms

PASSAGE = "Reduce apixaban to 2.5 mg twice daily in patients aged 80 years or older with a creatinine of 133."
COMMON = weight_of(dict.fromkeys(terms(f"{PASSAGE} criteria"), 5), 100)


def sure(question: str, passage: str = PASSAGE) -> float:
    found = Found(tuple(terms(question)), (Candidate("guideline:af@1:1", 1.0, 1.0, None),))
    return confidence(found, lambda _: terms(passage), COMMON)


def test_a_question_whose_every_word_stands_together_is_answered() -> None:
    assert sure("When is apixaban reduced?") >= ANSWERABLE_FROM


def test_a_question_that_names_what_no_passage_holds_is_not_answered() -> None:
    assert sure("Is apixaban given in malaria?") < ANSWERABLE_FROM


@pytest.mark.parametrize("asking", ["criteria", "recommendations", "please advise", "which option is preferred"])
def test_words_that_only_ask_need_not_be_in_the_passage(asking: str) -> None:
    assert sure(f"apixaban reduction {asking}") == pytest.approx(sure("apixaban reduction"))


def test_an_asking_word_that_the_passage_holds_speaks_for_it() -> None:
    unsure = "apixaban reduction malaria criteria"
    assert sure(unsure, f"{PASSAGE} Criteria.") > sure(unsure)


@pytest.mark.parametrize("question", ["", "criteria please"])
def test_a_question_that_names_nothing_is_not_answered(question: str) -> None:
    assert sure(question) == 0.0
