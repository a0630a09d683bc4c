"""Models of a document that was read: its blocks, pages, tables and passages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from tools.types import Frozen, SectionStart

READER = 15
"""Raised whenever reading or cutting changes, so that `reindex` knows which versions to read again."""

_JOINTS: Final = frozenset({"", "and", "or", "and/or", "und", "oder", "und/oder", "y", "o", "y/o"})
"""Words between two columns, which some tables put into a column of their own."""
Progress = Callable[[int, int], None]
"""Callback for the number of pages read and the number of all pages."""
BlockKind = Literal["heading", "text", "item", "caption", "table"]
PassageKind = Literal["text", "table_row", "reference"]
"""A ``reference`` passage (a list of literature or of contents) is kept and never searched: it answers nothing."""


class PageImage(Frozen):
    """A drawn page."""

    png: bytes
    pages: int
    """Number of pages of the whole document."""
    marked_at: tuple[float, float] | None = None
    """The top left corner of the first quote that was found, as fractions of the page's width and height."""


class TableRows(Frozen):
    """A table as rows of cells; ``header`` may be empty when the page shows none."""

    caption: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _joints_in_the_cells_before(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Move the "or" of a column without a header into the cells before it: it has no place below the header."""
        header, rows = given.get("header", ()), given.get("rows", ())
        joints = [
            at for at in range(1, len(header)) if not header[at] and _are_joints(row[at : at + 1] for row in rows)
        ]
        if not joints:
            return given
        return given | {"header": _joined(header, joints), "rows": tuple(_joined(row, joints) for row in rows)}

    @property
    def text(self) -> str:
        """The caption, header and rows, a line each, with tabs between the cells."""
        return "\n".join(filter(None, (self.caption, *map(row_text, (self.header, *self.rows)))))


def _are_joints(column: Iterable[Sequence[str]]) -> bool:
    return all(cell.lower() in _JOINTS for cells in column for cell in cells)


def _joined(row: Sequence[str], joints: Sequence[int]) -> tuple[str, ...]:
    """Return ``row`` with the cells of the columns ``joints`` in the ones before them."""
    cells: list[str] = []
    for at, cell in enumerate(row):
        if at in joints:
            cells[-1] = f"{cells[-1]} {cell}".strip()
        else:
            cells.append(cell)
    return tuple(cells)


def row_text(cells: Sequence[str]) -> str:
    """Join the filled cells of a row with tabs."""
    return "\t".join(filter(None, cells))


class Block(Frozen):
    """A paragraph, list item, heading, caption or table of one page, in reading order."""

    kind: BlockKind
    text: str
    """The words as printed, with white space and line-end hyphens repaired."""
    level: int = 0
    """Level of a heading, from 1 for the outermost."""
    body: bool = True
    """False for text in another type than the running text: notes under tables, imprints."""
    table: TableRows | None = None

    @classmethod
    def of_table(cls, table: TableRows) -> Self:
        """Return the block of a table."""
        return cls(kind="table", text=table.text, table=table)


class PageContent(Frozen):
    """One page: ``number`` counts from 1 through the file, ``label`` is the printed page number."""

    number: int = Field(ge=1)
    label: str | None = None
    blocks: tuple[Block, ...] = ()
    opens: tuple[tuple[int, str], ...] = ()
    """Sections (level, title) that the document's outline begins on this page and no printed heading names."""
    searchable: bool = True
    """False for a page that shows something but has no text, such as a scan that nothing could read."""
    recognised: bool = False
    """True when its text was read from the picture of the page, and may hold reading errors."""


class DocumentFacts(Frozen):
    """Facts about a document as its file gives them, else empty."""

    title: str = ""
    issuer: str = ""
    version: str = ""
    date: str = ""
    language: str = ""
    licence: str = ""
    url: str = ""


class Extraction(DocumentFacts):
    """A parsed file."""

    paged: bool = True
    """True for formats that have pages of their own (PDF)."""
    pages: tuple[PageContent, ...] = ()


class StoredPassage(Frozen):
    """A passage as stored on disk, without the facts of its document."""

    number: int
    text: str
    section: str = ""
    """The section at its beginning; ``further_sections`` begin below it."""
    further_sections: tuple[SectionStart, ...] = ()
    page: int = Field(ge=1)
    label: str | None = None
    kind: PassageKind = "text"

    @property
    def with_section(self) -> str:
        """The words below their headings, as an embedder gets them."""
        return f"{self.section}\n{self.text}".strip()
