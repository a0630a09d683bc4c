"""Corrects misspelt words of a question to words of the library."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator
from functools import cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.terms import terms
from tools.language.vocabulary.clinical_vocabulary import english_words, is_known_word
from tools.language.vocabulary.common_words import ranks

_SHORTEST = 6
"""Minimum length; a shorter word with a wrong letter may be another word."""
_WORD = re.compile(rf"[^\W\d_]{{{_SHORTEST},}}")


def with_corrections(question: str, expansion: QueryExpansion, held: Container[str]) -> QueryExpansion:
    """Return ``expansion`` with corrections of the misspelt words of an English question.

    A word is misspelt if it is unknown, has no expansion and is not among the library's terms ``held``, but a word that
    differs by one letter or two swapped letters is.
    """
    if expansion.language != "en":
        return expansion
    found = tuple(Expansion(asked=word, same=(meant,)) for word, meant in _corrections(question, expansion, held))
    return expansion.model_copy(update={"expansions": (*expansion.expansions, *found)}) if found else expansion


def _corrections(question: str, expansion: QueryExpansion, held: Container[str]) -> Iterator[tuple[str, str]]:
    told = {word for one in expansion.expansions for word in one.asked.split()}
    for word in dict.fromkeys(_WORD.findall(question.lower())):
        if word in told or is_known_word(word) or any(term in held for term in terms(word)):
            continue
        near = process.extract(word, _words(word[0]), scorer=OSA.distance, score_cutoff=1, limit=None)
        meant = [known for known, *_ in near if all(term in held for term in terms(known))]
        if meant:
            yield word, min(meant, key=_unlikely)


def _unlikely(word: str) -> tuple[bool, float]:
    """Return the sort key of a correction: clinical words first, then by frequency."""
    return word not in english_words(), ranks("en").get(word, math.inf)


@cache
def _words(letter: str) -> tuple[str, ...]:
    """Return the words that begin with ``letter``. The first letter is seldom wrong."""
    known = {*english_words(), *ranks("en")}
    return tuple(sorted(word for word in known if word[0] == letter and len(word) >= _SHORTEST - 1))
