"""Which importer reads a file, told by its content; the file's name never decides alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.drug_database.importers import ndc_text
from tools.drug_database.importers.base import Intake, decode
from tools.drug_database.importers.container import Entry, entries
from tools.errors import SourceRejected

Reader = Callable[[Entry, Intake], None]
_KNOWN: Final = (
    "FDA NDC text, openFDA NDC or label JSON, Orange Book, Drugs@FDA, RxNorm RRF, DailyMed SPL XML, or a formulary of "
    "your own"
)


@dataclass(frozen=True)
class Recognised:
    """A file and the function that reads it; ``order`` puts files that others build on first."""

    entry: Entry
    read: Reader
    order: int = 0


def recognise(paths: Sequence[Path]) -> list[Recognised]:
    """The files to read, in order. Files of a folder or zip that no importer reads are left out.

    Raises ``SourceRejected`` when a path is missing or damaged, or holds nothing that an importer reads.
    """
    found: list[Recognised] = []
    for path in paths:
        readable = [one for one in map(_recognise, entries(path)) if one]
        if not readable:
            raise SourceRejected(f"{path.name} is no drug data that can be imported. Known are {_KNOWN}.")
        found += readable
    return sorted(found, key=lambda one: one.order)


def _recognise(entry: Entry) -> Recognised | None:
    first_line = decode(entry.head().split(b"\n", 1)[0]).removeprefix("\ufeff").rstrip("\r")
    if ndc_text.is_product_file(first_line):
        return Recognised(entry, ndc_text.read_products)
    if ndc_text.is_package_file(first_line):
        return Recognised(entry, ndc_text.read_packages, 1)
    return None
