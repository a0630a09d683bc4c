"""The server's state: one SQLite file in the data directory, used from one thread.

A write survives the process once its call has returned, because the process may be killed at any time.
"""

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
_SCHEMA: Final = Path(__file__).with_name("schema.sql").read_text("utf-8")


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

    async def erase(self, sql: str, values: Values) -> int:
        """Run a statement that deletes, and ``purge``."""
        number = await self.write(sql, values)
        await self.purge()
        return number

    async def purge(self) -> None:
        """Erase deleted rows from the file, their words in the index and the write-ahead log."""
        # Only the merge of all segments removes the words: ``secure_delete`` does not reach into them.
        await self.write("INSERT INTO chunk_index (chunk_index) VALUES ('optimize')")
        await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection or self.open()
        with connection:
            return work(connection)

    def open(self) -> sqlite3.Connection:
        """Open the file, and create its tables if it is new.

        Raises ``ConfigurationError`` when the file is damaged, or another version wrote it.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, check_same_thread=False)
            connection.row_factory = sqlite3.Row
            # With a write-ahead log a commit is one append that survives the process, and readers do not wait.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            # Overwrites deleted rows; ``purge`` does the rest.
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
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"The offline server's state cannot be read ({error}). Move {self._path.name} out of the data "
                "directory to start with an empty one."
            ) from None

    async def aclose(self) -> None:
        """End the thread and close the file."""
        await asyncio.to_thread(self._thread.shutdown)
        if self._connection is not None:
            self._connection.close()
