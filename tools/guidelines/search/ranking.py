"""Puts candidates in order: scores of two searches fused, and how close together the question's terms are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tools.language.term_weights import Weight
from tools.milvus.passage_collection import Hit

CANDIDATES = 50
"""Passages taken from each search before they are put in order."""
DENSE_SHARE = 0.5
"""Weight of the dense score beside that of the terms, both scaled to 0..1 (chosen on BioASQ-mini and PubMedQA)."""
CLOSENESS = 0.3
"""Weight of the share of the question that one stretch of ``STRETCH`` terms covers, added to the scaled score."""
STRETCH = 25
"""Terms, stop words not counted: about two sentences."""


@dataclass(frozen=True, slots=True)
class PassageCandidate:
    """A passage with its score, and the raw scores of the searches that found it (None: not among their best)."""

    id: str
    score: float
    bm25: float | None
    cosine: float | None


def fuse(by_terms: Sequence[Hit], by_vector: Sequence[Hit]) -> list[PassageCandidate]:
    """Merge two lists by rank, best first. An empty second list leaves the order of the first."""
    bm25 = {hit.id: hit.score for hit in by_terms}
    cosine = {hit.id: hit.score for hit in by_vector}
    if not cosine:
        top = max(bm25.values(), default=1.0) or 1.0
        return [PassageCandidate(hit.id, hit.score / top, hit.score, None) for hit in by_terms]
    terms_scaled, dense_scaled = _scaled(bm25), _scaled(cosine)
    fused: list[PassageCandidate] = []
    for key in {**bm25, **cosine}:
        score = (1 - DENSE_SHARE) * terms_scaled.get(key, 0.0) + DENSE_SHARE * dense_scaled.get(key, 0.0)
        fused.append(PassageCandidate(key, score, bm25.get(key), cosine.get(key)))
    return sorted(fused, key=lambda candidate: -candidate.score)


def _scaled(scores: Mapping[str, float]) -> dict[str, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {key: (score - low) / ((high - low) or 1.0) for key, score in scores.items()}


def by_closeness(
    candidates: Sequence[PassageCandidate],
    question: Sequence[str],
    terms_of: Callable[[str], Sequence[str]],
    weight: Weight,
) -> list[PassageCandidate]:
    """Raise candidates in which the question's terms are close together."""
    raised = [
        replace(each, score=each.score + CLOSENESS * closeness(question, terms_of(each.id), weight))
        for each in candidates
    ]
    return sorted(raised, key=lambda candidate: -candidate.score)


def closeness(question: Sequence[str], passage: Sequence[str], weight: Weight) -> float:
    """Return the largest share (0 to 1) of the question's weight in ``STRETCH`` successive terms."""
    wanted = {term: weight(term) for term in question}
    total = sum(wanted.values())
    if not total:
        return 0.0
    places = [(at, term) for at, term in enumerate(passage) if term in wanted]
    inside: Counter[str] = Counter()
    covered = best = 0.0
    first = 0
    for at, term in places:
        if not inside[term]:
            covered += wanted[term]
        inside[term] += 1
        while places[first][0] <= at - STRETCH:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                covered -= wanted[gone]
            first += 1
        best = max(best, covered)
    return best / total
