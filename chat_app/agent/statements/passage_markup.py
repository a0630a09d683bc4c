"""Reads passages and statements without their markup."""

from __future__ import annotations

import re
from typing import Final

from tools.language.terms import clean
from tools.types import Passage

_MARKUP: Final = re.compile(r"\*\*|__|`|(?<!\\)\||\u2063|\\(?=[\[\]|])")
_ROW: Final = re.compile(r"^ *\| *(?:(?P<rule>[-:| ]+)\|(?:\n|$)|(?P<cells>.*[^|\s]) *\| *$)", re.MULTILINE)
_MAY_MARK: Final = re.compile(r"[*_`|\\\u2063]")


def passage_text(passage: Passage) -> str:
    """Return the text of ``passage``, with each line of a calculation as a paragraph."""
    text = passage.text.replace("\n", "\n\n") if passage.kind == "calculation" else passage.text
    return _ROW.sub(_cells, text) if "|" in text else text


def _cells(row: re.Match[str]) -> str:
    """Return a row of a Markdown table with tabs between its cells; empty for the line below its header."""
    return "" if row["rule"] else re.sub(r"\s*\|\s*", "\t", row["cells"])


def plain(text: str) -> str:
    """Return ``text`` as one line without Markdown."""
    return clean(_MARKUP.sub(" ", text) if _MAY_MARK.search(text) else text)
