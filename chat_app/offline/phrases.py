"""The model's own words: every phrase that is no extract is here, and an answer holds no other.

Names, numbers and titles that are set into a phrase come from the question, the call or the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final

import orjson

from tools.drug_database.names.name_keys import joined
from tools.language.vocabulary.common_words import LANGUAGES, Language

GREETING: Final = (
    "Hello. I answer clinical questions with sentences quoted from the sources I am given, each with its citation."
)
THANKS: Final = "You are welcome."
FAREWELL: Final = "Goodbye."
NEXT: Final = "Ask your next question at any time."
ABOUT: Final = (
    "I quote sentences word for word from the loaded guidelines and drug labels, each with its citation, and add "
    "nothing of my own. I may choose the wrong sentence: open the citation to check that it fits your patient."
)
NO_REASONS: Final = (
    "I only quote sources and give no reasons of my own. To find a reason in them, name the subject in your question."
)
EMPTY: Final = "Please ask a question."
NO_SOURCES: Final = "Nothing found. No source was searched: I answer only with quotes from sources."
IMAGE: Final = "I cannot read images; I answer only from text."
LOADED: Final = "Loaded guidelines:"
LOADED_ON: Final = "Loaded guidelines with this subject in the title:"
NONE_ON: Final = "No loaded guideline has this subject in its title. All loaded guidelines:"
NONE_LOADED: Final = "No guideline is loaded."
NO_DETAILS: Final = "its file names no issuer or date"
DRUG_COUNT: Final = "The drug database has {count} medicines. Ask about one by its name."
FROM_CONVERSATION: Final = "From this conversation:"
FROM_GUIDELINES: Final = "From the guidelines:"
FROM_ENGLISH_GUIDELINES: Final = "From the guidelines, in English:"
ONE_PATIENT: Final = "If one patient takes all of these medicines:"
FROM_FILES: Final = "From the files:"
MORE: Final = "More from the sources:"
SAYS_MORE: Final = "The section that is quoted first says more. Open its reference to read all of it."
CLOSEST: Final = "No sentence clearly answers this. The closest passages are:"
NO_CALCULATOR: Final = "There is no calculator for this here: {names}."
UNRELATED: Final = "No sentence clearly answers this. What was found shares only common words with the question."
ABSENT: Final = "No loaded guideline contains this word: {names}."
NOT_STATED: Final = "No sentence clearly answers this for {names}."
NOTHING: Final = "Nothing found. Searched: {places}."
GUIDELINES: Final = "the guidelines"
FILES: Final = "the files"
DRUGS: Final = "the drug database"
PRODUCTS: Final = "Products of {name} in the drug database:"
LABEL: Final = "{name}, {section}:"
OTHER_FORM: Final = "label for: {shown}; no label for: {asked}"
NOT_MENTIONED: Final = "this label text does not mention {names}"
NO_DOSE: Final = "no dose in this label text is said to be for: {names}"
RECORDS: Final = "Matching records in the drug database:"
BRANDS: Final = "Brand names of {name}: {names}."
DISCONTINUED: Final = "The drug database lists only discontinued products of {names}."
DISCONTINUED_PRODUCTS: Final = "Discontinued products of {name}:"
DISCONTINUED_BRANDS: Final = "Discontinued brand names of {name}: {names}."
DRUG_CLASS: Final = "Drug classes of {name}: {names}."
FIELDS: Final = "{tool} returned:"
FAILED: Final = "{names} gave no result, so this answer may be incomplete. The opened step says why."
NO_NAME: Final = "The drug database has no medicine spelt that way."
DID_YOU_MEAN: Final = "Did you mean {names}?"

SEARCHING: Final = "Searching {places}."
COMPARING: Final = "Checking the labels of {names} for interactions."
CALLING: Final = "Calling {names}."
CHOOSING: Final = "Choosing the sentences that answer the question."

PRODUCT_COLUMNS: Final = ("Dosage form", "Route", "Strengths", "Brand names")
RECORD_COLUMNS: Final = ("Medicine", "Drug classes", "Brand names")
NOT_GIVEN: Final = "–"

TRANSLATED: Final[dict[str, dict[str, str]]] = orjson.loads(
    (resources.files("chat_app.offline") / "translations.json").read_bytes()
)
"""By language the phrases that have a translation, by their English text."""


def is_unclear(answer: str) -> bool:
    """Return whether an ``answer`` of the model says that no sentence answers clearly, or that nothing was found."""
    openings = (said(phrase, language) for phrase in (CLOSEST, UNRELATED, NOTHING) for language in LANGUAGES)
    return any(opening.partition("{")[0] in answer for opening in openings)


def said(phrase: str, language: Language) -> str:
    """Return ``phrase`` in ``language``; a phrase without a translation stays English."""
    return TRANSLATED.get(language, {}).get(phrase, phrase)


def filled(phrase: str, language: Language, names: Mapping[str, Iterable[str]], joint: str = "and") -> str:
    """Return ``phrase`` in ``language`` with each list of ``names`` set into it."""
    listings = {
        key: joined([said(one, language) for one in values], joint=said(joint, language))
        for key, values in names.items()
    }
    return said(phrase, language).format(**listings)


def section_name(section: str, language: Language = "en") -> str:
    """Return the name of a label's section for headings."""
    return said("in an overdose" if section == "overdosage" else section.replace("_", " "), language)
