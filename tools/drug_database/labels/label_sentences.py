"""Label text as sentences that can be quoted: each is a stretch of the text as it stands, without its heading."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tools.drug_database.records import SectionName

_MOST: Final = 400
"""Sentences of one section; longer sections are cut there."""
_HEADING_WORDS: Final = 5
BULLET: Final = "•"
_LINE = re.compile(r"\n+|\s*(?=[•●▪])")
_END = re.compile(r"(?<=[.!?])[\])”\"']*\s+(?=[\"“(\[]?[A-Z0-9])")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|No|Fig|Tab|Dr|St|U\.S|mg|mL|max|min|ca|cf|al|incl)\.|\b[A-Z]\.|\(\d+(?:\.\d+)*\.)$"
)
_HEADING = re.compile(r"^\s*\d{1,2}(?:\.\d{1,2})*\s+(?:[A-Z][A-Z,&/()\-]*\s+){1,8}(?=[A-Z0-9•\[(])")
_WORD = re.compile(r"[A-Za-z]{2}")
_RENAL = re.compile(r"\b(renal|kidney|creatinine|CrCl|CLcr|eGFR|GFR|dialysis|nephro\w+)\b", re.IGNORECASE)
_HEPATIC = re.compile(r"\b(hepatic|liver|Child-?Pugh|cirrho\w+|transaminase\w*)\b", re.IGNORECASE)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a section, each once, in order.

    An item of a list is given with the words that lead into the list (``… is not indicated for: …``): alone it could
    say the opposite.
    """
    found: list[str] = []
    lead = ""
    for line in _LINE.split(_HEADING.sub("", text.strip())):
        clean = " ".join(line.split())
        if clean[:1] in {"•", "●", "▪"}:
            item = clean[1:].strip()
            found += _of_line(f"{lead} {item}" if lead and item else item)
        elif clean:
            parts = _of_line(clean)
            lead = parts[-1] if parts and parts[-1].endswith(":") else ""
            found += parts[:-1] if lead else parts
    return tuple(dict.fromkeys(part for part in found if _WORD.search(part) and not _is_heading(part)))[:_MOST]


def _of_line(line: str) -> list[str]:
    parts: list[str] = []
    for part in _END.split(line):
        if parts and part and (_NO_END.search(parts[-1]) or part[0].islower()):
            parts[-1] = f"{parts[-1]} {part}"
        elif part:
            parts.append(part)
    return parts


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
