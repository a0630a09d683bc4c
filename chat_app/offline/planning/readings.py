"""Chooses the reading of a follow-up to go on with, by what its searches brought."""

from __future__ import annotations

from collections.abc import Sequence

from chat_app.offline.composition.answer_checks import closeness, is_answered, is_apart
from chat_app.offline.extraction.question_reading import asks_for_another, medicines_in
from chat_app.offline.planning.followup_signs import is_everyday, only_asks_how_long
from chat_app.offline.planning.medicines_before import subjects
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.reading.tool_outputs import gather
from tools.language.terms import terms
from tools.language.vocabulary.patient_values import value_names

Tried = tuple[str, list[ToolOutput]]
"""A reading with the outputs of its searches; without any it is still to be searched for."""


def tried_readings(readings: Sequence[str], outputs: Sequence[ToolOutput]) -> list[Tried]:
    """Return the ``readings`` that were searched for, else the first, each with the outputs that are not another's."""
    given = [(output, output.given.values()) for output in outputs]
    tried = [reading for reading in readings if any(reading in each for _, each in given)] or readings[:1]
    return [
        (one, [output for output, each in given if not any(other in each for other in readings if other != one)])
        for one in tried
    ]


def chosen_reading(question: str, readings: Sequence[str], tried: Sequence[Tried]) -> Tried:
    """Return the reading of ``question`` to go on with.

    It is the first of those ``tried`` that is answered clearly, else the next of the ``readings`` that was not tried,
    else the closest.
    """
    if len(readings) == 1:
        return tried[0]
    # "Frail?" after "HbA1c target" is no question on anticoagulants.
    first, of = tried[0][0], gather(tried[0][1])
    apart = [
        (alone, outputs)
        for alone, outputs in tried[1:]
        if alone == question and outputs and is_apart(alone, gather(outputs), first=first, of=of)
    ]
    for reading, outputs in tried:
        if not outputs or (
            (reading, outputs) not in apart and _is_answered(reading, gather(outputs), question, readings)
        ):
            return reading, outputs
    untried = readings[readings.index(tried[-1][0]) + 1 :]
    if untried:
        return untried[0], []
    if only_asks_how_long(question):
        # It is said of the disease, not of the medicine.
        return tried[-1]
    on_it = [each for each in tried if each not in apart and not _left_out(each[0], question, readings)]
    return _closest(question, on_it or tried)


def _is_answered(reading: str, evidence: Evidence, question: str, readings: Sequence[str]) -> bool:
    if reading != readings[-1]:
        return goes_on(reading, evidence, newest=question)
    return is_answered(reading, evidence, newest=question, on=_left_out(reading, question, readings))


def _left_out(reading: str, question: str, readings: Sequence[str]) -> list[str]:
    """Return the medicines of the question before that ``reading`` leaves out.

    A ``question`` of everyday words alone is no question on others, unless it tells a value of the patient.
    """
    before = medicines_in(readings[0]) if is_everyday(question) and not value_names(question) else ()
    return [name for name in before if name not in medicines_in(reading)]


def goes_on(reading: str, evidence: Evidence, *, newest: str) -> bool:
    """Return whether one sentence answers the ``newest`` words with those before, which name no other medicine."""
    named = subjects(newest, evidence, beside=False)
    others = set(subjects(reading, evidence)).difference(named) if named else ()
    return not others and is_answered(reading, evidence, newest=newest)


def _closest(question: str, tried: Sequence[Tried]) -> Tried:
    """Return the reading of ``question`` to answer where none of those ``tried`` is answered clearly, with its outputs.

    It is the one with the quote that holds most of the last words, of equal ones the first. The question as it is comes
    before an equal one whose best quote is only on one of the two questions that it joins. If no quote holds any
    of the last words, it is the one that takes only the subject from the question before; the first where another
    medicine is asked for, which all of the question before is needed to choose.
    """
    found = [closeness(reading, gather(outputs), newest=question) for reading, outputs in tried]
    most = max(each.share for each in found)
    if most or asks_for_another(question):
        equal = [(each, one.is_joint) for each, one in zip(tried, found, strict=True) if one.share == most]
        first, is_joint = equal[0]
        return first if is_joint else next((each for each, _ in equal if each[0] == question), first)
    completed, own = set(terms(tried[0][0])), set(terms(question))
    return next((each for each in tried[1:] if own < set(terms(each[0])) <= completed), tried[0])
