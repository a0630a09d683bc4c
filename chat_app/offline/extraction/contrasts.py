"""Opposites in whom a sentence is about: what is said of children does not answer a question about adults."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_CHILDREN: Final = (
    r"\bchild(?:ren)?\b|\binfants?\b|\bpa?ediatric|\bneonat|\bnewborns?\b|\badolescents?\b|\bteenagers?\b"
)
_GROUPS: Final = (
    (r"\badults?\b|\bolder (?:people|patients)\b|\belderly\b", _CHILDREN),
    (r"\bnon-?severe\b", r"(?<!non-)(?<!non)\bsevere\b"),
    (r"\boutpatients?\b", r"\binpatients?\b"),
    (r"\b(?:without|no) (?:\w+ )?comorbidit", r"\bwith (?:\w+ )?comorbidit|\bcomorbidity$"),
    (r"\bcommunity[ -]acquired\b", r"\bhospital[ -]acquired\b"),
    (r"\btype[ -]?1 diabetes\b", r"\btype[ -]?2 diabetes\b"),
    (r"(?<!wo)\bmen\b", r"\bwomen\b"),
)
_DOSES: Final = ((r"\bmaxim(?:um|al)\b|\bhighest\b", r"\bstart(?:s|ing)?\b|\binitial(?:ly)?\b"),)
_Pairs = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


def _both_ways(groups: Sequence[tuple[str, str]]) -> _Pairs:
    return tuple(
        (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
        for pair in groups
        for one, other in (pair, pair[::-1])
    )


_PATIENTS: Final = _both_ways(_GROUPS)
_PAIRS: Final = (*_PATIENTS, *_both_ways(_DOSES))
_CHILD: Final = re.compile(
    rf"{_CHILDREN}|\b(?:at|from|over|aged|above) (?:[1-9]|1[0-7])(?: to \d+)? years"
    r"|\b(?:[1-9]|1[0-7]) years (?:and|or) older",
    re.IGNORECASE,
)
_FEW: Final = re.compile(
    rf"{_CHILDREN}|\bpregnan|\bbreast-?feeding|\blactati|\bdialysis\b|\btransplant|\bkidney disease\b|\bCKD\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"\b(stage|step|grade|level|track|phase|category|G)[ -]?([0-9][ab]?)\b", re.IGNORECASE)


def contradicts(question: str, text: str) -> bool:
    """True when ``question`` names one side of an opposite, or one stage, and ``text`` another alone."""
    return _other_number(question, text) or _opposite(question, text, _PAIRS)


def of_other_patients(question: str, text: str) -> bool:
    """True when ``text`` is of other patients than ``question`` alone: of adults, where it asks of children."""
    return _opposite(question, text, _PATIENTS)


def of_few_patients(question: str, text: str) -> bool:
    """True when ``text`` is of a group, such as pregnant women, and ``question`` names none."""
    return _FEW.search(text) is not None and _FEW.search(question) is None


def names_children(text: str) -> bool:
    """True when ``text`` speaks of children, or of an age under 18."""
    return _CHILD.search(text) is not None


def _opposite(question: str, text: str, pairs: _Pairs) -> bool:
    return any(
        asked.search(question) and not opposite.search(question) and opposite.search(text) and not asked.search(text)
        for asked, opposite in pairs
    )


def _other_number(question: str, text: str) -> bool:
    asked, said = _numbers(question), _numbers(text)
    return any(name in said and not numbers & said[name] for name, numbers in asked.items())


def _numbers(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, number in _NUMBERED.findall(text):
        found.setdefault(name.lower(), set()).add(number.lower())
    return found


def opposite_of(text: str) -> re.Pattern[str] | None:
    """The pattern of the other side, when ``text`` names one side of an opposite."""
    return next((opposite for asked, opposite in _PAIRS if asked.search(text)), None)
