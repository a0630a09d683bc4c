"""The staging area of an import: every source's items on disk, grouped by ingredient set when they are read back.

A temporary SQLite database keeps the memory of an import bounded; its file has no name, so that a killed import leaves
none. An item of the running import replaces the one that was stored before (``keep``) under the same source and key, in
whichever order they come; rows of the running import that share a key are merged.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Final, Literal, NamedTuple, Self

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
CREATE TABLE patch (source TEXT, item TEXT, run INTEGER, file TEXT, line INTEGER, field TEXT, value TEXT);
"""
_PUT = """
INSERT INTO item VALUES (?, ?, ?, ?, ?) ON CONFLICT (source, item) DO UPDATE SET
    payload = CASE WHEN run = excluded.run THEN payload || char(10) || excluded.payload
                   WHEN run < excluded.run THEN excluded.payload ELSE payload END,
    key = CASE WHEN run < excluded.run THEN excluded.key ELSE key END,
    run = max(run, excluded.run)
"""
PatchField = Literal["packages", "marketing", "te_codes"]
"""The lists of a product that other rows than its own add to."""


class StagedGroup(NamedTuple):
    """Everything known about one ingredient set, as stored lines of JSON."""

    key: str
    lines: list[str]


class Staging:
    """Use as a context manager; everything is gone afterwards."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._items: list[tuple[str, str, str, int, str]] = []
        self._patches: list[tuple[str, str, int, str, int, str, str]] = []
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

    def patch(self, source: str, item: str, field: PatchField, value: str, *, file: str, line: int) -> None:
        """Add ``value`` to ``field`` of the products of an item, which may come before or after."""
        self._patches.append((source, item, _NOW, file, line, field, value))
        if len(self._patches) >= _BATCH:
            self._write()

    def keep(self, key: str, lines: Iterable[str], *, without: frozenset[str]) -> None:
        """Restore the items stored under ``key``, except those of the sources in ``without``."""
        for line in lines:
            known = orjson.loads(line)
            if known["source"] in without:
                continue
            if "facts" in known:
                for field, values in known["facts"].items():
                    self._patches += [
                        (known["source"], known["item"], _BEFORE, "", 0, field, value) for value in values
                    ]
            else:
                self._items.append((known["source"], known["item"], key, _BEFORE, line))
        if len(self._items) + len(self._patches) >= _BATCH:
            self._write()

    def item_count(self, source: str) -> int:
        """Return how many items of ``source`` the running import has stored."""
        self._write()
        row = self._db.execute("SELECT count(*) FROM item WHERE source = ? AND run = ?", (source, _NOW)).fetchone()
        return int(row[0])

    def drop_orphans(self) -> list[tuple[str, int]]:
        """Remove the patches of the running import that have no item; return the file and line of each."""
        self._write()
        self._db.execute("CREATE INDEX IF NOT EXISTS patch_item ON patch (source, item)")
        # Patches stored before belong to items stored before: they go with an item that was replaced.
        self._db.execute(
            "DELETE FROM patch WHERE run = ? AND EXISTS (SELECT 1 FROM item i WHERE i.source = patch.source "
            "AND i.item = patch.item AND i.run = ?)",
            (_BEFORE, _NOW),
        )
        found = self._db.execute(
            "SELECT file, line FROM patch p WHERE run = ? AND NOT EXISTS "
            "(SELECT 1 FROM item i WHERE i.source = p.source AND i.item = p.item) ORDER BY rowid",
            (_NOW,),
        ).fetchall()
        self._db.execute(
            "DELETE FROM patch WHERE NOT EXISTS "
            "(SELECT 1 FROM item i WHERE i.source = patch.source AND i.item = patch.item)"
        )
        return found

    def counts(self) -> dict[str, int]:
        """Count stored items by source."""
        self._write()
        return {str(s): int(n) for s, n in self._db.execute("SELECT source, count(*) FROM item GROUP BY source")}

    def groups(self) -> Iterator[StagedGroup]:
        """Yield every ingredient set with its lines, in the order of the keys."""
        self._write()
        self._db.execute("CREATE INDEX IF NOT EXISTS item_key ON item (key, source, item)")
        rows = self._db.execute(
            "SELECT i.key, i.source, i.item, i.payload, (SELECT group_concat(p.field || char(31) || p.value, char(30)) "
            "FROM patch p WHERE p.source = i.source AND p.item = i.item) FROM item i ORDER BY i.key, i.source, i.item"
        )
        for key, group in groupby(rows, key=lambda row: str(row[0])):
            lines: list[str] = []
            for _, source, item, payload, patches in group:
                lines += payload.split("\n")
                if patches:
                    lines.append(_patch_line(source, item, patches))
            yield StagedGroup(key, lines)

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
        if self._patches:
            self._db.executemany("INSERT INTO patch VALUES (?, ?, ?, ?, ?, ?, ?)", self._patches)
            self._patches.clear()


def _patch_line(source: str, item: str, patches: str) -> str:
    """Return what other rows add to an item as one line of JSON, each value once."""
    facts: dict[str, dict[str, None]] = {}
    for patch in patches.split("\x1e"):
        field, _, value = patch.partition("\x1f")
        facts.setdefault(field, {})[value] = None
    known = {"source": source, "item": item, "facts": {field: list(values) for field, values in facts.items()}}
    return orjson.dumps(known).decode()
