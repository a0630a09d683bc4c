"""Reads a case: sentences that describe a patient, with a question among them."""

from __future__ import annotations

from typing import Final, NamedTuple

from tools.language.sentences import sentences
from tools.language.terms import terms
from tools.language.vocabulary.absence import stated
from tools.language.vocabulary.clinical_phrases import clinical_phrases
from tools.language.vocabulary.patient_values import abnormal_values, without_values

_FEWEST_TERMS: Final = 12
"""Minimum number of terms of a description; with fewer, a question is read as a whole."""


class Case(NamedTuple):
    """A patient's description, with its line breaks and one after each sentence, and the question."""

    description: str
    question: str

    @property
    def search_text(self) -> str:
        """The question, the clinical words of the description and the states that its values indicate.

        What the description denies is left out.
        """
        told = clinical_phrases(without_values(self._affirmed))
        states = (state for _, state in abnormal_values(self.description))
        words = ", ".join(dict.fromkeys((*told, *states)))
        return f"{self.question} ({words})" if words else self.question

    @property
    def drug_text(self) -> str:
        """The question, so that its medicines come first, then the description without what it denies."""
        return f"{self.question} {self._affirmed}"

    @property
    def _affirmed(self) -> str:
        """The description without what it denies; a denial ends with its line, which may lack a full stop."""
        return " ".join(map(stated, self.description.split("\n")))


def case_in(text: str) -> Case | None:
    """Return the case that ``text`` describes; None for a question without a long description.

    Its questions are the sentences with a question mark; without any, it is the last sentence.
    """
    parts = sentences(text)
    asking = [part for part in parts if part.endswith("?")] or parts[-1:]
    description = "\n".join(part for part in parts if part not in asking)
    return Case(description, " ".join(" ".join(asking).split())) if len(terms(description)) >= _FEWEST_TERMS else None


def asked_in(text: str) -> str:
    """Return what ``text`` asks: the question of a case, otherwise all of it."""
    case = case_in(text)
    return case.question if case else text
