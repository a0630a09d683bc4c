"""Common words of English, German and Spanish by frequency; ``common/README.md`` names the source."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib import resources
from typing import Final, Literal, get_args

Language = Literal["en", "de", "es"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
ORDINARY: Final = 10_000
"""Rank up to which a word counts as ordinary."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LEAD: Final = 0.36
"""Likelihood by which a language must lead another one that has some of the words: that of its thousandth word."""


@cache
def ranks(language: Language) -> dict[str, int]:
    """Return the place of each word in the list of ``language``; 1 is the most frequent."""
    text = (resources.files("tools.language.vocabulary") / "common" / f"{language}.txt").read_text(encoding="utf-8")
    return {word: place for place, word in enumerate(text.split(), start=1)}


def is_ordinary(word: str) -> bool:
    """Return whether ``word``, in lower case, is an ordinary word of one of the languages."""
    return any(ranks(language).get(word, ORDINARY + 1) <= ORDINARY for language in LANGUAGES)


def rareness(word: str) -> float:
    """Return how rare ``word``, in lower case, is in the language that has it most: 0 to 1, 1 for an unlisted word."""
    known = [math.log(ranks(language)[word]) / math.log(len(ranks(language))) for language in LANGUAGES
             if word in ranks(language)]  # fmt: skip
    return min(known, default=1.0)


def language_of(*texts: str) -> Language:
    """Return the language of the first of ``texts`` whose words tell it; English when none does."""
    for text in texts:
        if told := _told_language(text):
            return told
    return "en"


def _told_language(text: str) -> Language | None:
    """Return the likeliest language of ``text`` by the frequency of its words (Zipf); None when undecided.

    Spanish writes no word with a capital inside a sentence but names.
    """
    first, *others = _WORD.findall(text)[:100] or [""]
    spanish = [first, *(word for word in others if not word.istitle())]
    likely = {name: _likelihood(spanish if name == "es" else [first, *others], name) for name in LANGUAGES}
    best = max(LANGUAGES, key=lambda language: likely[language])
    led = all(not likely[other] or likely[best] > likely[other] + _LEAD for other in LANGUAGES if other != best)
    return best if led and likely[best] else None


def _likelihood(words: list[str], language: Language) -> float:
    """Add up how frequent the words are: 1 for the most frequent, 0 for a word outside the list."""
    known = ranks(language)
    last = math.log(len(known) + 1)
    return sum(1 - math.log(known[word]) / last for word in map(str.lower, words) if word in known)
