"""Where a text stands in code: held to another reader of CommonMark, for any lines and any slicing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from chat_app.agent.citations.citation_markers import Marker, MarkerParser

thorough = settings(max_examples=500, deadline=None)
LIST_MARK = re.compile(r"^\s*(?:[-+*]|\d+[.)])(?:\s|$)", re.MULTILINE)
words = st.sampled_from(["drug {}", "{} drug", "{}"])
small = st.sampled_from(["", "", "", " ", "  ", "   "])
deep = st.sampled_from(["    ", "     ", "      ", "        ", "\t", " \t"])
marks = st.sampled_from(["", "", "- ", "1. ", "2) ", "10. ", "> ", ">", "> - ", "- - ", "-     ", "# ", "~~~ ", "~~"])
bare = ["", "", "", " ", "~~~", "~~~", "~~~~", "```", "````", "  ~~~", "> ~~~", "- ```", "~~~ x", "---", "===", "- - -"]
# Deep marks are left out: inside a list markdown-it-py does not take them for the rest of a paragraph, as it should.
lines = st.one_of(
    st.tuples(small, marks, words).map("".join), st.tuples(deep, words).map("".join), st.sampled_from(bare)
)


def numbered(written: Sequence[str]) -> str:
    return "\n".join(line.replace("{}", f"[{at}]") for at, line in enumerate(written, start=1))


def markers(text: str, *points: int) -> set[str]:
    parser = MarkerParser()
    places = [0, *sorted(min(point, len(text)) for point in points), len(text)]
    parts = [part for start, end in itertools.pairwise(places) for part in parser.feed(text[start:end])]
    return {part.raw for part in [*parts, *parser.flush()] if isinstance(part, Marker)}


def code_blocks(tokens: Sequence[Token]) -> Iterator[Token]:
    return (token for token in tokens if token.type in {"fence", "code_block"})


@thorough
@given(st.lists(lines, max_size=10), st.lists(st.integers(0, 150), max_size=8))
def test_a_marker_is_code_where_commonmark_says_so(written: list[str], points: list[int]) -> None:
    text = numbered(written)
    tokens = MarkdownIt("commonmark").parse(text)
    blocks = list(code_blocks(tokens))
    # A list that is indented too far is read as the list it was meant to be.
    assume(not any(LIST_MARK.search(token.content) for token in blocks if token.type == "code_block"))
    code = {found for token in blocks for found in re.findall(r"\[\d+\]", f"{token.info}\n{token.content}")}

    assert markers(text, *points) == set(re.findall(r"\[\d+\]", text)) - code
