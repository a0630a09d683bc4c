"""Split label text into quotable sentences, each a verbatim stretch of the text without its heading."""

import re
from collections.abc import Iterable
from typing import Final

from tools.drug_database.records import SectionName
from tools.language.sentences import BULLETS, Sentence, Span, sentence_spans

_MOST: Final = 400
"""Sentences of one section; longer sections are cut there."""
_HEADING_WORDS: Final = 5
BULLET: Final = "•"
_HEADING = re.compile(r"^\s*\d{1,2}(?:\.\d{1,2})*\s+(?:[A-Z][A-Z,&/()\-]*\s+){1,8}(?=[A-Z0-9•\[(])")
_WORD = re.compile(r"[A-Za-z]{2}")
_RENAL = re.compile(r"\b(renal|kidney|creatinine|CrCl|CLcr|eGFR|GFR|dialysis|nephro\w+)\b", re.IGNORECASE)
_HEPATIC = re.compile(r"\b(hepatic|liver|Child-?Pugh|cirrho\w+|transaminase\w*)\b", re.IGNORECASE)


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a section, each once, in order.

    An item of a list is given with the words that lead into the list (``… is not indicated for: …``): alone it could
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
    """``Risk Summary``, ``WARNING``: a few words that end without a stop say nothing by themselves."""
    return len(part.split()) <= _HEADING_WORDS and part[-1].isalpha() and " | " not in part


def organ_sections(
    sections: dict[SectionName, tuple[str, ...]], others: Iterable[str]
) -> dict[SectionName, tuple[str, ...]]:
    """``sections`` with the sentences on kidney and liver, from dosing and ``others``, gathered under their own."""
    pool = [*sections.get("dosage", ()), *others]
    found: dict[SectionName, tuple[str, ...]] = dict(sections)
    for name, words in (("renal_dosing", _RENAL), ("hepatic_dosing", _HEPATIC)):
        if name not in found:
            about = tuple(dict.fromkeys(sentence for sentence in pool if words.search(sentence)))
            if about:
                found[name] = about  # type: ignore[index]
    return found
