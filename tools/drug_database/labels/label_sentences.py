"""Split label text into quotable sentences, each a verbatim stretch of the text without its heading."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tools.drug_database.records.drug_record import SectionName
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.sentences import BULLETS, Sentence, Span, sentence_spans

_MOST: Final = 400
"""Maximum number of sentences of a section; longer sections are cut."""
_HEADING_WORDS: Final = 5
BULLET: Final = "•"
_SUBSECTIONS: Final = (
    "Pregnancy|Lactation|Nursing Mothers|Labor and Delivery"
    "|Pediatric Use|Geriatric Use|Renal Impairment|Hepatic Impairment"
)
"""Titles in section 8 of a label (21 CFR 201.57). They precede the text if its structure is lost."""
_HEADING = re.compile(
    rf"^\s*\d{{1,2}}(?:\.\d{{1,2}})*\s+(?:(?:{_SUBSECTIONS})\s+(?:Risk Summary\s+)?|(?:[A-Z][A-Z,&/()\-]*\s+){{1,8}})"
    r"(?=[A-Z0-9•\[(])"
)
_WORD = re.compile(r"[A-Za-z]{2}")
_RENAL = re.compile(r"\b(renal|kidney|creatinine|CrCl|CLcr|eGFR|GFR|dialysis|nephro\w+)\b", re.IGNORECASE)
_HEPATIC = re.compile(r"\b(hepatic|liver|Child-?Pugh|cirrho\w+|transaminase\w*)\b", re.IGNORECASE)


class SectionFields(Shipped):
    """``data/label_sections.json``: the sections by LOINC code and openFDA field, and further text on the organs."""

    loinc: dict[str, SectionName]
    other_loinc: frozenset[str]
    openfda: dict[SectionName, tuple[str, ...]]
    other_openfda: tuple[str, ...]


SECTION_FIELDS: Final = shipped("label_sections.json", SectionFields)


def label_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a section, each once, in order.

    An item of a list includes the words that lead into the list (``… is not indicated for: …``), since alone it could
    say the opposite.
    """
    body = _HEADING.sub("", text.strip())
    found = sentence_spans(body)
    leads = {sentence.lead for sentence in found}
    parts = [_part(body, sentence) for sentence in found if Span(sentence.start, sentence.end) not in leads]
    return tuple(dict.fromkeys(part for part in parts if _WORD.search(part) and not _is_heading(part)))[:_MOST]


def _part(text: str, sentence: Sentence) -> str:
    item = " ".join(text[sentence.start : sentence.end].split()).lstrip(f"{BULLETS} ")
    lead = " ".join(text[slice(*sentence.lead)].split()) if sentence.lead else ""
    return f"{lead} {item}" if lead and item else item


def _is_heading(part: str) -> bool:
    """Return whether ``part`` is a few words without a final stop, such as ``Risk Summary`` or ``WARNING``."""
    return len(part.split()) <= _HEADING_WORDS and part[-1].isalpha() and " | " not in part


def label_sections(written: Mapping[SectionName, str], others: Sequence[str]) -> dict[SectionName, tuple[str, ...]]:
    """Return the sections that have sentences.

    A missing section on the kidney or liver is collected from the sentences of the dosage section and ``others``.
    """
    found: dict[SectionName, tuple[str, ...]] = {
        name: said for name, text in written.items() if (said := label_sentences(text))
    }
    pool = [*found.get("dosage", ()), *others]
    organs: tuple[tuple[SectionName, re.Pattern[str]], ...] = (("renal_dosing", _RENAL), ("hepatic_dosing", _HEPATIC))
    for name, words in organs:
        if name not in found and (about := tuple(dict.fromkeys(text for text in pool if words.search(text)))):
            found[name] = about
    return found
