"""Citation markers and quotes, for any text and any slicing."""

from __future__ import annotations

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.agent.citations.citation_markers import Marker, MarkerParser
from chat_app.agent.citations.quotes import find_quote, quotes_in

thorough = settings(max_examples=500, deadline=None)
bracketed = st.lists(
    st.sampled_from(
        [
            "[1]",
            "[12]",
            "[2, 5]",
            "[2;5]",
            "[",
            "]",
            "[]",
            "[a]",
            "[1](u)",
            "\\[1]",
            "`",
            "```",
            "\n",
            "\n\n",
            " ",
            "1",
            ",",
            "(",
            "word ",
            "[1][2]",
            "[12345]",
            "``",
            "[3,  4]",
            "\\",
            "[1, ]",
            "[1-3]",
            "[2\u20134",
            "-",
            "~~~",
            "~",
            "    ",
            "\t",
            "- ",
            "1. ",
            "> ",
            "# ",
        ]
    )
    | st.text(max_size=3),
    max_size=25,
).map("".join)


def parse(*pieces: str) -> list[str | Marker]:
    parser = MarkerParser()
    parts: list[str | Marker] = []
    for piece in pieces:
        parts += parser.feed(piece)
    parts += parser.flush()
    joined: list[str | Marker] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


@thorough
@given(bracketed)
def test_text_and_markers_joined_are_what_was_written(text: str) -> None:
    assert "".join(part.raw if isinstance(part, Marker) else part for part in parse(text)) == text


@thorough
@given(bracketed, st.lists(st.integers(0, 200), max_size=20))
def test_markers_are_found_however_the_text_is_cut(text: str, points: list[int]) -> None:
    places = sorted({0, len(text), *(point % (len(text) + 1) for point in points)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    assert parse(*pieces) == parse(text) == parse(*text)


@thorough
@given(bracketed)
def test_every_marker_has_the_form_of_one(text: str) -> None:
    for part in parse(text):
        if isinstance(part, Marker):
            assert re.fullmatch(r"\[\d{1,4}([-\u2013]\d{1,4})?([,;] ?\d{1,4}([-\u2013]\d{1,4})?)*\]", part.raw)
            written = [int(number) for number in re.findall(r"\d+", part.raw)]
            assert set(written) <= set(part.numbers)
            assert part.ranges or list(part.numbers) == written


@thorough
@given(bracketed)
def test_only_the_beginning_of_a_marker_is_held_back(text: str) -> None:
    parser = MarkerParser()
    given_out = "".join(part.raw if isinstance(part, Marker) else part for part in parser.feed(text))
    assert text.startswith(given_out)
    held = text[len(given_out) :]
    assert held == "" or re.fullmatch(r"\[[\d,; \u2013-]*\]?", held)
    assert len(held) <= 40


clinical = st.lists(
    st.sampled_from(
        [
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
            "5-10",
            "µg",
            "≥",
            "heart\u2010failure",
            "(",
            ")",
            "“stable”",
            "CHA2DS2-VASc",
            ".",
        ]
    ),
    min_size=6,
    max_size=30,
)


@thorough
@given(clinical, st.data())
def test_a_stretch_of_the_source_is_found_and_given_in_the_sources_own_words(
    words: list[str], data: st.DataObject
) -> None:
    source = " ".join(words)
    start = data.draw(st.integers(0, len(words) - 5))
    end = data.draw(st.integers(start + 5, len(words)))
    breaks = data.draw(st.lists(st.sampled_from([" ", "\n", "  ", " \n "]), min_size=end, max_size=end))
    candidate = "".join(word + space for word, space in zip(words[start:end], breaks, strict=False)).strip()
    quote = find_quote(candidate, source)
    if len(candidate) >= 20 and len(candidate.split()) >= 4:
        assert quote is not None
        assert quote in source
        assert "".join(quote.split()) == "".join(candidate.split())


@thorough
@given(clinical, st.integers(0, 1_000), st.sampled_from(["never", "60", "contraindicated"]))
def test_a_changed_word_is_no_quote(words: list[str], place: int, other: str) -> None:
    changed = list(words)
    changed[place % len(words)] = other
    assert find_quote(" ".join(changed), " ".join(words)) is None


@thorough
@given(st.text(max_size=200), st.text(max_size=200))
def test_whatever_is_called_a_quote_stands_in_the_source(statement: str, source: str) -> None:
    for quote in quotes_in(statement, source):
        assert quote in source
