"""Reads the text tables of drug data: their rows, and lists and strengths in their cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tools.drug_database.importers.importer_base import FileRole, Files, ImportedRows
from tools.drug_database.records.drug_record import DataSource, Product
from tools.drug_database.records.strengths import combined, strength
from tools.drug_database.source_files.container import Entry, text_lines

Row = Mapping[str, str]


class SourceTable(NamedTuple):
    """One table of a format. Its title is its role."""

    title: str
    source: DataSource
    columns: frozenset[str] = frozenset()
    """Columns by which the first line of a file tells the table."""
    separator: str = "\t"
    header: tuple[str, ...] = ()
    """All columns of a file whose first line does not name them."""

    def read(self, entry: Entry) -> Iterator[tuple[int, Row | str]]:
        """Yield the number and the row of each line; in place of a row with other columns, what is wrong with it.

        Cells past the last column are let pass when they are empty.
        """
        with entry.open() as stream:
            lines = text_lines(stream)
            columns = self.header or [name.strip() for name in next(lines)[1].split(self.separator)]
            for line, text in lines:
                cells = text.split(self.separator)
                if len(cells) < len(columns) or "".join(cells[len(columns) :]).strip():
                    yield line, f"{len(cells)} columns instead of {len(columns)}"
                else:
                    yield line, dict(zip(columns, map(str.strip, cells), strict=False))

    def rows(self, files: Files, imported: ImportedRows) -> Iterator[tuple[int, Row]]:
        """Yield the number and the row of each line in the files of this role, counted; refuse broken rows."""
        for entry in files.get(self.title, ()):
            for line, row in imported.rows(entry, self.read(entry), kind=self.title, source=self.source):
                if isinstance(row, str):
                    imported.refuse(line, row)
                else:
                    yield line, row

    def values(self, files: Files, item: Callable[[Row], str], column: str) -> dict[str, tuple[str, ...]]:
        """Return the distinct values of ``column`` by the item that a row adds to ("" for none); count no row."""
        found: dict[str, dict[str, None]] = {}
        for entry in files.get(self.title, ()):
            for _, row in self.read(entry):
                if not isinstance(row, str) and (name := item(row)) and row[column]:
                    found.setdefault(name, {})[row[column]] = None
        return {name: tuple(values) for name, values in found.items()}


def by_columns(*tables: SourceTable) -> FileRole:
    """Return the function that tells which of ``tables`` a file is: the first whose columns its first line names."""

    def role(entry: Entry) -> str | None:
        named = ((one, map(str.strip, entry.first_line.split(one.separator))) for one in tables)
        return next((one.title for one, columns in named if one.columns.issubset(columns)), None)

    return role


def cell_values(text: str, separator: str = ";") -> tuple[str, ...]:
    """Split a list in one cell into its parts, in lower case, each once."""
    parts = (" ".join(part.split()).lower() for part in text.split(separator))
    return tuple(dict.fromkeys(part for part in parts if part))


def approved_product(
    form: str, brand: str, amount: str, substances: Sequence[str], *, labeler: str, application: str, status: str = ""
) -> Product:
    """Return a product from the cells of FDA's lists of approvals; the form is such as ``TABLET, FILM COATED;ORAL``."""
    shape, _, routes = form.partition(";")
    # The Orange Book writes notes between ``**`` after a strength.
    strengths, _, note = amount.partition("**")
    return Product(
        dosage_form=" ".join(shape.split()).lower(),
        routes=tuple(sorted(cell_values(routes, ","))),
        brand_name=brand.title(),
        strengths=_strengths(strengths, len(substances)),
        labelers=(labeler,) if labeler else (),
        applications=(application,),
        marketing=tuple(filter(None, (status, " ".join(note.replace("**", " ").split())))),
    )


def _strengths(text: str, ingredients: int) -> tuple[str, ...]:
    """Parse the cell ``20MG;12.5MG`` of a product with two ingredients as ``20 mg / 12.5 mg``.

    A cell whose parts are not one per ingredient is kept as it is written.
    """
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        return ()
    return (combined(map(strength, parts)) if len(parts) == ingredients else text.strip(),)
