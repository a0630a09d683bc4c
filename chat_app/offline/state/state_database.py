"""The server's state: one SQLite file in the data directory, used from one thread.

Writes are on disk when their call returns, because the process may be killed at any time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from chat_app.errors import ConfigurationError

T = TypeVar("T")
Values = Sequence[object] | Mapping[str, object]
SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE responses (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, status TEXT NOT NULL,
    previous_id TEXT, body BLOB NOT NULL, input BLOB NOT NULL, request BLOB
);
CREATE INDEX responses_by_age ON responses (created_at);
CREATE INDEX responses_unfinished ON responses (status) WHERE status IN ('queued', 'in_progress');
CREATE TABLE items (
    id TEXT PRIMARY KEY, response_id TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX items_of_response ON items (response_id);
CREATE TABLE files (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, expires_at INTEGER, filename TEXT NOT NULL,
    purpose TEXT NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE vector_stores (
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, last_active_at INTEGER NOT NULL, expire_days INTEGER,
    name TEXT NOT NULL, metadata BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE vector_store_files (
    store_id TEXT NOT NULL REFERENCES vector_stores (id) ON DELETE CASCADE,
    file_id TEXT NOT NULL, created_at INTEGER NOT NULL, status TEXT NOT NULL,
    usage_bytes INTEGER NOT NULL, error BLOB, attributes BLOB NOT NULL, chunking BLOB NOT NULL,
    PRIMARY KEY (store_id, file_id)
) WITHOUT ROWID;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, store_id TEXT NOT NULL, file_id TEXT NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL,
    FOREIGN KEY (store_id, file_id) REFERENCES vector_store_files (store_id, file_id) ON DELETE CASCADE
);
CREATE INDEX chunks_by_file ON chunks (store_id, file_id, ordinal);
CREATE VIRTUAL TABLE chunk_index USING fts5 (
    text, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_index (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
    INSERT INTO chunk_index (chunk_index, rowid, text) VALUES ('delete', old.id, old.text);
END;
"""


class Database:
    """Run functions in the database's thread: ``await database.run(f)`` calls ``f(connection)`` in a transaction."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="offline-database")
        self._path = path
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction: all of its writes are kept, or none if it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work)

    async def rows(self, sql: str, values: Values = ()) -> list[sqlite3.Row]:
        """Return the rows of one statement."""
        return await self.run(lambda connection: connection.execute(sql, values).fetchall())

    async def row(self, sql: str, values: Values = ()) -> sqlite3.Row | None:
        """Return the first row of one statement, if there is one."""
        return next(iter(await self.rows(sql, values)), None)

    async def write(self, sql: str, values: Values = ()) -> int:
        """Run one statement; return the number of rows it changed."""
        return await self.run(lambda connection: connection.execute(sql, values).rowcount)

    async def erase(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work``, which deletes, and remove what it deleted from the log as well."""
        done = await self.run(work)

        def truncate() -> None:
            if self._connection is not None:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        await asyncio.get_running_loop().run_in_executor(self._thread, truncate)
        return done

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection or self.open()
        with connection:
            return work(connection)

    def open(self) -> sqlite3.Connection:
        """Open the file, and create its tables if it is new.

        Raises:
            ConfigurationError: The file is damaged, or another version wrote it.
        """
        try:
            return self._open()
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"The offline server's state cannot be read ({error}). Move {self._path.name} out of the data "
                "directory to start with an empty one."
            ) from None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        # With a write-ahead log a commit is one append that survives the process, and readers do not wait.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        # Overwrites what is deleted.
        connection.execute("PRAGMA secure_delete = ON")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
        elif version != SCHEMA_VERSION:
            connection.close()
            raise ConfigurationError(
                f"The offline server's state was written by another version (format {version}, this one writes "
                f"{SCHEMA_VERSION}). Move {self._path.name} out of the data directory to start with an empty one."
            )
        self._path.chmod(0o600)
        self._connection = connection
        return connection

    async def aclose(self) -> None:
        """Close the file and end the thread."""

        def close() -> None:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

        await asyncio.get_running_loop().run_in_executor(self._thread, close)
        self._thread.shutdown()
