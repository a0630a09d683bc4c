"""Recognizes follow-up questions: the words by which a question refers to the one before."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from chat_app.offline.extraction.answer_kinds import LASTS
from chat_app.offline.extraction.drug_parts import asked_sections, only_parts, record_parts
from chat_app.offline.extraction.numbers_beside import NAME_IN_CAPITALS
from chat_app.offline.reading.dialogue import ADDED
from tools.drug_database.labels.label_scope import is_form_word
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.name_resolution import known_name
from tools.drug_database.names.not_taken import without_allergens
from tools.drug_database.names.overdosage_wording import exposure_clauses
from tools.drug_database.names.query_words import CONTEXT
from tools.language.folding import fold_name
from tools.language.measurement_units import UNITS
from tools.language.terms import term, terms
from tools.language.vocabulary.absence import absence
from tools.language.vocabulary.clinical_vocabulary import is_known_word
from tools.language.vocabulary.common_words import ORDINARY, is_function_word, is_ordinary, ranks
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.populations import populations_in
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

LEAD: Final = re.compile(
    r"^[\s¿¡]*(?:(?:and|but|or|so|then|also|(?:what|how) about|what (?:if|of)|(?:no|nein)(?=,)"
    r"|und|oder|aber|was ist mit|wie (?:ist|sieht|steht) es (?:mit|bei|aus (?:mit|bei))|y"
    r"|(?:if )?it['’]?s(?= [\w/-]+(?: (?:instead|then|though))?\W*$)|(?:the )?same(?![- ]day|-))\b[,.!]?\s*)+",
    re.IGNORECASE,
)
_TIME: Final = r"(?:morning|afternoon|evening|night|day|week|month|year|time)s?\b"
_PRONOUN: Final = re.compile(
    rf"\b(?:it|its|they|them|their|(?:these|those|this|that)(?! {_TIME}))"
    r"(?: (?:drugs?|medicines?|medications?|class|agents?))?\b"
    r"|\bthe (?:(?:drug|medicine|medication|former|latter)\b|same\b(?! \w|-)|same(?= (?:appl|go|hold|true)))",
    re.IGNORECASE,
)
_GERMAN_PRONOUN: Final = re.compile(
    r"\b(?:(?<!gibt )(?<!geht )(?<!ist )[Ee]s(?! gibt| geht)"
    r"|[Dd]as(?= (?:auch|bei|denn|im|in|mit|nicht|so|trotz)\b|\W*$)|(?<=ist )das(?= \w+\W*$)"
    r"|[Dd]avon|[Dd]amit|[Dd]afür|[Dd]agegen)\b"
)
_PATIENT: Final = re.compile(r"\b(?:s?he['’]?s?|him|hers?|his|er|ihn|ihm|(?-i:sie|ihr))\b", re.IGNORECASE)
"""A pronoun for the patient of the question before."""
_GOES_ON: Final = re.compile(
    r"\b(?:afterwards?|beforehand|instead|otherwise|else|danach|stattdessen|sonst"
    r"|(?:any|very|much) different|different(?:ly|(?=\W*$))|better|worse|safer|similar(?:ly)?|likewise"
    r"|anders|besser|schlechter|sicherer|ebenso|genauso|mejor|peor)\b(?! than\b| als\b| que\b)",
    re.IGNORECASE,
)
"""Words that relate a question to the subject of the one before."""
_REVERSE: Final = re.compile(
    r"(?:(?:the )?other way (?:a?round|about)|vice[- ]versa|(?:the |in )?reverse"
    r"|anders(?:he)?rum|umgekehrt|al revés|viceversa)\W*",
    re.IGNORECASE,
)
_CLAUSES: Final = re.compile(r"[,;:.]\s| [-–—] ")
ASKING_WORDS: Final = (
    "(?:what|which|when|who|how|why|where)(?:['’]?s)?"
    "|was(?= (?:als|dann|geben|hilft|ist|kann|macht|muss|noch|nun|sind|soll|sonst|stattdessen|tun|wenn)\\b)"
    "|welche[mnrs]?|wann|wer|wie(?: (?:lange|oft|viel|hoch))?|wieviel|warum"
)
QUESTION_VERBS: Final = (
    "is|are|do|does|did|can|could|will|would|shall|should|may|might|must"
    "|ist|sind|kann|können|könnten?|darf|dürfen|dürften?|soll(?:en|ten?)?|muss|müssen|müssten?|würden?"
    "|pueden?|podrían?|deben?|deberían?|hay"
)
"""Verbs that begin a question. Notes leave out the patient before "has" and "was"."""
PREPOSITIONS: Final = (
    r"(?:in|for|with|during|after|before|if|when|on|at|among|under|without"
    r"|auf|gegen|trotz|wegen|bei|beim|im|mit|für|während|nach|vor|unter|ohne|wenn|ab"
    r"|en|con|para|durante|antes|después|tras|si|sin)\b"
)
_ASKING: Final = re.compile(rf"\b(?:{ASKING_WORDS})\b|^\s*(?:{QUESTION_VERBS})\b", re.IGNORECASE)
_INTERROGATIVE: Final = re.compile(rf"^\s*(?:{ASKING_WORDS}|{QUESTION_VERBS})\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    rf"^\s*(?:(?:{ASKING_WORDS}) )?(?:{QUESTION_VERBS})\b(?!.*\b(?:the|die|das|de[mnrs])\b)", re.IGNORECASE
)
"""A clause with a verb, but without an article, which would refer to the question before."""
_EXPLETIVE: Final = re.compile(rf"\bit (?:\w+ )?\w+ (?:that|to \w+ (?!{PREPOSITIONS})\w)", re.IGNORECASE)
"""An "it" that refers to the rest of its own sentence, as in "is it safe to give ibuprofen"."""
PREPOSITION: Final = re.compile(rf"^\s*{PREPOSITIONS}", re.IGNORECASE)
_DOSE: Final = re.compile(r"\bdos(?:e|ing|age)|\bstrengths?\b|\bantidote", re.IGNORECASE)
"""Parts of a label that only medicines have; other parts may be asked for without meaning the medicine before."""
_VERBS_OF_PATIENTS: Final = word_list("finite_verbs") | word_list("patient_verbs")
_AGAIN: Final = re.compile(r"re(?:start|check|test|try|dose|challenge|introduce|initiate)\w*")
_MOST_SHORT_TERMS: Final = 5
_MOST_BESIDE: Final = 3
"""Maximum number of words beside "how long", as in "how long should I treat"."""
MOST_EMPTY_TERMS: Final = 2
"""Maximum number of terms of a clause that does not name a subject."""


def pronouns(question: str) -> re.Pattern[str]:
    """Return the pattern of pronouns that refer to the question before, in the language of ``question``.

    The German "es" is a Spanish verb.
    """
    return _GERMAN_PRONOUN if language_of(question) == "de" else _PRONOUN


def length(text: str) -> int:
    """Return the number of terms in ``text``, without numbers and the function words of its language."""
    language = language_of(text)
    words = (word for word in text.split() if not is_function_word(word.lower(), language))
    return sum(not term.isdecimal() for term in terms(" ".join(words)))


def is_short(question: str) -> bool:
    """Return whether ``question`` is so short that it may only narrow the one before."""
    return length(question) <= _MOST_SHORT_TERMS


def is_whole(question: str) -> bool:
    """Return whether ``question`` is a clause that names its own subject."""
    return _CLAUSE.match(question) is not None and has_uncommon_word(question)


def form_words(text: str) -> list[str]:
    """Return the words of ``text`` that name a form or route; the German pronoun "er" is no "ER"."""
    language = language_of(text)
    words = (word for word in text.split() if word.isupper() or not is_function_word(word.lower(), language))
    return [word for word in words if is_form_word(fold_name(word))]


def refers_back(question: str) -> bool:
    """Return whether the words of ``question`` refer to the one before."""
    short = is_short(question)
    if LEAD.match(question) or asks_reverse(question):
        return True
    if short and (ADDED.search(question) or _GOES_ON.search(question)):
        return True
    if short and (means_before(question) or _gives_value(question) or states_more(question)):
        return True
    return _PATIENT.search(question) is not None and (short or not has_uncommon_word(question))


def asks_reverse(question: str) -> bool:
    """Return whether ``question`` only asks the one before with its two medicines exchanged."""
    return _REVERSE.fullmatch(LEAD.sub("", question)) is not None


def means_before(question: str) -> bool:
    """Return whether a pronoun refers to the question before, and not to an earlier clause of ``question``."""
    pronoun = pronouns(question).search(question)
    if pronoun is None or (_EXPLETIVE.search(question) and has_uncommon_word(question)):
        return False
    *earlier, _ = _CLAUSES.split(question[: pronoun.start()])
    own = [clause for clause in earlier if not _PATIENT.search(clause)]
    return not any(has_uncommon_word(clause) or length(clause) > MOST_EMPTY_TERMS for clause in own)


def _gives_value(question: str) -> bool:
    """Return whether ``question`` asks nothing, and only tells a value of the patient."""
    names = fold_name(value_names(question)).split()
    rest = " ".join(word for word in fold_name(question).split() if word not in names)
    return bool(names) and not _ASKING.search(question) and not has_uncommon_word(rest)


def states_more(question: str) -> bool:
    """Return whether ``question`` asks nothing, and only tells more about the patient of the question before."""
    if _ASKING.search(question):
        return False
    # The first part of "HAS-BLED" is no verb.
    words = re.findall(r"[^\W\d_]+", NAME_IN_CAPITALS.sub("", question).lower())
    said = not _VERBS_OF_PATIENTS.isdisjoint(words)
    return said or _PATIENT.match(question) is not None


def tells_allergy(question: str) -> bool:
    """Return whether ``question`` only states an allergy of the patient: "penicillin anaphylaxis"."""
    told = f", {question}"
    rest = without_allergens(told)
    return rest != told and not (has_uncommon_word(rest) or absence(question).denied)


def only_tells(question: str) -> bool:
    """Return whether ``question`` only describes a patient and asks nothing: "GI bleed on rivaroxaban"."""
    if "?" in question or _ASKING.search(question):
        return False
    asks = asked_sections(question) or record_parts(question) or _DOSE.search(question)
    return not asks or bool(value_names(question) or exposure_clauses(question).usual)


def asks_part(question: str) -> bool:
    """Return whether ``question`` only asks for a part of a record or label, or for a dose in some patients."""
    asked, *patients = re.split(rf"\b{PREPOSITIONS}(?=.*\w)", question, maxsplit=1, flags=re.IGNORECASE)
    if patients and (may_be_medicine(patients[0]) or not _DOSE.search(asked)):
        return False
    return only_parts(asked)


def asks_dose(question: str) -> bool:
    """Return whether ``question`` is short, asks for a dose and names no medicine."""
    asked = "dosage" in asked_sections(question) and not _INTERROGATIVE.match(question)
    return asked and is_short(question) and not may_be_medicine(question)


def only_asks_how_long(question: str) -> bool:
    """Return whether ``question`` asks for how long, with few other words."""
    rest, asks = LASTS.subn("", question)
    return bool(asks) and len(rest.split()) <= _MOST_BESIDE and is_everyday(rest)


def has_uncommon_word(question: str) -> bool:
    """Return whether ``question`` has a word beyond everyday ones, such as the name of its subject."""
    return not all(map(is_ordinary, re.findall(r"[^\W\d_]{2,}", _PATIENT.sub("", question).lower())))


def is_everyday(question: str) -> bool:
    """Return whether all words of ``question`` are ordinary ones, or forms of them."""
    return all(map(_is_ordinary_in_other_form, re.findall(r"[^\W\d_]{2,}", question.lower())))


def asks_anew(question: str) -> bool:
    """Return whether ``question`` asks for the products of a medicine that it names, or begins as one about a disease.

    A group of patients may only narrow the question before, and the dose of a medicine may be one for its patient.
    """
    words = re.findall(r"[^\W\d_]{2,}", question.lower())
    if label_terms().names_any(question) or any(map(known_name, words)):
        anew = bool(record_parts(question))
    else:
        anew = not CONTEXT.isdisjoint(words) and _INTERROGATIVE.match(question) is not None
    return anew and length(question) > MOST_EMPTY_TERMS and not populations_in(question)


def names_subject(question: str) -> bool:
    """Return whether ``question`` may name a subject of its own: a value, several words, or an uncommon one.

    Units do not count. Another form of an ordinary word ("alternatives") and a verb for "again" ("restart") are not
    uncommon, unless they name a medicine or disease.
    """
    words = [word for word in re.findall(r"[^\W\d_]{2,}", question.lower()) if word not in UNITS]
    if length(" ".join(words)) > 1 or not CONTEXT.isdisjoint(words):
        return True
    if value_names(question) or label_terms().names_any(question):
        return True
    known = any(known_name(word) for word in words)
    return has_uncommon_word(" ".join(words)) and (known or not all(map(_is_ordinary_in_other_form, words)))


def _is_ordinary_in_other_form(word: str) -> bool:
    return is_ordinary(word) or term(word) in _ordinary_terms() or _AGAIN.fullmatch(word) is not None


@cache
def _ordinary_terms() -> frozenset[str]:
    return frozenset(term(word) for word, rank in ranks("en").items() if rank <= ORDINARY)


def may_be_medicine(text: str) -> bool:
    """Return whether ``text`` names a medicine, or an uncommon word that is no disease, form or value."""
    if _ASKING.search(text) or PREPOSITION.match(text.removeprefix("for ")) or populations_in(text):
        return False
    words = possible_names(text)
    return bool(label_terms().members_in(" ".join(words))) or not all(map(is_ordinary, words))


def is_medicine(text: str) -> bool:
    """Return whether ``text`` says at most a word beside a medicine's name, none beside a name that nobody knows."""
    language = language_of(text)
    names = [word for word in possible_names(text) if not is_function_word(word, language)]
    known = [word for word in names if known_name(word) or label_terms().names_any(word)]
    others = [word for word in names if word not in known and is_known_word(word)]
    return may_be_medicine(text) and len(others) <= bool(known)


def possible_names(text: str) -> list[str]:
    """Return the words of ``text`` that may be names: no form, value, pronoun or single letter."""
    left_out = {*CONTEXT, *fold_name(value_names(text)).split()}
    words = fold_name(_GOES_ON.sub("", _PATIENT.sub("", text))).split()
    return [
        word for word in words if not (word in left_out or len(word) < 2 or word[0].isdigit() or is_form_word(word))
    ]
