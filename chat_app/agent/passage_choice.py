"""Which of several passages a statement was taken from, where the citation only names the file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from chat_app.agent.quotes import quotes_in
from tools.guidelines.text import terms
from tools.types import Passage


def best_source(statement: str, candidates: Sequence[Passage]) -> Passage:
    """The passage that holds ``statement`` word for word, else the one that shares its most telling words.

    A word tells more the fewer of ``candidates`` hold it. Raises ``ValueError`` for no candidates.
    """
    quoted = [passage for passage in candidates if quotes_in(statement, passage.text)]
    if quoted:
        return max(quoted, key=lambda passage: passage.score)
    held = {passage.id: _terms(f"{passage.section}\n{passage.text}") for passage in candidates}
    counts = Counter(term for found in held.values() for term in found)
    wanted = frozenset(terms(statement))

    def shared(passage: Passage) -> float:
        return sum(math.log1p(len(held) / counts[term]) for term in wanted & held[passage.id])

    return max(candidates, key=lambda passage: (shared(passage), passage.score))


@lru_cache(maxsize=256)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))
