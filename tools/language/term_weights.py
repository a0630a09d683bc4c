"""The BM25 weight of a term."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

Weight = Callable[[str], float]


def weight_of(counts: Mapping[str, int], passages: int) -> Weight:
    """Return the BM25 weight of terms, from ``counts[term]`` of ``passages``; largest for unknown terms."""

    def weight(term: str) -> float:
        count = counts.get(term, 0)
        return math.log(1 + (passages - count + 0.5) / (count + 0.5))

    return weight
