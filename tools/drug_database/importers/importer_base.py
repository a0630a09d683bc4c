"""Shared by the importers: how a format is registered, and ``ImportedRows``, which counts every row."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from tools.drug_database.records.drug_record import Contribution, DataSource
from tools.drug_database.records.reports import EXAMPLES, FileReport, ImportProgress, RejectedRow
from tools.drug_database.records.shipped_data import shipped_json
from tools.drug_database.source_files.container import Entry
from tools.drug_database.storage.staging import Staging

Progress = Callable[[ImportProgress], None]
_EVERY: Final = 2_000
Row = TypeVar("Row")
SOURCES: Final[Mapping[str, DataSource]] = {
    name: DataSource(id=name, **facts) for name, facts in shipped_json("sources.json").items()
}
"""The public sources of the importers, by their id."""


class ImportedRows:
    """Counts and stages the rows of one import. Every row of ``rows`` ends in exactly one other call."""

    def __init__(self, staging: Staging, progress: Progress) -> None:
        self._staging = staging
        self._progress = progress
        self._count: FileReport
        """Report of the current file."""
        self._put = 0
        self._total: int | None = None
        self.files: list[FileReport] = []
        self.sources: dict[str, DataSource] = {}
        self.left_out: list[str] = []

    def rows(
        self, entry: Entry, rows: Iterable[Row], *, kind: str, source: DataSource, total: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of a file, each counted. ``total`` is their number, where known.

        A source without a date has that of the file.
        """
        self.sources[source.id] = source if source.date else source.model_copy(update={"date": entry.date})
        count = self._count = FileReport(file=entry.name, format=kind, source=source.id)
        self.files.append(count)
        before = self._staging.item_count(source.id)
        self._put, self._total = 0, total
        self._report()
        for row in rows:
            count.read += 1
            if count.read % _EVERY == 0:
                self._report()
            yield row
        count.kept = self._staging.item_count(source.id) - before
        count.merged += self._put - count.kept
        self._report()

    def put(self, found: Contribution | str, line: int) -> None:
        """Store a row that makes an item or adds to one with the same key; refuse one for the reason ``found``."""
        if isinstance(found, str):
            self.refuse(line, found)
            return
        try:
            self._staging.put(found)
        except ValueError:
            self.refuse(line, "no ingredient is named")
        else:
            self._put += 1

    def add(self, item: str, line: int) -> None:
        """Count a row whose facts went into the products of ``item``; refuse it where the data lack that item."""
        if self._staging.has(self._count.source, item):
            self.merge()
        else:
            self.refuse(line, "its product is not in the data")

    def merge(self) -> None:
        """Count a row whose facts went into other items, such as the meaning of a code."""
        self._count.merged += 1

    def refuse(self, line: int, reason: str) -> None:
        """Count a rejected row. ``reason`` must not repeat the row's text."""
        count = self._count
        count.refused += 1
        count.reasons[reason] += 1
        if len(count.examples) < EXAMPLES:
            count.examples.append(RejectedRow(file=count.file, line=line, reason=reason))

    def _report(self) -> None:
        count = self._count
        self._progress(ImportProgress(stage="reading", label=count.file, done=count.read, total=self._total))


Files = Mapping[str, Sequence[Entry]]
"""The files of one format by the role that each plays in it."""
FileRole = Callable[[Entry], str | None]


@dataclass(frozen=True)
class Importer:
    """One format of drug data, as ``recognise.IMPORTERS`` lists it."""

    title: str
    """The format's name for people."""
    role: FileRole
    """Return the part that a file plays in the format, by its content; None for another format's file."""
    read: Callable[[Files, ImportedRows], None]


def label_source(origin: str, set_id: str, title: str, provider: str, time: str) -> DataSource:
    """Return the source of one FDA label; ``time`` is its date as ``20140113``, or anything else for none."""
    dated = len(time) >= 8 and time[:8].isdigit()
    return DataSource(
        id=f"{origin}:{set_id}",
        title=title,
        publisher=f"FDA label, from {provider}",
        url=f"https://dailymed.nlm.nih.gov/dailymed/drugInfo.cfm?setid={set_id}",
        date=f"{time[:4]}-{time[4:6]}-{time[6:8]}" if dated else "",
    )
