"""A graded hint on how well passages match a question, from words alone.

``strong`` means that one sentence, list item or table row holds more than half of the question with its headings.
``none`` is proven: no passage shares a term with the question. All between is ``weak``: words alone cannot tell there
whether a passage answers, so the reader of the passages has to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.guidelines.models import Match, QuestionTerm
from tools.language.quotable_units import term_set, units
from tools.types import Passage

STRONG_FROM = 0.56
"""Share of the question's weight; 97 % of 101 patients' questions that a library does not cover stay below it."""


def match_of(terms: Sequence[QuestionTerm], passages: Sequence[Passage]) -> Match:
    """Return the hint on the best of ``passages``."""
    total = sum(term.weight for term in terms)
    best = max((_most_held(terms, passage) for passage in passages), default=0.0)
    if not best:
        return "none"
    return "strong" if best >= STRONG_FROM * total else "weak"


def _most_held(terms: Sequence[QuestionTerm], passage: Passage) -> float:
    """Return the largest weight that one unit of ``passage`` holds, with its headings; 0 where no unit holds any."""
    headings = term_set(f"{passage.title} {passage.section}")
    best = 0.0
    for unit in units(passage.text):
        table = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
        own = term_set(f"{unit.text} {unit.heading} {table}")
        if any(_holds(own, term) for term in terms):
            above = own | headings
            best = max(best, sum(term.weight for term in terms if _holds(above, term)))
    return best


def _holds(stems: frozenset[str], term: QuestionTerm) -> bool:
    return term.term in stems or any(term_set(form) <= stems for form in term.also)
