"""Opposites in whom a sentence is about: what is said of children does not answer a question about adults."""

from __future__ import annotations

import re
from typing import Final

_GROUPS: Final = (
    (r"\badults?\b|\bolder (?:people|patients)\b", r"\bchild(?:ren)?\b|\binfants?\b|\bpaediatric|\bpediatric"),
    (r"\bnon-?severe\b", r"(?<!non-)(?<!non)\bsevere\b"),
    (r"\boutpatients?\b", r"\binpatients?\b"),
    (r"\b(?:without|no) (?:\w+ )?comorbidit", r"\bwith (?:\w+ )?comorbidit|\bcomorbidity$"),
    (r"\bcommunity[ -]acquired\b", r"\bhospital[ -]acquired\b"),
    (r"\btype[ -]?1 diabetes\b", r"\btype[ -]?2 diabetes\b"),
    (r"(?<!wo)\bmen\b", r"\bwomen\b"),
)  # fmt: skip
_PAIRS: Final = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for pair in _GROUPS
    for one, other in (pair, pair[::-1])
)


def contradicts(question: str, text: str) -> bool:
    """True when ``question`` names one side of an opposite, and ``text`` the other side alone."""
    return any(
        asked.search(question) and not opposite.search(question) and opposite.search(text) and not asked.search(text)
        for asked, opposite in _PAIRS
    )


def opposite_of(text: str) -> re.Pattern[str] | None:
    """The pattern of the other side, when ``text`` names one side of an opposite."""
    return next((opposite for asked, opposite in _PAIRS if asked.search(text)), None)
