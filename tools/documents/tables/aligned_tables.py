"""Find the tables of a page without rules, by the alignment of their cells.

Prose in columns, lists with their marks, lists of contents and of names are aligned, too. So the lines of a row must
follow each other in the file, its cells must be short, and the columns must share an edge or their middle.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tools.documents.pdf.pdf_lines import Cell, Line
from tools.documents.pdf.pdf_rules import runs
from tools.documents.tables.table_rows import (
    FRACTION,
    SAME_BASE,
    Column,
    FoundTable,
    Row,
    by_column,
    column_of,
    columns_of,
    is_list,
    is_tabular,
    joined_cells,
    laid_out,
    rows_of,
    shared_width,
    split_header,
)

_LEAST_ROWS = 3
_LEADING = 2.6
"""Maximum distance between rows of one block, in heights of the type."""
_ALIGNED = 2.5
"""Points by which the edges of cells in one column may differ."""
_INDENTED = 3.0
_WRAPPED = 2
"""Lines with one cell, of wrapped cells or names of groups, that may be between two rows."""
_CELL_WORDS = 12.0
"""Maximum of words in a cell, on average; longer ones are prose in columns."""
_SHORT_WORDS = 3.0
"""Maximum of words in a cell of the column that names or counts, on average."""


def aligned_tables(lines: Sequence[Line], taken: frozenset[int]) -> list[FoundTable]:
    """Return the tables among the lines with cells that no other table has ``taken``."""
    if any(line.text.startswith(FRACTION) for line in lines):
        # Figures above fraction bars are lines of their own here: a "3/4" could be read as a "3".
        return []
    free = (index for index, line in enumerate(lines) if line.cells and index not in taken)
    groups = runs(free, lambda group, index: _continues(lines[group[-1]], lines[index]))
    tables = (_table(lines, [index for group in run for index in group]) for run in _runs(lines, groups))
    return [table for table in tables if table is not None]


def _continues(last: Line, line: Line) -> bool:
    return abs(last.base - line.base) <= SAME_BASE and line.left >= last.right


def _runs(lines: Sequence[Line], groups: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    """Yield rows that follow each other downwards, from the first to the last with several cells."""
    run: list[list[int]] = []
    for group in groups:
        line, above = lines[group[0]], lines[run[-1][0]] if run else None
        if above and not 0 < above.base - line.base < _LEADING * max(line.size, above.size):
            yield from _whole(lines, run)
            run = []
        run.append(group)
        if len(run) > _WRAPPED and not any(_is_row(lines, each) for each in run[-_WRAPPED - 1 :]):
            yield from _whole(lines, run[: -_WRAPPED - 1])
            run = []
    yield from _whole(lines, run)


def _whole(lines: Sequence[Line], run: list[list[int]]) -> Iterator[list[list[int]]]:
    filled = [at for at, group in enumerate(run) if _is_row(lines, group)]
    if len(filled) >= _LEAST_ROWS:
        yield run[filled[0] : filled[-1] + 1]


def _is_row(lines: Sequence[Line], group: Sequence[int]) -> bool:
    return sum(len(lines[index].cells) for index in group) >= 2


def _table(lines: Sequence[Line], group: Sequence[int]) -> FoundTable | None:
    """Return the table of the rows with the most common number of cells, and of the lines between them."""
    rows = rows_of([lines[index] for index in group])
    usual = Counter(len(row.cells) for row in rows if len(row.cells) > 1).most_common(1)[0][0]
    columns = columns_of([row for row in rows if len(row.cells) == usual])
    if len(columns) != usual:
        return None
    rows = _fitting(rows, columns)
    header, body = split_header(rows)
    if header and not header[0].bold and not _has_figures(body):
        # Nothing distinguishes the first row from the others.
        header, body = [], rows
    if len(body) < _LEAST_ROWS or not _is_aligned(body, columns):
        return None
    groups = _merged(body, columns)
    found = [joined_cells(group, columns) for group in groups]
    if not is_tabular(found) or is_list(found, headed=bool(header)):
        return None
    highest, lowest = rows[0].base + SAME_BASE, rows[-1].base - SAME_BASE
    inside = frozenset(index for index in group if lowest <= lines[index].base <= highest)
    return FoundTable(inside, laid_out(header, groups, columns))


def _fitting(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """Return the rows from the first to the last with several cells; none if one breaks the columns."""
    fits = [all(sum(shared_width(cell, column) > 0 for column in columns) == 1 for cell in row.cells) for row in rows]
    whole = [at for at, row in enumerate(rows) if fits[at] and len(row.cells) > 1]
    inside = range(whole[0], whole[-1] + 1) if whole else range(0)
    bad = any(not fits[at] and len(rows[at].cells) > 1 for at in inside)
    return [] if bad else [rows[at] for at in inside]


def _merged(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[Row]]:
    """Return the lines of each row and the names of groups; empty if a line may belong to either of two rows."""
    groups: list[list[Row]] = []
    for at, row in enumerate(rows):
        if len(row.cells) > 1 or not groups:
            groups.append([row])
            continue
        left, above, below = row.cells[0].left, groups[-1][0].cells[0].left, rows[at + 1].cells[0].left
        if column_of(row.cells[0], columns) > 0 or left > above + _INDENTED:
            groups[-1].append(row)
        elif left < below - _INDENTED:
            groups.append([row])
        else:
            return []
    return groups


def _has_figures(rows: Sequence[Row]) -> bool:
    """Return whether most rows hold a figure behind their first cell."""
    counted = sum(any(char.isdigit() for cell in row.cells[1:] for char in cell.text) for row in rows)
    return counted > 0.5 * len(rows)


def _is_aligned(rows: Sequence[Row], columns: Sequence[Column]) -> bool:
    """Return True where each column has an edge or a middle in common, and cells are short."""
    cells = [[cell for row, cell in column if len(row.cells) > 1] for column in by_column(rows, columns)]
    words = [sum(len(cell.text.split()) for cell in column) / max(1, len(column)) for column in cells]
    if max(words) > _CELL_WORDS or min(words) > _SHORT_WORDS:
        return False
    return all(_share_a_line(column) for column in cells if len(column) >= _LEAST_ROWS)


def _share_a_line(cells: Sequence[Cell]) -> bool:
    """Return whether most cells begin, end, or have their middle at the same place."""
    lefts, rights = [cell.left for cell in cells], [cell.right for cell in cells]
    edges = (lefts, rights, [(cell.left + cell.right) / 2 for cell in cells])
    most = max(sum(abs(place - other) <= _ALIGNED for other in places) for places in edges for place in places)
    return most >= 0.7 * len(cells)
