"""The model's own words: every phrase that is no extract is here, and an answer holds no other.

Names, numbers and titles that are set into a phrase come from the question, the call or the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.language.vocabulary.common_words import Language

GREETING: Final = (
    "Hello. I answer clinical questions with sentences quoted from the sources I am given, each with its citation."
)
THANKS: Final = "You are welcome."
EMPTY: Final = "Please ask a question."
NO_SOURCES: Final = "Nothing found. No source was searched: I answer only with quotes from sources."
IMAGE: Final = "I cannot read images; I answer only from text."
FROM_CONVERSATION: Final = "From this conversation:"
FROM_GUIDELINES: Final = "From the guidelines:"
FROM_ENGLISH_GUIDELINES: Final = "From the guidelines, in English:"
FROM_FILES: Final = "From the files:"
MORE: Final = "More from the sources:"
CLOSEST: Final = "No sentence clearly answers this. The closest passages are:"
UNRELATED: Final = "No sentence clearly answers this. What was found shares only common words with the question."
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
DRUG_CLASS: Final = "Drug classes of {name}: {names}."
FIELDS: Final = "{tool} returned:"
FAILED: Final = "{names} gave no result, so this answer may be incomplete. The opened step says why."
NO_NAME: Final = "The drug database has no medicine spelt that way."
NO_INTERACTION: Final = (
    "The labels of {names} in the drug database do not mention each other. "
    "That is no evidence that the combination is safe."
)
DID_YOU_MEAN: Final = "Did you mean {names}?"

SEARCHING: Final = "Searching {places}."
COMPARING: Final = "Checking the labels of {names} for interactions."
CALLING: Final = "Calling {names}."
CHOOSING: Final = "Choosing the sentences that answer the question."

PRODUCT_COLUMNS: Final = ("Dosage form", "Route", "Strengths", "Brand names")
RECORD_COLUMNS: Final = ("Medicine", "Drug classes", "Brand names")
NOT_GIVEN: Final = "–"

_TRANSLATED: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {},
    "de": {
        FROM_GUIDELINES: "Aus den Leitlinien:",
        FROM_ENGLISH_GUIDELINES: "Aus den Leitlinien, auf Englisch:",
        FROM_FILES: "Aus den Dateien:",
        MORE: "Mehr aus den Quellen:",
        CLOSEST: "Kein Satz beantwortet das klar. Am nächsten kommen diese Stellen:",
        UNRELATED: "Kein Satz beantwortet das klar. Die Fundstellen teilen mit der Frage nur allgemeine Wörter.",
        NOTHING: "Nichts gefunden. Durchsucht wurden: {places}.",
        NO_SOURCES: "Nichts gefunden. Es wurde keine Quelle durchsucht: Ich antworte nur mit Zitaten aus Quellen.",
        NO_NAME: "Die Arzneimitteldatenbank enthält kein Arzneimittel dieser Schreibweise.",
        DID_YOU_MEAN: "Meinten Sie {names}?",
        GUIDELINES: "die Leitlinien",
        FILES: "die Dateien",
        DRUGS: "die Arzneimitteldatenbank",
        "and": "und",
        "or": "oder",
    },
    "es": {
        FROM_GUIDELINES: "De las guías:",
        FROM_ENGLISH_GUIDELINES: "De las guías, en inglés:",
        FROM_FILES: "De los archivos:",
        MORE: "Más de las fuentes:",
        CLOSEST: "Ninguna frase responde con claridad. Los pasajes más cercanos son:",
        UNRELATED: "Ninguna frase responde con claridad. Lo hallado solo comparte palabras comunes con la pregunta.",
        NOTHING: "No se encontró nada. Se buscó en: {places}.",
        NO_SOURCES: "No se encontró nada. No se buscó en ninguna fuente: solo respondo con citas de fuentes.",
        NO_NAME: "La base de datos de medicamentos no tiene ninguno escrito así.",
        DID_YOU_MEAN: "¿Quiso decir {names}?",
        GUIDELINES: "las guías",
        FILES: "los archivos",
        DRUGS: "la base de datos de medicamentos",
        "and": "y",
        "or": "o",
    },
}


def said(phrase: str, language: Language) -> str:
    """Return ``phrase`` in ``language``; a phrase without a translation stays English."""
    return _TRANSLATED[language].get(phrase, phrase)


def section_name(section: str) -> str:
    """Return the name of a label's section for headings."""
    return "in an overdose" if section == "overdosage" else section.replace("_", " ")


def listed(names: list[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} {joint} {names[-1]}"
