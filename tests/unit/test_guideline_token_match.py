"""Token for token: what a question names has to have its like in the passage's telling sentences."""

from __future__ import annotations

import numpy as np
import pytest

from tools.embeddings.late_interaction import READ, Tokens, telling_sentences, token_match
from tools.language.term_weights import weight_of
from tools.language.terms import terms

FEVER, DOSE, CHILD = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def tokens(*rows: tuple[float, ...]) -> Tokens:
    return np.array(rows, dtype=np.float32).reshape(len(rows), 3)


def test_a_text_that_has_the_like_of_each_token_matches_whole_in_whatever_order() -> None:
    assert token_match(tokens(FEVER, DOSE), tokens(CHILD, DOSE, FEVER)) == pytest.approx(1.0)


def test_a_text_that_has_the_like_of_none_does_not_match() -> None:
    assert token_match(tokens(FEVER, DOSE), tokens(CHILD)) == pytest.approx(0.0)


def test_a_token_counts_by_the_square_of_the_length_that_it_has_in_the_question() -> None:
    question, text = tokens(FEVER, DOSE), tokens((5.0, 0.0, 0.0))

    assert token_match(question, text) == pytest.approx(token_match(question, tokens(FEVER)))
    assert token_match(question, text) == pytest.approx(1 - (1 / 2) ** 0.5)
    assert token_match(tokens((3.0, 0.0, 0.0), (0.0, 2.0, 0.0)), text) == pytest.approx(1 - (4 / 13) ** 0.5)


def test_one_token_that_is_lacking_tells_more_than_two_that_are_half_there() -> None:
    half = 0.5, 0.0, 3**0.5 / 2
    one_lacking = token_match(tokens(FEVER, DOSE), tokens(FEVER))
    both_half = token_match(tokens(FEVER, FEVER), tokens(half))

    assert both_half == pytest.approx(0.5, abs=1e-6)
    assert one_lacking < both_half


@pytest.mark.parametrize(("question", "text"), [(tokens(), tokens(FEVER)), (tokens(FEVER), tokens())])
def test_nothing_matches_where_nothing_is_asked_or_read(question: Tokens, text: Tokens) -> None:
    assert token_match(question, text) == 0.0


RARE = weight_of({"fever": 50, "children": 40}, 100)
FILLING = "The committee met again in the spring of that year and agreed on how its work was to go on."


def told(text: str, question: str) -> str:
    return telling_sentences(text, terms(question), RARE)


def test_the_sentences_that_hold_the_question_are_read_in_their_order() -> None:
    text = " ".join(["Fever is common.", *[FILLING] * 9, "Give paracetamol to children."])

    read = told(text, "paracetamol for children with fever")

    assert read.startswith("Fever is common.")
    assert read.endswith("Give paracetamol to children.")
    assert len(read) <= READ


def test_a_sentence_is_chosen_for_what_the_ones_before_it_lack() -> None:
    long = " and so on" * 8
    text = f"Paracetamol dose one{long}. Paracetamol dose two{long}. Ibuprofen{long}."

    assert [word for word in ("one", "two", "Ibuprofen") if word in told(text, "paracetamol dose ibuprofen")] == [
        "one",
        "Ibuprofen",
    ]


def test_a_sentence_without_an_end_is_read_in_part() -> None:
    assert len(told("paracetamol " * 500, "paracetamol")) == READ


def test_an_empty_passage_has_nothing_to_read() -> None:
    assert told("", "paracetamol") == ""
