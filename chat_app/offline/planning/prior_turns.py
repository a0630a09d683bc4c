"""The conversation so far, as far as a follow-up may refer to it: its subject, medicines, evidence and results."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.planning.followup_signs import (
    MOST_EMPTY_TERMS,
    PREPOSITION,
    has_uncommon_word,
    length,
    only_tells,
    pronouns,
    refers_back,
    states_more,
    tells_allergy,
)
from chat_app.offline.planning.followups import (
    ENDING,
    asks_start,
    confirmed_question,
    known_medicines,
    named_by_place,
    of_patient,
    readings_of,
    subjects_of,
    with_result,
    without_lead,
)
from chat_app.offline.planning.readings import chosen_reading, tried_readings
from chat_app.offline.planning.small_talk import changes_subject, small_talk, without_courtesy
from chat_app.offline.reading.dialogue import Exchange
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.reading.tool_outputs import gather
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.not_taken import without_allergens
from tools.drug_database.names.overdosage_wording import exposure_clauses
from tools.language.library_questions import library_question
from tools.language.terms import terms

_OVERDOSE: Final = re.compile("overdos", re.IGNORECASE)


def since_last_subject(turns: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the ``turns`` since the last one that says it is on another patient or subject."""
    anew = [at for at, turn in enumerate(turns) if changes_subject(turn.question)]
    return turns[anew[-1] :] if anew else turns


def standalone(turns: Sequence[Exchange], offered: Collection[str]) -> tuple[str, ...]:
    """Return the last question of a conversation as one that can be searched for without the others.

    The result has the readings to try in turn: the question completed from the one before, the question on the subject
    of the conversation, and, if it may be meant so, the question as it is. ``offered`` names the functions declared for
    the question. A question that does not refer back is not completed if only one of the two is about an overdose, by
    the functions searched for it.
    """
    return PriorTurns().after(turns[:-1]).standalone(turns[-1].question, offered) if turns else ("",)


@dataclass
class PriorTurns:
    """The questions so far, as far as a follow-up may refer to them."""

    last: str = ""
    """The last question, completed."""
    answer: str = ""
    """The answer to it."""
    result: str = ""
    """The results of its calculations."""
    topic: str = ""
    """The last question that was searched for, completed."""
    searched: frozenset[str] = frozenset()
    """The functions that were called for the topic."""
    evidence: Evidence = field(default_factory=Evidence)
    """The evidence that they returned."""
    subject: str = ""
    """The medicines that were asked about last, or the last question that names its own subject."""
    compared: tuple[str, ...] = ()
    """The medicines of the last question and of those that it follows up."""
    report: str = ""
    """The last words that only told of a patient with a medicine, completed: "GI bleed on rivaroxaban"."""

    def after(self, turns: Sequence[Exchange]) -> PriorTurns:
        """Return these questions with those of ``turns``, without small talk and questions on the library."""
        known = copy(self)
        for turn in turns:
            if not (library_question(turn.question) or small_talk(turn.question)):
                known.add(turn)
        return known

    def standalone(self, question: str, offered: Collection[str]) -> tuple[str, ...]:
        """Return the readings of ``question`` as one that can be searched for without those so far."""
        return self.readings(without_courtesy(question.strip()), offered)

    def readings(self, question: str, functions: Collection[str]) -> tuple[str, ...]:
        """Return the readings of ``question``, for which ``functions`` may be called."""
        # A follow-up of everyday words with a pronoun may ask about the result of a calculation.
        on_result = pronouns(question).search(question) and not has_uncommon_word(question)
        alike = any(map(_OVERDOSE.search, self.searched)) == any(map(_OVERDOSE.search, functions)) or not self.searched
        before = self.last if on_result else self.topic if alike or refers_back(question) else ""
        known = known_medicines(self.topic, self.evidence)
        if confirmed := confirmed_question(question, self.last, self.answer):
            readings: tuple[str, ...] = (confirmed,)
        elif known and asks_start(question) and all(name.casefold() in self.report.casefold() for name in known):
            # The dose may be one of a treatment for the reported event, so the event stays in the question.
            readings = (of_patient(f"{self.report}, {without_lead(question)}", [], self.topic),)
        else:
            found = Evidence() if on_result and self.result else self.evidence
            readings = readings_of(question, before, self.subject, found, self.compared)
            readings = tuple(dict.fromkeys((*named_by_place(question, self.answer), *readings)))
        return readings if on_result else with_result(readings, question, self.result)

    def add(self, turn: Exchange) -> None:
        """Add a question with its calls and answer."""
        question, called = without_courtesy(turn.question.strip()), frozenset(one.name for one in turn.outputs)
        tried = tried_readings(self.readings(question, called), turn.outputs)
        told = tells_allergy(question)
        # A stated allergy does not change the subject of the conversation.
        self.last, outputs = tried[0] if told else chosen_reading(question, [reading for reading, _ in tried], tried)
        found = gather(outputs)
        self.answer, self.result = turn.answer, found.results
        if found.calculations and not (found.searched_documents or found.lookups):
            return
        before, self.topic, self.searched = self.topic, self.last, called
        self.evidence = found if outputs else self.evidence
        names = subjects_of(self.last, found)
        taken = states_more(question) or (PREPOSITION.match(question) and exposure_clauses(question).usual)
        adds = told or (taken and not label_terms().names_any(without_allergens(self.subject)))
        if names and only_tells(question) and (self.last == question or states_more(question)):
            self.report = ENDING.sub("", self.last)
        if names:
            self.compared = names if self.last == question else tuple(dict.fromkeys((*self.compared, *names)))
        if adds and self.subject and self.last != question:
            self.subject += f", {ENDING.sub('', question)}" if told else ""
        elif names:
            self.subject = ", ".join(names)
        elif not self.subject or (
            _has_subject(question) and not phrases.is_unclear(turn.answer)
            if self.last == question
            else self._is_replaced(before, self.last)
        ):
            self.subject = ENDING.sub("", self.last)

    def _is_replaced(self, before: str, completed: str) -> bool:
        """Return whether other words took the place of the subject of the question ``before``."""
        subject = set(terms(self.subject))
        return subject.isdisjoint(terms(completed)) and not subject.isdisjoint(terms(before))


def _has_subject(question: str) -> bool:
    """Return whether ``question`` says enough to be the subject of those after it."""
    return length(question) > MOST_EMPTY_TERMS and has_uncommon_word(question)
