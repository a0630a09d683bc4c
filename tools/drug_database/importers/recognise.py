"""Selects the importer of a file by its content; the file's name never decides alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.drug_database.importers import drugs_at_fda, formulary, ndc_text, openfda, orange_book, rxnorm, spl
from tools.drug_database.importers.importer_base import ImportedRows, Importer
from tools.drug_database.source_files.container import Entry, entries
from tools.errors import SourceRejected

IMPORTERS: Final[tuple[Importer, ...]] = (
    ndc_text.IMPORTER,
    orange_book.IMPORTER,
    drugs_at_fda.IMPORTER,
    rxnorm.IMPORTER,
    spl.IMPORTER,
    openfda.IMPORTER,
    formulary.IMPORTER,
)
"""Every format, those told by their first line before those that need a look further inside."""


def read_paths(paths: Sequence[Path], imported: ImportedRows) -> None:
    """Read files by their format. Raises ``SourceRejected`` when one is missing or damaged, or a path holds no data."""
    found: dict[Importer, dict[str, list[Entry]]] = {}
    for path in paths:
        if not _recognise(path, found, imported):
            *titles, last = (one.title for one in IMPORTERS)
            raise SourceRejected(
                f"{path.name} is no drug data that can be imported. Known are {', '.join(titles)}, or {last}."
            )
    for importer, files in found.items():
        importer.read(files, imported)


def _recognise(path: Path, found: dict[Importer, dict[str, list[Entry]]], imported: ImportedRows) -> bool:
    """Add the files at ``path`` to those of their format, note those that no importer reads; return if any is read."""
    known = False
    for entry in entries(path):
        one, role = next(((one, role) for one in IMPORTERS if (role := one.role(entry))), (None, ""))
        if one is None:
            imported.left_out.append(entry.name)
        else:
            known = True
            found.setdefault(one, {}).setdefault(role, []).append(entry)
    return known
