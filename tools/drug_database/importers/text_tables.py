"""Reading of text tables whose first line names the columns."""

from collections.abc import Iterator, Mapping

from tools.drug_database.importers.importer_base import RowIntake
from tools.drug_database.records import DataSource
from tools.drug_database.records.strengths import combined, strength
from tools.drug_database.source_files.container import Entry, text_lines

Row = Mapping[str, str]


def rows(
    entry: Entry, intake: RowIntake, *, kind: str, source: DataSource, separator: str = "\t"
) -> Iterator[tuple[int, Row]]:
    """Line number and row of each line, counted as read.

    Cells past the last column are let pass when they are empty; a row with too few or with further filled cells is
    refused with its line.
    """
    with entry.open() as stream:
        lines = text_lines(stream)
        _, first = next(lines)
        columns = [name.strip() for name in first.split(separator)]
        for line, text in intake.rows(entry.name, lines, kind=kind, source=source):
            cells = text.split(separator)
            if len(cells) != len(columns) and (len(cells) < len(columns) or "".join(cells[len(columns) :]).strip()):
                intake.refuse(line, f"{len(cells)} columns instead of {len(columns)}")
            else:
                yield line, dict(zip(columns, map(str.strip, cells), strict=False))


def role_by_columns(entry: Entry, roles: Mapping[str, frozenset[str]], separator: str = "\t") -> str | None:
    """Return the first of ``roles`` whose columns the file's first line names."""
    columns = {name.strip() for name in entry.first_line.split(separator)}
    return next((role for role, needed in roles.items() if columns >= needed), None)


def listed(text: str, separator: str = ";") -> tuple[str, ...]:
    """Split a list in one cell into its parts, in lower case, each once."""
    parts = (" ".join(part.split()).lower() for part in text.split(separator))
    return tuple(dict.fromkeys(part for part in parts if part))


def form_and_routes(text: str) -> tuple[str, tuple[str, ...]]:
    """``TABLET, FILM COATED;ORAL`` as form and routes, in lower case."""
    form, _, routes = text.partition(";")
    return " ".join(form.split()).lower(), tuple(sorted(listed(routes, ",")))


def strengths(text: str, ingredients: int) -> tuple[str, ...]:
    """Read the cell ``20MG;12.5MG`` of a product with two ingredients as ``20 mg / 12.5 mg``.

    A cell whose parts are not one per ingredient is kept as it is written.
    """
    plain = text.partition("**")[0].strip()
    parts = [part.strip() for part in plain.split(";") if part.strip()]
    if not parts:
        return ()
    if len(parts) == ingredients:
        return (combined([strength(part) for part in parts]),)
    return (plain,)


def note(text: str) -> tuple[str, ...]:
    """Return the note that the Orange Book writes between ``**`` after a strength."""
    found = text.partition("**")[2].replace("**", " ").strip()
    return (" ".join(found.split()),) if found else ()
