"""Decides whether a sentence or row is on the group of patients that a question names, or only on others."""

from __future__ import annotations

import re
from typing import Final

from chat_app.offline.extraction.question import Question
from tools.language.quotable_units import Unit, term_set
from tools.language.vocabulary.patient_values import excludes_age, is_of_age, patient_age
from tools.language.vocabulary.populations import HEALTHY, states_in

_PATIENT_COLUMN: Final = re.compile(r"\b(?:groups?|patients?|patientengruppen?|pacientes)\b", re.IGNORECASE)
_HAS: Final = re.compile(r"\b(?:has|with|hat|mit|con|tiene) (?:an? |einer? |una? )?(\w+)", re.IGNORECASE)
_AGED: Final = re.compile(r"\b(?:year|month|week)s?[ -]old\b|\b\w+jährig", re.IGNORECASE)
"""An age, also one in words ("nine-year-old"), which ``patient_age`` does not read: then no group counts as another."""
_LISTED: Final = re.compile(r",[^,.;:]*(?=, (?:or|and|oder|und|o|y) )", re.IGNORECASE)
"""An inner item of an enumeration, which does not tell to whom a text applies."""
_EMPHASIZED: Final = re.compile(
    r"\b(?:especially|particularly|notably|including|above all"
    r"|(?:greater|greatest|higher|highest|increased|more|most) (?:[\w-]+ ){0,2}in)\b[^.;:]*",
    re.IGNORECASE,
)
"""Those to whom a text applies above all, as in "with greater risk in the elderly"."""


def fits_group(question: Question, unit: Unit, section: str) -> float:
    """Return 1 if ``unit`` is on a group of patients that ``question`` names, -1 if only on others, otherwise 0.

    The group that a section title names, as in "Plaxia in adults", counts only if it is the asked one. A row tells its
    patients only in a table whose first column lists patients; other tables list criteria.
    """
    text = f"{unit.heading} {unit.text}"
    group = question.on_group(_EMPHASIZED.sub("", _LISTED.sub("", text)))
    named = question.names_group(text) or (group >= 0 and question.names_group(section))
    group = 1.0 if named else group
    if is_of_age(question.patient, text) is False:
        # "80 years or older" is not on a patient of 72 years, who is one of the older, too.
        named, group = False, min(group, 0.0)
    if _AGED.search(question.patient) and patient_age(question.patient) is None:
        return max(group, 0.0)
    if unit.table and not _PATIENT_COLUMN.search(" ".join(unit.table.header[:1])):
        return group
    if excludes_age(question.patient, text):
        return -1.0
    states = states_in(text)
    if named or states & states_in(f"{question.patient} {question.asked}"):
        return 1.0
    others = states if _has_other_state(question, section) else states - {HEALTHY}
    return -1.0 if others and "contraindications" not in question.sections else group


def _has_other_state(question: Question, section: str) -> bool:
    """Return whether the patient has a state that the title of ``section`` does not name."""
    return any(not term_set(found[1]) <= term_set(section) for found in _HAS.finditer(question.patient))
