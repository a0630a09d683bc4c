"""Finds the clinical words and phrases of a text among its ordinary ones."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tools.language.longest_matches import longest_matches
from tools.language.measurement_units import UNITS
from tools.language.terms import terms
from tools.language.vocabulary.clinical_vocabulary import english_words, entries, translations
from tools.language.vocabulary.common_words import EVERYDAY, is_ordinary, ranks
from tools.language.vocabulary.text_language import language_of

_LONGEST: Final = 4
_WORD: Final = re.compile(r"[^\W_]+")


def clinical_phrases(text: str) -> list[str]:
    """Return the clinical phrases and words of ``text`` in order, and the words that are in no list, such as names.

    An everyday word counts only as part of a phrase: the heart of "heart failure".
    """
    words, language = _WORD.findall(text), language_of(text)
    lowered = [word.lower() for word in words]
    meant = {(one.start, one.end) for one in translations(lowered, language)}

    def found(start: int, end: int) -> bool | None:
        if end > start + 1:
            named = tuple(terms(" ".join(words[start:end])))
            whole = named in _phrases() and bool(terms(words[start]) and terms(words[end - 1]))
            return whole or (start, end) in meant or None
        word = lowered[start]
        if len(word) < 2 or word[0].isdecimal() or word in UNITS or ranks(language).get(word, EVERYDAY + 1) <= EVERYDAY:
            return None
        return not is_ordinary(word) or word in english_words() or (start, end) in meant or None

    matches = longest_matches(len(words), _LONGEST, found)
    return list(dict.fromkeys(" ".join(words[start:end]) for start, end, _ in matches))


@cache
def _phrases() -> frozenset[tuple[str, ...]]:
    """Return the terms of the phrases of the vocabularies that have at least two."""
    files = ("abbreviations.tsv", "de.tsv", "en.tsv", "es.tsv", "related.tsv")
    listed = ((phrase, *meanings) for name in files for phrase, meanings in entries(name))
    found = (tuple(terms(phrase)) for phrases in listed for phrase in phrases)
    return frozenset(named for named in found if len(named) > 1)
