"""Quotes are shown only when they stand in their source, and then in the source's own words.

Comparison ignores white space, hyphens and dashes, since page breaks and line ends put them anywhere, and reads
typographic quotation marks as plain ones; everything else, case included, must be equal.
"""

from __future__ import annotations

import re
import unicodedata

_IGNORED = re.compile(r"[\s\-\u00ad\u2010-\u2015\u2212]")
_TRANSLATION = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_MARKUP = re.compile(r"\*\*|__|`|\\(?=[\[\]|])|(?<!\\)\||\u2063")
"""Emphasis, code, a backslash before a bracket, and what parts a table row's cells: not the source's words.

A row's invisible separator (U+2063) is left in the source: a quote cannot run across it.
"""
_LEAD = re.compile(r"^(?:\s*(?:[-*+>|]|#{1,6}|\d{1,3}[.)])\s+)+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9])")
_QUOTED = re.compile(r"[\u201c\"]([^\u201c\u201d\"]+)[\u201d\"]")

MIN_WORDS = 4
MIN_CHARS = 20


def find_quote(candidate: str, source: str) -> str | None:
    """The stretch of ``source`` that says ``candidate``, or None. Too short to mean anything counts as None."""
    if len(candidate) < MIN_CHARS or len(candidate.split()) < MIN_WORDS:
        return None
    needle, _ = _folded(candidate)
    haystack, positions = _folded(source)
    at = haystack.find(needle) if needle else -1
    if at < 0:
        return None
    return source[positions[at] : positions[at + len(needle) - 1] + 1]


def quotes_in(statement: str, source: str) -> tuple[str, ...]:
    """The parts of ``statement`` that stand verbatim in ``source``: all of it, its last sentence, or what it quotes."""
    plain = _LEAD.sub("", _MARKUP.sub("", statement)).strip().strip("|").strip()
    sentences = _SENTENCE_END.split(plain)
    for candidate in (plain, sentences[-1].strip()):
        quote = find_quote(candidate, source)
        if quote is not None:
            return (quote,)
    spans = (find_quote(span, source) for span in _QUOTED.findall(plain))
    return tuple(span for span in spans if span is not None)


def last_sentence(statement: str) -> str:
    """The sentence at the end of ``statement``: what a citation that follows it supports."""
    return _SENTENCE_END.split(statement.strip())[-1]


def _folded(text: str) -> tuple[str, list[int]]:
    """``text`` without what is ignored, and for each character left its position in ``text``."""
    folded: list[str] = []
    positions: list[int] = []
    for index, character in enumerate(text.translate(_TRANSLATION)):
        if _IGNORED.match(character):
            continue
        for part in unicodedata.normalize("NFKC", character):
            folded.append(part)
            positions.append(index)
    return "".join(folded), positions
