"""Finds captioned tables among the lines of a page and gives them rows and columns again.

PDFium reads a table in the order in which it was drawn, often column after column. Here its lines are put back by
their place on the page: baselines make rows, the gaps that run through all rows make columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tools.guidelines.models import TableRows
from tools.guidelines.pdf_lines import TABLE_CAPTION, Cell, Line, PdfPage, is_caption
from tools.guidelines.text import comparable

_BULLETS = "■•▪◆–"
_SAME_BASE = 2.5
"""Points by which cells of one row may stand higher or lower."""
_LEADING = 1.6
"""Of the type's height: lines further apart than this belong to different blocks."""
_PROSE_WORDS = 4.5
"""Average words to a line from which a column holds prose, whose lines are wrapped."""
_END_OF_TABLE = 70.0
"""Points of white after which nothing more belongs to a table."""
_ABBREVIATIONS = re.compile(r"(?=\S*[A-Z]\S*[A-Z]|.*;)[A-Za-z][\w/]{0,9}(?: or [a-z]{1,4})?, [a-z]")
"""The line that spells out a table's abbreviations: ``DBP, diastolic blood pressure; SBP, ...``."""
_NOTES = ("source", "note", "abbreviations", "* ", "† ", "‡ ", "adapted from")
MAX_CAPTION_LINES = 4
APART = "\u2063"
"""Unicode's invisible separator: it stands before cells whose words the file does not keep next to those before.

Such a row was put together here, so that no quotation may run across its cells.
"""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table and which lines of its page, by index, it is made of (its caption's too)."""

    lines: frozenset[int]
    table: TableRows


@dataclass(slots=True)
class _Row:
    base: float
    size: float
    cells: list[Cell]
    bold: bool


def table_text(table: TableRows) -> str:
    """A table as text: its caption, header and rows, a line each, cells parted by tabs."""
    lines = [table.caption, row_text(table.header), *(row_text(row) for row in table.rows)]
    return "\n".join(line for line in lines if line)


def row_text(cells: Sequence[str]) -> str:
    return "\t".join(cell for cell in cells if cell)


def find_tables(lines: Sequence[Line], page: PdfPage, body_size: float) -> list[FoundTable]:
    """The tables of a page whose captions begin with ``Table`` and a number, in the order of their captions."""
    return _PageTables(lines, page, body_size).find()


class _PageTables:
    """The search for tables on one page."""

    def __init__(self, lines: Sequence[Line], page: PdfPage, body_size: float) -> None:
        self._lines = lines
        self._page = page
        self._body_size = body_size
        self._captions = [at for at, line in enumerate(lines) if is_caption(line.text, line.bold)]
        self._taken: set[int] = set()
        self._downwards = sorted(range(len(lines)), key=lambda each: -lines[each].base) if self._captions else []

    def find(self) -> list[FoundTable]:
        found: list[FoundTable] = []
        for at in self._captions:
            caption = _caption(self._lines, at, self._downwards)
            region = self._region(caption)
            words = " ".join(self._lines[index].text for index in caption)
            table = _table(words, [self._lines[index] for index in region])
            if table is not None:
                table = table.model_copy(update={"rows": tuple(map(self._parted, table.rows))})
                self._taken.update(region, caption)
                found.append(FoundTable(frozenset(region) | frozenset(caption), table))
        return found

    def _parted(self, row: Sequence[str]) -> tuple[str, ...]:
        """``row``, its cells set apart where the file does not have its words in one piece."""
        if comparable("".join(row)) in self._words:
            return tuple(row)
        first = next((at for at, cell in enumerate(row) if cell), 0)
        return tuple(f"{APART}{cell}" if cell and at > first else cell for at, cell in enumerate(row))

    @cached_property
    def _words(self) -> str:
        """All that is printed on the page, in the file's order."""
        return comparable("".join(line.text for line in self._page.lines))

    def _region(self, caption: Sequence[int]) -> list[int]:
        """The lines under the caption down to where text, notes, another caption or white begins."""
        first, last = self._lines[caption[0]], self._lines[caption[-1]]
        below = [
            index for index in self._downwards
            if self._lines[index].base < last.base - 1 and index not in self._taken and index not in caption
            and not _beside(self._lines[index], first, self._page, self._body_size)
        ]  # fmt: skip
        region: list[int] = []
        before = last.base
        for index in below:
            line = self._lines[index]
            so_far = [self._lines[each] for each in region]
            if before - line.base > _END_OF_TABLE or index in self._captions or self._ends(line, so_far):
                break
            region.append(index)
            before = line.base
        return region

    def _ends(self, line: Line, region: Sequence[Line]) -> bool:
        """True where notes, running text or a heading follow the table."""
        if line.text.lower().startswith(_NOTES) and len(line.text) > 3:
            return True
        if len(line.cells) > 1:
            return False
        if _ABBREVIATIONS.match(line.text) and region and line.left <= min(other.left for other in region) + 5:
            return True
        width = (line.right - line.left) / self._page.width
        largest = max((other.size for other in region), default=0.0)
        smaller_type = 0 < largest < self._body_size * 0.95
        if abs(line.size - self._body_size) < 0.3 and not line.bold:
            return width > 0.55 or (width > 0.25 and (smaller_type or not region))
        return bool(region) and line.size > largest * 1.15 and (line.bold or line.size > self._body_size)


def _caption(lines: Sequence[Line], at: int, downwards: Sequence[int]) -> list[int]:
    """The caption's line and those right below it in the same weight that go on with it."""
    caption = [at]
    for index in downwards:
        line, last = lines[index], lines[caption[-1]]
        if not 0 < last.base - line.base < 2 * _END_OF_TABLE:
            continue
        number_alone = len(caption) == 1 and len(last.text.split()) == 2
        allowed = 30.0 if number_alone else 1.5 * max(line.size, last.size, 8.0)
        goes_on = 0 < last.base - line.base <= allowed and line.bold == last.bold
        under = abs(line.left - last.left) < 30
        one_cell = len(line.cells) <= 1 or line.text.isupper()
        open_end = number_alone or line.bold or not last.text.endswith(".")
        if goes_on and under and one_cell and open_end and not TABLE_CAPTION.match(line.text):
            caption.append(index)
            if len(caption) == MAX_CAPTION_LINES:
                break
    return caption


def _beside(line: Line, caption: Line, page: PdfPage, body_size: float) -> bool:
    """True for running text in the column beside the one in which the table stands."""
    middle = page.width / 2
    prose = abs(line.size - body_size) < 0.6 and _runs(line) and line.right - line.left > 0.22 * page.width
    other_side = (line.left > middle - 20 and caption.left < middle - 40) or (
        line.right < middle + 20 and caption.left > middle - 20
    )
    return other_side and prose


def _runs(line: Line) -> bool:
    """True for words that run on: a wide space after a full stop is no gap between cells."""
    return all(
        second.left - first.right < 1.3 * line.size for first, second in pairwise(line.cells)
    )


def _table(caption: str, lines: Sequence[Line]) -> TableRows | None:
    rows = _rows(lines)
    header, body = _split_header(rows)
    columns = _columns(body)
    if len(body) < 2 or len(columns) < 2:
        return None
    merged = _merge(body, columns)
    if not _is_tabular(merged):
        return None
    return TableRows(
        caption=caption,
        header=tuple(_joined_cells(header, columns)) if header else (),
        rows=tuple(tuple(row) for row in merged),
    )


def _is_tabular(rows: Sequence[Sequence[str]]) -> bool:
    """False for what only looks like a table: a list with its bullets, a list of contents, text in two columns."""
    filled = [row for row in rows if sum(map(bool, row)) >= 2]
    cells = [cell for row in rows for cell in row if cell]
    if len(filled) < 2 or len(filled) < 0.5 * len(rows):
        return False
    if any(". . ." in cell or cell.strip(" .") == "" for cell in cells):
        return False
    listed = sum(row[0][:1] in tuple(_BULLETS) for row in rows)
    long = sum(len(cell.split()) > 60 for cell in cells)
    return listed < 0.3 * len(rows) and not long


def _rows(lines: Sequence[Line]) -> list[_Row]:
    rows: list[_Row] = []
    for line in sorted(lines, key=lambda each: (-each.base, each.left)):
        cells = list(line.cells) or [Cell(line.text, line.left, line.right)]
        if line.hyphenated:
            cells[-1] = Cell(cells[-1].text + "-", cells[-1].left, cells[-1].right)
        if rows and rows[-1].base - line.base <= _SAME_BASE:
            rows[-1].cells = sorted([*rows[-1].cells, *cells], key=lambda cell: cell.left)
            rows[-1].bold = rows[-1].bold and line.bold
        else:
            rows.append(_Row(line.base, line.size, cells, line.bold))
    return rows


def _split_header(rows: list[_Row]) -> tuple[list[_Row], list[_Row]]:
    """The header is the bold rows at the top that stand close together, or else a first row without figures."""
    count = 0
    for at, row in enumerate(rows):
        near = at == 0 or rows[at - 1].base - row.base <= 15
        if not (row.bold and near):
            break
        count = at + 1
    if count == 0 and rows and len(rows[0].cells) >= 2:
        has_figures = any(char.isdigit() for cell in rows[0].cells for char in cell.text)
        count = 0 if has_figures else 1
    return rows[:count], rows[count:]


def _columns(rows: Sequence[_Row]) -> list[tuple[float, float]]:
    """Spans of x that cells cover in rows of several cells; what no cell covers parts the columns."""
    spans = sorted((cell.left, cell.right) for row in rows if len(row.cells) >= 2 for cell in row.cells)
    columns: list[tuple[float, float]] = []
    for left, right in spans:
        if columns and left < columns[-1][1] + 1:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _merge(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> list[list[str]]:
    """Joins the lines of wrapped cells: by the white between rows where cells hold prose, else by full lines."""
    groups: list[list[_Row]] = []
    prose = _holds_prose(rows, columns)
    gaps = sorted(first.base - second.base for first, second in pairwise(rows))
    leading = gaps[len(gaps) // 4] if gaps else 0.0
    tallest = max((row.size for row in rows), default=0.0)
    for at, row in enumerate(rows):
        gap = rows[at - 1].base - row.base if at else 0.0
        apart = gap > min(max(1.3 * leading, leading + 3), 1.75 * tallest)
        filled = len({_column_of(cell, columns) for cell in row.cells})
        whole = filled >= max(2, len(columns) - 1)
        if groups and (gap < 0.85 * row.size or (not apart and (prose or not whole))):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [_joined_cells(group, columns) for group in groups]


def _holds_prose(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> bool:
    words: list[list[int]] = [[] for _ in columns]
    for row in rows:
        for cell in row.cells:
            words[_column_of(cell, columns)].append(len(cell.text.split()))
    return any(len(counts) >= 3 and sum(counts) / len(counts) >= _PROSE_WORDS for counts in words)


def _column_of(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    """The column of which the cell covers most, or the nearest one."""
    best, most = 0, -math.inf
    for index, (left, right) in enumerate(columns):
        shared = min(cell.right, right) - max(cell.left, left)
        if shared > most:
            best, most = index, shared
    return best


def _joined_cells(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> list[str]:
    texts = [""] * len(columns)
    for row in rows:
        for cell in row.cells:
            index = _column_of(cell, columns)
            texts[index] = _append(texts[index], cell.text)
    return texts


def _append(text: str, more: str) -> str:
    if text.endswith("-") and more[:1].islower():
        return text[:-1] + more
    return f"{text} {more}".strip()
