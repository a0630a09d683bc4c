"""The fit of the extraction's weights finds what tells the right units from the rest."""

from __future__ import annotations

import numpy as np
import pytest

from chat_app.evaluation.answer_evaluation import AnswerQuestion, naive_quotes
from chat_app.offline.extraction import scoring
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import Room
from scripts.fit_extraction import Example, Shown, best_room, fitted
from tools.types import Passage


def example(right: int) -> Example:
    """Three units, of which the one at ``right`` has the feature ``own`` and holds the fact."""
    features = np.zeros((3, len(scoring.Features._fields)))
    features[right, 0] = 1.0
    asked = AnswerQuestion.model_validate({"question": "x", "must": ["y"]})
    return Example(asked, read_question("x"), (), features, np.arange(3) == right)


def test_a_feature_that_tells_the_right_unit_gets_all_the_weight() -> None:
    data = [example(right) for right in (0, 1, 2)]
    weights = fitted(data, [1.0, 1.0, 1.0])
    assert weights[0] > 1.0
    assert np.allclose(weights[1:], 0.0)


def test_the_naive_ranker_prefers_sentences_with_the_rarest_words_of_the_question() -> None:
    text = "Give drugs to adults with care. Give zorbium to adults with gout. Adults are seen every year in care."
    passage = Passage(id="p", kind="guideline", document_id="d", title="Guide", text=text)
    assert naive_quotes("zorbium in adults", [passage], most=1) == ["Give zorbium to adults with gout."]


def test_the_room_with_most_facts_is_chosen_among_those_of_short_answers() -> None:
    small, wide, endless = Room(1.0, 40), Room(2.0, 60), Room(9.0, 900)
    found = {
        small: [Shown(0, holds=False, words=30), Shown(1, holds=True, words=30)],
        wide: [Shown(0, holds=True, words=50), Shown(1, holds=True, words=50)],
        endless: [Shown(0, holds=True, words=51), Shown(1, holds=True, words=51)],
    }
    assert best_room([found]) == wide
    assert best_room([found], left_out=0) == small


@pytest.mark.parametrize(
    ("text", "fact", "held"),
    [
        ("Give 5 mg a day.", "5 mg", True),
        ("In step 5. 5 mg a day", "5 mg", True),
        ("Give 10-40 mg a day.", "40 mg", True),
        ("Give 2.5 mg a day.", "5 mg", False),
        ("Give 115 mg a day.", "15 mg", False),
        ("Give 10-40 mg a day.", "040 mg", False),
        ("From 50 years on", "from 5", False),
    ],
)
def test_a_fact_is_not_found_within_another_number(text: str, fact: str, *, held: bool) -> None:
    assert AnswerQuestion.model_validate({"question": "x", "must": [fact]}).held_by(text) is held
