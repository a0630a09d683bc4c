"""Detects the language of a text by common and clinical words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tools.language.measurement_units import UNITS, any_spelling
from tools.language.vocabulary.clinical_vocabulary import (
    FOREIGN_LANGUAGES,
    abbreviation_meanings,
    is_english,
    translations,
)
from tools.language.vocabulary.common_words import Language, frequency
from tools.language.word_lists import word_entries

_WORD: Final = re.compile(r"\b[^\W\d_]{2,}\b")
_LEAD: Final = 0.36
"""Minimum lead of the likeliest language; this is the likelihood of the thousandth word of a language."""
_SYMBOL: Final = re.compile(
    rf"(?<=\d)[ -]?(?:{any_spelling(unit for unit in UNITS if len(unit) < 3)})\b", re.IGNORECASE
)
"""The symbol of a unit after its number, some of which are words of a language: "72 yo"."""
_AND: Final = re.compile(
    r"(?<=[^\W\d_]{3} )(?:y(?= [^\W\d_]{3})|(?<!hepatitis )(?<!vitamin )(?<!vitamina )e(?= h?i[^\W\d_]{3}))"
)
"""The Spanish "and", which is "e" before an i, but not in "vitamin e intake"."""
_TELLS_SPANISH: Final = "con"
"""The word counted for "y" and "e", since the lists of common words have no words of one letter."""
_CLINICAL: Final = 0.5
"""Likelihood of a clinical word of one language, whose frequency in ordinary texts means little."""


def language_of(*texts: str) -> Language:
    """Return the language of the first of ``texts`` that shows its language; English if none does."""
    for text in texts:
        if told := _told_language(text):
            return told
    return "en"


def with_spanish_and(text: str, word: str) -> str:
    """Return ``text`` with ``word`` for each Spanish "and" of one letter."""
    return _AND.sub(word, text)


@lru_cache(maxsize=256)
def _told_language(text: str) -> Language | None:
    """Return the likeliest language of ``text`` by the frequency of its words (Zipf); None if there is no clear lead.

    Inside a Spanish sentence, words with a capital are names and do not count. Words in capitals are abbreviations.
    Clinical English words may be names or Latin. They count beside ordinary ones, unless another language leads.
    """
    written = with_spanish_and(_SYMBOL.sub(" ", text.lower() if text.isupper() else text), _TELLS_SPANISH)
    first, *others = _WORD.findall(written)[:100] or [""]
    spanish = [first, *(word for word in others if not word.istitle())]
    words = [first, *others]
    likely: dict[Language, float] = {
        "en": _likelihood(words, "en", clinical=0.0), "de": _likelihood(words, "de"), "es": _likelihood(spanish, "es")
    }  # fmt: skip
    if 0 < likely["en"] > max(likely["de"], likely["es"]) - _LEAD:
        likely["en"] = _likelihood(words, "en")
    best, second, *_ = sorted(likely, key=lambda language: -likely[language])
    return best if likely[best] > likely[second] + _LEAD else None


def _likelihood(words: list[str], language: Language, clinical: float = _CLINICAL) -> float:
    known = (clinical if language in _clinical_in(word) else 0.0 for word in words)
    ordinary = (0.0 if word.isupper() else frequency(word.lower(), language) for word in words)
    return sum(map(max, ordinary, known))


def _clinical_in(written: str) -> list[Language]:
    """Return the languages of which a word is a clinical word; a foreign word must not be English as well.

    Abbreviations and eponyms belong to no language, since every language has them.
    """
    word = written.lower()
    foreign: list[Language] = [name for name in FOREIGN_LANGUAGES if any(translations([word], name))]
    is_of_all = written.isupper() or bool(abbreviation_meanings(word)) or word in word_entries("eponyms")
    is_of_others = any(frequency(word, name) > frequency(word, "en") for name in FOREIGN_LANGUAGES)
    own: list[Language] = [] if foreign or is_of_all or is_of_others else ["en"]
    shared = is_english(word) or (foreign and abbreviation_meanings(word))
    return own if shared else foreign
