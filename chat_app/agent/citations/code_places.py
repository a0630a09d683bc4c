"""Track whether streamed text ends in code, behind a backslash, or in prose.

Code is what CommonMark calls code: fenced blocks of backticks or tildes, indented blocks, and spans, also inside lists
and quotations. One thing differs: an indented line that begins as a list item does is a list item. Language models
indent their lists too far, and the page shows them as text, whose citations must not be lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_QUOTATION = 0
"""Represents a block quotation among the widths of list items."""
_INDENTED = 4
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_RULE = re.compile(r"(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$")
_HEADING = re.compile(r"#{1,6}(?: |$)")
_UNDERLINE = re.compile(r"(?:=+|-+)$")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=( +)|$)")
_MARKS = frozenset(" \t-+*>#=_~`.)0123456789")
"""What may stand before the first character of a line that tells what the line is."""
_SPECIAL = re.compile(r"[`\\\n]")


@dataclass(frozen=True, slots=True)
class MarkdownLine:
    """A line of Markdown, and what is open behind it."""

    inside: tuple[int, ...] = ()
    """Quotations and list items around it, outermost first; of an item, by how much its text is indented."""
    fence: str = ""
    """The marks that opened the code block around the line below, if any."""
    code: bool = False
    paragraph: bool = False
    goes_on: bool = False
    """Whether it goes on with the paragraph of the line above."""

    def below(self, text: str) -> MarkdownLine:
        """Return what ``text`` is as the line below this one; its end may still be missing."""
        text = text.expandtabs(_INDENTED).rstrip(" \r")
        kept, at = _kept(self.inside, text)
        same = kept == len(self.inside)
        if self.fence and same:
            closed = re.fullmatch(rf" {{0,3}}{self.fence}{self.fence[0]}*", text[at:])
            return MarkdownLine(self.inside, "" if closed else self.fence, code=True)
        inside, going_on = self.inside[:kept], self.paragraph
        while True:
            rest = text[at:].lstrip(" ")
            indent = len(text) - at - len(rest)
            opened = _container(rest, indent, interrupts=going_on and same)
            if opened is None or (going_on and indent >= _INDENTED):
                break
            inside, going_on = (*inside, opened), False
            at = min(len(text), at + (opened or indent + 1 + rest.startswith("> ")))
        underlines = same and _UNDERLINE.match(rest) is not None
        if rest and going_on and (indent >= _INDENTED or not (underlines or _begins_block(rest))):
            return MarkdownLine(self.inside, paragraph=True, goes_on=True)
        return _leaf(inside, rest, indent, ends=going_on and underlines)


def _kept(inside: tuple[int, ...], text: str) -> tuple[int, int]:
    """Return how many open containers continue in ``text``, and where their content begins."""
    at = 0
    for kept, width in enumerate(inside):
        rest = text[at:].lstrip(" ")
        indent = len(text) - at - len(rest)
        if width == _QUOTATION and indent < _INDENTED and rest.startswith(">"):
            at += indent + 1 + rest.startswith("> ")
        elif width != _QUOTATION and (indent >= width or not rest):
            at = min(at + width, len(text))
        else:
            return kept, at
    return len(inside), at


def _container(rest: str, indent: int, *, interrupts: bool) -> int | None:
    """Return the quotation or list item that begins with ``rest``. Only some items may interrupt a paragraph."""
    if rest.startswith(">") and indent < _INDENTED:
        return _QUOTATION
    item = _ITEM.match(rest)
    if item is None or _RULE.match(rest):
        return None
    number, space = item[1], item[2] or ""
    if interrupts and (not space or (number is not None and int(number) != 1)):
        return None
    return indent + item.end() + (len(space) if 0 < len(space) <= _INDENTED else 1)


def _begins_block(rest: str) -> bool:
    return bool(_FENCE.match(rest) or _RULE.match(rest) or _HEADING.match(rest))


def _leaf(inside: tuple[int, ...], rest: str, indent: int, *, ends: bool) -> MarkdownLine:
    """Return a line that opens no further container; ``ends`` for the line under a heading."""
    if not rest:
        return MarkdownLine(inside)
    if indent >= _INDENTED:
        return MarkdownLine(inside, code=True)
    fence = _FENCE.match(rest)
    if fence:
        return MarkdownLine(inside, fence[0], code=True)
    return MarkdownLine(inside, paragraph=not (ends or _begins_block(rest)))


class CodePlace:
    """Give it a text in pieces; it knows where the next character would stand. How the text is cut changes nothing."""

    def __init__(self) -> None:
        self._above = MarkdownLine()
        self._text = ""
        self._rest: list[str] = []
        self._line: MarkdownLine | None = None
        self._span = 0
        self._ticks = 0
        self._escaped = False

    def is_literal(self, character: str) -> bool:
        """Whether ``character``, if it came next, would be code or stand behind a backslash."""
        if self._line is None:
            self._begin(self._above.below(self._text + character))
        self._end_run()
        return self._in_code_block or bool(self._span) or self._escaped

    def take(self, text: str) -> None:
        """Read the next piece of the text."""
        resting = self._line is not None and not (self._ticks or self._escaped)
        if resting and not _SPECIAL.search(text):
            self._rest.append(text)
            return
        for character in text:
            if character == "\n":
                self._end_line()
                continue
            if self._line is not None:
                self._rest.append(character)
                self._inline(character)
                continue
            self._text += character
            if character not in _MARKS:
                self._begin(self._above.below(self._text))

    @property
    def _in_code_block(self) -> bool:
        return self._line is not None and self._line.code

    def _begin(self, line: MarkdownLine) -> None:
        """Enter the line, whose kind is known now, and read its beginning."""
        self._line = line
        if not line.goes_on:
            # Spans end with their paragraph, closed or not.
            self._span = 0
        for character in self._text:
            self._inline(character)

    def _inline(self, character: str) -> None:
        if self._in_code_block:
            return
        if character == "`" and not self._escaped:
            self._ticks += 1
            return
        self._end_run()
        self._escaped = character == "\\" and not self._escaped and not self._span

    def _end_run(self) -> None:
        """End a run of backticks: a span of code begins with one and ends with one of the same length."""
        run, self._ticks = self._ticks, 0
        if run and not self._span:
            self._span = run
        elif run == self._span:
            self._span = 0

    def _end_line(self) -> None:
        ended = self._above.below("".join((self._text, *self._rest)))
        if self._line is None:
            self._begin(ended)
        self._end_run()
        self._escaped = False
        self._above, self._text, self._line = ended, "", None
        self._rest.clear()
