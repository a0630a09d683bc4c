"""Makes a follow-up question complete, from the questions before it and the drugs that were found for them.

What a follow-up says takes the place of the words of the same kind in the question before: a medicine of the
medicine, a form of the form, children of adults. Where there are none it is added. A pronoun, or a question that only
asks for a part of a label, gets the medicines before. Every word of the result is the user's, or a name that the drug
database found in the user's words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from itertools import chain, repeat
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.dialogue import Exchange
from chat_app.offline.extraction.drug_parts import only_parts
from chat_app.offline.extraction.evidence import Evidence
from chat_app.offline.extraction.question import opposite_of
from chat_app.offline.extraction.reading import gather
from tools.drug_database.labels.label_scope import is_form_word
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.query_words import CONTEXT
from tools.language.folding import fold_name
from tools.language.terms import terms
from tools.language.vocabulary.common_words import LANGUAGES, is_ordinary
from tools.language.vocabulary.patient_values import value_names

_POLITE: Final = re.compile(r"^\s*(?:ok(?:ay)?|thanks|thank you)\b\W+(?=\w)", re.IGNORECASE)
_LEAD: Final = re.compile(
    r"^\s*(?:(?:and|but|or|so|then|also|(?:what|how) about|what (?:if|of)|und(?: was ist mit)?|y)\b[,.!]?\s*)+",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|these|those|this|that)(?: (?:drugs?|medicines?|medications?|class|agents?))?\b"
    r"|\bthe (?:drug|medicine|medication|same|former|latter)\b",
    re.IGNORECASE,
)
_PATIENT: Final = re.compile(r"\b(?:s?he|him|hers?|his)\b", re.IGNORECASE)
"""Means the patient of the question before."""
_ADDED: Final = re.compile(r"\b(?:as well|also|on top|too(?=[,.?!]|$))", re.IGNORECASE)
"""Says that something is added to the question before, such as a second medicine."""
_ASKS, _VERBS = "what|which|when|who|how|why|where", "is|are|do|does|can|should"
_PLACES: Final = r"(?:in|for|with|during|after|before|if|when|on|at|among|under|without)\b"
_JOINT: Final = r"\b(?:in|for|of|with)\b"
_INTERROGATIVE: Final = re.compile(rf"^\s*(?:{_ASKS}|{_VERBS})\b", re.IGNORECASE)
# A verb, and no "the", which would refer to what was said before.
_CLAUSE: Final = re.compile(rf"^\s*(?:(?:{_ASKS}) )?(?:{_VERBS})\b(?!.*\bthe\b)", re.IGNORECASE)
# An "it" that stands for the rest of its own sentence, as in "is it safe to give ibuprofen".
_EXPLETIVE: Final = re.compile(rf"\bit (?:\w+ )?\w+ (?:that|to \w+ (?!{_PLACES})\w)", re.IGNORECASE)
_PLACE: Final = re.compile(rf"^\s*{_PLACES}", re.IGNORECASE)
_OFFER: Final = re.compile(
    "|".join(re.escape(phrases.said(phrases.DID_YOU_MEAN, language)) for language in LANGUAGES).replace(
        re.escape("{names}"), "(.+?)"
    )
)
_YES: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|correct|right|exactly|that one|please|i (?:do|did)|ja|genau|richtig|sí)\b[^?]{0,30}$",
    re.IGNORECASE,
)
_DOSE: Final = re.compile(r"\bdos(?:e|ing|age)|\bstrengths?\b", re.IGNORECASE)
"""What only a medicine has: other parts of a label may be asked for without meaning the medicine before."""
_OVERDOSE: Final = re.compile("overdos", re.IGNORECASE)
_ENDING: Final = re.compile(r"[\s?.!]+$")
_FEW: Final = 5
"""Terms of a question that only narrows the one before."""


def standalone(turns: Sequence[Exchange], offered: Collection[str]) -> str:
    """Return the last question of a conversation as one that can be searched for without the others.

    ``offered`` names the functions of that question. One that only leaves words out leans on the question before, but
    stands alone where one of the two, and not the other, was searched for in what labels say of an overdose.
    """
    resolved = answer = topic = ""
    evidence, searched = Evidence(), frozenset[str]()
    for turn in turns:
        question = _POLITE.sub("", turn.question.strip())
        # A follow-up of everyday words with a pronoun asks about a calculation's result; any other has a topic itself.
        on_result = _PRONOUN.search(question) and not _unusual(question)
        used = frozenset(output.name for output in turn.outputs)
        now = offered if turn is turns[-1] else used
        alike = any(map(_OVERDOSE.search, searched)) == any(map(_OVERDOSE.search, now)) or not searched
        before = resolved if on_result else topic if alike or _refers(question) else ""
        resolved = _confirmed(question, resolved, answer) or _completed(question, before, evidence)
        answer = turn.answer
        found = gather(turn.outputs)
        if not found.calculations or found.searched_documents or found.lookups:
            topic, searched = resolved, used
            evidence = found if turn.outputs else evidence
    return resolved


def _confirmed(question: str, before: str, answer: str) -> str:
    """Return the question before with the name that "Did you mean ...?" offered, when ``question`` takes it up."""
    offered = _OFFER.search(answer)
    names = re.split(r", | (?:or|oder|o) ", offered[offered.lastindex or 0]) if offered else []
    said = re.sub(r"^(?:yes|ja|sí)\W+", "", _ENDING.sub("", question).lower())
    chosen = next((name for name in names if name.lower() == said), names[0] if names and _YES.match(question) else "")
    misspelt = difflib.get_close_matches(chosen.lower(), re.findall(r"[\w-]+", before.lower()), n=1) if chosen else []
    return re.sub(re.escape(misspelt[0]), chosen, before, count=1, flags=re.IGNORECASE) if misspelt else ""


def _completed(question: str, before: str, evidence: Evidence) -> str:
    if not before or not is_follow_up(question):
        return question
    rest = _ENDING.sub("", _LEAD.sub("", question))
    before, known = _ENDING.sub("", before), subjects(before, evidence)
    if _PRONOUN.search(rest):
        return f"{_PRONOUN.sub(' and '.join(known), rest, count=1)}?" if known else f"{rest} ({before})?"
    if known and _asks_part(rest):
        return f"{rest} ({' '.join([', '.join(known), *_ways(before)])})?"
    if replaced := _replaced(before, rest, known):
        return replaced
    return f"{before}{' ' if _PLACE.match(rest) else ', '}{rest}?" if rest else before


def subjects(before: str, evidence: Evidence) -> tuple[str, ...]:
    """Return the drugs and classes that ``before`` names, in its own words."""
    records = [record for lookup in evidence.lookups for record in lookup.records if record.matched != "text"]
    names = (re.sub(r"\s*\(.*", "", name) for record in records for name in (record.matched_on, record.name))
    mentions = (re.search(rf"\b{re.escape(name)}s?\b", before, re.IGNORECASE) for name in names if name)
    return tuple({match[0].lower(): match[0] for match in mentions if match}.values())


def _replaced(before: str, rest: str, known: Sequence[str]) -> str:
    """Return ``before`` with ``rest`` in the place of words of its kind; empty where it has none."""
    kinds = [re.escape(" ".join(rest.split()[:2])) + r"\b.*"] if _PLACE.match(rest) else []
    if len(terms(rest)) <= _FEW and _may_be_medicine(rest) and not _ADDED.search(rest):
        kinds += map(re.escape, known)
    if _ways(rest):
        kinds += map(re.escape, _ways(before))
    if other_side := opposite_of(rest):
        kinds.append(rf"(?:{other_side.pattern})[\w-]*")
    joint = rf"(?:{_JOINT} )?" if re.match(rf"{_JOINT}|{_PLACES}", rest, re.IGNORECASE) else ""
    pattern = re.compile(rf"(?:(?:,|\band|\bor) )?{joint}(?:{'|'.join(kinds)})", re.IGNORECASE)
    if not kinds or not pattern.search(before):
        return ""
    places = chain([rest], repeat(""))
    return f"{' '.join(pattern.sub(lambda _: next(places), before).split())}?"


def _ways(text: str) -> list[str]:
    """Return the words of ``text`` that name a form or route."""
    return [word for word in text.split() if is_form_word(fold_name(word))]


def is_follow_up(question: str) -> bool:
    """Return whether ``question`` can be understood only with the one before."""
    if _refers(question) or _asks_part(question):
        return True
    if _CLAUSE.match(question) and _unusual(question):
        return False
    if len(terms(question)) <= _FEW and _PLACE.match(question):
        return True
    most = 1 if _INTERROGATIVE.match(question) else 2
    return 1 <= len(terms(question)) <= most and len(question.split()) <= _FEW


def _refers(question: str) -> bool:
    """Return whether ``question`` says that it goes on from the one before."""
    pronoun = _PRONOUN.search(question) and not (_EXPLETIVE.search(question) and _unusual(question))
    if _LEAD.match(question) or ((pronoun or _ADDED.search(question)) and len(terms(question)) <= _FEW):
        return True
    return _PATIENT.search(question) is not None and not _unusual(question)


def _asks_part(question: str) -> bool:
    """Return whether ``question`` asks for a part of a record or label, or for a dose in some patients, and no more."""
    asked, *patients = re.split(rf"\b{_PLACES}", question, maxsplit=1, flags=re.IGNORECASE)
    if patients and (_may_be_medicine(patients[0]) or not _DOSE.search(asked)):
        return False
    return only_parts(asked)


def _unusual(question: str) -> bool:
    """Return whether ``question`` has a word that is not an everyday one, such as the name of its subject."""
    return not all(map(is_ordinary, re.findall(r"[^\W_]+", question.lower())))


def _may_be_medicine(text: str) -> bool:
    """Return whether a medicine, or an uncommon word that is no disease, form or value, is what ``text`` is about."""
    if _INTERROGATIVE.match(text) or _PLACE.match(text.removeprefix("for ")):
        return False
    named = {*CONTEXT, *fold_name(value_names(text)).split()}
    words = [word for word in fold_name(text).split() if not (word in named or word.isdigit() or is_form_word(word))]
    return bool(label_terms().members_in(" ".join(words))) or not all(map(is_ordinary, words))
