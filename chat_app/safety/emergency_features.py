"""The features of a question for the emergency classifier: concepts in English and German, their pairs, and words.

A concept (``data/emergency_concepts.json``) is what an emergency is told by: who is affected, what happened, how much,
and how it is asked. Names of medicines are no features, so the classifier knows no medicine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent / "data"
CONCEPTS: Final[dict[str, re.Pattern[str]]] = {
    name: re.compile("|".join(wordings), re.IGNORECASE)
    for name, wordings in json.loads((DATA / "emergency_concepts.json").read_text(encoding="utf-8")).items()
}
"""Each concept with its wordings, as regular expressions."""
DANGERS: Final[frozenset[str]] = frozenset(
    (
        "accident",
        "airway",
        "anaphylaxis topic",
        "bleeding now",
        "collapse",
        "count",
        "excess",
        "grams",
        "heart or stroke",
        "instead",
        "intake",
        "lethal",
        "overdose",
        "poison",
        "poisonous thing",
        "seizure now",
        "self-harm",
        "suicide topic",
    )
)
"""Concepts that name a danger or an amount taken."""
_WORD: Final = re.compile(r"[a-zäöüß']+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WINDOW: Final = 3
"""Sentences that are judged together: in a long text an emergency is told in a few of them."""
_SHORTEST: Final = 3
_STEM: Final = 6
"""Letters that are kept of a word, so that its endings do not matter."""
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'"})


def concepts(text: str) -> frozenset[str]:
    """Return the concepts that ``text`` expresses."""
    plain = text.translate(_APOSTROPHES)
    return frozenset(name for name, wording in CONCEPTS.items() if wording.search(plain))


def features(text: str) -> frozenset[str]:
    """Return the concepts, pairs of concepts and words of ``text``."""
    found = sorted(concepts(text))
    words = {word[:_STEM] for word in _WORD.findall(text.translate(_APOSTROPHES).lower()) if len(word) >= _SHORTEST}
    return frozenset([*found, *map("+".join, combinations(found, 2)), *(f"word:{word}" for word in words)])


def windows(text: str) -> Iterable[str]:
    """Return runs of up to three sentences; all of ``text`` when it asks an exam question."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    if len(sentences) <= _WINDOW or CONCEPTS["exam"].search(text):
        return (text,)
    return (" ".join(sentences[start : start + _WINDOW]) for start in range(len(sentences) - _WINDOW + 1))
