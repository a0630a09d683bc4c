"""Recognizes statements about a document itself: its description, its scope and notes on its use."""

from __future__ import annotations

import re
from typing import Final

from chat_app.offline.reading.evidence import EvidencePassage
from tools.language.quotable_units import Unit, units
from tools.language.word_lists import word_list

_DOCUMENT: Final = (
    r"(?:clinical |practice |present |evidence )*"
    r"(?:documents?|guidelines?|guidance|publications?|dokuments?|leitlinien?|documentos?|guías?)"
)
_SCOPE: Final = re.compile(
    rf"\b(?:this|diese[rs]?|est[ae]) {_DOCUMENT} (?:does not |do not )?(?:address|appl|cover|deal|exclude|focus"
    r"|behandel|befass|gilt|abarca|cubre|trata)"
    r"|\b(?:is|are|was|were) (?:not|neither) (?:covered|addressed|discussed)\b|\b(?:beyond|outside|within) the scope\b"
    r"|\bnot an? (?:clinical )?guideline\b",
    re.IGNORECASE,
)
"""Matches a statement on what a document covers or does not cover."""
_ASKS_SCOPE: Final = re.compile(
    rf"\b(?:cover(?:s|ed)|scope|{_DOCUMENT}|abgedeckt|geltungsbereich\w*|cubre|abarca)\b", re.IGNORECASE
)


def is_about_document(question: str, unit: Unit, passage: EvidencePassage) -> bool:
    """Return whether ``unit`` describes its document, although ``question`` does not ask what the document covers.

    A description states the scope, or is a phrase without a verb between the title and the first heading.
    """
    if unit.table or _ASKS_SCOPE.search(question):
        return False
    if _SCOPE.search(unit.text):
        return True
    words = {word.strip(".,;:()").lower() for word in unit.text.split()}
    is_below_title = not passage.place and unit.heading == passage.document != units(passage.text)[-1].heading
    return is_below_title and word_list("finite_verbs").isdisjoint(words)
