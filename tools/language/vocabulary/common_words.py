"""Common words of English, German and Spanish by frequency; ``common/README.md`` names the source."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from importlib import resources
from typing import Final, Literal, get_args

Language = Literal["en", "de", "es"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
ORDINARY: Final = 10_000
"""Rank up to which a word counts as ordinary."""
EVERYDAY: Final = 1_500
"""Rank up to which a word is an everyday one, which alone names no subject."""
_FUNCTION_WORDS: Final = 160
"""Rank up to which a word counts as a function word."""


@cache
def ranks(language: Language) -> dict[str, int]:
    """Return the rank of each word in the list of ``language``; 1 is the most frequent."""
    text = (resources.files("tools.language.vocabulary") / "common" / f"{language}.txt").read_text(encoding="utf-8")
    return {word: place for place, word in enumerate(text.split(), start=1)}


def is_ordinary(word: str) -> bool:
    """Return whether ``word``, in lower case, is an ordinary word of one of the languages."""
    return any(ranks(language).get(word, ORDINARY + 1) <= ORDINARY for language in LANGUAGES)


def is_function_word(word: str, language: Language) -> bool:
    """Return whether ``word``, in lower case, is a function word of ``language``, by its frequency."""
    return ranks(language).get(word, _FUNCTION_WORDS + 1) <= _FUNCTION_WORDS


@lru_cache(maxsize=65_536)
def rareness(word: str) -> float:
    """Return how rare ``word``, in lower case, is in its most likely language: 0 to 1, 1 for an unlisted word."""
    known = [math.log(ranks(language)[word]) / math.log(len(ranks(language))) for language in LANGUAGES
             if word in ranks(language)]  # fmt: skip
    return min(known, default=1.0)


def frequency(word: str, language: Language) -> float:
    """Return how frequent ``word``, in lower case, is: 1 for the most frequent, 0 for a word outside the list."""
    known = ranks(language)
    return 1 - math.log(known[word]) / math.log(len(known) + 1) if word in known else 0.0
