"""Which of several passages a statement was taken from, where the citation only names the file."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from tools.language.quotable_units import term_set
from tools.language.quotes import quotes_in
from tools.types import Passage

STORED = "guideline:"
"""How the id of a passage of the library begins; it has a page and a panel, unlike text that a server retrieved."""
_NEARLY_ALL = 0.85
"""Share of a statement's telling words that a passage must hold to count as its source without being quoted."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def best_source(statement: str, candidates: Sequence[Passage]) -> Passage:
    """Return the passage that ``statement`` most likely comes from. Raise ``ValueError`` for no candidates.

    Best is a stored passage that holds it word for word; then one that holds every figure and nearly all of its telling
    words; then retrieved text that holds every figure; then what shares most of its words. A word tells more the fewer
    of ``candidates`` hold it.
    """
    held = {passage.id: term_set(f"{passage.section}\n{passage.text}") for passage in candidates}
    counts = Counter(term for found in held.values() for term in found)
    weights = {term: math.log1p(len(held) / counts[term]) for term in term_set(statement) if term in counts}
    total = sum(weights.values()) or 1.0
    figures = frozenset(_FIGURE.findall(statement))

    def rank(passage: Passage) -> tuple[int, float, float]:
        share = sum(weight for term, weight in weights.items() if term in held[passage.id]) / total
        complete = figures.issubset(_FIGURE.findall(passage.text))
        return _tier(statement, passage, complete=complete, share=share), share, passage.score

    return max(candidates, key=rank)


def _tier(statement: str, passage: Passage, *, complete: bool, share: float) -> int:
    if not passage.id.startswith(STORED):
        return 1 if complete else 0
    if quotes_in(statement, passage.text):
        return 3
    return 2 if complete and share >= _NEARLY_ALL else 0
