"""Reads a case: sentences that describe a patient, with a question among them."""

from __future__ import annotations

from typing import Final, NamedTuple

from tools.language.quotable_units import sentences
from tools.language.terms import terms
from tools.language.vocabulary.absence import stated
from tools.language.vocabulary.clinical_phrases import clinical_phrases
from tools.language.vocabulary.patient_values import abnormal_values, without_values

_FEWEST_TERMS: Final = 12
"""Minimum number of terms of a description; with fewer, a question is read as a whole."""


class Case(NamedTuple):
    """The description of a patient, and what is asked about the patient."""

    description: str
    question: str

    @property
    def search_text(self) -> str:
        """The question, the clinical words of the description and the states that its values indicate.

        What the description denies is left out.
        """
        told = clinical_phrases(without_values(stated(self.description)))
        states = (state for _, state in abnormal_values(self.description))
        return f"{self.question} ({', '.join(dict.fromkeys((*told, *states)))})"

    @property
    def drug_text(self) -> str:
        """The question, whose medicines come first, and the description without what it denies."""
        return f"{self.question} {stated(self.description)}"


def case_in(text: str) -> Case | None:
    """Return the case that ``text`` describes; None for a question without a long description.

    Its questions are the sentences with a question mark; without any, it is the last sentence.
    """
    parts = sentences(text)
    asking = [part for part in parts if part.endswith("?")] or parts[-1:]
    description = " ".join(part for part in parts if part not in asking)
    return Case(description, " ".join(asking)) if len(terms(description)) >= _FEWEST_TERMS else None


def asked_in(text: str) -> str:
    """Return what ``text`` asks: the question of a case, otherwise all of it."""
    case = case_in(text)
    return case.question if case else text
