"""Reads the direction of a change from one medicine or state to another, in a question and in a unit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from chat_app.offline.extraction.candidates import Candidate
from chat_app.offline.extraction.question import Question
from tools.language.quotable_units import Unit, term_set

_CHANGES: Final = r"(?:switch|chang|convert|conver[st]|transition|umstell|umgestellt|wechsel|cambi|pasar|pasa\b)\w*"
_FROM: Final = r"(?:from|von|vom|desde|de)"
_TO: Final = r"(?:to|auf|zu|zum|a|al|->|→)"
_CHANGE: Final = re.compile(rf"\b(?:{_CHANGES}|from|von|vom|desde)\b|->|→", re.IGNORECASE)
_BETWEEN: Final = re.compile(rf"(?<!\S){_TO}(?!\S)", re.IGNORECASE)
_SAID: Final = re.compile(
    rf"\b{_FROM}\b(?P<start>[^.;,]{{3,60}}?)\b{_TO}\b(?P<end>[^.;,]{{3,60}})"
    rf"|\b{_CHANGES}(?:(?P<before>[^.;,]{{0,60}}?)\b)?{_TO}\b(?P<after>[^.;,]{{3,60}})",
    re.IGNORECASE,
)
_ARROW: Final = re.compile(r"\s*(?:->|→)\s*")


class Direction(NamedTuple):
    """The question's terms that name the start and the end of a change, by their index."""

    start: frozenset[int] = frozenset()
    end: frozenset[int] = frozenset()


def read_directions(question: Question, candidates: list[Candidate]) -> tuple[list[int], list[Candidate]]:
    """Return the result of ``goes_along`` for each candidate, and the candidates.

    A unit that has the asked direction may name the class of a medicine instead. That term then counts as held.
    """
    asked = asked_direction(question)
    if asked is None:
        return [0] * len(candidates), candidates
    directions = [goes_along(question, asked, each.unit) for each in candidates]
    ends = asked.start | asked.end
    return directions, [
        replace(each, own=each.own | (each.near & ends)) if direction > 0 else each
        for each, direction in zip(candidates, directions, strict=True)
    ]


def asked_direction(question: Question) -> Direction | None:
    """Return the direction of a question about a change from one thing to another; None for other questions."""
    parts = _BETWEEN.split(question.text)
    if len(parts) != 2 or not _CHANGE.search(question.text):
        return None
    changes = {place for place, (form, *_) in enumerate(question.forms) if _CHANGE.search(" ".join(form))}
    start, end = (question.held(term_set(part)) - changes for part in parts)
    found = Direction(start - end, end - start)
    return found if all(found) else None


def goes_along(question: Question, asked: Direction, unit: Unit) -> int:
    """Return 1 if ``unit`` has the ``asked`` direction, -1 if the reverse one, and 0 if it tells none."""
    start, end = _ends(unit)

    def names(text: str, places: frozenset[int]) -> bool:
        stems = term_set(text)
        return not places.isdisjoint(question.held(stems) | question.nearly_held(stems))

    if names(end, asked.end) and (names(start, asked.start) or not start):
        return 1
    return -int(names(end, asked.start) or names(start, asked.end))


def _ends(unit: Unit) -> tuple[str, str]:
    """Return the words of ``unit`` for the start and the end of a change; both are empty if it tells none."""
    header = unit.table.header[:2] if unit.table else ()
    if len(header) == 2 and re.fullmatch(_FROM, header[0], re.IGNORECASE):
        return unit.cells[0], unit.cells[1]
    arrow = _ARROW.split(unit.cells[0] if unit.cells else unit.text)
    if len(arrow) == 2:
        return arrow[0], arrow[1]
    said = _SAID.search(unit.text)
    return ((said["start"] or said["before"] or "").strip(), said["end"] or said["after"]) if said else ("", "")
