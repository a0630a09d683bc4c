"""However the text is cut, the page shows the same; nothing that was sent is left out."""

from __future__ import annotations

import html
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.interface.markdown.markdown_fold import MarkdownFold
from chat_app.interface.rendering.answer_parts import AnswerParts
from tests.support.strategies import texts

# What Markdown gives a meaning to, in any order, with words between.
_PIECES = [
    *"\n\n\n  |:-*_`~#>[]()<&!\\=+.1234567890\t",
    "HER2:neg",
    "word ",
    "**",
    "```\n",
    "\n- ",
    "\n1. ",
    "\n2. ",
    "| a | b |\n|---|---|\n",
    "https://x.org/a:b",
    "www.x.org",
    "&amp;",
    "\r\n",
    "\r",
    "é",
    "\u200b",
    "5*3*2",
    "\n    ",
    "~~~\n",
    "\n> ",
    "\n# ",
]
written = texts(_PIECES, max_size=40)


@settings(max_examples=400, deadline=None)
@given(written, st.lists(st.integers(0, 400), max_size=8))
def test_the_result_does_not_depend_on_how_the_text_was_cut(text: str, cuts: list[int]) -> None:
    whole = MarkdownFold()
    expected = whole.feed(text) + whole.close()
    places = [0, *sorted({cut for cut in cuts if cut < len(text)}), len(text)]
    sliced = MarkdownFold()
    pieces = [sliced.feed(text[a:b]) for a, b in pairwise(places)]
    assert "".join(pieces) + sliced.close() == expected


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


@settings(max_examples=400, deadline=None)
@given(written)
def test_every_letter_and_digit_is_written_in_its_order(text: str) -> None:
    whole = MarkdownFold()
    written = whole.feed(text) + whole.close()
    # The reference written for a space at a line's end is the one thing that adds digits.
    shown = written.replace("&#32;", " ")
    assert _letters(html.unescape(shown) if "&" not in text else shown) == _letters(text)


@settings(max_examples=200, deadline=None)
@given(written)
def test_no_html_link_image_or_directive_is_left_outside_code(text: str) -> None:
    """Row 42."""
    whole = MarkdownFold()
    written = whole.feed(text.replace("`", "").replace("~", "").replace("https", "").replace("www", "")) + whole.close()
    assert not re.search(r"(?<!\\)(?:\\\\)*[<\[]", written)
    assert not re.search(r"(?<!\\)(?:\\\\)*:[^\W\d]", written)


def _parts(markdown: str, places: list[int]) -> list[str]:
    cutter, parts = AnswerParts(longest=20), [""]
    for a, b in pairwise(places):
        first, *later = cutter.cut(markdown[a:b])
        parts[-1] += first
        parts += later
    return parts


@settings(max_examples=400, deadline=None)
@given(written, st.lists(st.integers(0, 400), max_size=8))
def test_a_long_answer_is_cut_at_the_same_places_however_it_came_and_loses_nothing(text: str, cuts: list[int]) -> None:
    fold = MarkdownFold()
    markdown = fold.feed(text) + fold.close()
    parts = _parts(markdown, [0, len(markdown)])
    assert "".join(parts) == markdown
    assert all(len(part) >= 20 for part in parts[:-1])
    assert _parts(markdown, [0, *sorted({cut for cut in cuts if cut < len(markdown)}), len(markdown)]) == parts
