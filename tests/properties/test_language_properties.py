"""Sentences, folding and quotes, for any text."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.strategies import sequences
from tools.language.folding import fold, folded
from tools.language.measurement_units import UNITS
from tools.language.quotes import cuts_word, find_span, marked_segments, quotes_in
from tools.language.sentences import sentence_spans, sentences
from tools.language.word_lists import word_list

thorough = settings(max_examples=500, deadline=None)
PIECES = [
    "do",
    "not",
    "give",
    "metformin",
    "when",
    "the",
    "eGFR",
    "is",
    "below",
    "30",
    "mg",
    "once",
    "daily",
    "Start",
    "If",
    "5-10",
    "2.5",
    "1,000",
    "µg",
    "≥",
    "heart‐failure",
    "(",
    ")",
    "“stable”",
    "CHA2DS2-VASc",
    ".",
    "!",
    "?",
    "…",
    "...",
    ":",
    ";",
    ",",
    "e.g.",
    "approx.",
    "vs.",
    "Fig.",
    "Dr.",
    "J.",
    "z.B.",
    "Tag.",
    "3.",
    "1.",
    "(a)",
    "•",
    "–",
    "Ärzte",
    "über",
    "sleep.59",
    "U.S.",
    "no.",
    "min.",
]
clinical = sequences([*PIECES, "\n", "\n\n", "\t"], max_size=30).map(" ".join)
words = sequences(PIECES, min_size=6, max_size=30)
anything = clinical | st.text(max_size=200) | st.text(alphabet="abcXYZ .!?\"'()19–-\n•:", max_size=200)


@thorough
@given(anything)
def test_sentences_and_the_white_space_between_them_are_the_text(text: str) -> None:
    at = 0
    for start, end, _ in sentence_spans(text):
        assert text[at:start].strip() == ""
        assert text[start:end] == text[start:end].strip() != ""
        at = end
    assert text[at:].strip() == ""


@thorough
@given(anything)
def test_a_sentence_on_one_line_is_not_split_again(text: str) -> None:
    # Whether a line break only wraps depends on the whole line, which a sentence that was cut out has no more.
    for sentence in sentences(text):
        if "\n" not in sentence:
            assert sentences(sentence) == [sentence]


@thorough
@given(clinical)
def test_no_sentence_ends_inside_a_number_or_behind_an_abbreviation(text: str) -> None:
    for start, end, _ in sentence_spans(text):
        assert not cuts_word(text, start, end)
        last = text[start:end].rsplit(maxsplit=1)[-1]
        following = text[end:].split()
        if following and "\n" not in text[end : text.index(following[0], end)] and following[0] not in "•–":
            assert last.rstrip(".").lower() not in word_list("abbreviations") - UNITS.keys()


@given(st.text(max_size=80))
def test_white_space_and_hyphens_between_words_do_not_count(text: str) -> None:
    letters = "".join(character for character in text if not character.isdigit())
    assert folded(" ".join(letters).replace("-", "\u2010")) == folded(letters)


@thorough
@given(anything)
def test_each_folded_character_comes_from_its_place(text: str) -> None:
    plain, places = fold(text)
    assert len(plain) == len(places)
    assert list(places) == sorted(places)
    assert folded(plain) == plain


@thorough
@given(words, st.data())
def test_a_stretch_of_the_source_is_found_in_the_sources_own_words(words: list[str], data: st.DataObject) -> None:
    source = " ".join(words)
    start = data.draw(st.integers(0, len(words) - 5))
    end = data.draw(st.integers(start + 5, len(words)))
    breaks = data.draw(sequences([" ", "\n", "  ", " \n "], min_size=end, max_size=end))
    candidate = "".join(word + space for word, space in zip(words[start:end], breaks, strict=False)).strip()
    span = find_span(candidate, source, whole_words=False)
    assert span is not None
    assert folded(source[span.start : span.end]) == folded(candidate)


@thorough
@given(words, st.integers(0, 1_000), st.sampled_from(["never", "60", "contraindicated"]))
def test_a_changed_word_is_no_quote(words: list[str], place: int, other: str) -> None:
    changed = list(words)
    changed[place % len(words)] = other
    assert find_span(" ".join(changed), " ".join(words)) is None


@thorough
@given(anything, anything)
def test_whatever_is_called_a_quote_is_in_the_source(statement: str, source: str) -> None:
    for text in (statement, source, f"{source} {statement}"):
        for quote in quotes_in(text, source):
            assert quote in source


NEGATED = ["Do not", "Never", "It is wrong, if tired, to", "Without help", "In adults", "Nie", "You must not\n"]


@thorough
@given(st.sampled_from(NEGATED), sequences(["approx.", "5", "mg", "e.g.", "once", "daily"], min_size=8, max_size=30))
def test_no_quote_loses_the_negation_before_it(negation: str, rest: list[str]) -> None:
    said = " ".join(rest)
    for quote in quotes_in(said, f"{negation} give {said}.") + quotes_in(f"Give {said}.", f"{negation} give {said}."):
        assert quote.startswith(negation)


@thorough
@given(clinical, st.lists(clinical, max_size=3))
def test_marked_stretches_are_the_text(text: str, quotes: list[str]) -> None:
    segments = marked_segments(text, quotes)
    assert "".join(part for part, _ in segments) == text
    assert all(part for part, _ in segments)
    assert all(first[1] != second[1] for first, second in itertools.pairwise(segments))
