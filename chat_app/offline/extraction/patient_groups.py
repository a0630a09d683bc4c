"""Tells whether a sentence or row is on the group of patients that a question names, or on others alone."""

from __future__ import annotations

import re
from typing import Final

from chat_app.offline.extraction.question import Question
from tools.language.quotable_units import Unit, term_set
from tools.language.vocabulary.patient_values import excludes_age, patient_age
from tools.language.vocabulary.populations import HEALTHY, states_in

_PATIENT_COLUMN: Final = re.compile(r"\b(?:groups?|patients?|patientengruppen?|pacientes)\b", re.IGNORECASE)
_HAS: Final = re.compile(r"\b(?:has|with|hat|mit|con|tiene) (?:an? |einer? |una? )?(\w+)", re.IGNORECASE)
_AGED: Final = re.compile(r"\b(?:year|month|week)s?[ -]old\b|\b\w+jährig", re.IGNORECASE)
"""An age; one in words, such as "nine-year-old", is not read, and no group is another."""
_LISTED: Final = re.compile(r",[^,.;:]*(?=, (?:or|and|oder|und|o|y) )", re.IGNORECASE)
"""A part of an enumeration, which does not tell for whom a text is."""


def fits_group(question: Question, unit: Unit, section: str) -> float:
    """Return 1 where ``unit`` is on a group of patients that ``question`` names, and -1 where on others alone.

    A section, such as "Plaxia in adults", names a group only where it is the asked one. A row tells its patients only
    in a table whose first column has them: others list criteria.
    """
    text = f"{unit.heading} {unit.text}"
    named = question.on_group(f"{section} {text}") > 0
    group = 1.0 if named else question.on_group(_LISTED.sub("", text))
    if _AGED.search(question.text) and patient_age(question.text) is None:
        return max(group, 0.0)
    if unit.table and not _PATIENT_COLUMN.search(" ".join(unit.table.header[:1])):
        return group
    if excludes_age(question.text, text):
        return -1.0
    states = states_in(text)
    if named or states & states_in(question.asked):
        return 1.0
    others = states if _has_more(question, section) else states - {HEALTHY}
    return -1.0 if others and "contraindications" not in question.sections else group


def _has_more(question: Question, section: str) -> bool:
    """Return whether the patient has something that ``section``, the subject of a text, does not name."""
    return any(not term_set(found[1]) <= term_set(section) for found in _HAS.finditer(question.text))
