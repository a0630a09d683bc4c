"""Find the tables of a page whose rows are between horizontal rules.

The rules show where a row begins and ends, so that a row of wrapped cells is read whole, however its cells were drawn.
Text between rules in a single column is a box, not a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tools.documents.models import TableRows
from tools.documents.pdf.pdf_lines import Line, PdfPage
from tools.documents.pdf.pdf_rules import Rule, runs, stacks
from tools.documents.tables.table_rows import (
    Column,
    FoundTable,
    Row,
    column_of,
    columns_of,
    is_list,
    is_tabular,
    joined_cells,
    laid_out,
    rows_of,
)

_SAME = 4.5
"""Maximum distance between the ends, or the joints, of a table's rules, in points."""
_FULL_LINES = 3
"""Maximum number of full lines of one row with wrapped cells, if the rules show the columns."""
_LEAST_FILLED = 2
"""Minimum number of rows with several cells, besides the header."""


@dataclass(frozen=True, slots=True)
class _Band:
    """The lines between two rules."""

    lines: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def bold(self) -> bool:
        return all(row.bold for row in self.rows)

    @property
    def words(self) -> list[str]:
        return [cell.text for row in self.rows for cell in row.cells]


def ruled_tables(lines: Sequence[Line], page: PdfPage, taken: frozenset[int]) -> list[FoundTable]:
    """Return the tables between the page's rules, of lines that no other table has ``taken``."""
    found: list[FoundTable] = []
    for rules in stacks(page.rules, page.width):
        bands = [band for upper, lower in pairwise(rules) if (band := _band(lines, upper, lower, taken)).lines]
        columns = _columns(rules, bands)
        for part in _parts(bands):
            table = _table(part, columns, pieced=any(rule.joints for rule in rules))
            if table is not None:
                found.append(FoundTable(frozenset(index for band in part for index in band.lines), table))
    return found


def _band(lines: Sequence[Line], upper: Rule, lower: Rule, taken: frozenset[int]) -> _Band:
    inside = tuple(
        index
        for index, line in enumerate(lines)
        if lower.height < line.base + 0.3 * line.size < upper.height
        and upper.left - _SAME < line.left
        and line.right < upper.right + _SAME
        and index not in taken
    )
    return _Band(inside, tuple(rows_of([lines[index] for index in inside])))


def _columns(rules: Sequence[Rule], bands: Sequence[_Band]) -> list[Column]:
    """Return where most of the rules have joints, or else where white runs through all rows."""
    joints = sorted(joint for rule in rules for joint in rule.joints)
    pieced = sum(bool(rule.joints) for rule in rules)
    near = runs(joints, lambda run, joint: joint - run[0] < _SAME)
    edges = [sum(run) / len(run) for run in near if len(run) >= max(2, 0.5 * pieced)]
    if not edges:
        return columns_of([row for band in bands for row in band.rows])
    return list(pairwise([rules[0].left, *edges, rules[0].right]))


def _parts(bands: Sequence[_Band]) -> list[list[_Band]]:
    """Return the bands of each table, where stacked tables of one width repeat a header."""
    parts: list[list[_Band]] = []
    for band in bands:
        if not parts or (band.bold and band.words == parts[0][0].words):
            parts.append([])
        parts[-1].append(band)
    # What names the second table is right above its header.
    return [part[:-1] if len(part) > 1 and _is_title(part[-1]) else part for part in parts[:-1]] + parts[-1:]


def _is_title(band: _Band) -> bool:
    return band.bold and all(len(row.cells) == 1 for row in band.rows)


def _table(bands: Sequence[_Band], columns: Sequence[Column], *, pieced: bool) -> TableRows | None:
    if len(columns) < 2 or not bands:
        return None
    if any(_full_lines(band, columns) > (_FULL_LINES if pieced else 1) for band in bands):
        # The rules are those of a box: the rows in it have none between them.
        return None
    header = bands[0] if bands[0].bold else None
    rows = [band.rows for band in (bands[1:] if header else bands)]
    body = [joined_cells(row, columns) for row in rows]
    filled = [row for row in body if sum(map(bool, row)) >= 2]
    if len(filled) < _LEAST_FILLED or not is_tabular(body) or is_list(body, headed=header is not None):
        return None
    return laid_out(header.rows if header else (), rows, columns)


def _full_lines(band: _Band, columns: Sequence[Column]) -> int:
    """Return how many lines cross all columns: one row of wrapped cells, or several rows."""
    return sum(len({column_of(cell, columns) for cell in row.cells}) == len(columns) for row in band.rows)
