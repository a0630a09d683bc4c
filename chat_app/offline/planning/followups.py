"""Completes a follow-up question from the questions before it and the drugs that were found for them.

The words of a follow-up replace words of the same kind in the question before: a medicine replaces the medicine, a form
the form, "children" replaces "adults". If there are none, the follow-up is added. A pronoun, or a question that only
asks for a part of a label, gets the medicines of the question before. Every word of the result is the user's, or a name
that the drug database found in the user's words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.extraction.drug_parts import asked_sections, only_parts
from chat_app.offline.extraction.numbers_beside import with_new_kinds
from chat_app.offline.planning.followup_signs import (
    LEAD,
    MOST_EMPTY_TERMS,
    PREPOSITION,
    asks_anew,
    asks_dose,
    asks_part,
    form_words,
    has_uncommon_word,
    is_medicine,
    is_short,
    is_whole,
    length,
    may_be_medicine,
    means_before,
    names_subject,
    only_asks_how_long,
    pronouns,
    refers_back,
    states_more,
)
from chat_app.offline.planning.medicines_before import subjects
from chat_app.offline.planning.replacements import replaced
from chat_app.offline.reading.evidence import Evidence
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.not_taken import allergens, without_allergens
from tools.drug_database.names.overdosage_wording import dose_clauses, exposure_clauses
from tools.language.library_questions import library_question
from tools.language.question_words import HOW_MUCH
from tools.language.terms import terms
from tools.language.vocabulary.common_words import LANGUAGES, Language
from tools.language.vocabulary.patient_values import other_values, value_names, with_new_values, with_told_values
from tools.language.vocabulary.populations import NAMED, populations_in
from tools.language.vocabulary.text_language import language_of

_COMPARES: Final = re.compile(
    r"\b(?:which|what|welche[rs]?|was|cuál(?:es)?)(?: \w+){0,3}? (?:safer|better|stronger|weaker|cheaper|faster|longer"
    r"|shorter|higher|lower|greater|fewer|more|less|best|safest|prefer\w+|sicherer|besser|stärker|schwächer|günstiger"
    r"|schneller|länger|kürzer|höher|niedriger|eher|mehr|weniger|bevorzugt|vorzuziehen|más|menos|mejor|preferible)\b",
    re.IGNORECASE,
)
"""Compares the medicines of the questions before."""
_STATE: Final = re.compile(
    r"\b(?:if|when) (?:it|they) (?:\w+ )?"
    r"(?:was|were|are|drops?|falls?|rises?|go(?:es)?|gets?|grew|climbs?|becomes?|stays?)\b"
    r"|\bwe (?:\w+['’]?t )?(?:have|got|stock) (?:it|that|this)\b"
    r"|\bit(?:['’]?s| is) (?:(?:about|just|now|only) )?\d"
    r"|\b(?:after|before) (?:that|this)(?! \w)"
    r"|\bwenn (?:es|das) (?:\w+ ){0,2}?(?:ist|war|wird|bleibt|sinkt|fällt|steigt|reicht)\b",
    re.IGNORECASE,
)
"""A pronoun that means a value, a finding or a situation, not a medicine."""
_OFFER: Final = re.compile(
    "|".join(re.escape(phrases.said(phrases.DID_YOU_MEAN, language)) for language in LANGUAGES).replace(
        re.escape("{names}"), "(.+?)"
    )
)
_YES: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|correct|right|exactly|that one|please|i (?:do|did)|ja|genau|richtig|sí)\b[^?]{0,30}$",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    r"\b(?:the (?P<en>first|second|third|last) (?:one|option|choice|drug|medicine|of (?:them|those|these))\b"
    r"|(?:vo[mn]|de[rmsn]|das|die) (?P<de>erste|zweite|dritte|letzte)\w*(?=\W*$|[,.!?])"
    r"|(?:el|la|del) (?P<es>primer|segund|tercer|últim)\w*(?=\W*$|[,.!?]))",
    re.IGNORECASE,
)
"""A medicine by its place in the answer before."""
_PLACES: Final = (
    ("first", "erste", "primer"), ("second", "zweite", "segund"), ("third", "dritte", "tercer"),
    ("last", "letzte", "últim"),
)  # fmt: skip
_AND: Final[dict[Language, str]] = {"en": " and ", "de": " und ", "es": " y "}
_STARTS: Final = re.compile(
    r"\b(?:re)?(?:start|beg[aiu]n|commenc|initiat|introduc|challeng|resum)|\bback on\b|\bagain\b"
    r"|\b(?:an|ein|wieder|neu)?(?:fang|setz|beginn)|\bwieder\b|\b(?:re)?(?:empez|empiez|inici)|\botra vez\b",
    re.IGNORECASE,
)
ENDING: Final = re.compile(r"[\s?.!]+$")
_BRACKETS: Final = re.compile(r"\s*[()]\s*")
_THE_PATIENT: Final = re.compile(r"\b(?:s?he|him|hers?|his|(?-i:er|sie|ihm|ihn|ihr))\b", re.IGNORECASE)
"""The patient beside a pronoun for a medicine; ER is a form."""


def confirmed_question(question: str, before: str, answer: str) -> str:
    """Return the question before with the name that "Did you mean ...?" offered, if ``question`` accepts it."""
    offered = _OFFER.search(answer)
    names = re.split(r", | (?:or|oder|o) ", offered[offered.lastindex or 0]) if offered else []
    said = re.sub(r"^(?:yes|ja|sí)\W+", "", ENDING.sub("", question).lower())
    chosen = next((name for name in names if name.lower() == said), names[0] if names and _YES.match(question) else "")
    misspelt = difflib.get_close_matches(chosen.lower(), re.findall(r"[\w-]+", before.lower()), n=1) if chosen else []
    return re.sub(re.escape(misspelt[0]), chosen, before, count=1, flags=re.IGNORECASE) if misspelt else ""


def named_by_place(question: str, answer: str) -> list[str]:
    """Return ``question`` with the name of the medicine that it means by its place in ``answer``; empty if none."""
    listed = None if phrases.is_unclear(answer) else _LISTED.search(question)
    if listed is None:
        return []
    found = {
        name: re.search(rf"\b{re.escape(name)}\b", answer, re.IGNORECASE) for name in label_terms().members_in(answer)
    }
    names = sorted((match.start(), name) for name, match in found.items() if match)
    said = next(filter(None, listed.groups())).lower()
    place = next(at for at, words in enumerate(_PLACES) if said in words)
    chosen = names[-1:] if place == len(_PLACES) - 1 else names[place : place + 1]
    return [f"{ENDING.sub('', _LISTED.sub(name, question, count=1))}?" for _, name in chosen]


def readings_of(
    question: str, before: str, subject: str, evidence: Evidence, compared: Sequence[str]
) -> tuple[str, ...]:
    """Return ``question`` completed from the one before, or as it is; both if it may be meant either way.

    A longer one, or one that asks anew, is read as it is first, then on the ``subject``. One that names no subject is
    no question of its own.
    ``compared`` are the medicines of the follow-ups so far.
    """
    if library_question(question):
        return (question,)
    if len(compared) > 1 and _COMPARES.search(question) and not subjects(question, evidence):
        return (f"{without_lead(question)} ({', '.join(compared)})?",)
    known, own = known_medicines(before, evidence), is_whole(question)
    goes_on = refers_back(question) or asks_part(question)
    if before and (goes_on or (not own and is_short(question))):
        on_subject = (*_of_subject(question, subject), *_of_disease(question, before))
        on_before = (_completed(question, before, known), *on_subject)
        if goes_on or not names_subject(question):
            return tuple(dict.fromkeys(on_before))
        # The values and the group of a patient apply to the next question, too.
        anew = asks_anew(question) and not (value_names(before) or populations_in(before))
        return tuple(dict.fromkeys((question, *on_before) if anew else (*on_before, question)))
    return tuple(dict.fromkeys((question, *(_of_subject(question, subject) if before and not own else ()))))


def subjects_of(before: str, evidence: Evidence) -> tuple[str, ...]:
    """Return the medicines that ``before`` is about, without what a patient is allergic to beside them."""
    rest = without_allergens(before)
    return subjects(rest if has_uncommon_word(rest) else before, evidence)


def known_medicines(before: str, evidence: Evidence) -> tuple[str, ...]:
    """Return the medicines that ``before`` is about and does not ask for."""
    return tuple(name for name in subjects_of(before, evidence) if not _is_asked_for(name, before))


def _is_asked_for(name: str, question: str) -> bool:
    """Return whether ``question`` asks which medicine of the class ``name`` to give: "which oral anticoagulant"."""
    asks = r"\b(?:which|what|welche[mnrs]?|was für(?: ein\w*)?|qué|cuál)(?: [\w-]+)?"
    asked = re.search(rf"{asks} {re.escape(name)}", question, re.IGNORECASE)
    return asked is not None and bool(label_terms().group_named(name))


def asks_start(question: str) -> bool:
    """Return whether ``question`` only asks for the dose of a medicine, or how or when it is started."""
    rest = without_lead(question)
    starts = any(dose_clauses(rest)) or "dosage" in asked_sections(rest) or _STARTS.search(rest)
    alone = asks_part(rest) or asks_dose(rest) or (length(rest) <= MOST_EMPTY_TERMS and not may_be_medicine(rest))
    of_others = states_more(rest) or value_names(rest) or populations_in(rest) or label_terms().names_any(rest)
    return bool(starts and alone and not of_others)


def without_lead(question: str) -> str:
    """Return ``question`` without the words that lead in, such as "and what about", and without its last marks."""
    return ENDING.sub("", LEAD.sub("", question))


def _of_subject(question: str, subject: str) -> list[str]:
    """Return the reading of ``question`` that takes only the ``subject`` from the questions before."""
    rest = without_lead(question)
    own = not rest or means_before(rest) or label_terms().names_any(rest)
    return [] if own or not subject else [f"{subject}, {rest}?"]


def _of_disease(question: str, before: str) -> list[str]:
    """Return ``question`` on what the medicines of the question ``before`` are given for, if it asks for how long.

    Guidelines tell how long a disease is treated, and labels mostly do not. What else the patient takes or does not
    tolerate names no such disease.
    """
    if not only_asks_how_long(question) or allergens(before) or exposure_clauses(before).usual:
        return []
    words = re.sub(HOW_MUCH, "", before, flags=re.IGNORECASE).split()
    rest = [word for word in words if not is_medicine(word)]
    told = " ".join(word for word in rest if not (only_parts(word) or any(dose_clauses(word))))
    left_out = rest != words and terms(told)
    return [f"{ENDING.sub('', told).strip(' ,')}, {without_lead(question)}?"] if left_out else []


def with_result(readings: tuple[str, ...], question: str, result: str) -> tuple[str, ...]:
    """Add the ``result`` of the calculation before if ``question`` is on the same patient; both readings if unsure."""
    goes_on = readings[0] != question or refers_back(question)
    own = is_whole(question)
    if not goes_on and (own or not is_short(question)):
        return readings
    told = with_told_values(readings[0], result)
    return readings if told == readings[0] else (told, *(readings[1:] if goes_on else readings))


def _completed(question: str, before: str, known: Sequence[str]) -> str:
    rest = without_lead(question)
    before = ENDING.sub("", before)
    if means_before(rest) and not (known and _STATE.search(question)):
        if known:
            asked = pronouns(rest).sub(_AND[language_of(rest, before)].join(known), rest, count=1)
            # "When can he go back on it" is on what happened to the patient; "can she breastfeed on it" is not.
            narrowed = asked_sections(rest) or populations_in(rest) or not _THE_PATIENT.search(rest)
            told = re.sub(rf"\b(?:{'|'.join(map(re.escape, known))})\b", "", before)
            if narrowed or not terms(told) or only_parts(told):
                return of_patient(asked, [], before)
            return f"{asked} ({_BRACKETS.sub(', ', before).strip(', ')})?"
        return f"{before}?" if before.casefold().startswith(rest.casefold()) else f"{rest} ({before})?"
    if known and not states_more(rest) and (asks_part(rest) or asks_dose(rest)):
        return of_patient(rest, [" ".join([", ".join(known), *form_words(before)])], before)
    renewed = with_new_kinds(with_new_values(before, rest), rest)
    words = [term for term in terms(rest) if not term.isdecimal()]
    if renewed != before and len(terms(value_names(rest))) + 1 >= len(words):
        return f"{renewed}?"
    if replacing := replaced(renewed, rest, known):
        return replacing
    before = renewed
    return f"{before}{' ' if PREPOSITION.match(rest) else ', '}{rest}?" if rest else before


def of_patient(asked: str, names: Sequence[str], before: str) -> str:
    """Return ``asked`` with ``names``, and with the patient's values and groups that only ``before`` tells."""
    groups = () if populations_in(asked) else populations_in(before)
    values = other_values(before, asked)
    named = [match[0] for group in groups if (match := NAMED[group].search(before))]
    told = [one for one in (*values, *named) if not any(one in other and one != other for other in values)]
    return f"{asked} ({', '.join([*names, *dict.fromkeys(told)])})?" if told or names else f"{asked}?"
