"""The staging area of an import: every source's items on disk, grouped by ingredient set when they are read back.

A temporary SQLite database keeps the memory of an import bounded; its file has no name, so that a killed import leaves
none. An item of the running import replaces the one that was stored before (``keep``) under the same source and key, in
whichever order they come; rows of the running import that share a key are merged.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Final, NamedTuple, Self

import orjson

from tools.drug_database.names.name_keys import base_moieties, record_key
from tools.drug_database.records.drug_record import Contribution

_BATCH: Final = 2_000
_BEFORE: Final = 0
_NOW: Final = 1

_TABLES = """
CREATE TABLE item (
    source TEXT, item TEXT, key TEXT, run INTEGER, payload TEXT, PRIMARY KEY (source, item)
) WITHOUT ROWID;
CREATE TABLE code (bucket TEXT, code TEXT, key TEXT);
"""
_PUT = """
INSERT INTO item VALUES (?, ?, ?, ?, ?) ON CONFLICT (source, item) DO UPDATE SET
    payload = CASE WHEN run = excluded.run THEN payload || char(10) || excluded.payload
                   WHEN run < excluded.run THEN excluded.payload ELSE payload END,
    key = CASE WHEN run < excluded.run THEN excluded.key ELSE key END,
    run = max(run, excluded.run)
"""


class StagedGroup(NamedTuple):
    """Everything known about one ingredient set, as stored lines of JSON."""

    key: str
    lines: list[str]


class Staging:
    """Use as a context manager; everything is gone afterwards."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._items: list[tuple[str, str, str, int, str]] = []
        with closing(self._db.cursor()) as cursor:
            cursor.execute("PRAGMA journal_mode = OFF")
            cursor.execute("PRAGMA synchronous = OFF")
            cursor.executescript(_TABLES)
            cursor.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put(self, contribution: Contribution) -> None:
        """Add an item of the running import. Raises ``ValueError`` when it names no ingredient."""
        key = record_key(base_moieties(contribution.ingredients or contribution.substances))
        payload = contribution.model_dump_json(exclude_defaults=True)
        self._items.append((contribution.source, contribution.item, key, _NOW, payload))
        if len(self._items) >= _BATCH:
            self._write()

    def keep(self, key: str, lines: Iterable[str], *, without: frozenset[str]) -> None:
        """Restore the items stored under ``key``, except those of the sources in ``without``."""
        for line in lines:
            known = orjson.loads(line)
            if known["source"] not in without:
                self._items.append((known["source"], known["item"], key, _BEFORE, line))
        if len(self._items) >= _BATCH:
            self._write()

    def has(self, source: str, item: str) -> bool:
        """Return whether the running import has stored an item of ``source``."""
        self._write()
        return (
            self._db.execute("SELECT 1 FROM item WHERE source = ? AND item = ?", (source, item)).fetchone() is not None
        )

    def item_count(self, source: str) -> int:
        """Return how many items of ``source`` the running import has stored."""
        self._write()
        row = self._db.execute("SELECT count(*) FROM item WHERE source = ? AND run = ?", (source, _NOW)).fetchone()
        return int(row[0])

    def counts(self) -> dict[str, int]:
        """Count stored items by source."""
        self._write()
        return {str(s): int(n) for s, n in self._db.execute("SELECT source, count(*) FROM item GROUP BY source")}

    def groups(self) -> Iterator[StagedGroup]:
        """Yield every ingredient set with its lines, in the order of the keys."""
        self._write()
        self._db.execute("CREATE INDEX IF NOT EXISTS item_key ON item (key, source, item)")
        rows = self._db.execute("SELECT key, payload FROM item ORDER BY key, source, item")
        for key, group in groupby(rows, key=lambda row: str(row[0])):
            yield StagedGroup(key, [line for _, payload in group for line in payload.split("\n")])

    def add_codes(self, codes: Iterable[tuple[str, str, str]]) -> None:
        """Store bucket, code and record key of codes, to be read back in order."""
        self._db.executemany("INSERT INTO code VALUES (?, ?, ?)", codes)

    def codes(self) -> Iterator[tuple[str, list[str]]]:
        """Yield every bucket with its lines ``code<tab>key``."""
        rows = self._db.execute("SELECT DISTINCT bucket, code, key FROM code ORDER BY bucket, code, key")
        for name, group in groupby(rows, key=lambda row: str(row[0])):
            yield name, [f"{code}\t{key}" for _, code, key in group]

    def group_count(self) -> int:
        """Return the number of ingredient sets."""
        self._write()
        return int(self._db.execute("SELECT count(DISTINCT key) FROM item").fetchone()[0])

    def _write(self) -> None:
        if self._items:
            self._db.executemany(_PUT, self._items)
            self._items.clear()
