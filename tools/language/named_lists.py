"""Parses the lists of names inside a tool's descriptions, and makes patterns of them.

``Also:`` introduces other names of a tool or an input, up to the next full stop. So a language model reads a plain
description, and code finds the same names in a question. In a name, ``…`` matches up to four words ("leg … swollen")
or the beginning of a compound ("…karzinom").
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tools.language.folding import fold_phrase

_GAP: Final = r"[ -](?:(?!(?:no|not|without|kein\w*|nicht|ohne)\b)[^\W\d_]+[ -]){0,4}?"


def listed(description: str, key: str) -> list[str]:
    """Return the entries after ``key:`` in ``description``, up to the next full stop."""
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
    # The hyphen of "Cl-" is a charge.
    return re.sub(r"\\ |(?<=\w)\\-(?=\w)", "[ -]", words.replace("\0", _GAP))
