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

from chat_app.offline import phrases
from chat_app.offline.extraction.drug_parts import asked_sections, only_parts
from chat_app.offline.extraction.opposite_sides import opposite_of
from chat_app.offline.planning.medicines_before import ADDED, BESIDE, IN_PLACE, subjects, taken_out
from chat_app.offline.planning.readings import closest_reading, tried_readings
from chat_app.offline.planning.small_talk import small_talk, without_courtesy
from chat_app.offline.reading.dialogue import Exchange
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.reading.tool_outputs import gather
from tools.drug_database.labels.label_scope import is_form_word
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.name_resolution import known_name
from tools.drug_database.names.query_words import CONTEXT
from tools.language.folding import fold_name
from tools.language.library_questions import library_question
from tools.language.terms import terms
from tools.language.vocabulary.clinical_vocabulary import is_known_word
from tools.language.vocabulary.common_words import LANGUAGES, is_function_word, is_ordinary
from tools.language.vocabulary.patient_values import value_names, with_new_values, with_told_values
from tools.language.vocabulary.populations import populations_in
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

_LEAD: Final = re.compile(
    r"^[\s¿¡]*(?:(?:and|but|or|so|then|also|(?:what|how) about|what (?:if|of)|und(?: was ist mit)?|y"
    r"|(?:if )?it['’]?s(?= [\w/-]+(?: (?:instead|then|though))?\W*$)|(?:the )?same(?![- ]day|-))\b[,.!]?\s*)+",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|these|those|this|that)(?: (?:drugs?|medicines?|medications?|class|agents?))?\b"
    r"|\bthe (?:drug|medicine|medication|same|former|latter)\b",
    re.IGNORECASE,
)
_PATIENT: Final = re.compile(r"\b(?:s?he['’]?s?|him|hers?|his)\b", re.IGNORECASE)
"""Means the patient of the question before."""
_GOES_ON: Final = re.compile(r"\b(?:afterwards?|beforehand|instead|otherwise|else)\b", re.IGNORECASE)
"""Says that something comes after, before or in the place of what was asked about before."""
_COMPARES: Final = re.compile(
    r"\b(?:which|what|welche[rs]?|was|cuál(?:es)?)(?: \w+){0,3}? (?:safer|better|stronger|weaker|cheaper|faster|longer"
    r"|shorter|higher|lower|greater|fewer|more|less|best|safest|prefer\w+|sicherer|besser|stärker|schwächer|günstiger"
    r"|schneller|länger|kürzer|höher|niedriger|eher|mehr|weniger|bevorzugt|vorzuziehen|más|menos|mejor|preferible)\b",
    re.IGNORECASE,
)
"""Compares the medicines of the questions before."""
_CLAUSES: Final = re.compile(r"[,;:.]\s| [-–—] ")
_ASKS, _VERBS = "what|which|when|who|how|why|where", "is|are|do|does|can|should"
_PLACES: Final = (
    r"(?:in|for|with|during|after|before|if|when|on|at|among|under|without"
    r"|bei|beim|im|mit|für|während|nach|vor|unter|ohne|wenn|ab|en|con|para|durante|antes|después|tras|si|sin)\b"
)
_JOINT: Final = r"\b(?:in|for|of|with|to)\b"
_ASKING: Final = re.compile(rf"\b(?:{_ASKS})\b|^\s*(?:{_VERBS})\b", re.IGNORECASE)
_INTERROGATIVE: Final = re.compile(rf"^\s*(?:{_ASKS}|{_VERBS})\b", re.IGNORECASE)
# Contains a verb but no "the", which would refer to the question before.
_CLAUSE: Final = re.compile(rf"^\s*(?:(?:{_ASKS}) )?(?:{_VERBS})\b(?!.*\bthe\b)", re.IGNORECASE)
# An "it" that stands for the rest of its own sentence, as in "is it safe to give ibuprofen".
_EXPLETIVE: Final = re.compile(rf"\bit (?:\w+ )?\w+ (?:that|to \w+ (?!{_PLACES})\w)", re.IGNORECASE)
_PLACE: Final = re.compile(rf"^\s*{_PLACES}", re.IGNORECASE)
_STATE: Final = re.compile(
    r"\b(?:if|when) it (?:\w+ )?(?:was|were|drops?|falls?|rises?|goes|gets|grew|climbs?|becomes|stays)\b"
    r"|\bit(?:['’]?s| is) (?:(?:about|just|now|only) )?\d"
    r"|\b(?:after|before) (?:that|this)(?! \w)",
    re.IGNORECASE,
)
"""This "it" means a value, a finding or a situation, and no medicine."""
_OFFER: Final = re.compile(
    "|".join(re.escape(phrases.said(phrases.DID_YOU_MEAN, language)) for language in LANGUAGES).replace(
        re.escape("{names}"), "(.+?)"
    )
)
_YES: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|correct|right|exactly|that one|please|i (?:do|did)|ja|genau|richtig|sí)\b[^?]{0,30}$",
    re.IGNORECASE,
)
_DOSE: Final = re.compile(r"\bdos(?:e|ing|age)|\bstrengths?\b|\bantidote", re.IGNORECASE)
"""What only a medicine has: other parts of a label may be asked for without meaning the medicine before."""
_FINITE: Final = word_list("finite_verbs")
_OVERDOSE: Final = re.compile("overdos", re.IGNORECASE)
_ENDING: Final = re.compile(r"[\s?.!]+$")
_FEW: Final = 5
"""Terms of a question that only narrows the one before."""
_FEWEST: Final = 2
"""Terms of a clause that says nothing to go on from."""


def standalone(turns: Sequence[Exchange], offered: Collection[str]) -> tuple[str, ...]:
    """Return the last question of a conversation as one that can be searched for without the others.

    It is returned in the readings to try in turn: completed from the question before, on the conversation's subject
    alone, and as it is where it may stand alone.
    ``offered`` names the functions of that question. One that only leaves words out leans on the question before, but
    stands alone where one of the two, and not the other, was searched for in what labels say of an overdose.
    """
    readings: tuple[str, ...] = ("",)
    resolved = answer = topic = subject = result = ""
    evidence, searched, compared = Evidence(), frozenset[str](), tuple[str, ...]()
    for turn in turns:
        if turn is not turns[-1] and (library_question(turn.question) or small_talk(turn.question)):
            continue
        question = without_courtesy(turn.question.strip())
        # A follow-up of everyday words with a pronoun asks about a calculation's result; any other has a topic itself.
        on_result = _PRONOUN.search(question) and not _unusual(question)
        used = frozenset(output.name for output in turn.outputs)
        now = offered if turn is turns[-1] else used
        alike = any(map(_OVERDOSE.search, searched)) == any(map(_OVERDOSE.search, now)) or not searched
        before = resolved if on_result else topic if alike or _refers(question) else ""
        known = Evidence() if on_result and result else evidence
        confirmed = _confirmed(question, resolved, answer)
        readings = (confirmed,) if confirmed else _readings(question, before, subject, known, compared)
        readings = readings if on_result else _with_result(readings, question, result)
        answer = turn.answer
        tried = tried_readings(readings, turn.outputs)
        resolved, outputs = closest_reading(question, tried) if phrases.is_unclear(answer) else tried[-1]
        found = gather(outputs)
        result = found.results
        if not found.calculations or found.searched_documents or found.lookups:
            topic, searched = resolved, used
            evidence = found if outputs else evidence
            names = subjects(resolved, found)
            own = not subject or (resolved == question and _length(question) > _FEWEST)
            subject = ", ".join(names) or (_ENDING.sub("", resolved) if own else subject)
            compared = (
                tuple(dict.fromkeys((*compared, *names))) if names and resolved != question else names or compared
            )
    return readings


def _confirmed(question: str, before: str, answer: str) -> str:
    """Return the question before with the name that "Did you mean ...?" offered, when ``question`` takes it up."""
    offered = _OFFER.search(answer)
    names = re.split(r", | (?:or|oder|o) ", offered[offered.lastindex or 0]) if offered else []
    said = re.sub(r"^(?:yes|ja|sí)\W+", "", _ENDING.sub("", question).lower())
    chosen = next((name for name in names if name.lower() == said), names[0] if names and _YES.match(question) else "")
    misspelt = difflib.get_close_matches(chosen.lower(), re.findall(r"[\w-]+", before.lower()), n=1) if chosen else []
    return re.sub(re.escape(misspelt[0]), chosen, before, count=1, flags=re.IGNORECASE) if misspelt else ""


def _readings(question: str, before: str, subject: str, evidence: Evidence, compared: Sequence[str]) -> tuple[str, ...]:
    """Return ``question`` completed from the one before, or as it is; both where it may be meant either way.

    A longer one is read as it is first, and then of the ``subject`` before. A single ordinary word is no question.
    ``compared`` are the medicines of the questions before, where each goes on from the one before it.
    """
    if library_question(question):
        return (question,)
    if len(compared) > 1 and _COMPARES.search(question) and not subjects(question, evidence):
        return (f"{_ENDING.sub('', _LEAD.sub('', question))} ({', '.join(compared)})?",)
    known = subjects(before, evidence)
    if before and (_refers(question) or _asks_part(question)):
        return tuple(dict.fromkeys((_completed(question, before, known), *_of_subject(question, subject))))
    own = _CLAUSE.match(question) and _unusual(question)
    alone = [question] if _length(question) > 1 or _unusual(question) else []
    if before and not own and _length(question) <= _FEW:
        return tuple(dict.fromkeys((_completed(question, before, known), *_of_subject(question, subject), *alone)))
    return tuple(dict.fromkeys((question, *(_of_subject(question, subject) if before and not own else ()))))


def _of_subject(question: str, subject: str) -> list[str]:
    """Return the reading of ``question`` that asks of the ``subject`` before alone, and of nothing else before."""
    rest = _ENDING.sub("", _LEAD.sub("", question))
    own = not rest or _PRONOUN.search(rest) or label_terms().names_any(rest)
    return [] if own or not subject else [f"{subject}, {rest}?"]


def _with_result(readings: tuple[str, ...], question: str, result: str) -> tuple[str, ...]:
    """Add the ``result`` of the calculation before to a ``question`` on the same patient; both readings if unsure."""
    goes_on = readings[0] != question or _refers(question)
    own = _CLAUSE.match(question) and _unusual(question)
    if not goes_on and (own or _length(question) > _FEW):
        return readings
    told = with_told_values(readings[0], result)
    return readings if told == readings[0] else (told, *(readings[1:] if goes_on else readings))


def _completed(question: str, before: str, known: Sequence[str]) -> str:
    rest = _ENDING.sub("", _LEAD.sub("", question))
    before = _ENDING.sub("", before)
    if _PRONOUN.search(rest) and not (known and _STATE.search(question)):
        if known:
            return f"{_PRONOUN.sub(' and '.join(known), rest, count=1)}?"
        return f"{before}?" if before.casefold().startswith(rest.casefold()) else f"{rest} ({before})?"
    if known and not _states(rest) and (_asks_part(rest) or _asks_dose(rest)):
        return f"{rest} ({' '.join([', '.join(known), *_ways(before)])})?"
    renewed = with_new_values(before, rest)
    words = [term for term in terms(rest) if not term.isdecimal()]
    if renewed != before and len(terms(value_names(rest))) + 1 >= len(words):
        return f"{renewed}?"
    if replaced := _replaced(renewed, rest, known):
        return replaced
    before = renewed
    return f"{before}{' ' if _PLACE.match(rest) else ', '}{rest}?" if rest else before


def _replaced(before: str, rest: str, known: Sequence[str]) -> str:
    """Return ``before`` with ``rest`` in the place of words of its kind; empty where it has none."""
    kinds = [re.escape(" ".join(rest.split()[:2])) + r"\b[^,;:]*"] if _PLACE.match(rest) else []
    if other_use := _other_use(before, rest):
        kinds.append(other_use)
    elif _length(rest) <= _FEW and _is_medicine(BESIDE.sub("", rest)) and not _states(rest):
        one = sum(not is_ordinary(word) for word in _names(rest)) == 1
        kinds += map(re.escape, taken_out(before, rest, known, one=one))
    if _ways(rest):
        kinds += map(re.escape, _ways(before))
    if other_side := opposite_of(rest):
        kinds.append(rf"(?:{other_side.pattern})[\w-]*")
    joint = rf"(?:{_JOINT} )?" if re.match(rf"{_JOINT}|{_PLACES}", rest, re.IGNORECASE) else ""
    pattern = re.compile(rf"(?:(?:,|\band|\bor) )?{joint}(?:{'|'.join(kinds)})", re.IGNORECASE)
    if not kinds or not pattern.search(before):
        return ""
    places = chain([IN_PLACE.sub("", rest)], repeat(""))
    return f"{' '.join(pattern.sub(lambda _: next(places), before).split())}?"


def _other_use(before: str, rest: str) -> str:
    """Return the pattern of what a medicine is for in ``before`` where ``rest`` names another use; empty otherwise."""
    use = rf"\bfor\b(?:(?! {_PLACES})[^,;:])*"
    asked = re.match(r"for\b", rest, re.IGNORECASE) and not populations_in(rest) and not value_names(rest)
    return use if asked and not label_terms().members_in(rest) and re.search(use, before, re.IGNORECASE) else ""


def _ways(text: str) -> list[str]:
    """Return the words of ``text`` that name a form or route."""
    return [word for word in text.split() if is_form_word(fold_name(word))]


def _refers(question: str) -> bool:
    """Return whether ``question`` says that it goes on from the one before."""
    short = _length(question) <= _FEW
    if _LEAD.match(question) or (short and (ADDED.search(question) or _GOES_ON.search(question))):
        return True
    if short and (_means_before(question) or _gives_value(question) or _states(question)):
        return True
    return _PATIENT.search(question) is not None and (short or not _unusual(question))


def _means_before(question: str) -> bool:
    """Return whether a pronoun means what was said before, and nothing in an earlier clause of ``question``."""
    pronoun = _PRONOUN.search(question)
    if pronoun is None or (_EXPLETIVE.search(question) and _unusual(question)):
        return False
    *earlier, _ = _CLAUSES.split(question[: pronoun.start()])
    own = [clause for clause in earlier if not _PATIENT.search(clause)]
    return not any(_unusual(clause) or _length(clause) > _FEWEST for clause in own)


def _gives_value(question: str) -> bool:
    """Return whether ``question`` asks nothing but says a value of the patient."""
    names = fold_name(value_names(question)).split()
    rest = " ".join(word for word in fold_name(question).split() if word not in names)
    return bool(names) and not _ASKING.search(question) and not _unusual(rest)


def _states(question: str) -> bool:
    """Return whether ``question`` asks nothing but says something about the patient of the question before."""
    if _ASKING.search(question):
        return False
    said = not _FINITE.isdisjoint(fold_name(question).split())
    return said or _PATIENT.match(question) is not None


def _asks_part(question: str) -> bool:
    """Return whether ``question`` asks for a part of a record or label, or for a dose in some patients, and no more."""
    asked, *patients = re.split(rf"\b{_PLACES}", question, maxsplit=1, flags=re.IGNORECASE)
    if patients and (_may_be_medicine(patients[0]) or not _DOSE.search(asked)):
        return False
    return only_parts(asked)


def _asks_dose(question: str) -> bool:
    """Return whether ``question`` asks in a few words for a dose, and names no medicine."""
    asked = "dosage" in asked_sections(question) and not _INTERROGATIVE.match(question)
    return asked and _length(question) <= _FEW and not _may_be_medicine(question)


def _length(text: str) -> int:
    """Return the number of terms in ``text``, without numbers and the function words of its language."""
    language = language_of(text)
    words = (word for word in text.split() if not is_function_word(word.lower(), language))
    return sum(not term.isdecimal() for term in terms(" ".join(words)))


def _unusual(question: str) -> bool:
    """Return whether ``question`` has a word that is not an everyday one, such as the name of its subject."""
    return not all(map(is_ordinary, re.findall(r"[^\W\d_]{2,}", _PATIENT.sub("", question).lower())))


def _may_be_medicine(text: str) -> bool:
    """Return whether a medicine, or an uncommon word that is no disease, form or value, is what ``text`` is about."""
    if _INTERROGATIVE.match(text) or _PLACE.match(text.removeprefix("for ")) or populations_in(text):
        return False
    words = _names(text)
    return bool(label_terms().members_in(" ".join(words))) or not all(map(is_ordinary, words))


def _is_medicine(text: str) -> bool:
    """Return whether ``text`` says at most a word beside a medicine's name, none beside a name that nobody knows."""
    language = language_of(text)
    names = [word for word in _names(text) if not is_function_word(word, language)]
    known = [word for word in names if known_name(word) or label_terms().names_any(word)]
    others = [word for word in names if word not in known and is_known_word(word)]
    return _may_be_medicine(text) and len(others) <= bool(known)


def _names(text: str) -> list[str]:
    """Return the words of ``text`` that may be names: no form, value, pronoun or single letter."""
    left_out = {*CONTEXT, *fold_name(value_names(text)).split()}
    words = fold_name(_GOES_ON.sub("", _PATIENT.sub("", text))).split()
    return [
        word for word in words if not (word in left_out or len(word) < 2 or word[0].isdigit() or is_form_word(word))
    ]
