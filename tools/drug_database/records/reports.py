"""Reports of an import and of the database's contents."""

from collections import Counter
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from tools.drug_database.records.drug_record import DataSource
from tools.types import Frozen

EXAMPLES = 20


class ImportProgress(Frozen):
    """Progress of an import. ``total`` is in the unit of ``done``; None while unknown."""

    stage: Literal["reading", "merging", "writing", "indexing", "done"]
    label: str
    """The item in progress, such as a file name."""
    done: int = 0
    total: int | None = None


class RejectedRow(Frozen):
    """A rejected row: its file, its line and the reason."""

    file: str
    line: int
    """1-based line of a text file, 1-based number of a record of a JSON file."""
    reason: str


class FileReport(BaseModel, extra="forbid"):
    """Row counts of one file; ``read == kept + merged + refused`` holds once all of it was read."""

    file: str
    format: str
    source: str
    read: int = 0
    kept: int = 0
    """Rows that became an item."""
    merged: int = 0
    """Rows whose facts were added to another row's item."""
    refused: int = 0
    reasons: Counter[str] = Field(default_factory=Counter[str])
    """Refused rows by reason."""
    examples: list[RejectedRow] = Field(default_factory=list[RejectedRow])
    """The first refused rows, at most 20 a file."""


class ImportReport(Frozen):
    """Outcome of one import. ``changed`` is False when this version was already loaded."""

    files: tuple[FileReport, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files that no importer reads, such as the Orange Book's patents."""
    changed: bool = True
    records: int = 0
    """Records (ingredient sets) in the database after the import."""
    products: int = 0
    """Products in the database after the import."""
    seconds: float = 0.0
    after_cut_off: bool = False
    """Whether leftovers of an interrupted import were removed."""
    read: int = 0
    """Rows of all files, and below how many of them became an item, were added to another one and were refused."""
    kept: int = 0
    merged: int = 0
    refused: int = 0

    @model_validator(mode="before")
    @classmethod
    def _count_rows(cls, given: dict[str, Any]) -> dict[str, Any]:
        files = given.get("files", ())
        return {
            name: sum(getattr(file, name) for file in files) for name in ("read", "kept", "merged", "refused")
        } | given


class SourceStats(Frozen):
    """A loaded source with its number of stored items."""

    source: DataSource
    items: int
    version: str = ""
    """Content hash of a source that is loaded as a whole, such as the demo data."""


class DrugDatabaseStats(Frozen):
    """Contents of the database."""

    records: int = 0
    products: int = 0
    names: int = 0
    """Distinct searchable names."""
    classes: int = 0
    labels: int = 0
    sources: tuple[SourceStats, ...] = ()
    revision: str = ""
    """Changes with every import."""
    imported_at: str = ""
    """UTC, ISO 8601."""
