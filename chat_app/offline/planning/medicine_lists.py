"""Reads a question on each medicine of a list: "which of these raise potassium?"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chat_app.offline.composition.asked_of_pairs import asks_on_all
from chat_app.offline.extraction.drug_parts import asked_sections
from chat_app.offline.planning.followup_signs import length
from chat_app.offline.planning.followups import ENDING
from chat_app.offline.planning.medicines_before import subjects
from chat_app.offline.reading.evidence import Evidence
from tools.drug_database.names.query_words import parse_query
from tools.language.sentences import sentences
from tools.language.vocabulary.patient_values import other_values, value_names
from tools.language.vocabulary.populations import populations_in
from tools.language.word_lists import word_list

_FEWEST: Final = 3
_MOST_TERMS: Final = 6
"""Maximum number of terms for each medicine of a list, beside the question; a described case has more."""
_END_OF_ITEM: Final = re.compile(r"[.;:?!]\s+|\n| [-–—] ")
_OF_THESE: Final = re.compile(
    r"^\W*(?:which|any|anything|what|welche[rsn]?|was|etwas|irgendwas|cuál(?:es)?|qué|algo)(?: ones?| drugs?| meds?)?"
    r"(?: (?:of|from|on|von|auf) (?:these|those|them|this list|the list|diesen|davon|estos))?(?: davon)?\b",
    re.IGNORECASE,
)
"""The words that ask for medicines of the list."""
_ACTS: Final = re.compile(rf"\b(?:{'|'.join(map(re.escape, word_list('list_actions')))})", re.IGNORECASE)


def of_each(question: str, evidence: Evidence) -> Mapping[str, str]:
    """Return for each medicine of a list what ``question`` asks of it; empty if it does not ask of a list.

    A list names at least three medicines in few other words. The question follows or precedes it, and is not on their
    combination.
    """
    names = list(dict.fromkeys(record.name for record in evidence.named))
    asked, told = _asked_beside(question, evidence) if len(names) >= _FEWEST and not evidence.on_overdose else ("", "")
    if not asked or length(told) > _MOST_TERMS * len(names):
        return {}
    if parse_query(asked).asks_together or "interactions" in asked_sections(asked):
        return {}
    if asks_on_all(asked) and not (_ACTS.search(asked) or value_names(told) or populations_in(told)):
        return {}
    rest = ENDING.sub("", _OF_THESE.sub("", asked)).strip()
    about = ", ".join([*_values(told, asked), *(populations_in(told) if not populations_in(asked) else ())])
    names.sort(key=lambda name: _place(name, question, evidence))
    return {name: f"{rest} ({', '.join(filter(None, (name, about)))})?" for name in names}


def _place(name: str, text: str, evidence: Evidence) -> int:
    """Return where ``text`` names a medicine, or its end where it is named in another language."""
    typed = (record.matched_on for record in evidence.named if record.name == name)
    found = (re.search(rf"\b{re.escape(one)}", text, re.IGNORECASE) for one in (*typed, name) if one)
    return min((match.start() for match in found if match), default=len(text))


def _values(told: str, asked: str) -> list[str]:
    """Return the values of ``told`` whose names ``asked`` has, else all; but no age, which bounds other statements."""
    values = [value for value in other_values(told, asked) if not value[0].isdigit()]
    return [value for value in values if value.split()[0] in asked.casefold()] or values


def _asked_beside(text: str, evidence: Evidence) -> tuple[str, str]:
    """Return the question after or before the medicines that ``text`` names, and all other words; empty if none is."""
    named = replace(evidence, lookups=[replace(each, records=tuple(evidence.named)) for each in evidence.lookups[:1]])
    mentions = map(re.escape, subjects(text, named, beside=False))
    found = list(re.finditer(rf"\b(?:{'|'.join(mentions) or '(?!)'})", text, re.IGNORECASE))
    if not found:
        return "", ""
    end = _END_OF_ITEM.search(text, found[-1].end())
    for side in (text[end.end() :] if end else "", text[: found[0].start()]):
        parts = [part for line in side.split("\n") for part in sentences(line)]
        asking = [part for part in parts if part.endswith("?")] or (
            parts[-1:] if end and side == text[end.end() :] else []
        )
        if asking and length(asked := " ".join(asking)):
            return asked, text.replace(asking[0], "") if len(asking) == 1 else text
    return "", ""
