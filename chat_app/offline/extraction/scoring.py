"""Scores each unit of the retrieved passages by how well it answers a question.

The score is a linear function of the features below. ``python -m scripts.fit_extraction`` fits its weights and checks
them by cross-validation; ``docs/measurements.md`` says how the shipped ones were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final, NamedTuple

from chat_app.offline.extraction.candidates import (
    Candidate,
    fits_and_misfits,
    is_on_present,
    missed_terms,
    names_any,
    places_on_other_drugs,
    read_candidates,
)
from chat_app.offline.extraction.directions import read_directions
from chat_app.offline.extraction.drug_parts import ORGAN_DOSES, section_terms
from chat_app.offline.extraction.patient_groups import fits_group
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import EvidencePassage
from tools.language.question_words import ASKING
from tools.language.quotable_units import ordered_terms
from tools.language.vocabulary.opposites import opposes
from tools.language.vocabulary.populations import names_children


class Features(NamedTuple):
    """The features of a unit. A share is the part, 0 to 1, of the total weight of the question's terms."""

    own: float
    """Share of the terms in the unit itself."""
    above: float
    """Share of the terms only in its headings, its table's caption or header."""
    near: float
    """Share of the terms for which it or the words above it have only a related word, such as a synonym."""
    before: float
    """Share of the terms only in the unit before it, whose subject it may continue."""
    opening: float
    """Share of the terms among the unit's first ones, which tell its subject."""
    kind: float
    """1 for a unit with the kind of answer that is asked for: a time, a figure, a prohibition, a medicine."""
    row: float
    """1 for a table row whose first cell, which tells its subject, holds a term of the question."""
    rank: float
    """A tenth of the rank of its passage in the search results."""
    label: float
    """1 for a sentence of a label."""
    section: float
    """1 for a sentence of a label section in ``Question.searched_sections``."""
    aside: float
    """1 for a unit on none of the drugs that the question names."""
    group: float
    """1 for a unit on a group of patients that the question names, such as pregnant women; -1 on other groups only."""


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
"""Part of a term's weight that counts as held where a unit has only a related word."""
APPLIES: Final = 2.5
"""Bonus for a unit whose bounds fit the patient's values, or that has the asked direction."""
ON_STATE: Final = 1.5
"""Bonus for each state that the patient's values indicate and a unit names, unless its bounds exclude the patient."""
EVERY_TERM: Final = 1.0
"""Added to each term's weight when judging whether a unit answers, so that common terms count, too."""
_INHERITED: Final = 0.5
"""Maximum factor for the weight of a term that only earlier questions of the conversation contain."""
_ASKING: Final = 0.5
"""Factor for the weight of a word that only asks, such as "need", in the score."""
_OPENING: Final = 3
"""Number of terms with which a unit opens."""


@dataclass(frozen=True)
class Scored(Candidate):
    """A unit with its score."""

    features: Features
    share: float
    """Share of the question's terms that the unit and the words above it hold."""
    is_on_subject: bool
    """Whether it may answer, and does not only mention the subject."""
    score: float
    is_aside: bool
    """Whether it is about none of the asked drugs, or only about one that is to be replaced or cannot be given."""
    fits: bool
    """Whether it gives bounds, and the patient's values fit them."""


def scored(question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS) -> list[Scored]:
    """Return every unit that may answer, in reading order.

    Repeats are left out, and units about other patients, or about other medicines if the question names one.
    """
    directions, candidates = read_directions(question, read_candidates(question, passages))
    others = places_on_other_drugs(question, candidates)
    fitting, misfits = fits_and_misfits(question, candidates, others)
    rarity = _rarity(question, candidates)
    rarity_shares = _shares(_with_less_inherited(question, _with_less_asking(question, rarity), most=1.0))
    shares = _shares(_with_less_inherited(question, _judging_weights(question, candidates, rarity)))
    found: list[Scored] = []
    for each in candidates:
        is_other, is_reverse = each.place in others, directions[each.place] < 0
        is_aside = is_other or is_on_present(question, each.unit)
        unknown_missing = bool(question.unknown) and question.unknown.isdisjoint(each.all_held | each.near)
        if (
            each.place in misfits
            or (is_reverse and 1 in directions)
            or ((unknown_missing or is_other) and names_any(each.unit))
        ):
            continue
        previous = candidates[each.place - 1] if each.place else None
        features = _features(question, each, previous, rarity_shares, aside=is_aside)
        held = sum(shares[term] for term in each.all_held) + NEAR * sum(shares[term] for term in each.near)
        score = sum(map(mul, weights, features)) + APPLIES * ((each.place in fitting) + directions[each.place])
        if each.holds_patient is not False:
            score += ON_STATE * each.states
        found.append(
            Scored(
                **vars(each),
                features=features,
                share=held,
                is_on_subject=not is_aside and not is_reverse and _is_on_subject(question, each, shares),
                score=score,
                is_aside=is_aside,
                fits=each.place in fitting,
            )
        )
    return found


def _rarity(question: Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return a weight for each term, which is higher the fewer ``candidates`` hold it."""
    counts = Counter(term for each in candidates for term in each.own)
    return [math.log(1 + (len(candidates) + 1) / (1 + counts[term])) for term in range(len(question.forms))]


def _with_less_asking(question: Question, weights: Sequence[float]) -> list[float]:
    return [
        weight * (_ASKING if form <= ASKING else 1.0)
        for weight, (form, *_) in zip(weights, question.forms, strict=True)
    ]


def _with_less_inherited(question: Question, weights: Sequence[float], most: float = math.inf) -> list[float]:
    """Return ``weights`` with less for the terms of earlier questions: together at most ``most`` times the others.

    A follow-up without terms of its own, such as "why?", is on all of the earlier ones.
    """
    before = sum(weights[term] for term in question.inherited)
    own = sum(weights) - before
    factor = min(_INHERITED, most * own / before) if own and before else _INHERITED
    return [weight * (factor if term in question.inherited else 1.0) for term, weight in enumerate(weights)]


def _judging_weights(question: Question, candidates: Sequence[Candidate], rarity: Sequence[float]) -> list[float]:
    """Return the weight of each term for judging whether a unit answers.

    Everyday words that no candidate holds weigh nothing, unless the question has only everyday words: then they name
    the subject ("hip replacement"). A numbered kind, such as "type 1", always counts.
    """
    given = question.weights if any(question.weights) else rarity
    idle = question.everyday.difference(*(each.all_held | each.near for each in candidates))
    idle = idle - question.kinds if len(question.everyday) < len(question.forms) else frozenset()
    return [weight + EVERY_TERM if weight and place not in idle else 0.0 for place, weight in enumerate(given)]


def _is_on_subject(question: Question, each: Candidate, shares: Sequence[float]) -> bool:
    """Return whether a unit does more than mention the subject.

    It must hold two terms, or the weightiest term must be in the words above it or in the first cell of its row. If
    the question has one term, the unit must be of the asked kind and on the asked patients instead. Further conditions:

    - For a child, a sentence of a label must speak of children, and not only of other ages.
    - The unit must not be about the opposite of what is asked, nor about what the patient does not have.
    - If the question names more than medicines, the unit must hold one of those other terms.
    - If a dose was missed, the unit must say so.
    - If a follow-up only asks for a time, the unit must tell one.
    """
    fits = each.holds_patient
    if question.is_on_child and each.passage.part:
        named = names_children(f"{each.passage.part} {each.unit.text}")
        if fits is False or not (fits or named):
            return False
    if opposes(question.asked, f"{each.above} {each.unit.text}") or _only_mentions(question, each):
        return False
    if question.asserted(each.above, each.unit.text) or not question.has_time(each.unit):
        return False
    if question.beyond_names and question.beyond_names.isdisjoint(each.all_held | each.near):
        return False
    missed = missed_terms(question)
    if missed and missed.isdisjoint(each.all_held):
        return False
    if len(shares) < 2:
        on_group = not question.populations or question.names_group(f"{each.above} {each.unit.text}")
        return on_group and (not question.asks_kind or question.kind_matches(each.unit))
    weightiest = max(range(len(shares)), key=shares.__getitem__)
    return len(each.own) > 1 or weightiest in each.headed | each.first


def _only_mentions(question: Question, each: Candidate) -> bool:
    """Return whether a unit, below a heading on another kind of the subject, holds only the terms of the asked kind."""
    return bool(question.kinds) and opposes(question.asked, each.above) and each.own <= question.kinds


def _shares(weights: Sequence[float]) -> list[float]:
    """Scale ``weights`` to a sum of 1."""
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _features(
    question: Question, each: Candidate, previous: Candidate | None, shares: Sequence[float], *, aside: bool
) -> Features:
    def share(terms: Iterable[int]) -> float:
        return sum(shares[term] for term in terms)

    # Where the usual dose is asked for, a dose for a failing organ is another one.
    other_dose = each.passage.part in ORGAN_DOSES - question.sections and "dosage" in question.sections
    own = each.own - (question.held(section_terms("dosage")) if other_dose else frozenset())
    follows = previous is not None and previous.passage is each.passage
    group = fits_group(question, each.unit, each.passage.section)
    return Features(
        own=share(own),
        above=share(each.headed - own),
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
