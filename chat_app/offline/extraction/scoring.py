"""Scores each unit of the retrieved passages by how well it answers a question.

The score is one linear function of the features below. ``python -m scripts.fit_extraction`` fits its weights and checks
them by cross-validation; ``docs/measurements.md`` says how the shipped ones were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chat_app.offline.extraction.drug_parts import PATIENTS_OF
from chat_app.offline.extraction.evidence import EvidencePassage
from chat_app.offline.extraction.question import Question, contradicts
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.inn_stems import names_medicine
from tools.language.quotable_units import Unit, ordered_terms, squeeze, term_set, units
from tools.language.vocabulary.patient_values import fits_patient
from tools.language.vocabulary.populations import names_children, speaks_of


class Features(NamedTuple):
    """What the score of a unit is made of; shares are of the weight of the question's terms, 0 to 1."""

    own: float
    """Share that the unit itself holds."""
    above: float
    """Share that only its headings, its table's caption or header hold."""
    near: float
    """Share of which it or what is above it holds only a related word, such as a synonym."""
    opening: float
    """Share within the unit's first terms: what it is about."""
    kind: float
    """1 for a unit with what the question asks for: a time, a list's item, a recommended treatment."""
    row: float
    """1 for a table's row whose first cell, which says what the row is about, holds a term of the question."""
    rank: float
    """The place of its passage among those that were found, in tenths."""
    label: float
    """1 for a sentence of a label."""
    section: float
    """1 for a sentence of a label's section that the question asks for."""
    aside: float
    """1 where the question names a drug and the unit is about none of those that it names."""
    group: float
    """1 for a unit on a group of patients that the question names, such as in pregnancy, -1 on others alone."""


WEIGHTS: Final = Features(
    own=9.0,
    above=5.0,
    near=3.3,
    opening=2.9,
    kind=2.4,
    row=1.0,
    rank=-3.5,
    label=-1.1,
    section=1.0,
    aside=-2.8,
    group=1.5,
)
NEAR: Final = WEIGHTS.near / WEIGHTS.own
"""What a related word counts of the share of the question that a unit holds."""
APPLIES: Final = 2.5
"""Score that a unit gains whose bounds the patient's values fulfil."""
EVERY_TERM: Final = 1.0
"""Added to each term's weight when judging whether a unit answers, so that common terms of the question count, too."""
_OPENING: Final = 3


@dataclass(frozen=True)
class _Candidate:
    unit: Unit
    passage: EvidencePassage
    place: int
    """Position among all units, in the order of passages and within them."""
    above: str
    """The words above the unit: the document, the section, the heading, the table's caption and header."""
    own: frozenset[int]
    """The question's terms that the unit holds."""
    headed: frozenset[int]
    """The question's terms in the words above the unit."""
    near: frozenset[int]
    """The question's other terms to which a word of the unit, or above it, is related."""
    first: frozenset[int]
    """The question's terms in the first cell of a row."""
    holds_patient: bool | None
    """Whether the patient's values are within its bounds; None without bounds."""


@dataclass(frozen=True)
class Scored(_Candidate):
    """A unit with its score."""

    features: Features
    held: float
    """Share of the question that it holds with all above it."""
    is_on_subject: bool
    """Whether it may answer, and does not only mention the subject."""
    score: float
    is_aside: bool
    """Whether the question names a drug and this is about none of those that it names."""
    fits: bool
    """Whether it gives bounds that the patient's values in the question fulfil."""


def scored(question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS) -> list[Scored]:
    """Every unit that may answer, in reading order.

    Left out are repeats, and what is said of other patients, or of other medicines where one is named.
    """
    candidates = _candidates(question, passages)
    others = _others(question, candidates)
    fitting, unfit = _of_the_patient(question, candidates, others)
    counts = Counter(term for each in candidates for term in each.own)
    rare = [math.log(1 + (len(candidates) + 1) / (1 + counts[term])) for term in range(len(question.forms))]
    rarity = _shares(rare)
    shares = _shares(_judged(question, candidates, rare))
    found: list[Scored] = []
    for each in candidates:
        missing = bool(question.unknown) and question.unknown.isdisjoint(each.own | each.headed | each.near)
        if each.place in unfit or ((missing or each.place in others) and _names_any(each.unit)):
            continue
        features = _features(question, each, rarity, aside=each.place in others)
        held = sum(shares[term] for term in each.own | each.headed) + NEAR * sum(shares[term] for term in each.near)
        score = sum(weight * value for weight, value in zip(weights, features, strict=True))
        found.append(
            Scored(
                **vars(each),
                features=features,
                held=1.0 if question.names_alone else held,
                is_on_subject=each.place not in others and _is_on_subject(question, each, shares),
                score=score + (APPLIES if each.place in fitting else 0.0),
                is_aside=each.place in others,
                fits=each.place in fitting,
            )
        )
    return found


def _judged(question: Question, candidates: Sequence[_Candidate], rare: Sequence[float]) -> list[float]:
    """Return the terms' weights when judging whether a unit answers: none for everyday words that nothing holds."""
    given = question.weights if any(question.weights) else rare
    idle = question.everyday.difference(*(each.own | each.headed | each.near for each in candidates))
    return [weight + EVERY_TERM if weight and place not in idle else 0.0 for place, weight in enumerate(given)]


def _candidates(question: Question, passages: Sequence[EvidencePassage]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for passage in passages:
        for unit in units(passage.text):
            lead = found[-unit.leans] if 0 < unit.leans <= len(found) and found[-unit.leans].unit.leads else None
            above = _above(unit, passage) + (f" {lead.unit.text}" if lead else "")
            key = "".join(unit.text.lower().split())
            if key not in seen and not _of_others(question, f"{above} {unit.text}", unit, passage):
                seen.add(key)
                own, headed = question.held(question.said_in(unit.text)), question.held(question.said_in(above))
                first = question.held(question.said_in(unit.cells[0])) if unit.cells else frozenset[int]()
                cells = _cells(unit)
                fits = fits_patient(question.text, cells)
                own |= question.bounded_terms(" | ".join(cells)) if fits else frozenset[int]()
                near = question.nearly_held(question.said_in(unit.text, above)) - own - headed
                found.append(_Candidate(unit, passage, len(found), above, own, headed, near, first, fits))
    return found


def _of_the_patient(
    question: Question, candidates: Sequence[_Candidate], others: Container[int]
) -> tuple[set[int], set[int]]:
    """Return the places of the units whose bounds the patient's values fulfil, and of those to leave out.

    The first are about an asked medicine, or hold at least half as much of the question as the best unit. Bounds that
    leave the patient out are left out beside those of the same passage; those of a medicine that was not asked for
    always are.
    """
    held = [sum(question.weights[term] or 1.0 for term in each.own | each.headed) for each in candidates]
    enough = 0.0 if others else max(held, default=0.0) / 2
    fitting = {
        each.place
        for each in candidates
        if each.holds_patient and each.place not in others and held[each.place] >= enough
    }
    alternatives = {id(each.passage) for each in candidates if each.place in fitting}
    return fitting, {
        each.place
        for each in candidates
        if (each.holds_patient is False and id(each.passage) in alternatives)
        or (each.holds_patient is not None and each.place in others)
    }


def _cells(unit: Unit) -> list[str]:
    """The text, or the cells of a row, each behind the header of its column."""
    header = unit.table.header if unit.table else ()
    if not unit.cells or len(header) != len(unit.cells):
        return [*unit.cells] or [unit.text]
    return list(map(" ".join, zip(header, unit.cells, strict=True)))


def _is_on_subject(question: Question, each: _Candidate, shares: Sequence[float]) -> bool:
    """True for a unit that does more than mention the subject.

    It holds two terms, or what is above it, such as the first cell of its row, holds the weightiest one; where the
    question has one term, it is of the kind that is asked for. Where more than medicines is named, it holds a term that
    names none.
    """
    if question.beyond_names and question.beyond_names.isdisjoint(each.own | each.headed | each.near):
        return False
    if len(shares) < 2:
        return not question.asks_kind or question.kind_matches(each.unit)
    weightiest = max(range(len(shares)), key=shares.__getitem__)
    return len(each.own) > 1 or weightiest in each.headed | each.first


def _others(question: Question, candidates: Sequence[_Candidate]) -> frozenset[int]:
    """The places of units that are about no drug of the question, and about no class of it.

    A unit is about a drug that it or the words above it name, or that its passage named last. Where a row of a table
    names one, the other rows are about other drugs. So is a unit that names another drug, or whose table's caption
    does, below its class alone.
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
        ) or (
            names_medicine(_with_caption(each.unit)) and not _named(question.medicines or question.subjects, each.above)
        )
        if _named(question.subjects, each.unit.text) or (not another and _named(question.subjects, each.above)):
            about = True
        elif another or each.unit.table is not None:
            about = False
        if not about:
            others.add(place)
    return frozenset(others) if question.subjects and len(others) < len(candidates) else frozenset()


def _names_any(unit: Unit) -> bool:
    """Return whether a unit, or its table's caption, names a medicine or a class of medicines."""
    return label_terms().names_any(_with_caption(unit))


def _with_caption(unit: Unit) -> str:
    return f"{unit.table.caption} {unit.text}" if unit.table else unit.text


def _named(names: Sequence[frozenset[str]], text: str) -> bool:
    return any(name <= term_set(text) for name in names)


def _above(unit: Unit, passage: EvidencePassage) -> str:
    """The words above a unit: the document, the section, the heading, the table's caption and header."""
    table = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
    return squeeze(f"{passage.document} {passage.section} {passage.about} {unit.heading} {table}")


def _of_others(question: Question, text: str, unit: Unit, passage: EvidencePassage) -> bool:
    """True for what is said of other patients; no dose is given for children that is not said to be theirs."""
    patients = PATIENTS_OF.get(passage.part, frozenset())
    if patients and passage.part not in question.sections and patients.isdisjoint(question.populations):
        return True
    if passage.part in DOSE_SECTIONS and names_children(question.asked):
        return not (names_children(unit.text) or fits_patient(question.text, _cells(unit)))
    # What is said of a patient asked about may name another: the infant of a mother who breastfeeds.
    if any(speaks_of(text, group) for group in question.populations):
        return False
    return contradicts(question.asked, text) or (bool(question.populations) and question.on_group(text) < 0)


def _shares(weights: Sequence[float]) -> list[float]:
    """``weights`` made to add up to 1."""
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _features(question: Question, each: _Candidate, rarity: Sequence[float], *, aside: bool) -> Features:
    def share(terms: Iterable[int]) -> float:
        return sum(rarity[term] for term in terms)

    return Features(
        own=share(each.own),
        above=share(each.headed - each.own),
        near=share(each.near),
        opening=share(each.own & question.held(ordered_terms(each.unit.text)[:_OPENING])),
        kind=float(question.kind_matches(each.unit)),
        row=float(bool(each.first)),
        rank=each.passage.rank / 10,
        label=float(bool(each.passage.part)),
        section=float(each.passage.part in question.sections),
        aside=float(aside),
        group=question.on_group(f"{each.passage.section} {each.unit.heading} {each.unit.text}"),
    )
