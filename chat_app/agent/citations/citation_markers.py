"""Finds citation markers such as ``[3]``, ``[2, 5]`` or ``[2-4]`` in text that streams in, however it is cut.

A marker inside code, an escaped bracket, a Markdown link and anything else in brackets stay text. Text is held back
only while it may still become a marker; ``flush`` gives out what is held at the end.
"""

import re
from dataclasses import dataclass

from chat_app.agent.citations.code_places import CodePlace

_NUMBERS = r"\d{1,4}(?:[-\u2013]\d{1,4})?"
_BEGINNING = re.compile(rf"\[(?:{_NUMBERS}(?:(?:, ?|; ?){_NUMBERS})*(?:, ?|; ?|[-\u2013])?)?")
_WHOLE = re.compile(rf"\[{_NUMBERS}(?:(?:, ?|; ?){_NUMBERS})*\]")
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
        if not self._held and "[" not in text:
            self._place.take(text)
            return [text] if text else []
        parts: list[str | Marker] = []
        for character in text:
            self._take(character, parts)
        return parts

    def flush(self) -> list[str | Marker]:
        """Return what is still held; call it once, at the end of the text."""
        parts: list[str | Marker] = []
        if _WHOLE.fullmatch(self._held):
            _add(parts, _marker(self._held))
        elif self._held:
            _add(parts, self._held)
        self._held = ""
        return parts

    def _take(self, character: str, parts: list[str | Marker]) -> None:
        if self._held:
            if self._grow(character):
                self._place.take(character)
                return
            held, self._held = self._held, ""
            # "[1](" begins a link: those are the author's brackets, not a citation.
            if held.endswith("]") and character != "(":
                _add(parts, _marker(held))
            else:
                _add(parts, held)
        if character == "[" and not self._place.is_literal(character):
            self._held = character
        else:
            _add(parts, character)
        self._place.take(character)

    def _grow(self, character: str) -> bool:
        """Return whether ``character`` still belongs to what may be a marker."""
        candidate = self._held + character
        possible = _BEGINNING.fullmatch(candidate) or _WHOLE.fullmatch(candidate)
        if possible and len(candidate) <= _LONGEST:
            self._held = candidate
            return True
        return False


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


def _add(parts: list[str | Marker], part: str | Marker) -> None:
    if parts and isinstance(part, str) and isinstance(parts[-1], str):
        parts[-1] += part
    else:
        parts.append(part)
