"""Chooses the quotes of an answer; where a medicine is asked for and nothing answers, from the labels' indications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chat_app.offline.extraction.answer_kinds import FORBIDDEN
from chat_app.offline.extraction.drug_parts import label_passages
from chat_app.offline.extraction.question import Question, read_question
from chat_app.offline.extraction.selection import ANSWERS_FROM, Selection, select
from chat_app.offline.reading.evidence import Evidence, EvidencePassage
from tools.language.question_words import disease_in
from tools.language.vocabulary.common_words import Language


def selected(asked: Question, labels: Sequence[EvidencePassage], evidence: Evidence, language: Language) -> Selection:
    """Return the quotes of guidelines and ``labels``, those of the medicines that the question names.

    Where none answers and a medicine is asked for, they are the indications that name the disease, of medicines that
    nobody named. These answer nothing clearly: that a label states an indication does not make it the choice.
    """
    found = select(asked, [*labels, *evidence.passages])
    if found.answers or evidence.named or not asked.asks_medicine or FORBIDDEN.search(asked.asked):
        return found
    sections = (section for record in evidence.mentioned for section in label_passages(record, language))
    disease = read_question(disease_in(asked.text), evidence.terms)
    indicated = select(disease, [section for section in sections if section.part == "indications"])
    telling = max(range(len(disease.forms)), key=lambda place: disease.weights[place] or 0.0, default=-1)
    named = (quote for quote in indicated.quotes if quote.is_on_subject and telling in quote.own)
    quotes = tuple(quote for quote in named if quote.held >= ANSWERS_FROM)
    return replace(indicated, quotes=quotes, answers=False) if quotes else found
