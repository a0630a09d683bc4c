"""The features of a question for the emergency classifier: shortened words, pairs of them, and letter sequences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent / "data"
_TOKEN: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|')*|\d+(?:[.,]\d+)*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WINDOW: Final = 3
"""Sentences that are judged together: in a long text an emergency is told in a few of them."""
_STEM: Final = 6
"""Letters that are kept of a word, so that its endings do not matter."""
_LETTERS: Final = 5
"""Letters of a sequence. Compound and misspelt words share sequences with the words that they are made of."""
_MAGNITUDES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
"""Bounds between which numbers count as the same: a pulse of 34 is not one of 54."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'"})


def features(text: str) -> frozenset[str]:
    """Return the shortened words of ``text``, its pairs of adjacent ones and its letter sequences.

    Of a number only its magnitude counts, or that it may be a year, which tells of the past.
    """
    found = _TOKEN.findall(text.translate(_APOSTROPHES).lower())
    words = [_magnitude(one) if one[0].isdecimal() else one[:_STEM] for one in found]
    sequences = (
        sequence for one in found if len(one) >= _LETTERS and not one[0].isdecimal() for sequence in _sequences(one)
    )
    return frozenset((*words, *map(" ".join, pairwise(("^", *words, "$"))), *sequences))


def _magnitude(number: str) -> str:
    if _YEAR.fullmatch(number):
        return "#year"
    whole, *decimals = re.split("[.,]", number)
    # Three digits behind a point or comma are thousands.
    value = float(f"{whole}{''.join(decimals)}" if len(number) > len(whole) + 3 else f"{whole}.{''.join(decimals)}")
    return f"#{bisect_right(_MAGNITUDES, value)}"


def _sequences(word: str) -> Iterable[str]:
    marked = f"<{word}>"
    return (f"~{marked[start : start + _LETTERS]}" for start in range(len(marked) - _LETTERS + 1))


def windows(text: str) -> Iterable[str]:
    """Return the sentences of ``text`` and its runs of three, so that no question behind an emergency outweighs it."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    runs = range(max(1, len(sentences) - _WINDOW + 1))
    return (*sentences, *(" ".join(sentences[start : start + _WINDOW]) for start in runs))
