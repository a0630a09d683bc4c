"""Scores each unit of the retrieved passages by how well it answers a question.

The score is one linear function of the features below. ``python -m scripts.fit_extraction`` fits its weights and checks
them by cross-validation; ``docs/measurements.md`` says how the shipped ones were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chat_app.offline.extraction.candidates import (
    Candidate,
    names_any,
    names_others,
    of_the_patient,
    on_others,
    read_candidates,
)
from chat_app.offline.extraction.directions import read_directions
from chat_app.offline.extraction.patient_groups import fits_group
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import EvidencePassage
from tools.language.quotable_units import ordered_terms, term_set
from tools.language.vocabulary.opposites import opposes
from tools.language.vocabulary.populations import names_children


class Features(NamedTuple):
    """What the score of a unit is made of; shares are of the weight of the question's terms, 0 to 1."""

    own: float
    """Share that the unit itself holds."""
    above: float
    """Share that only its headings, its table's caption or header hold."""
    near: float
    """Share of which it or what is above it holds only a related word, such as a synonym."""
    before: float
    """Share that only the unit before it holds: what it goes on from."""
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
    """1 for a sentence of a label's section in ``Question.searched_sections``."""
    aside: float
    """1 where the question names a drug and the unit is about none of those that it names."""
    group: float
    """1 for a unit on a group of patients that the question names, such as in pregnancy, -1 on others alone."""


WEIGHTS: Final = Features(
    own=9.0,
    above=5.0,
    near=3.3,
    before=2.5,
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
"""Score that a unit gains whose bounds the patient's values fulfil, or that goes in the asked direction."""
ON_STATE: Final = 1.5
"""Score that a unit gains which names the state of a value of the patient, without bounds that leave it out."""
EVERY_TERM: Final = 1.0
"""Added to each term's weight when judging whether a unit answers, so that common terms of the question count, too."""
_INHERITED: Final = 0.5
"""Weight of a term from the questions before beside one of the user's last words."""
_OPENING: Final = 3
_MISSED: Final = term_set("missed skipped forgot forgotten")
"""Terms of a question about a missed dose, which no usual dose answers."""


@dataclass(frozen=True)
class Scored(Candidate):
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

    @property
    def all_held(self) -> frozenset[int]:
        """The places of the question's terms that it holds with all above it."""
        return self.own | self.headed


def scored(question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS) -> list[Scored]:
    """Every unit that may answer, in reading order.

    Left out are repeats, and what is said of other patients, or of other medicines where one is named.
    """
    along, candidates = read_directions(question, read_candidates(question, passages))
    others = on_others(question, candidates)
    fitting, unfit = of_the_patient(question, candidates, others)
    counts = Counter(term for each in candidates for term in each.own)
    rare = [math.log(1 + (len(candidates) + 1) / (1 + counts[term])) for term in range(len(question.forms))]
    rarity = _shares(_newest_first(question, rare))
    shares = _shares(_newest_first(question, _judged(question, candidates, rare)))
    found: list[Scored] = []
    for each in candidates:
        missing = bool(question.unknown) and question.unknown.isdisjoint(each.own | each.headed | each.near)
        back = along[each.place] < 0
        if each.place in unfit or (back and 1 in along) or ((missing or each.place in others) and names_any(each.unit)):
            continue
        previous = candidates[each.place - 1] if each.place else None
        features = _features(question, each, previous, rarity, aside=each.place in others)
        held = sum(shares[term] for term in each.own | each.headed) + NEAR * sum(shares[term] for term in each.near)
        score = sum(weight * value for weight, value in zip(weights, features, strict=True))
        found.append(
            Scored(
                **vars(each),
                features=features,
                held=1.0 if question.names_alone else held,
                is_on_subject=each.place not in others and not back and _is_on_subject(question, each, shares),
                score=score
                + (APPLIES if each.place in fitting else 0.0)
                + APPLIES * along[each.place]
                + (ON_STATE if each.on_state and each.holds_patient is not False else 0.0),
                is_aside=each.place in others,
                fits=each.place in fitting,
            )
        )
    return found


def _newest_first(question: Question, weights: Sequence[float]) -> list[float]:
    """Return the terms' weights with less of it for those of the questions before."""
    return [weight * (_INHERITED if place in question.inherited else 1.0) for place, weight in enumerate(weights)]


def _judged(question: Question, candidates: Sequence[Candidate], rare: Sequence[float]) -> list[float]:
    """Return the terms' weights when judging whether a unit answers: none for everyday words that nothing holds.

    Everyday words count where nothing else would be left: those name the subject ("hip replacement"). A numbered kind,
    such as "type 1", always counts.
    """
    given = question.weights if any(question.weights) else rare
    idle = question.everyday.difference(*(each.own | each.headed | each.near for each in candidates))
    idle = idle - question.kinds if len(question.everyday) < len(question.forms) else frozenset()
    return [weight + EVERY_TERM if weight and place not in idle else 0.0 for place, weight in enumerate(given)]


def _is_on_subject(question: Question, each: Candidate, shares: Sequence[float]) -> bool:
    """True for a unit that does more than mention the subject.

    It holds two terms, or what is above it, such as the first cell of its row, holds the weightiest one; where the
    question has one term, it is of the kind and on the patients that are asked for. Where more than medicines is named,
    it holds a term that names none, and does not speak of the opposite of what is asked about. Where a dose was missed,
    it tells of that; for a child, a label's sentence must speak of children, and not of other ages alone. A unit that
    names only other medicines, and no class of the asked one, is about those.
    """
    fits = each.holds_patient
    if question.is_on_child and each.passage.part:
        named = names_children(f"{each.passage.part} {each.unit.text}")
        if fits is False or not (fits or named):
            return False
    if question.medicines and names_others(question, each.unit):
        return False
    if opposes(question.asked, f"{each.above} {each.unit.text}") or _only_mentions(question, each):
        return False
    if question.beyond_names and question.beyond_names.isdisjoint(each.own | each.headed | each.near):
        return False
    missed = question.held(_MISSED)
    if missed and missed.isdisjoint(each.own | each.headed):
        return False
    if len(shares) < 2:
        on_group = not question.populations or question.on_group(f"{each.above} {each.unit.text}") > 0
        return on_group and (not question.asks_kind or question.kind_matches(each.unit))
    weightiest = max(range(len(shares)), key=shares.__getitem__)
    return len(each.own) > 1 or weightiest in each.headed | each.first


def _only_mentions(question: Question, each: Candidate) -> bool:
    """Return whether a unit below words on another kind of the subject holds nothing but the asked kind itself."""
    return bool(question.kinds) and opposes(question.asked, each.above) and each.own <= question.kinds


def _shares(weights: Sequence[float]) -> list[float]:
    """``weights`` made to add up to 1."""
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _features(
    question: Question, each: Candidate, previous: Candidate | None, rarity: Sequence[float], *, aside: bool
) -> Features:
    def share(terms: Iterable[int]) -> float:
        return sum(rarity[term] for term in terms)

    follows = previous is not None and previous.passage is each.passage
    group = fits_group(question, each.unit, each.passage.section)
    return Features(
        own=share(each.own),
        above=share(each.headed - each.own),
        near=share(each.near),
        before=share(previous.own - each.own - each.headed) if previous and follows else 0.0,
        opening=share(each.own & question.held(ordered_terms(each.unit.text)[:_OPENING])),
        kind=float(question.kind_matches(each.unit, group)),
        row=float(bool(each.first)),
        rank=each.passage.rank / 10,
        label=float(bool(each.passage.part)),
        section=float(each.passage.part in question.searched_sections),
        aside=float(aside),
        group=group,
    )
