"""Chooses the sentences and table rows that answer a question.

A unit scores by the question's terms that it holds, each weighed by how rare it is among all that was retrieved.
Terms in its headings count in part. It must name what the question is about, and hold enough of the question.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chat_app.offline.extraction.evidence import Passage
from chat_app.offline.extraction.followups import subjects
from chat_app.offline.extraction.text import terms
from chat_app.offline.extraction.units import Unit, units

HEADING_WEIGHT: Final = 0.6
"""Of a term that only a heading holds."""
ABOUT_WEIGHT: Final = 0.35
"""On top, for a term that both the unit and its heading hold: the whole section is about it."""
RANK_WEIGHT: Final = 0.02
KEEP: Final = 0.72
"""Units below this share of the best one's score are left out."""
LEAST_COVERAGE: Final = 0.5
"""Share of the question's weight that a unit with its headings must hold."""
_LIST: Final = re.compile(
    r"^\s*(?:what|which) (?:are|drugs|features|components|signs|risk factors|tests|medicines|medications|antibiotics)\b"
    r"|\bcontraindicat|\blist\b|\bcriteria\b|\bcomponents\b|^\s*who\b", re.IGNORECASE,
)  # fmt: skip
MOST: Final = 5
MOST_OF_A_LIST: Final = 9


@dataclass(frozen=True)
class Quote:
    """A unit of a passage, with its score and its place in reading order."""

    unit: Unit
    passage: Passage
    score: float
    place: int


@dataclass(frozen=True)
class _Candidate:
    unit: Unit
    passage: Passage
    held: frozenset[str]
    above: frozenset[str]


def select(question: str, passages: Sequence[Passage], *, most: int | None = None) -> list[Quote]:
    """The best units, best first; none when no unit names the question's subject and holds enough of it."""
    wanted = terms(question)
    if not wanted:
        return []
    candidates = list(_candidates(passages))
    weights = _weights(wanted, candidates)
    total = sum(weights.values())
    named = [terms(subject) for subject in subjects(question)]
    quotes: list[Quote] = []
    for place, candidate in enumerate(candidates):
        own = sum(weights[term] for term in wanted & candidate.held)
        lent = sum(weights[term] for term in (wanted & candidate.above) - candidate.held)
        about = sum(weights[term] for term in wanted & candidate.above & candidate.held)
        covered = (own + lent) / total
        if own == 0 or covered < LEAST_COVERAGE or not _names(candidate, named):
            continue
        score = own + HEADING_WEIGHT * lent + ABOUT_WEIGHT * about - RANK_WEIGHT * candidate.passage.rank * total
        quotes.append(Quote(candidate.unit, candidate.passage, score, place))
    return _best(quotes, most or (MOST_OF_A_LIST if _LIST.search(question) else MOST))


def _candidates(passages: Sequence[Passage]) -> Iterable[_Candidate]:
    seen: set[str] = set()
    for passage in passages:
        around = terms(f"{passage.document} {passage.section}")
        for unit in units(passage.text):
            key = unit.text.lower()
            if key in seen:
                continue
            seen.add(key)
            caption = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
            yield _Candidate(unit, passage, terms(unit.text), around | terms(unit.heading) | terms(caption))


def _names(candidate: _Candidate, named: Sequence[frozenset[str]]) -> bool:
    """True when the unit, or what stands above it, names one of the question's subjects."""
    if not named:
        return True
    if candidate.unit.table is not None:
        return any(subject <= candidate.held for subject in named)
    return any(subject <= candidate.held | candidate.above for subject in named)


def _weights(wanted: frozenset[str], candidates: Sequence[_Candidate]) -> dict[str, float]:
    counts = Counter(term for candidate in candidates for term in candidate.held & wanted)
    size = len(candidates) + 1
    return {term: math.log(1 + size / (1 + counts[term])) for term in wanted}


def _best(quotes: list[Quote], most: int) -> list[Quote]:
    ranked = sorted(quotes, key=lambda quote: (-quote.score, quote.place))
    if not ranked or ranked[0].score <= 0:
        return []
    floor = ranked[0].score * KEEP
    return [quote for quote in ranked[:most] if quote.score >= floor]
