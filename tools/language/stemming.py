"""The stem of a word (Snowball, in C)."""

import threading
from functools import lru_cache

import Stemmer

_local = threading.local()
"""A stemmer keeps the word that it works on: each thread needs its own."""


@lru_cache(maxsize=200_000)
def stem(word: str, language: str = "english") -> str:
    """Return the stem of a lower-case word; ``language`` is Snowball's name of one."""
    stemmers = _local.__dict__
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    return str(stemmers[language].stemWord(word))
