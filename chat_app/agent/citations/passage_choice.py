"""Which of several passages, and which of its sections, a statement was taken from."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from tools.language.quotable_units import term_set
from tools.language.quotes import quotes_in
from tools.types import Passage, SectionStart

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


def cited_sections(passage: Passage, statement: str, quotes: Sequence[str]) -> list[SectionStart]:
    """Return the sections of ``passage`` that hold ``quotes``; without any, the one nearest to ``statement``.

    A passage of 350 words often ends one section and begins the next. Empty where neither tells.
    """
    if not passage.further_sections:
        return list(passage.sections)
    if quotes:
        return [_section_at(passage, at) for quote in quotes if (at := passage.text.find(quote)) >= 0]
    if not statement.strip():
        return []
    stretches = _stretches(passage)
    return [passage.sections[stretches.index(best_source(statement, stretches))]]


def _section_at(passage: Passage, place: int) -> SectionStart:
    return next(start for start in reversed(passage.sections) if start.at <= place)


def _stretches(passage: Passage) -> list[Passage]:
    """``passage`` cut where its sections begin."""
    ends = [*(start.at for start in passage.further_sections), len(passage.text)]
    return [
        passage.model_copy(
            update={"id": f"{passage.id}@{start.at}", "section": start.section, "text": passage.text[start.at : end]}
        )
        for start, end in zip(passage.sections, ends, strict=True)
    ]
