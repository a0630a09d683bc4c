"""Related words: what the file gives, and how the extraction counts them."""

from __future__ import annotations

import pytest

from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.scoring import scored
from chat_app.offline.extraction.selection import select
from chat_app.offline.reading.evidence import EvidencePassage, WeightedTerm
from tools.language.quotable_units import term_set
from tools.language.terms import term
from tools.language.vocabulary.clinical_vocabulary import is_english
from tools.language.vocabulary.common_words import ranks
from tools.language.vocabulary.related_words import FILE, related_forms


@pytest.mark.parametrize(
    ("word", "other"), [("quit", "stop"), ("tired", "fatigued"), ("factory", "manufacturing plant"), ("begin", "start")]
)
def test_words_of_one_meaning_are_related(word: str, other: str) -> None:
    assert term_set(other) in related_forms(term(word))


@pytest.mark.parametrize(("word", "other"), [("increase", "decrease"), ("high", "low"), ("stop", "give"), ("quit", "")])
def test_opposites_and_parts_of_phrases_are_not_related(word: str, other: str) -> None:
    assert term_set(other) not in related_forms(term(word))


@pytest.mark.parametrize(
    ("word", "phrase"),
    [
        ("epilepsy", "seizure disorder"),
        ("weaning", "withdraw gradually"),
        ("copd", "emphysema"),
        ("gastrointestinal", "vomiting"),
        ("vomiting", "gastrointestinal"),
    ],
)
def test_words_of_questions_are_related_to_those_of_labels(word: str, phrase: str) -> None:
    assert term_set(phrase) in related_forms(term(word))


def test_the_file_holds_terms_of_known_words_alone() -> None:
    known = {term(word) for word in ranks("en")}
    keys = [line.partition("\t")[0] for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert keys == sorted(set(keys))
    assert sum(key in known or is_english(key) for key in keys) > 0.9 * len(keys)


def test_a_related_word_counts_less_than_the_asked_one() -> None:
    passages = [EvidencePassage(f"Adults may {verb} the course early.", rank=0) for verb in ("stop", "halt", "extend")]
    units = scored(read_question("When may adults stop the course?"), passages)
    asked, near, neither = units
    assert asked.score > near.score > neither.score
    assert asked.share > near.share > neither.share


def test_what_the_search_calls_related_counts_less_than_what_means_the_same() -> None:
    terms = [WeightedTerm("knee", 2.0, ("patella",), ("surgery",)), WeightedTerm("zorbin", 1.0)]
    passages = [
        EvidencePassage(f"Take zorbin after {what}.", rank=0) for what in ("patella repair", "surgery", "a meal")
    ]
    same, broader, neither = scored(read_question("Zorbin and the knee?", terms), passages)
    assert same.score > broader.score > neither.score
    assert same.share > broader.share > neither.share


def test_a_sentence_in_a_related_word_is_quoted_first() -> None:
    text = "Adults with gout may walk. Adults with gout should halt the course. Adults with gout need a course of rest."
    first = select(read_question("Should adults with gout stop the course?"), [EvidencePassage(text)]).quotes[0]
    assert "halt" in first.unit.text
