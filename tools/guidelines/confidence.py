"""How sure the search is that its best passages answer the question: the score behind abstention.

The score is the share of the question's weight that the best passage covers: each term of the question counts with
its BM25 weight in the library, so a rare term that no passage holds costs the most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.guidelines.ranking import Weight
from tools.guidelines.retrieval import Found

ANSWERABLE_FROM = 0.5
"""Least share of the question's weight that one of the best passages must cover."""
LOOKED_AT = 3


def confidence(found: Found, terms_of: Callable[[str], Sequence[str]], weight: Weight) -> float:
    """0 to 1: the largest share of the question's weight that one of the first passages covers."""
    wanted = {term: weight(term) for term in found.question}
    total = sum(wanted.values())
    if not total:
        return 0.0
    shares = (
        sum(wanted[term] for term in wanted.keys() & set(terms_of(candidate.id))) / total
        for candidate in found.candidates[:LOOKED_AT]
    )
    return max(shares, default=0.0)
