"""Which importer reads a file, told by its content; the file's name never decides alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tools.drug_database.importers import drugs_at_fda, formulary, ndc_text, openfda, orange_book, rxnorm, spl
from tools.drug_database.importers.importer_base import Importer, Reader
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


@dataclass
class Job:
    """The files of one format at one path, by the role that each plays in the format."""

    read: Reader
    files: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])


@dataclass
class Recognised:
    """What to read, and the files that no importer reads."""

    jobs: list[Job] = field(default_factory=list[Job])
    left_out: list[str] = field(default_factory=list[str])


def recognise(paths: Sequence[Path]) -> Recognised:
    """Sort files by format. Raises ``SourceRejected`` when a path is missing or damaged, or no importer reads it."""
    found = Recognised()
    for path in paths:
        jobs: dict[str, Job] = {}
        for entry in entries(path):
            known = next(((one, role) for one in IMPORTERS if (role := one.role(entry))), None)
            if known is None:
                found.left_out.append(entry.name)
                continue
            importer, role = known
            jobs.setdefault(importer.title, Job(importer.read)).files.setdefault(role, []).append(entry)
        if not jobs:
            *titles, last = (one.title for one in IMPORTERS)
            raise SourceRejected(
                f"{path.name} is no drug data that can be imported. Known are {', '.join(titles)}, or {last}."
            )
        found.jobs += jobs.values()
    return found
