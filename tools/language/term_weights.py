"""The BM25 weight of a term."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

Weight = Callable[[str], float]


def weight_of(counts: Mapping[str, int], passages: int) -> Weight:
    """The BM25 weight of a term that stands in ``counts[term]`` of ``passages``; largest for an unknown one."""

    def weight(term: str) -> float:
        count = counts.get(term, 0)
        return math.log(1 + (passages - count + 0.5) / (count + 0.5))

    return weight
