"""Finds citation markers such as ``[3]``, ``[2, 5]`` or ``[2-4]`` in text that streams in, however it is cut.

A marker inside code, an escaped bracket, a Markdown link and anything else in brackets stay text. Text is held back
only while it may still become a marker; ``flush`` gives out what is held at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = r"\d{1,4}(?:[-\u2013]\d{1,4})?"
_BEGINNING = re.compile(rf"\[(?:{_NUMBERS}(?:(?:, ?|; ?){_NUMBERS})*(?:, ?|; ?|[-\u2013])?)?")
_WHOLE = re.compile(rf"\[{_NUMBERS}(?:(?:, ?|; ?){_NUMBERS})*\]")
_NUMBER_OR_RANGE = re.compile(r"(\d+)(?:[-\u2013](\d+))?")
_LONGEST_RANGE = 20
_SPECIAL = re.compile(r"[\[`\\\n]")
_LONGEST = 40
_BLOCK = 3


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
        self._ticks = 0
        self._fence = 0
        self._escaped = False
        self._newlines = 0

    def feed(self, text: str) -> list[str | Marker]:
        if not self._held and not self._ticks and not self._escaped and not _SPECIAL.search(text):
            self._newlines = 0
            return [text] if text else []
        parts: list[str | Marker] = []
        for character in text:
            self._take(character, parts)
        return parts

    def flush(self) -> list[str | Marker]:
        """What is still held: call it once, at the end of the text."""
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
                return
            held, self._held = self._held, ""
            # "[1](" begins a link: those are the author's brackets, not a citation.
            if held.endswith("]") and character != "(":
                _add(parts, _marker(held))
            else:
                _add(parts, held)
        if character == "`":
            self._ticks += 1
        else:
            self._end_run(character)
            if character == "[" and not self._fence and not self._escaped:
                self._held = character
                return
        self._escaped = character == "\\" and not self._escaped and not self._fence
        _add(parts, character)

    def _grow(self, character: str) -> bool:
        """True when ``character`` still belongs to what may be a marker."""
        candidate = self._held + character
        possible = _BEGINNING.fullmatch(candidate) or _WHOLE.fullmatch(candidate)
        if possible and len(candidate) <= _LONGEST:
            self._held = candidate
            return True
        return False

    def _end_run(self, character: str) -> None:
        """Code begins with a run of backticks and ends with a run of the same length, or a longer one for blocks."""
        run, self._ticks = self._ticks, 0
        if run and not self._fence:
            self._fence = run
        elif run and (run == self._fence or run > self._fence >= _BLOCK):
            self._fence = 0
        self._newlines = self._newlines + 1 if character == "\n" else 0
        if self._newlines > 1 and self._fence < _BLOCK:
            # A blank line ends a paragraph, and with it a code span that was never closed.
            self._fence = 0


def _marker(raw: str) -> Marker | str:
    """The marker; or the text itself, where its numbers cannot be meant one by one, as in ``[5-2]``."""
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
