"""Tell whether a line of a PDF page continues the heading, paragraph or list item before it."""

import re
from dataclasses import dataclass

from tools.documents.models import BlockKind, TableRows
from tools.documents.pdf.pdf_lines import Line
from tools.language.sentences import is_unfinished

_NUMBERED = re.compile(r"\d+[.)]\s")
_SENTENCE_CLOSED = re.compile(r"[.!?:;]['\"”’)\]]*(?:\d{1,3}(?:[,–-]\d{1,3})*)?$")
_LEADING = 1.5
"""Maximum distance between lines of one paragraph, in heights of the type."""
_LEAST_BROKEN = 25
"""Minimum length, in characters, of a line wrapped at the column edge."""
_LONG_WORD = 7.0
"""Maximum width that a wrapped line leaves free, in heights of the type."""


@dataclass(slots=True)
class BlockDraft:
    """A block of a page as it is put together from its lines."""

    kind: BlockKind
    lines: list[Line]
    table: TableRows | None = None

    @property
    def last(self) -> Line:
        """The line that was added last."""
        return self.lines[-1]


def face(line: Line) -> tuple[int, bool]:
    """Return the type of a line: its size in half points, and whether it is bold."""
    return (round(line.size * 2), line.bold)


def _is_closed(text: str) -> bool:
    """Return whether the text ends a sentence, with or without a reference number."""
    return not text[-1:].isalpha() and _SENTENCE_CLOSED.search(text[-60:]) is not None


def is_second_line(line: Line, last: BlockDraft | None) -> bool:
    """Return whether a line continues text above it in the same type, such as a table's header."""
    if last is None or last.kind == "heading" or not line.text[0].islower():
        return False
    return face(line) == face(last.last) and 0 < last.last.base - line.base <= 1.9 * line.size


def _fills_column(draft: BlockDraft, line: Line) -> bool:
    """Return whether a paragraph ends at the foot of its column, within a sentence, and ``line`` is as wide as it."""
    *others, last = draft.lines
    width = max(each.right for each in draft.lines) - last.left - _LONG_WORD * last.size
    long = min(len(last.text), len(line.text)) >= _LEAST_BROKEN and not _NUMBERED.match(line.text)
    return len(others) > 1 and long and last.right - last.left > width < line.right - line.left


def runs_on(draft: BlockDraft, line: Line, kind: BlockKind) -> bool:
    """Return whether the supposed heading is a sentence that begins in bold type and continues with this line."""
    last = draft.last
    if draft.kind != "heading" or kind != "text" or _is_closed(last.text):
        return False
    below = 0 < last.base - line.base <= _LEADING * line.size and abs(line.size - last.size) < 0.6
    # A line is broken where the next word does not fit; a heading over a list ends anywhere.
    broken = len(last.text) >= _LEAST_BROKEN and last.right > line.right - _LONG_WORD * line.size
    goes_on = is_unfinished(last.text) or line.text[0].islower()
    return goes_on and below and broken and last.left < line.right and line.left < last.right


def continues(draft: BlockDraft, line: Line, kind: BlockKind) -> bool:
    """Return whether ``line``, which would be a block of ``kind``, is a part of the draft."""
    last = draft.last
    if last.hyphenated:
        return abs(line.size - last.size) < 1.0 and kind in ("text", draft.kind)
    if kind in ("caption", "item"):
        return False
    closed = _is_closed(last.text)
    goes_on = not closed or last.text.endswith(";")
    gap = last.base - line.base
    if kind == "text" and draft.kind in ("text", "item") and goes_on:
        alike = abs(line.size - last.size) < 0.6
        if line.text[0].islower() or (gap < 0 and alike and _fills_column(draft, line)):
            return alike
    tall = max(line.size, 6.0)
    near = 0 < gap <= 1.9 * max(tall, last.size)
    if draft.kind == "heading" or kind == "heading":
        alike = face(line) == face(last) or (line.size == last.size and line.text[0].islower())
        return draft.kind == kind and alike and near and len(draft.lines) < 4
    if draft.kind == "caption":
        return near and face(line) == face(last) and not closed
    if draft.kind == "item" and line.left < draft.lines[0].left - 1:
        return False
    overlaps = line.left < last.right and last.left < line.right
    tight = gap <= 1.45 * tall or (not closed and abs(line.size - last.size) < 0.6)
    return near and overlaps and abs(line.size - last.size) < 1.5 and tight
