"""How sure the search is: what the question names has to stand in the passage, what only asks need not."""

from __future__ import annotations

import pytest

from tools.embeddings.calibration import REFERENCE_RELATED, REFERENCE_UNRELATED, CosineScale
from tools.guidelines.search.confidence import ANSWERABLE_FROM, confidence
from tools.guidelines.search.ranking import Candidate
from tools.guidelines.search.retrieval import Found
from tools.language.question_words import for_ranking
from tools.language.term_weights import weight_of
from tools.language.terms import terms

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


@pytest.mark.parametrize("passage", [PASSAGE, f"{PASSAGE} Warfarin is first-line treatment of another disease."])
def test_being_first_line_for_something_speaks_neither_for_nor_against_a_passage(passage: str) -> None:
    assert sure("first-line apixaban in malaria", passage) == pytest.approx(sure("apixaban in malaria", passage))
    assert sure("first apixaban, line malaria", PASSAGE) < sure("apixaban malaria", PASSAGE)


def test_a_passage_on_the_asked_disease_is_ranked_before_one_on_anothers_first_line() -> None:
    weight = for_ranking(weight_of({"first": 30, "line": 30, "gout": 30}, 100), terms("First-line for gout?"))

    assert weight("gout") > weight("first") + weight("line") > 0
    assert for_ranking(COMMON, terms("first apixaban line")) is COMMON


@pytest.mark.parametrize("question", ["", "criteria please", "first line please"])
def test_a_question_that_names_nothing_is_not_answered(question: str) -> None:
    assert sure(question) == 0.0


LONG = "Apixaban, warfarin, edoxaban or dabigatran reduced in malaria, dengue, cholera or plague?"


def sure_beside(others: list[float], question: str, *, best: float) -> float:
    """How sure the search is of ``PASSAGE`` found with the BM25 score ``best``, before others with these scores."""
    scores = [best, *others]
    found = Found(tuple(terms(question)), tuple(Candidate(f"g@1:{at}", s, s, None) for at, s in enumerate(scores)))
    held = {"g@1:0": terms(PASSAGE)}
    return confidence(found, lambda name: held.get(name, []), COMMON)


def test_a_passage_that_stands_out_answers_a_long_question_of_which_it_holds_a_part() -> None:
    alone, one_of_many = sure_beside([1.0] * 10, LONG, best=40.0), sure_beside([38.0] * 10, LONG, best=40.0)

    assert alone >= ANSWERABLE_FROM
    assert one_of_many < ANSWERABLE_FROM


def test_a_question_that_stands_together_is_answered_however_many_passages_hold_it() -> None:
    assert sure_beside([6.0] * 10, "apixaban reduced", best=6.0) >= ANSWERABLE_FROM


def test_a_small_library_is_no_surer_than_a_large_one_that_holds_nothing_else() -> None:
    assert sure_beside([], LONG, best=10.0) == pytest.approx(sure_beside([0.0] * 20, LONG, best=10.0))


SCALE = CosineScale(REFERENCE_RELATED, REFERENCE_UNRELATED)


def sure_by_meaning(question: str, *, cosine: float = 0.6, lead: float = 0.2, scale: CosineScale = SCALE) -> float:
    best = Candidate("guideline:af@1:1", 1.0, 1.0, cosine)
    other = Candidate("guideline:af@1:2", 1.0 - lead, 0.5, 0.1)
    found = Found(tuple(terms(question)), (best, other))
    return confidence(found, lambda _: terms(PASSAGE), COMMON, scale)


def test_by_meaning_too_a_name_that_no_passage_holds_counts_against_it() -> None:
    assert sure_by_meaning("apixaban reduced in malaria") < sure_by_meaning("apixaban reduced")


def test_a_passage_that_means_something_else_does_not_answer() -> None:
    assert sure_by_meaning("apixaban reduced") >= ANSWERABLE_FROM
    assert sure_by_meaning("apixaban reduced in malaria", cosine=0.3) < ANSWERABLE_FROM


def test_a_passage_that_leads_the_others_is_surer() -> None:
    assert sure_by_meaning("apixaban dose", lead=0.5) > sure_by_meaning("apixaban dose", lead=0.0)


def test_the_same_place_on_another_models_scale_is_as_sure() -> None:
    crowded = CosineScale(related=0.9, unrelated=0.7)
    middle = (REFERENCE_RELATED + REFERENCE_UNRELATED) / 2
    assert sure_by_meaning("apixaban dose", cosine=0.8, scale=crowded) == pytest.approx(
        sure_by_meaning("apixaban dose", cosine=middle)
    )


def sure_by_tokens(match: float | None, *, scale: CosineScale | None = SCALE) -> float:
    best = Candidate("guideline:af@1:1", 1.0, 1.0, 0.5)
    found = Found(tuple(terms("apixaban reduced")), (best, Candidate("guideline:af@1:2", 0.8, 0.5, 0.1)))
    return confidence(found, lambda _: terms(PASSAGE), COMMON, scale, match)


def test_a_passage_that_lacks_what_was_asked_token_for_token_does_not_answer() -> None:
    assert sure_by_tokens(0.7) >= ANSWERABLE_FROM
    assert sure_by_tokens(0.2) < ANSWERABLE_FROM


def test_an_embedder_that_cannot_tell_the_tokens_apart_is_judged_by_its_cosines() -> None:
    assert sure_by_tokens(None) >= ANSWERABLE_FROM


def test_while_the_embedder_cannot_be_reached_tokens_say_nothing() -> None:
    assert sure_by_tokens(0.9, scale=None) == sure_by_tokens(None, scale=None)
