"""Checks whether, and how well, the evidence of a turn answers a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from chat_app.offline.composition.indications import selected
from chat_app.offline.extraction.candidates import names_others
from chat_app.offline.extraction.drug_parts import label_passages
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import clearly_answers
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from tools.drug_database.labels.label_terms import label_terms
from tools.language.quotable_units import term_set
from tools.language.vocabulary.common_words import Language


def read_asked(
    question: str, evidence: Evidence, newest: str, language: Language = "en", *, in_case: bool = False
) -> tuple[Question, list[EvidencePassage]]:
    """Return the question as the searches read it, and the labels of the medicines that it names.

    Labels list the classes of medicines that are not loaded, too. Medicines that only the description of a case names
    are no subject of the question.
    """
    if in_case and not evidence.names_in(newest):
        asked = read_question(question, evidence.terms, newest=newest, in_case=True)
        return asked, [passage for record in evidence.named for passage in label_passages(record, language)]
    known = label_terms()
    listed = ((name, group) for name in known.members_in(question) for group in known.own_groups(name))
    parties = list(dict.fromkeys(name for pair in evidence.pairs if not in_case for name in pair.names))
    groups = [group for name in parties for group in known.group_named(name)]
    asked = read_question(
        question,
        evidence.terms,
        newest=newest or question,
        subjects=[*evidence.subjects(question), *parties, *known.phrases_of(groups)],
        medicines=evidence.medicines,
        classes=[*evidence.classes, *listed],
        notes=[lookup.absent for lookup in evidence.lookups],
        in_case=in_case,
    )
    named = () if asked.asks_another and evidence.passages else evidence.named
    return asked, [passage for record in named for passage in label_passages(record, language)]


def is_answered(question: str, evidence: Evidence, *, newest: str, on: Sequence[str] = ()) -> bool:
    """Return whether a sentence of ``evidence`` clearly answers ``question``; not one on medicines beside ``on``."""
    asked, labels = read_asked(question, evidence, newest)
    found = selected(asked, labels, evidence, "en")
    names = [one for name in on for one in (name, *label_terms().own_groups(name))]
    meant = replace(asked, subjects=tuple(map(term_set, names)))
    others = (bool(on) and names_others(meant, quote.unit) for quote in found.quotes if clearly_answers(quote))
    return found.answers and not all(others)


def is_apart(question: str, evidence: Evidence, *, first: str, of: Evidence) -> bool:
    """Return whether ``question`` is one term, and what answers it has nothing of the questions before.

    A term is clearly answered wherever it occurs. Only in a title it is the subject, and the question a new one.
    ``first`` is the question completed from those before, and ``of`` is the evidence for it.
    """
    asked, labels = read_asked(question, evidence, question)
    whole, _ = read_asked(first, of, newest=question)
    if len(asked.forms) > 1 or not whole.inherited:
        return False
    found = [quote for quote in selected(asked, labels, evidence, "en").quotes if clearly_answers(quote)]
    held = (whole.held(whole.said_in(quote.above, quote.unit.text)) for quote in found)
    return bool(found) and not any(quote.headed for quote in found) and all(map(whole.inherited.isdisjoint, held))


class Closeness(NamedTuple):
    """How close the quotes for a completed follow-up come to its last words."""

    share: float
    """The largest share of the weight of these words that a quote holds; numbers do not count."""
    is_joint: bool
    """Whether the best quote is on them and on the questions before: it holds a term of each, everyday ones apart."""


def closeness(question: str, evidence: Evidence, *, newest: str) -> Closeness:
    """Return how close the quotes for ``question`` come to its last words, ``newest``."""
    asked, labels = read_asked(question, evidence, newest)
    quotes = selected(asked, labels, evidence, "en").quotes
    words = {place for place, forms in enumerate(asked.forms) if not all(map(str.isdecimal, forms[0]))}
    weights = asked.weights_of(words - asked.inherited)
    held = (sum(weights[place] for place in quote.all_held & weights.keys()) for quote in quotes)
    best = quotes[0].all_held | quotes[0].near if quotes else frozenset[int]()
    best -= asked.everyday
    return Closeness(
        max(held, default=0.0) / (sum(weights.values()) or 1.0),
        is_joint=not best.isdisjoint(asked.inherited) and not best <= asked.inherited,
    )
