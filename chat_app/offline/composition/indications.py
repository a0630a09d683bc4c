"""Chooses the quotes of an answer; where a medicine is asked for and nothing answers, from labels that nobody named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chat_app.offline.extraction.answer_kinds import FORBIDDEN
from chat_app.offline.extraction.drug_parts import label_passages
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.question_reading import read_question
from chat_app.offline.extraction.selection import ANSWERS_FROM, Selection, select
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from tools.drug_database.names.not_taken import without_excluded
from tools.language.question_words import disease_in
from tools.language.vocabulary.common_words import Language

_ASKS_OTHERWISE: Final = re.compile(
    r"\b(?:how|why|when|where|who|wie|warum|wieso|wann|wo|wer"
    r"|c[óo]mo|por qu[ée]|cu[áa]ndo|d[óo]nde|qui[ée]n|cu[áa]nt\w+)\b",
    re.IGNORECASE,
)
"""Asks for what no indication tells: a reason, a time, a number."""


def selected(asked: Question, labels: Sequence[EvidencePassage], evidence: Evidence, language: Language) -> Selection:
    """Return the quotes of guidelines and ``labels``, those of the medicines that the question names.

    Where none answers and no medicine is named, indications that name the disease follow, of medicines that nobody
    named: all of them where a medicine is asked for, instead of those closest quotes whose bounds do not fit the
    patient, and else those that hold more of the question than these. They answer nothing clearly: that a label states
    an indication does not make it the choice.
    """
    found = select(asked, [*labels, *evidence.passages])
    if found.answers or evidence.named:
        return found
    banned = FORBIDDEN.search(asked.asked) is not None
    indicated = _indicated(asked, evidence, language, banned=banned)
    if asked.asks_medicine:
        fitting = (quote for quote in found.quotes if quote.fits)
        return replace(indicated, quotes=(*fitting, *indicated.quotes), answers=False) if indicated.quotes else found
    if (asked.asks_kind and not banned) or _ASKS_OTHERWISE.search(asked.text):
        return found
    best = max((quote.share for quote in found.quotes), default=0.0)
    better = (quote for quote in indicated.quotes if quote.share > best)
    return replace(found, quotes=(*found.quotes, *better), shares_terms=found.shares_terms or indicated.shares_terms)


def _indicated(asked: Question, evidence: Evidence, language: Language, *, banned: bool) -> Selection:
    """Return the indications that name the disease of ``asked``, of the medicines whose records mention it.

    Of the members of an asked class ("which statin with grapefruit?") all that their labels say of it is returned.
    Indications are left out where what is ``banned`` is asked for.
    """
    sections = [
        section
        for record in evidence.mentioned
        for section in label_passages(record, language)
        if (not banned if section.part == "indications" else record.matched == "class")
    ]
    disease = read_question(disease_in(without_excluded(asked.text)), evidence.terms)
    found = select(disease, sections)
    telling = max(range(len(disease.forms)), key=lambda place: disease.weights[place] or 0.0, default=-1)
    # An indication without an age is one for a patient of any age, but for children labels say it.
    any_age = len(disease.forms) < 2 and not disease.is_on_child
    fitting = (quote for quote in found.quotes if quote.is_on_subject or (any_age and quote.features.group >= 0))
    named = (quote for quote in fitting if telling in quote.own)
    return replace(found, quotes=tuple(quote for quote in named if quote.share >= ANSWERS_FROM))
