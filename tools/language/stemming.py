"""The stem of a word (Snowball, English)."""

from __future__ import annotations

import threading
from functools import lru_cache

import snowballstemmer

_local = threading.local()
"""A stemmer keeps the word that it works on: each thread needs its own."""


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = snowballstemmer.stemmer("english")
    return str(stemmer.stemWord(word))
