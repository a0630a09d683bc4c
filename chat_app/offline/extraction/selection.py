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
from functools import cache
from typing import Final

from chat_app.offline.extraction.conditions import cares_for, circumstances, conditions
from chat_app.offline.extraction.contrasts import contradicts, of_few_patients, of_other_patients
from chat_app.offline.extraction.drug_names import drug_names
from chat_app.offline.extraction.evidence import Passage
from chat_app.offline.extraction.followups import subjects
from chat_app.offline.extraction.text import stem, terms
from chat_app.offline.extraction.topics import Aspect, aspects
from chat_app.offline.extraction.units import Unit, units
from chat_app.offline.extraction.vocabulary import word_list

HEADING_WEIGHT: Final = 0.6
"""Of a term that only a heading holds."""
ROW_WEIGHT: Final = 0.85
"""Of a term in what stands above a table's row: a row means nothing without it."""
LIST_WEIGHT: Final = 1.25
"""The same, when the question asks for a list: then all rows of the table answer."""
ABOUT_WEIGHT: Final = 0.35
"""On top, for a term that both the unit and its heading hold: the whole section is about it."""
RANK_WEIGHT: Final = 0.02
FIGURE_WEIGHT: Final = 0.08
"""On top, for a unit with a figure where the question asks how much: of equal sentences, the one that says it."""
FEW_WEIGHT: Final = 0.05
"""Off, for a unit about a group of patients that the question does not name: what holds for most comes first."""
KEEP: Final = 0.72
"""Units below this share of the best one's score are left out."""
LEAST_COVERAGE: Final = 0.5
"""Share of the question's weight that a unit with its headings must hold."""
DOUBTFUL_COVERAGE: Final = 0.8
"""The same where the search itself says that its passages may not answer."""
ASKING_WEIGHT: Final = 0.3
"""Of the word that names the aspect, where the question names the patients, too."""
_POPULATIONS: Final = frozenset({Aspect.RENAL, Aspect.HEPATIC, Aspect.PREGNANCY})
_ASKING: Final = frozenset({"=contraindication", "=dose", "=therapy"})
WEAK_WEIGHT: Final = 0.25
"""Of a question's word that the answer often does without."""
_LIST: Final = re.compile(
    r"^\s*(?:what|which) (?:are|drugs|features|components|signs|risk factors|tests|medicines|medications|antibiotics)\b"
    r"|\bcontraindicat|\blist\b|\bconsists?\b|\bincludes?\b|\bcriteria\b|\bcomponents\b|^\s*who\b|\bfirst[ -]line\b",
    re.IGNORECASE,
)
_HOW_MUCH: Final = re.compile(
    r"\b(?:targets?|goals?|thresholds?|cut[ -]?offs?|dos(?:e|es|age|ing)|maximum)\b"
    r"|\bhow (?:much|many|long|often|high|low)\b",
    re.IGNORECASE,
)
_UNSAID: Final = terms("first-line treatment")
"""Asked of a condition, words that recommendations do without: they name the condition and what to do."""
_SCOPE: Final = re.compile(
    r"\bnot covered\b|\bdoes not cover\b|^This (?:document|guideline) covers\b|not a clinical guideline"
    r"|\bfor demonstration\b|^Demonstration\b",
    re.IGNORECASE,
)
"""What a document says of itself answers no clinical question."""
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
    around: str
    """The words that stand above the unit: titles of document and section, heading, caption."""


def select(question: str, passages: Sequence[Passage], *, most: int | None = None) -> list[Quote]:
    """The best units, best first; none when no unit names the question's subject and holds enough of it."""
    wanted = terms(question)
    if not wanted:
        return []
    candidates = list(_candidates(passages))
    weights = _weights(wanted, candidates)
    _favour_population(question, weights)
    _weaken_unsaid(question, weights)
    total = sum(weights.values())
    named = [terms(subject) for subject in subjects(question)]
    lists = _LIST.search(question) is not None
    quotes: list[Quote] = []
    for place, candidate in enumerate(candidates):
        own = sum(weights[term] for term in wanted & candidate.held)
        lent = sum(weights[term] for term in (wanted & candidate.above) - candidate.held)
        about = sum(weights[term] for term in wanted & candidate.above & candidate.held)
        covered = (own + lent) / total
        least = DOUBTFUL_COVERAGE if candidate.passage.doubtful else LEAST_COVERAGE
        if covered < least or not _fits(question, candidate, named):
            continue
        is_row = candidate.unit.table is not None
        if own == 0 and not (lists and is_row):
            continue
        lent *= (LIST_WEIGHT if lists else ROW_WEIGHT) if is_row else HEADING_WEIGHT
        score = own + lent + ABOUT_WEIGHT * about + _leaning(question, candidate) * total
        quotes.append(Quote(candidate.unit, candidate.passage, score, place))
    return _best(quotes, most or (MOST_OF_A_LIST if lists else MOST))


def _leaning(question: str, candidate: _Candidate) -> float:
    """What parts units that hold the same words: their passage's rank, a figure where one is wanted, whom they mean."""
    text = candidate.unit.text
    figure = _HOW_MUCH.search(question) is not None and any(char.isdigit() for char in text)
    few = of_few_patients(question, f"{candidate.unit.heading} {text}")
    return FIGURE_WEIGHT * figure - FEW_WEIGHT * few - RANK_WEIGHT * candidate.passage.rank


def _candidates(passages: Sequence[Passage]) -> Iterable[_Candidate]:
    seen: set[str] = set()
    for passage in passages:
        path = passage.section.split("›")
        under_section = f"{passage.document} {passage.section}"
        # Below a heading of its own a sentence has left the section in which its passage began.
        under_heading = f"{passage.document} {' '.join(path[:-1])}"
        for unit in units(passage.text):
            key = unit.text.lower()
            if key in seen or _SCOPE.search(unit.text):
                continue
            seen.add(key)
            caption = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
            around = under_heading if unit.heading else under_section
            above = terms(around) | terms(unit.heading) | terms(caption)
            yield _Candidate(unit, passage, terms(unit.text), above, f"{around} {unit.heading} {caption}")


def _fits(question: str, candidate: _Candidate, named: Sequence[frozenset[str]]) -> bool:
    """True when the unit is about the question's subjects, ages and patients."""
    limits = {term for term in terms(question) if term.startswith("agebelow")}
    text = candidate.unit.text
    if contradicts(question, text) or of_other_patients(question, f"{candidate.around} {text}"):
        return False
    if not cares_for(question, candidate.unit, candidate.above):
        return False
    if any(named.isdisjoint(candidate.held | candidate.above) for named in circumstances(question)):
        return False
    return limits <= candidate.held and _names(question, candidate, named)


def _names(question: str, candidate: _Candidate, named: Sequence[frozenset[str]]) -> bool:
    """True when the unit, or what stands above it, names one of the question's subjects."""
    if not named:
        return True
    if any(subject <= candidate.held for subject in named):
        return True
    # A heading's subject goes for the sentences below it, unless they name another drug.
    heading = candidate.unit.table is None and any(subject <= candidate.held | candidate.above for subject in named)
    return heading and not (drug_names(question) and drug_names(candidate.unit.text))


def _weights(wanted: frozenset[str], candidates: Sequence[_Candidate]) -> dict[str, float]:
    counts = Counter(term for candidate in candidates for term in candidate.held & wanted)
    size = len(candidates) + 1
    rarity = {term: math.log(1 + size / (1 + counts[term])) for term in wanted}
    return {term: weight * (WEAK_WEIGHT if term in _weak() else 1.0) for term, weight in rarity.items()}


def _favour_population(question: str, weights: dict[str, float]) -> None:
    """Asked of certain patients, what is said of them counts more than the word that asks (contraindicated, dose)."""
    if not _POPULATIONS & set(aspects(question)) or not subjects(question):
        return
    for term in weights:
        if term in _ASKING:
            weights[term] *= ASKING_WEIGHT


def _weaken_unsaid(question: str, weights: dict[str, float]) -> None:
    """Asked for a condition's care, the words for care itself count little: under that condition all is care."""
    if conditions(question):
        weights.update({term: weights[term] * WEAK_WEIGHT for term in _UNSAID & weights.keys()})


@cache
def _weak() -> frozenset[str]:
    return frozenset(stem(word) for word in word_list("weak"))


def _best(quotes: list[Quote], most: int) -> list[Quote]:
    ranked = sorted(quotes, key=lambda quote: (-quote.score, quote.place))
    if not ranked or ranked[0].score <= 0:
        return []
    floor = ranked[0].score * KEEP
    return [quote for quote in ranked[:most] if quote.score >= floor]
