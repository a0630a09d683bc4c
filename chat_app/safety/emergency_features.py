"""The features of a question for the emergency classifier: shortened words, and pairs of adjacent ones."""

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
_MOST_DIGITS: Final = 4
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'"})


def features(text: str) -> frozenset[str]:
    """Return the shortened words of ``text`` and its pairs of adjacent ones; of a number only its length counts."""
    found = _TOKEN.findall(text.translate(_APOSTROPHES).lower())
    words = [f"#{min(len(one), _MOST_DIGITS)}" if one.isdigit() else one[:_STEM] for one in found]
    return frozenset((*words, *map(" ".join, pairwise(("^", *words, "$")))))


def windows(text: str) -> Iterable[str]:
    """Return the runs of up to three sentences of ``text``."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    if len(sentences) <= _WINDOW:
        return (text,)
    return (" ".join(sentences[start : start + _WINDOW]) for start in range(len(sentences) - _WINDOW + 1))
