"""Misspelt words of a question, and words that only look so."""

import pytest

from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.terms import terms
from tools.language.vocabulary.misspellings import with_corrections


def _corrected(question: str, library: str, *known: Expansion, language: str = "en") -> dict[str, tuple[str, ...]]:
    expansion = QueryExpansion.model_validate({"language": language, "expansions": known})
    found = with_corrections(question, expansion, set(terms(library)))
    return {one.asked: one.same for one in found.expansions}


@pytest.mark.parametrize(
    ("typed", "meant"), [("protien", "protein"), ("antibotic", "antibiotic"), ("pnuemonia", "pneumonia")]
)
def test_a_misspelt_word_finds_the_word_of_the_library(typed: str, meant: str) -> None:
    assert _corrected(f"how much {typed} a day", f"Much about {meant} here.") == {typed: (meant,)}


def test_a_word_that_the_library_lacks_is_no_correction() -> None:
    assert _corrected("how much protien a day", "Much about potassium here.") == {}


@pytest.mark.parametrize("typed", ["hypovolemia", "ingestion", "hypoplasia", "intravascular"])
def test_another_medical_word_is_not_taken_for_a_misspelling(typed: str) -> None:
    near = "hypokalemia infection hyperplasia intramuscular"
    assert _corrected(f"treatment after {typed}", near) == {}


def test_a_word_of_the_library_is_spelt_as_it_is() -> None:
    assert _corrected("memantine or motility", "memantine motility mobility meantime") == {}


def test_a_name_that_is_known_is_not_corrected() -> None:
    name = Expansion(asked="covera", same=("verapamil",))
    assert _corrected("covera dose", "cover the wound", name) == {"covera": ("verapamil",)}


def test_a_question_in_another_language_is_left_alone() -> None:
    assert _corrected("wie viel protien", "protein", language="de") == {}
