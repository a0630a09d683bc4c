"""Lists of names inside a tool's descriptions, and patterns for them.

``Also:`` introduces the names by which a tool or an input is known, up to the next full stop. A description stays one
text for a language model, and code can find the same names in a question. In a name ``…`` is for up to four words
("leg … swollen") or for the beginning of a compound ("…karzinom").
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tools.language.folding import fold_phrase

_GAP: Final = r"[ -](?:(?!(?:no|not|without|kein\w*|nicht|ohne)\b)[^\W\d_]+[ -]){0,4}?"


def listed(description: str, key: str) -> list[str]:
    """Return the entries behind ``key:`` in ``description``, which end at a full stop."""
    match = re.search(rf"{key}:\s(.+?)\.(?:\s|$)", description, re.DOTALL)
    return [" ".join(part.split()) for part in match[1].split(",")] if match else []


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of ``phrases`` as whole words in folded text, the longest first."""
    return _any_of(tuple(phrases))


@lru_cache(maxsize=1_024)
def _any_of(phrases: tuple[str, ...]) -> str:
    ordered = sorted({fold_phrase(phrase) for phrase in phrases}, key=len, reverse=True)
    return "|".join(rf"(?<!\w){_pattern(phrase)}(?!\w)" for phrase in ordered)


def _pattern(phrase: str) -> str:
    # Folding writes the ellipsis as three dots.
    words = r"\w*".join(map(re.escape, phrase.replace(" ... ", "\0").split("...")))
    return words.replace("\0", _GAP).replace("\\ ", "[ -]")
