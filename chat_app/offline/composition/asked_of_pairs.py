"""What a question that names several medicines asks: whether they go together, or something else.

Labels' statements on a pair lead the answer only where the question asks about taking them together. "How do I switch
from … to …?" and "… or … in renal impairment?" name alternatives: what they ask for comes first. So does what answers
a question that describes the patient or asks for more beside the pair.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from chat_app.offline.composition.alternatives import alternatives, names_in, tells_together
from chat_app.offline.extraction.answer_kinds import STOPPED
from chat_app.offline.extraction.candidates import names_others
from chat_app.offline.extraction.drug_parts import HARMS, asked_sections
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.question_reading import asks_for_another
from chat_app.offline.extraction.scoring import Scored
from chat_app.offline.extraction.selection import Selection, holds_circumstances
from chat_app.offline.reading.evidence import CONTRAINDICATED, Evidence, Pair
from tools.drug_database.labels.combination_wording import is_together
from tools.drug_database.names.query_words import JOINING, parse_query
from tools.language.question_words import ASKING, everyday_terms
from tools.language.quotable_units import Unit, term_set

WAIT: Final = re.compile(
    r"(?=.*\b(?:minute|hour|day|week)s?\b).*\b(?:after|apart|before|pass|separate|until|within)\b", re.IGNORECASE
)
"""A time between two medicines."""


def asks_combination(question: Question, evidence: Evidence, *, answered: bool, newest: str = "") -> bool:
    """Return whether the pairs of ``evidence`` are what ``question`` asks about.

    ``answered`` tells whether a quote answers what it asks beside the names, ``newest`` are the user's last words.
    """
    if not evidence.pairs:
        return False
    if _asks_pair_alone(question, evidence):
        return True
    if question.is_of_case and not asks_on_all(question.text) and (_asks_more(question) or not question.medicines):
        return False
    said = [record for pair in evidence.pairs for record in pair.said if record.severity]
    apart = alternatives(question, evidence)
    if all(pair in apart for pair in evidence.pairs):
        return False
    if (
        _adds_medicine(question, evidence, newest)
        or question.names_alone
        or _names_only(question.text, names_in(question, evidence))
    ):
        return True
    if _asks_more(question) and all(_is_unread(pair, evidence) for pair in evidence.pairs):
        return False
    together = tells_together(question, evidence)
    if together is not None:
        return together
    others = question.sections - HARMS
    if _asks_changed_dose(question, evidence):
        return True
    return not (others and answered) if said else not (others or answered)


def asks_on_all(question: str) -> bool:
    """Return whether ``question``, asked of a described patient, is on all medicines together: "is that safe?"."""
    if parse_query(question).asks_together or "interactions" in asked_sections(question):
        return True
    own = term_set(question) - everyday_terms(question) - ASKING
    return not (own or asks_for_another(question) or asked_sections(question) - HARMS)


def _asks_pair_alone(question: Question, evidence: Evidence) -> bool:
    """Return whether ``question`` asks what two medicines do together, or for the time between them that one states."""
    if parse_query(question.text).asks_together or evidence.on_overdose:
        return True
    return question.asks_time and any(map(WAIT.search, _lines(evidence)))


def _asks_dose_alone(question: Question) -> bool:
    return question.sections - HARMS == frozenset({"dosage"})


def _asks_changed_dose(question: Question, evidence: Evidence) -> bool:
    """Return whether only doses are asked for, and a grave statement on a pair says more than the usual ones."""
    return _asks_dose_alone(question) and any(one.is_grave for pair in evidence.pairs for one in pair.said)


def _asks_more(question: Question) -> bool:
    """Return whether ``question`` asks for a kind of answer or section, or whether to stop a medicine."""
    return bool(question.asks_kind or question.sections - HARMS or STOPPED.search(question.asked))


def _is_unread(pair: Pair, evidence: Evidence) -> bool:
    """Return whether one of ``pair`` is a word that neither is a known name nor resembles one."""
    unread = {one.asked for one in evidence.lookups if not (one.records or one.suggestions or one.absent)}
    return not pair.said and not unread.isdisjoint(pair.names)


def _lines(evidence: Evidence) -> list[str]:
    """Return what labels state of the pairs, without the risks that they share."""
    said = (record for pair in evidence.pairs for record in pair.said if record.severity)
    return [line for one in said for lines in one.label.values() for line in lines]


def told_beside(question: Question, selection: Selection, evidence: Evidence) -> Selection:
    """Return the quotes that answer what ``question`` asks beside the pairs, with the units that they need.

    Such a quote forbids a medicine in the patient's state, or holds the patient's circumstances: its bounds fit the
    values, or, where more is asked for, it is on the subject or the patients, and no statement on a pair holds as much.
    """
    of_pair = _asks_changed_dose(question, evidence) or (_asks_dose_alone(question) and not selection.answers)
    if of_pair or _asks_pair_alone(question, evidence) or not question.circumstances:
        return Selection()
    stated = (holds_circumstances(question, question.held(question.said_in(line))) and _has_kind(question, Unit(line))
              for line in _lines(evidence))  # fmt: skip
    others = _asks_more(question) and not any(stated)

    def tells(quote: Scored) -> bool:
        on_pair = quote.passage.part == "interactions"
        if on_pair or quote.holds_patient is False or (question.medicines and names_others(question, quote.unit)):
            return False
        if question.forbids_in_state(quote.unit) and not is_together(quote.unit.text):
            return True
        about = quote.is_on_subject or quote.features.group > 0
        answers = quote.fits or (others and about and _has_kind(question, quote.unit))
        return answers and holds_circumstances(question, quote.all_held)

    places = {one.place for one in selection.quotes if tells(one)}
    before = {one.place - one.unit.back for one in selection.quotes if one.place in places}
    kept = (one for one in selection.quotes if one.place in places | before or one.place - one.unit.back in places)
    return replace(selection, quotes=tuple(kept), answers=bool(places))


def _has_kind(question: Question, unit: Unit) -> bool:
    return not question.asks_kind or question.kind_matches(unit)


def _adds_medicine(question: Question, evidence: Evidence, newest: str) -> bool:
    """Return whether ``newest`` names one medicine of a pair that a label warns against, and asks for nothing else."""
    words = term_set(newest)
    barred = (
        pair.names for pair in evidence.pairs if any(one.severity in {CONTRAINDICATED, "avoid"} for one in pair.said)
    )
    added = any(sum(term_set(name) <= words for name in names) == 1 for names in barred)
    return added and not question.sections - HARMS


def of_follow_up(
    question: Question, selection: Selection, evidence: Evidence, newest: str
) -> tuple[Selection, Evidence, bool]:
    """Return what answers the ``newest`` words where they add something to a question on pairs, and whether they do.

    They do where they name no medicine, and a quote holds all their terms. Of the pairs, contraindications are left.
    """
    if newest == question.text or evidence.on_overdose or not evidence.pairs or _asks_changed_dose(question, evidence):
        return selection, evidence, False
    added = question.held(term_set(newest)) - question.everyday
    held = any(added <= one.all_held and not one.is_aside for one in selection.quotes)
    if not (added and held and added <= question.beyond_names):
        return selection, evidence, False
    quotes = tuple(one for one in selection.quotes if added & one.all_held or one.fits)
    return replace(selection, quotes=quotes, answers=True), evidence.with_levels({CONTRAINDICATED}), True


def _names_only(text: str, names: Collection[str]) -> bool:
    """Return whether ``text`` says nothing beside ``names``, which are folded."""
    return JOINING.union(*(name.split() for name in names)).issuperset(parse_query(text).words)
