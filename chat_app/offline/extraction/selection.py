"""Chooses the sentences that answer a question.

A sentence scores by the question's terms that it holds, each weighed by how rare it is among the retrieved
sentences; terms in its section's heading count in part, and better-ranked passages come first among equals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chat_app.offline.extraction.evidence import Passage
from chat_app.offline.extraction.text import sentences, terms

HEADING_WEIGHT: Final = 0.6
RANK_WEIGHT: Final = 0.04
KEEP: Final = 0.62
"""Sentences below this share of the best one's score are left out."""
LEAST_COVERAGE: Final = 0.34
"""Share of the question's weight that a sentence with its heading must hold."""
LONGEST: Final = 700


@dataclass(frozen=True)
class Quote:
    """A sentence of a passage, with its score and its place in reading order."""

    text: str
    passage: Passage
    score: float
    place: int


def select(question: str, passages: Sequence[Passage], *, most: int = 5) -> list[Quote]:
    """The best sentences, best first; none when no sentence holds enough of the question."""
    wanted = terms(question)
    if not wanted:
        return []
    candidates = _candidates(passages)
    weights = _weights(wanted, [held for _, _, held, _ in candidates])
    total = sum(weights.values())
    quotes: list[Quote] = []
    for place, (text, passage, held, heading) in enumerate(candidates):
        own = sum(weights[term] for term in wanted & held)
        lent = sum(weights[term] for term in (wanted & heading) - held)
        if own == 0 or (own + lent) / total < LEAST_COVERAGE:
            continue
        score = own + HEADING_WEIGHT * lent - RANK_WEIGHT * passage.rank * total
        quotes.append(Quote(text, passage, score, place))
    return _best(quotes, most)


def _candidates(passages: Sequence[Passage]) -> list[tuple[str, Passage, frozenset[str], frozenset[str]]]:
    found: list[tuple[str, Passage, frozenset[str], frozenset[str]]] = []
    seen: set[str] = set()
    for passage in passages:
        heading = terms(f"{passage.document} {passage.section}")
        for sentence in sentences(passage.text):
            key = " ".join(sentence.lower().split())
            if key not in seen and is_quotable(sentence):
                seen.add(key)
                found.append((sentence, passage, terms(sentence), heading))
    return found


def is_quotable(sentence: str) -> bool:
    """False for headings, lone numbers and stretches that are no sentence."""
    letters = sum(character.isalpha() for character in sentence)
    return len(sentence) <= LONGEST and letters >= 12 and len(sentence.split()) >= 4


def _weights(wanted: frozenset[str], held: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(term for terms_held in held for term in terms_held & wanted)
    size = len(held) + 1
    return {term: math.log(1 + size / (1 + counts[term])) for term in wanted}


def _best(quotes: list[Quote], most: int) -> list[Quote]:
    ranked = sorted(quotes, key=lambda quote: (-quote.score, quote.place))
    if not ranked or ranked[0].score <= 0:
        return []
    floor = ranked[0].score * KEEP
    return [quote for quote in ranked[:most] if quote.score >= floor]
