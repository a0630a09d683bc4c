"""Answers a question on a list of medicines: for each of them what its label and the guidelines say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.composition.answer_checks import read_asked
from chat_app.offline.composition.draft import Draft
from chat_app.offline.composition.pairs import statements
from chat_app.offline.extraction.candidates import names_others
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import Scored, scored
from chat_app.offline.extraction.selection import ANSWERS_FROM, clearly_answers
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.wire.model import Answer
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

_ACTIONS: Final = word_list("list_actions")
_MOST_OF_ONE: Final = 2
"""Maximum number of quotes on one medicine."""


def compose_each(questions: Mapping[str, str], evidence: Evidence, earlier: Sequence[str]) -> Answer | None:
    """Return the answers to the ``questions`` by the medicine that each is on, and grave statements on their pairs.

    Return None if no question has a clear answer.
    """
    draft = Draft(language_of(*questions.values(), *earlier))
    silent = [name for name, question in questions.items() if not _add(draft, question, evidence.of_medicine(name))]
    if len(silent) == len(questions):
        return None
    for pair in evidence.grave_pairs:
        draft.quotes(statements(draft, pair, aside=True))
    if silent:
        draft.say(phrases.NOT_STATED, names=silent)
    return Answer(draft.text, tuple(draft.citations))


def _add(draft: Draft, question: str, evidence: Evidence) -> bool:
    """Add the best quotes on one medicine, if any answers clearly; return whether any does."""
    asked, labels = read_asked(question, evidence, question, draft.language)
    found = [one for one in scored(asked, [*labels, *evidence.passages]) if _tells(asked, one)]
    found.sort(key=lambda one: -one.score)
    before = draft.text
    draft.quotes([(one.unit, one.passage) for one in found[:_MOST_OF_ONE]], phrases.FROM_GUIDELINES)
    return draft.text != before


def _tells(asked: Question, one: Scored) -> bool:
    """Return whether a unit is on the medicine, and on what is asked or the patient: a bound fits, or a group."""
    if not one.is_on_subject or names_others(asked, one.unit) or one.holds_patient is False:
        return False
    if one.fits:
        return True
    weights = asked.weights_of(
        asked.circumstances - {place for place, forms in enumerate(asked.forms) if any(map(_is_action, forms[0]))}
    )
    if weights:
        held = sum(weights[place] for place in weights.keys() & (one.all_held | one.near))
        return held >= ANSWERS_FROM * sum(weights.values())
    return one.features.group > 0 or (not asked.populations and clearly_answers(one))


def _is_action(term: str) -> bool:
    return term.startswith(tuple(_ACTIONS))
