"""Which importer reads a file, told by its content; the file's name never decides alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tools.drug_database.importers import drugs_at_fda, formulary, ndc_text, openfda, orange_book, rxnorm, spl
from tools.drug_database.importers.container import Entry, entries
from tools.drug_database.importers.importer_base import Intake, decode
from tools.errors import SourceRejected

LineRole = Callable[[str], str | None]
FileRole = Callable[[Entry], str | None]
Reader = Callable[[Mapping[str, Sequence[Entry]], Intake], None]
_KNOWN: Final = (
    "FDA NDC text, openFDA NDC or label JSON, Orange Book, Drugs@FDA, RxNorm RRF, DailyMed SPL XML, or a formulary of "
    "your own"
)
_TABLES: Final[tuple[tuple[LineRole, Reader], ...]] = (
    (ndc_text.role, ndc_text.read),
    (orange_book.role, orange_book.read),
    (drugs_at_fda.role, drugs_at_fda.read),
    (rxnorm.role, rxnorm.read),
)
"""Told by the first line."""
_DOCUMENTS: Final[tuple[tuple[FileRole, Reader], ...]] = (
    (spl.role, spl.read),
    (openfda.role, openfda.read),
    (formulary.role, formulary.read),
)
"""Told by what stands further inside."""


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
    """Raises ``SourceRejected`` when a path is missing or damaged, or holds nothing that an importer reads."""
    found = Recognised()
    for path in paths:
        jobs: dict[Reader, Job] = {}
        for entry in entries(path):
            known = _role(entry)
            if known is None:
                found.left_out.append(entry.name)
            else:
                jobs.setdefault(known[0], Job(known[0])).files.setdefault(known[1], []).append(entry)
        if not jobs:
            raise SourceRejected(f"{path.name} is no drug data that can be imported. Known are {_KNOWN}.")
        found.jobs += jobs.values()
    return found


def _role(entry: Entry) -> tuple[Reader, str] | None:
    first_line = decode(entry.head().split(b"\n", 1)[0]).removeprefix("\ufeff").rstrip("\r")
    for role, read in _TABLES:
        name = role(first_line)
        if name:
            return read, name
    for look, read in _DOCUMENTS:
        name = look(entry)
        if name:
            return read, name
    return None
