"""Citation markers, for any text and any slicing."""

from __future__ import annotations

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.agent.citations.citation_markers import Marker, MarkerParser
from tests.support.strategies import texts

thorough = settings(max_examples=500, deadline=None)
bracketed = texts(
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
    ],
    max_size=25,
)


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
