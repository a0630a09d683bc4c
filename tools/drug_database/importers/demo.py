"""The demonstration drugs that come with the app: ``tools/drug_database/demo/*.json``.

A file lists contributions as the database stores them. A medicine with several labels has one for each; only the first
has the medicine's name and products. ``DrugDatabase.load_demo`` loads them.
"""

import hashlib
from pathlib import Path
from typing import Final

from tools.drug_database.importers.importer_base import ImportedRows
from tools.drug_database.records.drug_record import Contribution, DataSource
from tools.drug_database.source_files.container import Entry
from tools.types import DEMO_ISSUER, Frozen

SOURCE_ID: Final = "demo"
FOLDER: Final = Path(__file__).parent.parent / "demo"
SOURCE: Final = DataSource(
    id=SOURCE_ID,
    title="Demonstration drug records (summarised from FDA-approved labels; not for clinical care)",
    publisher=DEMO_ISSUER,
)


class DemoFile(Frozen):
    """One file of demonstration drugs."""

    area: str
    records: tuple[Contribution, ...]


def version() -> str:
    """Return a hash of the demonstration data; it changes with every edit."""
    digest = hashlib.blake2s(digest_size=8)
    for file in _files():
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def records() -> list[Contribution]:
    """Return the demonstration medicines; raises pydantic's ``ValidationError`` for a file that breaks the format."""
    return [record for file in _files() for record in _load(file) if record.generic_name]


def _files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def _load(file: Path) -> tuple[Contribution, ...]:
    return DemoFile.model_validate_json(file.read_bytes()).records


def read(imported: ImportedRows) -> None:
    """Stage every demonstration drug."""
    for file in _files():
        loaded = _load(file)
        rows = imported.rows(
            Entry(file.name, file), loaded, kind="demonstration drugs", source=SOURCE, total=len(loaded)
        )
        for number, record in enumerate(rows, start=1):
            imported.put(record, number)
