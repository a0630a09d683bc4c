"""Reads a question on each medicine of a list: "which of these raise potassium?"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from chat_app.offline.extraction.drug_parts import asked_sections
from chat_app.offline.planning.calls import ABOUT_OTHERS
from chat_app.offline.planning.followup_signs import QUESTION_VERBS
from chat_app.offline.planning.followups import ENDING, of_patient
from chat_app.offline.reading.evidence import Evidence
from tools.drug_database.names.query_words import parse_query
from tools.language.sentences import sentences
from tools.language.word_lists import word_list

_FEWEST: Final = 3
_ACTIONS: Final = "|".join(map(re.escape, word_list("list_actions")))
_MEDICINES: Final = (
    r"(?:drugs|med(?:icine|ication)?s|tablets|pills|medications?|medikamente?n?|medikation|mitteln?|tabletten"
    r"|arzneimitteln?|medicamentos|fármacos)\b"
)
_THESE: Final = r"(?:these|those|them|this list|the list|diesen?|davon|estos|ellos)\b"
_VERBS: Final = (
    rf"(?:{QUESTION_VERBS}|to|needs?|ha(?:ve|s)|cause\w*|raise\w*|lower\w*|prolong\w*|worsen\w*|brauch\w+|haben)"
)
_OF_LIST: Final = re.compile(
    rf"\b(?:{_MEDICINES}|{_THESE}(?! \w+s\b))"
    rf"|\b(?:any|anything|something|etwas|irgendwas|algo)\b.*\b(?:{_ACTIONS})"
    rf"|\b(?:what|was|qué) (?:{QUESTION_VERBS}|to)\b.*\b(?:{_ACTIONS})"
    rf"|\b(?:which|welche|cuáles)(?: ones?)? {_VERBS}\b",
    re.IGNORECASE,
)
"""Refers to the medicines of a list: "which of these", "anything to stop", "which need a lower dose"."""
_OF_THESE: Final = re.compile(
    r"^\W*(?:which|any|anything|what|welche[rsn]?|was|etwas|irgendwas|cuál(?:es)?|qué|algo)(?: ones?)?"
    rf"(?: {_MEDICINES})?(?: (?:of|from|on|von|auf) (?:{_THESE}|\w+ {_MEDICINES}))?\b",
    re.IGNORECASE,
)
"""The words that ask for medicines of the list."""


def of_each(question: str, evidence: Evidence) -> Mapping[str, str]:
    """Return for each medicine of a list what ``question`` asks of it; empty if it does not ask of a list.

    A list names at least three medicines before or after the question, which names none and is not on their
    combination.
    """
    parts = [part for line in question.split("\n") for part in sentences(line)]
    asking = [part for part in parts if part.endswith("?")] or parts[-1:]
    asked, told = " ".join(asking), " ".join(part for part in parts if part not in asking)
    if evidence.on_overdose or not _OF_LIST.search(asked) or _asks_together(asked):
        return {}
    names = list(dict.fromkeys(evidence.names_in(told)))
    if len(names) < _FEWEST or evidence.names_in(asked):
        return {}
    rest = ENDING.sub("", _OF_THESE.sub("", asked)).strip()
    return {name: of_patient(rest, [name], told) for name in names}


def _asks_together(question: str) -> bool:
    """Return whether ``question`` asks what the medicines do together."""
    together = parse_query(question).asks_together or "interactions" in asked_sections(question)
    return together or ABOUT_OTHERS.search(question) is not None
