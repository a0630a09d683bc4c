"""What an import and a look at the database report, with the numbers ready to be shown."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from tools.drug_database.records import Source
from tools.types import Frozen

EXAMPLES = 20


class ImportProgress(Frozen):
    """How far an import is. ``total`` is in the same unit as ``done`` and None while it is unknown."""

    stage: Literal["reading", "merging", "writing", "indexing", "done"]
    label: str
    """What is worked on, such as a file's name."""
    done: int = 0
    total: int | None = None


class Refusal(Frozen):
    """A row that was not taken: where it stands and why."""

    file: str
    line: int
    """1-based line of a text file, 1-based number of a record of a JSON file."""
    reason: str


class FileReport(Frozen):
    """The rows of one file; ``read == kept + merged + refused`` always holds."""

    file: str
    format: str
    source: str
    read: int = 0
    kept: int = 0
    """Rows that became an item of their own."""
    merged: int = 0
    """Rows whose facts were added to an item that another row made."""
    refused: int = 0
    reasons: dict[str, int] = Field(default_factory=dict)
    """Refused rows by reason."""
    examples: tuple[Refusal, ...] = ()
    """The first refused rows, at most 20 a file."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def reconciles(self) -> bool:
        return self.read == self.kept + self.merged + self.refused


class ImportReport(Frozen):
    """The outcome of one import. ``changed`` is False when everything was loaded before in this version."""

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
    """Whether an earlier import had been killed; the unfinished state that it left was removed."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def read(self) -> int:
        return sum(file.read for file in self.files)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def kept(self) -> int:
        return sum(file.kept for file in self.files)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def merged(self) -> int:
        return sum(file.merged for file in self.files)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def refused(self) -> int:
        return sum(file.refused for file in self.files)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def rows_per_second(self) -> float:
        return self.read / self.seconds if self.seconds else 0.0


class SourceStats(Frozen):
    """One loaded source and how many items of it are stored."""

    source: Source
    items: int
    version: str = ""
    """Hash of the content for sources that are loaded whole, such as the demo data."""


class DrugDatabaseStats(Frozen):
    """What the database holds."""

    records: int = 0
    products: int = 0
    names: int = 0
    """Distinct names that can be looked up."""
    classes: int = 0
    labels: int = 0
    sources: tuple[SourceStats, ...] = ()
    revision: str = ""
    """Changes with every import."""
    imported_at: str = ""
    """UTC, ISO 8601."""
