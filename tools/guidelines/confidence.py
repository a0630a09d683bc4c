"""How sure the search is that its best passages answer the question: the score behind abstention.

The score is the share of the question's weight that the best passage covers: each term of the question counts with
its BM25 weight in the library, so a rare term that no passage holds costs the most.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.guidelines.catalog import Snapshot
from tools.guidelines.text import terms

ANSWERABLE_FROM = 0.5
"""Least share of the question's weight that one of the best passages must cover."""
LOOKED_AT = 3


def confidence(question_terms: Sequence[str], texts: Sequence[str], snapshot: Snapshot) -> float:
    """0 to 1: the largest share of the question's weight that one of the first passages covers."""
    wanted = set(question_terms)
    total = sum(snapshot.weight(term) for term in wanted)
    if not total:
        return 0.0
    shares = (
        sum(snapshot.weight(term) for term in wanted & set(terms(text))) / total for text in texts[:LOOKED_AT]
    )
    return max(shares, default=0.0)
