"""The features of a question for the emergency classifier: shortened words, pairs of them, and letter sequences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent / "data"
_TOKEN: Final = re.compile(r"[a-zäöüß']+|\d+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WINDOW: Final = 3
"""Sentences that are judged together: in a long text an emergency is told in a few of them."""
_STEM: Final = 6
"""Letters that are kept of a word, so that its endings do not matter."""
_LETTERS: Final = 5
"""Letters of a sequence. Compound and misspelt words share sequences with the words that they are made of."""
_MOST_DIGITS: Final = 4
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'"})


def features(text: str) -> frozenset[str]:
    """Return the shortened words of ``text``, its pairs of adjacent ones and its letter sequences.

    Of a number only its length counts.
    """
    found = _TOKEN.findall(text.translate(_APOSTROPHES).lower())
    words = [f"#{min(len(one), _MOST_DIGITS)}" if one.isdigit() else one[:_STEM] for one in found]
    sequences = (
        sequence for one in found if len(one) >= _LETTERS and not one.isdigit() for sequence in _sequences(one)
    )
    return frozenset((*words, *map(" ".join, pairwise(("^", *words, "$"))), *sequences))


def _sequences(word: str) -> Iterable[str]:
    marked = f"<{word}>"
    return (f"~{marked[start : start + _LETTERS]}" for start in range(len(marked) - _LETTERS + 1))


def windows(text: str) -> Iterable[str]:
    """Return the sentences of ``text`` and its runs of three, so that no question behind an emergency outweighs it."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    runs = range(max(1, len(sentences) - _WINDOW + 1))
    return (*sentences, *(" ".join(sentences[start : start + _WINDOW]) for start in runs))
