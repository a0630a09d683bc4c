"""Answers a question on a list of medicines: for each of them what its label and the guidelines say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from chat_app.offline import phrases
from chat_app.offline.composition.answer_checks import read_asked
from chat_app.offline.composition.draft import Draft
from chat_app.offline.composition.pairs import statements
from chat_app.offline.composition.remarks import say_others_not_loaded
from chat_app.offline.extraction.drug_parts import ORGAN_DOSES, section_terms
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import Scored, scored
from chat_app.offline.extraction.selection import ANSWERS_FROM, clearly_answers
from chat_app.offline.reading.evidence import Evidence, Quote
from chat_app.offline.wire.model import Answer
from tools.language.quotable_units import term_set
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

_ACTIONS: Final = word_list("list_actions")
_MOST_OF_ONE: Final = 2
"""Maximum number of quotes on one medicine."""


def compose_each(
    message: str, questions: Mapping[str, str], evidence: Evidence, earlier: Sequence[str]
) -> Answer | None:
    """Return the answers to the ``questions`` of ``message`` by the medicine that each is on.

    Grave statements on their pairs follow, and the medicines without a clear answer and those that are not loaded.
    Return None if no question has a clear answer.
    """
    draft = Draft(language_of(message, *earlier))
    read = {
        name: _MedicineQuestion.of(question, evidence.of_medicine(name), draft.language)
        for name, question in questions.items()
    }
    known = frozenset[frozenset[str]]().union(*(one.known for one in read.values()))
    told = {name: one.telling(known) for name, one in read.items()}
    if not any(told.values()):
        return None
    for quotes in told.values():
        draft.quotes(quotes[:_MOST_OF_ONE], phrases.FROM_GUIDELINES)
    for pair in evidence.grave_pairs:
        draft.quotes(statements(draft, pair, aside=True))
    if silent := [name for name, quotes in told.items() if not quotes]:
        draft.say(phrases.NOT_STATED, names=silent)
    say_others_not_loaded(draft, evidence, message)
    return Answer(draft.text, tuple(draft.citations))


@dataclass(frozen=True)
class _MedicineQuestion:
    """A question on one medicine, and the units of its label and of guidelines that are on it."""

    question: Question
    units: Sequence[Scored]

    @classmethod
    def of(cls, text: str, evidence: Evidence, language: Language) -> Self:
        question, labels = read_asked(text, evidence, text, language)
        found = scored(question, [*labels, *evidence.passages])
        return cls(question, [one for one in found if not one.is_aside])

    @property
    def known(self) -> Iterable[frozenset[str]]:
        """The terms of the question that a unit holds."""
        return {self.question.forms[place][0] for one in self.units for place in one.all_held | one.near}

    def telling(self, known: Collection[frozenset[str]]) -> list[Quote]:
        """Return the units that tell what is asked, the best first; only ``known`` terms count."""
        asked = self.question
        values = asked.held(term_set(value_names(asked.patient)))
        idle = values | asked.held(section_terms("dosage"))
        places = {place for place in asked.circumstances - idle if not any(map(_is_action, asked.forms[place][0]))}
        weights = asked.weights_of({place for place in places if asked.forms[place][0] in known})

        def tells(one: Scored) -> bool:
            if one.fits or one.holds_patient is False:
                return one.holds_patient is not False
            if weights:
                held = sum(weights[place] for place in weights.keys() & (one.all_held | one.near))
                return held >= ANSWERS_FROM * sum(weights.values())
            if places or one.features.group > 0 or one.passage.part in asked.sections & ORGAN_DOSES:
                return not places
            return not (values or asked.populations) and clearly_answers(one)

        found = sorted(filter(tells, self.units), key=lambda one: (not one.fits, -one.score))
        return [(one.unit, one.passage) for one in found]


def _is_action(term: str) -> bool:
    return term.startswith(tuple(_ACTIONS))
