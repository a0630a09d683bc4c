"""Database of history, feedback and audit log: SQLite or PostgreSQL.

Both compare text case-insensitively in every script, and their errors never contain questions.
"""

import asyncio
import re
import socket
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from chat_app.errors import ConfigurationError
from chat_app.settings import Settings

T = TypeVar("T")

_SQLITE: Final = "sqlite+aiosqlite"
_POSTGRESQL: Final = "postgresql+asyncpg"
_DRIVERS: Final = {
    "sqlite": _SQLITE,
    _SQLITE: _SQLITE,
    "postgres": _POSTGRESQL,
    "postgresql": _POSTGRESQL,
    _POSTGRESQL: _POSTGRESQL,
}
DATABASE_ERRORS: Final = (SQLAlchemyError, OSError)
"""What a database that is down, slow or damaged raises; a ``TimeoutError`` is an ``OSError``."""
DAMAGED: Final = "{file} is damaged: restore a backup, or move it away to start with an empty history."
BUSY_MS: Final = 5_000
"""Limit of SQLite's wait for another connection."""
_QUEUE_SECONDS: Final = 60.0
"""Limit of the wait for a free connection; most callers wait less."""
_NO_FILES: Final = (None, "", ":memory:")
_REFUSED_LOGINS: Final = ("28000", "28P01")
_NO_DATABASE: Final = "3D000"
_SQLITE_FAILURES: Final = {
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "its file is read-only",
}
# An arbitrary number that nothing else in the database locks.
_SETUP_LOCK: Final = 6_115_202_611

# Parsing a statement takes longer than running most of them.
statement: Final = lru_cache(maxsize=256)(text)


def named_statements(file: Path) -> dict[str, str]:
    """Return the statements of ``file``, without its comments, by the names in its lines ``-- name: NAME``."""
    named = re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", file.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return {name: re.sub(r"^--.*\n", "", query, flags=re.MULTILINE).strip() for name, query in named}


def is_damaged_file(error: Exception) -> bool:
    """Return whether SQLite has refused its file because it is damaged, and not because it cannot get at it."""
    return type(error) is DatabaseError


def failure_of(error: Exception) -> str:
    """Return why the database cannot be used, as far as it is known; never a part of the URL."""
    given = getattr(error, "orig", None)
    if (code := str(getattr(given, "sqlite_errorname", ""))) in _SQLITE_FAILURES:
        return _SQLITE_FAILURES[code]
    state = getattr(given, "sqlstate", None)
    if state in _REFUSED_LOGINS:
        return "it refused the user name or the password"
    if state == _NO_DATABASE:
        return "there is no database of that name"
    if isinstance(error, socket.gaierror):
        return "its host name is unknown"
    return "it refused the connection" if isinstance(error, ConnectionRefusedError) else type(error).__name__


def database_url(given: str | URL) -> URL:
    """Return ``given`` with the driver used here.

    Raises ``ConfigurationError`` for any other database and for PostgreSQL without its driver. The message does not
    contain the URL, which may hold a password.
    """
    try:
        url = make_url(given)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError):
        raise ConfigurationError("DATABASE_URL must begin with postgresql:// or sqlite:///.") from None
    except ValueError:
        raise ConfigurationError("The port in DATABASE_URL is no number.") from None
    if driver == _SQLITE and url.database in _NO_FILES:
        raise ConfigurationError("DATABASE_URL names no file: write sqlite:/// and an absolute path.")
    if driver == _POSTGRESQL and find_spec("asyncpg") is None:
        raise ConfigurationError(
            "DATABASE_URL names PostgreSQL, and its driver is not installed: `pip install 'asclepius[postgres]'`."
        )
    # What libpq calls sslmode.
    query = {"ssl" if driver == _POSTGRESQL and key == "sslmode" else key: value for key, value in url.query.items()}
    return url.set(drivername=driver, query=query)


def configured_url(settings: Settings) -> URL:
    """Return the URL of the database that the settings name, or of the one in the data directory."""
    url = settings.storage.database_url
    if url is not None:
        return database_url(url.get_secret_value())
    settings.storage.data_dir.mkdir(parents=True, exist_ok=True)
    return URL.create(_SQLITE, database=str(settings.storage.data_dir / "history.sqlite3"))


def database_engine(url: URL) -> AsyncEngine:
    """Create the engine for the database of ``url``."""
    # Without hide_parameters an error's text would hold the question.
    sqlite = url.drivername == _SQLITE
    # SQLite has one writer: many connections that try to be it wait unfairly, some until "database is locked".
    pool = {"pool_size": 4, "max_overflow": 0} if sqlite else {"pool_pre_ping": True}
    engine = create_async_engine(url, hide_parameters=True, pool_timeout=_QUEUE_SECONDS, **pool)
    if sqlite:
        event.listen(engine.sync_engine, "connect", _sqlite_settings)
        _threads[engine] = _SqliteThread(engine)
    return engine


async def rows_of(connection: AsyncConnection, query: str, **parameters: object) -> list[dict[str, Any]]:
    """Run ``query`` and return its rows by column name."""
    result = await connection.execute(statement(query), parameters)
    return [dict(row) for row in result.mappings()]


async def in_transaction(engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
    """Return what ``work`` returns, in one transaction; a caller who is cancelled leaves nothing behind.

    SQLite runs it in one visit to its thread. A visit for each statement would wait for the event loop as often, which
    in a burst of questions is busy for long.
    """
    if (thread := _threads.get(engine)) is None:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    given_up = threading.Event()

    def visit() -> T:
        with thread.engine.begin() as connection:
            result = work(connection)
            if given_up.is_set():
                raise TimeoutError
            return result

    try:
        return await asyncio.get_running_loop().run_in_executor(thread.executor, visit)
    except asyncio.CancelledError:
        given_up.set()
        raise


class _SqliteThread:
    """The connection that writes to the file of ``engine``, and its thread; they end with that engine."""

    def __init__(self, engine: AsyncEngine) -> None:
        url = engine.url.set(drivername="sqlite+pysqlite")
        self.engine = create_engine(url, hide_parameters=True, pool_size=1, max_overflow=0)
        self.executor = ThreadPoolExecutor(1, "sqlite")
        event.listen(self.engine, "connect", _sqlite_settings)
        event.listen(engine.sync_engine, "engine_disposed", self._dispose)

    def _dispose(self, _engine: Engine) -> None:
        self.engine.dispose()


_threads: WeakKeyDictionary[AsyncEngine, _SqliteThread] = WeakKeyDictionary()


def lock_database(connection: Connection, number: int = _SETUP_LOCK) -> None:
    """Let one process at a time pass, until the end of the transaction; call it first in the transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": number})
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _sqlite_settings(connection: Any, _record: Any) -> None:
    # SQLite's own function folds ASCII only.
    connection.create_function("LOWER", 1, _lower, deterministic=True)
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_MS}", "synchronous=NORMAL", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    # Does not wait: another server that holds the file has just set the same, persistent mode.
    with suppress(sqlite3.OperationalError):
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.close()


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()
