"""Scores each unit of the retrieved passages by how well it answers a question.

The score is one linear function of the features below. ``python -m scripts.fit_extraction`` fits its weights and checks
them by cross-validation; ``docs/evaluation.md`` says how the shipped ones were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from chat_app.offline.extraction.drug_parts import DOSES
from chat_app.offline.extraction.evidence import EvidencePassage
from chat_app.offline.extraction.question import Question, contradicts, names_children
from tools.language.inn_stems import names_medicine
from tools.language.quotable_units import Unit, is_disclaimer, ordered_terms, squeeze, term_set, units
from tools.language.vocabulary.patient_values import fits_patient


class Features(NamedTuple):
    """What the score of a unit is made of; shares are of the weight of the question's terms, 0 to 1."""

    own: float
    """Share that the unit itself holds."""
    above: float
    """Share that only its headings, its table's caption or header hold."""
    before: float
    """Share that only the unit before it holds: what it goes on from."""
    opening: float
    """Share within the unit's first terms: what it is about."""
    kind: float
    """1 for a unit with what the question words ask for: an interval, or a list's item."""
    row: float
    """1 for a table's row whose first cell, which says what the row is about, holds a term of the question."""
    rank: float
    """The place of its passage among those that were found, in tenths."""


WEIGHTS: Final = Features(own=9.0, above=5.5, before=2.5, opening=2.5, kind=2.5, row=1.4, rank=-2.6)


OTHERS: Final = 3.0
"""Score that a unit loses which is not about a drug of the question."""
APPLIES: Final = 2.5
"""Score that a unit gains whose bounds the patient's values fulfil."""
FOCUS: Final = 2
"""Times that a term of a follow-up's own words counts."""
EVERY_TERM: Final = 1.0
"""Added to each term's weight when judging whether a unit answers, so that common terms of the question count, too."""
_OPENING: Final = 3


@dataclass(frozen=True)
class Scored:
    """A unit with its score."""

    unit: Unit
    passage: EvidencePassage
    place: int
    """Position among all units, in the order of passages and within them."""
    features: Features
    held: float
    """Share of the question that it holds with all above it."""
    is_on_subject: bool
    """Whether it may answer, and does not only mention the subject."""
    score: float
    is_aside: bool = False
    """Whether the question names a drug and this is about none of those that it names."""
    fits: bool = False
    """Whether it gives bounds that the patient's values in the question fulfil."""
    is_joint: bool = False
    """Whether it names several of the medicines that the question names, by name or class."""


@dataclass(frozen=True)
class _Candidate:
    unit: Unit
    passage: EvidencePassage
    above: str
    """The words above the unit: the document, the section, the heading, the table's caption and header."""
    own: frozenset[int]
    """The question's terms that the unit holds."""
    first: frozenset[int]
    """The question's terms in the first cell of a row."""
    headed: frozenset[int]
    """The question's terms in the words above the unit."""
    is_joint: bool = False

    @property
    def cells(self) -> list[str]:
        """The text, or the cells of a row, each behind the header of its column."""
        header, cells = self.unit.table.header if self.unit.table else (), self.unit.cells
        if not cells or len(header) != len(cells):
            return [*cells] or [self.unit.text]
        return list(map(" ".join, zip(header, cells, strict=True)))

    @property
    def lent(self) -> frozenset[int]:
        """The question's terms in the words above the unit alone."""
        return self.headed - self.own


def scored(question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS) -> list[Scored]:
    """Every unit that may answer, in reading order.

    Left out are repeats, and what is said of other patients.
    """
    candidates, fits = _of_the_patient(question, _candidates(question, passages))
    others = _others(question, candidates)
    size = len(candidates) + 1
    counts = Counter(term for each in candidates for term in each.own)
    asking = question.time_terms if len(question.time_terms) < len(question.forms) else frozenset[int]()
    rare = [0 if term in asking else math.log(1 + size / (1 + counts[term])) for term in range(len(question.forms))]
    rarity = _shares([weight * (FOCUS if term in question.focus else 1) for term, weight in enumerate(rare)])
    given = question.weights if any(question.weights) else rare
    shares = _shares([weight + EVERY_TERM if weight else 0.0 for weight in given])
    found: list[Scored] = []
    for place, each in enumerate(candidates):
        previous = candidates[place - 1] if place and candidates[place - 1].passage is each.passage else None
        features = _features(question, each, previous, rarity)
        on_subject = place not in others and _is_on_subject(question, each, shares)
        above = each.headed | (question.time_terms if features.kind else frozenset[int]())
        held = sum(shares[term] for term in each.own | above)
        held = 1.0 if question.names_alone else held
        score = sum(weight * value for weight, value in zip(weights, features, strict=True))
        score += APPLIES if fits[place] else -OTHERS if place in others else 0.0
        found.append(
            Scored(
                each.unit,
                each.passage,
                place,
                features,
                held,
                on_subject,
                score,
                is_aside=place in others,
                fits=fits[place],
                is_joint=each.is_joint,
            )
        )
    return found


def _candidates(question: Question, passages: Sequence[EvidencePassage]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for passage in passages:
        for unit in units(passage.text):
            above = _above(unit, passage)
            key = "".join(unit.text.lower().split())
            if key not in seen and not (
                is_disclaimer(unit.text, question.text)
                or _of_others(question.asked, f"{above} {unit.text}", unit, passage)
            ):
                seen.add(key)
                joint = question.names_several(unit)
                own = question.held(term_set(unit.text))
                first = question.held(term_set(unit.cells[0])) if unit.cells else frozenset[int]()
                found.append(_Candidate(unit, passage, above, own, first, question.held(term_set(above)), joint))
    return found


def _of_the_patient(question: Question, candidates: Sequence[_Candidate]) -> tuple[Sequence[_Candidate], list[bool]]:
    """Return the candidates, and which of them have bounds that the patient's values fulfil.

    These are about an asked medicine, or hold at least half as much of the question as the best candidate. Where there
    are any, bounds that leave the patient out are left out; those of a medicine that was not asked for always are.
    """
    fits = [fits_patient(question.text, each.cells) for each in candidates]
    if all(fit is None for fit in fits):
        return candidates, [False] * len(candidates)
    others, named = _others(question, candidates), question.value_terms
    candidates = [
        replace(each, own=each.own | named) if fit else each for each, fit in zip(candidates, fits, strict=True)
    ]
    held = [sum(question.weights[term] or 1.0 for term in each.own | each.headed) for each in candidates]
    enough = 0.0 if others else max(held) / 2
    about = {place for place, each in enumerate(held) if place not in others and each >= enough}
    out = {place for place in others if fits[place] is not None}
    if applying := {place for place in about if fits[place]}:
        out.update(place for place, fit in enumerate(fits) if fit is False)
    kept = [place for place in range(len(candidates)) if place not in out]
    return _only(candidates, kept), [place in applying for place in kept]


def _only(candidates: Sequence[_Candidate], kept: Sequence[int]) -> list[_Candidate]:
    """Return the candidates at the places ``kept``; one that leans on another that is left out leans on none."""
    new = {old: place for place, old in enumerate(kept)}
    leans = [place - new.get(old - candidates[old].unit.leans, place) for place, old in enumerate(kept)]
    return [
        replace(candidates[old], unit=replace(candidates[old].unit, leans=back))
        for old, back in zip(kept, leans, strict=True)
    ]


def _is_on_subject(question: Question, each: _Candidate, shares: Sequence[float]) -> bool:
    """True for a unit that does more than mention the subject.

    It holds two terms, or what is above it, such as the first cell of its row, holds the weightiest one. Of a label the
    asked sections alone are on the subject, all where nothing but medicines is named, and where no section is asked for
    what holds two terms beside the names.
    """
    if each.passage.part and (question.sections or question.names_alone):
        return question.names_alone or each.passage.part in question.sections
    if each.passage.part:
        return sum(shares[term] > 0 for term in each.own) > 1
    weightiest = max(range(len(shares)), key=shares.__getitem__, default=0)
    return len(each.own) > 1 or len(shares) < 2 or weightiest in each.headed | each.first


def _others(question: Question, candidates: Sequence[_Candidate]) -> frozenset[int]:
    """The places of units that are about no drug of the question, and about no class of it.

    A unit is about a drug that it or the words above it name, or that its passage named last. Where a row of a table
    names one, the other rows are about other drugs. So is a unit that names another drug, below its class alone.
    """
    tables = {each.unit.table for each in candidates if _named(question.subjects, each.unit.text)}
    others: set[int] = set()
    passage: EvidencePassage | None = None
    about = False
    for place, each in enumerate(candidates):
        about = about and each.passage is passage
        passage = each.passage
        another = (
            each.unit.table is not None and each.unit.table in tables and not _named(question.medicines, each.above)
        ) or (names_medicine(each.unit.text) and not _named(question.medicines or question.subjects, each.above))
        if _named(question.subjects, each.unit.text) or (not another and _named(question.subjects, each.above)):
            about = True
        elif another or each.unit.table is not None:
            about = False
        if not about:
            others.add(place)
    return frozenset(others) if question.subjects and len(others) < len(candidates) else frozenset()


def _named(names: Sequence[frozenset[str]], text: str) -> bool:
    return any(name <= term_set(text) for name in names)


def _above(unit: Unit, passage: EvidencePassage) -> str:
    """The words above a unit: the document, the section, the heading, the table's caption and header."""
    table = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
    return squeeze(f"{passage.document} {passage.section} {passage.about} {unit.heading} {table}")


def _of_others(question: str, text: str, unit: Unit, passage: EvidencePassage) -> bool:
    """True for what is said of other patients; no dose is given for children that is not said to be theirs."""
    if passage.part in DOSES and names_children(question):
        return not names_children(unit.text)
    return contradicts(question, text)


def _shares(weights: Sequence[float]) -> list[float]:
    """``weights`` made to add up to 1."""
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _features(question: Question, each: _Candidate, previous: _Candidate | None, rarity: Sequence[float]) -> Features:
    order = ordered_terms(each.unit.text)
    held = each.own | each.lent
    return Features(
        own=sum(rarity[term] for term in each.own),
        above=sum(rarity[term] for term in each.lent),
        before=sum(rarity[term] for term in previous.own - held) if previous else 0.0,
        opening=sum(rarity[term] for term in each.own & question.held(order[:_OPENING])) if each.own else 0.0,
        kind=float(question.kind_matches(each.unit)),
        row=float(bool(each.first)),
        rank=each.passage.rank / 10,
    )
