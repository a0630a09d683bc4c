"""Finds the tables of a page that have a caption: it begins with ``Table`` and a number, and the rows are under it.

PDFium reads a table in the order in which it was drawn, often column after column, so all lines under the caption
belong to it down to where something else begins.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from tools.documents.pdf.pdf_lines import TABLE_CAPTION, Line, PdfPage, is_caption
from tools.documents.tables.ruled_tables import ruled_tables
from tools.documents.tables.table_rows import SAME_EDGE, FoundTable, is_item_below, table_of

_END_OF_TABLE = 70.0
"""Points of white after which nothing more belongs to a table."""
_ABBREVIATIONS = re.compile(r"(?=\S*[A-Z]\S*[A-Z]|.*;)[A-Za-z][\w/]{0,9}(?: or [a-z]{1,4})?, [a-z]")
"""The line that spells out a table's abbreviations: ``DBP, diastolic blood pressure; SBP, ...``."""
_NOTES = ("source", "note", "abbreviations", "* ", "† ", "‡ ", "adapted from")
_MAX_CAPTION_LINES = 4


class CaptionedTables:
    """The tables of a page whose captions begin with ``Table`` and a number."""

    def __init__(self, lines: Sequence[Line], page: PdfPage, body_size: float) -> None:
        self._lines = lines
        self._page = page
        self._body_size = body_size
        self._captions = [at for at, line in enumerate(lines) if is_caption(line.text, line.bold)]
        self._taken: set[int] = set()
        self._downwards = sorted(range(len(lines)), key=lambda each: -lines[each].base) if self._captions else []

    def find(self) -> list[FoundTable]:
        """Return the tables in the order of their captions."""
        found: list[FoundTable] = []
        for at in self._captions:
            caption = _caption(self._lines, at, self._downwards)
            below = self._table(self._region(caption))
            if below is not None:
                words = " ".join(self._lines[index].text for index in caption)
                found.append(FoundTable(below.lines.union(caption), below.table.model_copy(update={"caption": words})))
                self._taken.update(found[-1].lines)
        return found

    def _table(self, region: Sequence[int]) -> FoundTable | None:
        """Return the table at the top of ``region``; rules between its rows tell where each of them and it ends."""
        others = frozenset(range(len(self._lines))).difference(region)
        for ruled in ruled_tables(self._lines, self._page, others):
            if ruled.lines == frozenset(region[: len(ruled.lines)]):
                return ruled
        table = table_of([self._lines[index] for index in region])
        return FoundTable(frozenset(region), table) if table else None

    def _region(self, caption: Sequence[int]) -> list[int]:
        """Return the lines under the caption down to where text, notes, another caption or white begins."""
        first, last = self._lines[caption[0]], self._lines[caption[-1]]
        region: list[int] = []
        before, leftmost, largest = last.base, math.inf, 0.0
        for index in self._downwards:
            line = self._lines[index]
            above = line.base >= last.base - 1 or index in self._taken or index in caption
            if above or _beside(line, first, self._page, self._body_size):
                continue
            apart = before - line.base > _END_OF_TABLE
            if apart or index in self._captions or self._ends(line, leftmost, largest):
                break
            if is_item_below(line, [self._lines[each] for each in region]):
                break
            region.append(index)
            before, leftmost, largest = line.base, min(leftmost, line.left), max(largest, line.size)
        return region

    def _ends(self, line: Line, leftmost: float, largest: float) -> bool:
        """Return whether ``line`` ends the table: notes, running text or a heading.

        Lines of the table begin no further left than ``leftmost`` and are no larger than ``largest`` (0 before its
        first line).
        """
        if line.text.lower().startswith(_NOTES) and len(line.text) > 3:
            return True
        if len(line.cells) > 1:
            return False
        begun = largest > 0
        if begun and line.left <= leftmost + 5 and _ABBREVIATIONS.match(line.text):
            return True
        width = (line.right - line.left) / self._page.width
        smaller_type = begun and largest < self._body_size * 0.95
        if abs(line.size - self._body_size) < 0.3 and not line.bold:
            return width > 0.55 or (width > 0.25 and (smaller_type or not begun))
        return begun and line.size > largest * 1.15 and (line.bold or line.size > self._body_size)


def _caption(lines: Sequence[Line], at: int, downwards: Sequence[int]) -> list[int]:
    """Return the indices of the caption's line and of those right below it that continue it in the same weight."""
    caption = [at]
    for index in downwards:
        line, last = lines[index], lines[caption[-1]]
        number_alone = len(caption) == 1 and len(last.text.split()) == 2
        allowed = 30.0 if number_alone else 1.5 * max(line.size, last.size, 8.0)
        goes_on = 0 < last.base - line.base <= allowed and line.bold == last.bold
        under = abs(line.left - last.left) < 30
        one_cell = len(line.cells) <= 1 or line.text.isupper()
        open_end = number_alone or line.bold or not last.text.endswith(".")
        if goes_on and under and one_cell and open_end and not TABLE_CAPTION.match(line.text):
            caption.append(index)
            if len(caption) == _MAX_CAPTION_LINES:
                break
    return caption


def _beside(line: Line, caption: Line, page: PdfPage, body_size: float) -> bool:
    """Return True for running text in the column beside the one in which the table is.

    Text below a rule that reaches from the caption across it is a part of the table.
    """
    if any(
        line.base < rule.height < caption.top and rule.left < caption.left + SAME_EDGE and line.right <= rule.right
        for rule in page.rules
    ):
        return False
    middle = page.width / 2
    prose = abs(line.size - body_size) < 0.6 and _is_unbroken(line) and line.right - line.left > 0.22 * page.width
    other_side = (line.left > middle - 20 and caption.left < middle - 40) or (
        line.right < middle + 20 and caption.left > middle - 20
    )
    return other_side and prose


def _is_unbroken(line: Line) -> bool:
    """Return whether no gap between cells interrupts the words; a space after a full stop may be wide."""
    return all(second.left - first.right < 1.3 * line.size for first, second in pairwise(line.cells))
