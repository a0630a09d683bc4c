"""Finds citation markers such as ``[3]``, ``[2, 5]`` or ``[2-4]`` in text that streams in, however it is cut.

A marker inside code, an escaped bracket, a Markdown link and anything else in brackets stay text. Text is held back
only while it may still become a marker; ``flush`` gives out what is held at the end.
"""

import re
from dataclasses import dataclass

from chat_app.agent.citations.code_places import CodePlace

_NUMBERS = r"\d{1,4}(?:[-\u2013]\d{1,4})?"
_MARKER = re.compile(rf"\[(?:{_NUMBERS}(?:(?:, ?|; ?){_NUMBERS})*(?P<end>\]|, ?|; ?|[-\u2013])?)?")
"""A marker, or the beginning of one."""
_NUMBER_OR_RANGE = re.compile(r"(\d+)(?:[-\u2013](\d+))?")
_LONGEST_RANGE = 20
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation marker as it was written, and the numbers in it, those of a range one by one."""

    raw: str
    numbers: tuple[int, ...]
    ranges: bool = False
    """Whether it names a first and a last number, as an interval of values does, too."""


class MarkerParser:
    """Feed it text; it gives text and markers, in order; joined, they are the text again."""

    def __init__(self) -> None:
        self._held = ""
        self._place = CodePlace()

    def feed(self, text: str) -> list[str | Marker]:
        """Return the text and markers that are complete once ``text`` has come."""
        parts: list[str | Marker] = []
        rest, self._held = self._held + text, ""
        while rest:
            before, bracket, behind = rest.partition("[")
            self._pass_on(before, before, parts)
            rest = bracket + behind
            if not rest:
                break
            found = None if self._place.is_literal(bracket) else _MARKER.match(rest)
            if found and found.end() == len(rest) <= _LONGEST:
                self._held = rest
                break
            # "[1](" begins a link: those are the author's brackets, not a citation.
            whole = found and found["end"] == "]" and found.end() <= _LONGEST and rest[found.end()] != "("
            raw = found[0] if found and whole else bracket
            self._pass_on(raw, _marker(raw) if whole else raw, parts)
            rest = rest.removeprefix(raw)
        return parts

    def flush(self) -> list[str | Marker]:
        """Return what is still held; call it once, at the end of the text."""
        parts: list[str | Marker] = []
        held, self._held = self._held, ""
        self._pass_on(held, _marker(held) if held.endswith("]") else held, parts)
        return parts

    def _pass_on(self, raw: str, part: str | Marker, parts: list[str | Marker]) -> None:
        self._place.take(raw)
        if parts and isinstance(part, str) and isinstance(parts[-1], str):
            parts[-1] += part
        elif part:
            parts.append(part)


def _marker(raw: str) -> Marker | str:
    """Return the marker, or the text itself where its numbers cannot be meant one by one, as in ``[5-2]``."""
    numbers: list[int] = []
    found = _NUMBER_OR_RANGE.findall(raw)
    for first, last in found:
        span = range(int(first), int(last or first) + 1)
        if not 0 < len(span) <= _LONGEST_RANGE:
            return raw
        numbers += span
    return Marker(raw, tuple(numbers), ranges=any(last for _, last in found))
