"""Find the tables of a page by their captions, the rules between rows, or the alignment of cells."""

from collections.abc import Sequence

from tools.documents.pdf.pdf_lines import Line, PdfPage
from tools.documents.tables.aligned_tables import aligned_tables
from tools.documents.tables.captioned_tables import CaptionedTables
from tools.documents.tables.ruled_tables import ruled_tables
from tools.documents.tables.table_rows import FoundTable
from tools.language.folding import CELL_BREAK, folded


def find_tables(lines: Sequence[Line], page: PdfPage, body_size: float) -> list[FoundTable]:
    """Return all tables of a page; no line belongs to two of them."""
    if not any(line.cells for line in lines):
        return []
    found = CaptionedTables(lines, page, body_size).find()
    found += ruled_tables(lines, page, _taken(found))
    found += aligned_tables(lines, _taken(found))
    return [_with_whole_rows(each, page) for each in found]


def _with_whole_rows(found: FoundTable, page: PdfPage) -> FoundTable:
    """Return the table, without marks in the rows whose words follow each other in the file itself."""
    if not any(cell.startswith(CELL_BREAK) for row in found.table.rows for cell in row):
        return found
    printed = folded("".join(line.text for line in page.lines))
    rows = tuple(
        tuple(cell.removeprefix(CELL_BREAK) for cell in row) if folded("".join(row)) in printed else row
        for row in found.table.rows
    )
    return FoundTable(found.lines, found.table.model_copy(update={"rows": rows}))


def _taken(found: Sequence[FoundTable]) -> frozenset[int]:
    return frozenset(index for each in found for index in each.lines)
