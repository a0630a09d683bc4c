"""Selects the importer of a file by its content; the file's name never decides alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.drug_database.importers import drugs_at_fda, formulary, ndc_text, openfda, orange_book, rxnorm, spl
from tools.drug_database.importers.importer_base import Files, ImportedRows, Importer
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
    recognised = [job for path in paths for job in _recognised(path, imported)]
    for importer, files in recognised:
        importer.read(files, imported)


def _recognised(path: Path, imported: ImportedRows) -> list[tuple[Importer, Files]]:
    """Return the files of each format at ``path``; note those that no importer reads."""
    found: dict[Importer, dict[str, list[Entry]]] = {}
    for entry in entries(path):
        known = next(((one, role) for one in IMPORTERS if (role := one.role(entry))), None)
        if known is None:
            imported.left_out.append(entry.name)
        else:
            found.setdefault(known[0], {}).setdefault(known[1], []).append(entry)
    if not found:
        *titles, last = (one.title for one in IMPORTERS)
        raise SourceRejected(
            f"{path.name} is no drug data that can be imported. Known are {', '.join(titles)}, or {last}."
        )
    return list(found.items())
