"""Reconstructs the rows and columns of a table from the lines of a page.

Lines on one baseline are a row, gaps through all rows separate columns, and the lines of a wrapped cell are joined.
"""

import math
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, takewhile
from statistics import fmean

from tools.documents.models import TableRows
from tools.documents.pdf.pdf_lines import Cell, Line
from tools.language.folding import CELL_BREAK
from tools.language.sentences import BULLETS

SAME_EDGE = 4.0
"""Points by which a row's cells may begin higher or end lower than its tallest one."""
_LINE_BELOW = 2.2
"""Maximum distance between the lines of a wrapped cell, in heights of the type."""
_WORD_GAP = 3.0
"""Maximum space between two words of a cell, in heights of the type."""
_NOTE_MARKS = ("*", "†", "‡")
"""Marks that are raised above their line, and so may be read before it."""
FRACTION = "\u2044"
_MARK = re.compile(rf"(?:[{BULLETS}–*-]|\(?(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,5}})[.)])(?:\s|$)")
_PAGE = re.compile(r"\d{1,4}|[ivxlc]{1,7}")
SAME_BASE = 2.5
"""Points by which cells of one row may be higher or lower."""
_PROSE_WORDS = 4.5
"""Average words to a line from which a column holds prose, whose lines are wrapped."""
Column = tuple[float, float]
"""The left and right ends of a column. Columns go from left to right and do not overlap."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, and the indices of the lines of its page that it consists of, with its caption."""

    lines: frozenset[int]
    table: TableRows


@dataclass(slots=True)
class Row:
    """The cells of one printed line, from left to right."""

    base: float
    size: float
    cells: list[Cell]
    bold: bool


def table_of(lines: Sequence[Line]) -> TableRows | None:
    """Return the lines under a caption as a table; None when they form none."""
    rows = rows_of(lines)
    header, body = split_header(rows)
    columns = columns_of(body)
    if len(columns) < 2:
        return None
    groups = merged(body, columns)
    if not is_tabular([joined_cells(group, columns) for group in groups]):
        return None
    return laid_out(header, groups, columns)


def laid_out(header: Sequence[Row], groups: Sequence[Sequence[Row]], columns: Sequence[Column]) -> TableRows:
    """Return the table of a header and of the lines of each row."""
    return TableRows(
        header=tuple(joined_cells(header, columns)) if header else (),
        rows=tuple(_marked(group, columns) for group in groups),
    )


def _marked(group: Sequence[Row], columns: Sequence[Column]) -> tuple[str, ...]:
    cells = joined_cells(group, columns)
    if _is_one_row(group, columns):
        return tuple(cells)
    first = next((at for at, cell in enumerate(cells) if cell), 0)
    return tuple(f"{CELL_BREAK}{cell}" if cell and at > first else cell for at, cell in enumerate(cells))


def _is_one_row(group: Sequence[Row], columns: Sequence[Column]) -> bool:
    """Return whether each cell is in one piece or wrapped, and none exceeds the tallest."""
    filled = [column for column in by_column(group, columns) if column]
    if not all(_continues(above, below) for column in filled for above, below in pairwise(column)):
        return False
    if _may_name_the_next(filled) or any(column[0][1].text.startswith(_NOTE_MARKS) for column in filled):
        return False
    spans = [(column[-1][0].base, column[0][0].base) for column in filled]
    bottom, top = max(spans, key=lambda span: span[1] - span[0])
    return all(bottom - SAME_EDGE <= lower and upper <= top + SAME_EDGE for lower, upper in spans)


def _may_name_the_next(filled: Sequence[Sequence[tuple[Row, Cell]]]) -> bool:
    """Return whether the last line, only in the first column, begins like a name: it may belong to the next row."""
    first, *others = filled
    row, cell = first[-1]
    lower = not others or row.base < min(column[-1][0].base for column in others) - SAME_BASE
    return lower and cell.text[0].isupper() and cell.left < first[0][1].left + SAME_EDGE


def _continues(first: tuple[Row, Cell], second: tuple[Row, Cell]) -> bool:
    """Return whether the second piece of a cell is behind the first one or right below it."""
    (upper, above), (lower, below) = first, second
    size = max(upper.size, lower.size)
    if upper is lower:
        return below.left - above.right < _WORD_GAP * size
    return upper.base - lower.base < _LINE_BELOW * size and below.left < above.right and above.left < below.right


def is_tabular(rows: Sequence[Sequence[str]]) -> bool:
    """Return False for what only looks like a table: bullets, contents, text in two columns."""
    filled = [row for row in rows if sum(map(bool, row)) >= 2]
    cells = [cell for row in rows for cell in row if cell]
    if len(filled) < 2 or len(filled) < 0.5 * len(rows):
        return False
    if any(". . ." in cell or cell.strip(" ._") == "" for cell in cells):
        return False
    if any(cell.startswith(FRACTION) for cell in cells):
        # The figure above it was read as part of another line.
        return False
    listed = sum(row[0][:1] in tuple(f"{BULLETS}–") for row in rows)
    long = sum(len(cell.split()) > 60 for cell in cells)
    return listed < 0.3 * len(rows) and not long


def is_list(rows: Sequence[Sequence[str]], *, headed: bool) -> bool:
    """Return True for items after marks, notes after numbers, and titles before page numbers."""
    marked = sum(bool(_MARK.match(row[0])) for row in rows)
    noted = not headed and all(len(row[0]) < 3 and not row[0].isalpha() for row in rows)
    if marked > 0.2 * len(rows) or (noted and any(len(row[-1].split()) > _PROSE_WORDS for row in rows)):
        return True
    lasts = [row[-1] for row in rows if row[-1]]
    numbers = [int(last) for last in lasts if last.isascii() and last.isdigit()]
    return len(rows[0]) == 2 and all(map(_PAGE.fullmatch, lasts)) and numbers == sorted(numbers)


def is_item_below(line: Line, rows: Sequence[Line]) -> bool:
    """Return True for a list item, a mark and its text, whose text crosses the columns of the ``rows`` above it."""
    if len(line.cells) != 2 or not _MARK.fullmatch(line.cells[0].text):
        return False
    columns = columns_of(rows_of(rows))
    return sum(shared_width(line.cells[1], column) > 0 for column in columns) > 1


def rows_of(lines: Sequence[Line]) -> list[Row]:
    """Group lines on the same base line, from the top down."""
    rows: list[Row] = []
    for line in sorted(lines, key=lambda each: (-each.base, each.left)):
        cells = list(line.cells) or [Cell(line.text, line.left, line.right)]
        if line.hyphenated:
            cells[-1] = cells[-1]._replace(text=f"{cells[-1].text}-")
        if rows and rows[-1].base - line.base <= SAME_BASE:
            rows[-1].cells = sorted([*rows[-1].cells, *cells], key=lambda cell: cell.left)
            rows[-1].bold = rows[-1].bold and line.bold
        else:
            rows.append(Row(line.base, line.size, cells, line.bold))
    return rows


def split_header(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the header: the bold rows at the top, or else a first row without figures."""
    near = [True, *(above.base - row.base <= 15 for above, row in pairwise(rows))]
    count = sum(1 for _ in takewhile(bool, (row.bold and close for row, close in zip(rows, near, strict=False))))
    if count == 0 and rows and len(rows[0].cells) >= 2:
        count = int(not any(char.isdigit() for cell in rows[0].cells for char in cell.text))
    return rows[:count], rows[count:]


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """Return the columns: the spans of x that are covered by the cells of rows with several cells."""
    spans = sorted((cell.left, cell.right) for row in rows if len(row.cells) >= 2 for cell in row.cells)
    columns: list[Column] = []
    for left, right in spans:
        if columns and left < columns[-1][1] + 1:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def merged(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[Row]]:
    """Group the lines of wrapped cells, by white space where cells hold prose, else by full lines."""
    groups: list[list[Row]] = []
    prose = _holds_prose(rows, columns)
    gaps = sorted(first.base - second.base for first, second in pairwise(rows))
    leading = gaps[len(gaps) // 4] if gaps else 0.0
    tallest = max((row.size for row in rows), default=0.0)
    for at, row in enumerate(rows):
        gap = rows[at - 1].base - row.base if at else 0.0
        apart = gap > min(max(1.3 * leading, leading + 3), 1.75 * tallest)
        filled = len({column_of(cell, columns) for cell in row.cells})
        whole = filled >= max(2, len(columns) - 1)
        if groups and (gap < 0.85 * row.size or (not apart and (prose or not whole))):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _holds_prose(rows: Sequence[Row], columns: Sequence[Column]) -> bool:
    words = [[len(cell.text.split()) for _, cell in column] for column in by_column(rows, columns)]
    return any(len(counts) >= 3 and fmean(counts) >= _PROSE_WORDS for counts in words)


def by_column(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[tuple[Row, Cell]]]:
    """Return the cells of each column, from the top down, with their rows."""
    found: list[list[tuple[Row, Cell]]] = [[] for _ in columns]
    for row in rows:
        for cell in row.cells:
            found[column_of(cell, columns)].append((row, cell))
    return found


def column_of(cell: Cell, columns: Sequence[Column]) -> int:
    """Return the column of which the cell covers most, or the nearest one."""
    around = bisect(columns, (cell.left, math.inf)) - 1
    if around >= 0 and cell.right <= columns[around][1]:
        return around
    return max(range(len(columns)), key=lambda index: shared_width(cell, columns[index]))


def shared_width(cell: Cell, column: Column) -> float:
    """Return how many points of ``column`` the cell covers; not positive where they do not meet."""
    return min(cell.right, column[1]) - max(cell.left, column[0])


def joined_cells(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """Join the texts of each column over several lines."""
    return [reduce(_append, (cell.text for _, cell in column), "") for column in by_column(rows, columns)]


def _append(text: str, more: str) -> str:
    if text.endswith("-") and more[:1].islower():
        return text[:-1] + more
    return f"{text} {more}".strip()
