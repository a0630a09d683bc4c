"""Pairs of opposites of which a question and a text may name different sides: adults and children, severe or not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tools.language.vocabulary.populations import UNDER_18

_OPPOSITES: Final = (
    (r"\badults?\b|\bolder (?:people|patients)\b|\belderly\b", UNDER_18),
    (
        r"\b(?:non[ –-]?|not |\w+n['’]t )severe\b|\bnicht[ -]schwer\w*|\bno (?:graves?|sever[oa]s?)\b",
        r"(?<!non[ –-])(?<!not )(?<!n['’]t )\bsevere\b|(?<!nicht[ -])\bschwer\w*|(?<!\bno )\b(?:graves?|sever[oa]s?)\b",
    ),
)
_SIDES: Final = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for pair in _OPPOSITES
    for one, other in (pair, pair[::-1])
)


def contradicts(question: str, asked: str, text: str) -> bool:
    """Return whether ``question`` names only one side of an opposite, and ``text`` only the other.

    ``asked`` is the question with the translations of its words.
    """
    return any(other.search(text) and not one.search(text) for one, other in _asked_sides(question, asked))


@lru_cache(maxsize=256)
def _asked_sides(text: str, asked: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return each side that ``text`` names without the other, with the other side.

    ``asked`` decides only if ``text`` names neither side: the translation of "nicht schwer" has the word of the other.
    """
    said = ((one, other, text if one.search(text) or other.search(text) else asked) for one, other in _SIDES)
    return tuple((one, other) for one, other, words in said if one.search(words) and not other.search(words))


def opposite_of(text: str) -> re.Pattern[str] | None:
    """Return the pattern of the other side if ``text`` names one side of an opposite."""
    return next((other for one, other in _SIDES if one.search(text)), None)
