"""The model's own words: every phrase that is not an extract stands here, and an answer holds no other.

Names, numbers and titles that are set into a phrase come from the question, the call or the source.
"""

from __future__ import annotations

from typing import Final

GREETING: Final = (
    "Hello. I answer clinical questions with sentences quoted from the sources I am given, each with its citation."
)
THANKS: Final = "You are welcome."
EMPTY: Final = "Please ask a question."
NO_SOURCES: Final = (
    "I answer only with extracts from sources, and this conversation gave me none that answer this. "
    "No source was searched."
)
IMAGE: Final = "I cannot read images; I answer only from text."
FROM_CONVERSATION: Final = "From this conversation:"
FROM_GUIDELINES: Final = "From the guidelines:"
FROM_FILES: Final = "From the files:"
PRODUCTS: Final = "Products of {name} in the drug database:"
LABEL: Final = "{name}, {section}:"
RECORDS: Final = "Matching records in the drug database:"
NAMED: Final = {
    "BRANDS": "Brand names of {name}: {names}.",
    "DRUG_CLASS": "Drug classes of {name}: {names}.",
}
FIELDS: Final = "{tool} returned:"
FAILED: Final = "{tool} failed: {message}"
NOTHING_IN_GUIDELINES: Final = "I searched the guidelines, and found no passage that answers this question."
NOTHING_IN_FILES: Final = "I searched the files, and found no passage that answers this question."
NO_RECORD: Final = "I searched the drug database for {name}, and found no matching record."
NO_NAME: Final = "The drug database has no medicine named {name}."
NOTHING_IN_RECORD: Final = "The record of {name} in the drug database does not answer this question."
NO_INTERACTION: Final = "The records of {names} in the drug database name no interaction between them."
DID_YOU_MEAN: Final = "Did you mean {names}?"
NO_ANSWER: Final = "The sources I searched do not answer this question."

SEARCHING_DOCUMENTS: Final = "Searching the guidelines."
SEARCHING_FILES: Final = "Searching the files."
LOOKING_UP: Final = "Looking up {names} in the drug database."
CALLING: Final = "Calling {names}."
CHOOSING: Final = "Choosing the sentences that answer the question."

PRODUCT_COLUMNS: Final = ("Dosage form", "Route", "Strengths", "Brand names")
RECORD_COLUMNS: Final = ("Medicine", "Drug classes", "Brand names")
NOT_GIVEN: Final = "not given"

SECTION_NAMES: Final = {
    "boxed_warning": "boxed warning",
    "indications": "indications",
    "dosage": "dosage",
    "contraindications": "contraindications",
    "warnings": "warnings",
    "interactions": "interactions",
    "renal_dosing": "renal dosing",
    "hepatic_dosing": "hepatic dosing",
    "pregnancy": "pregnancy",
}


def listed(names: list[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} {joint} {names[-1]}"
