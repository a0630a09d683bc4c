"""Migrations of the database, from the schema before there were any, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from chat_app.database.database_engine import database_engine, database_url, in_transaction
from chat_app.database.migrations import migrate, schema_problems
from chat_app.errors import ConfigurationError
from chat_app.interface.history.history_layer import History

OLD_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS users (
        "id" TEXT PRIMARY KEY, "identifier" TEXT NOT NULL UNIQUE, "metadata" TEXT NOT NULL, "createdAt" TEXT)""",
    """CREATE TABLE IF NOT EXISTS threads (
        "id" TEXT PRIMARY KEY, "createdAt" TEXT, "name" TEXT, "userId" TEXT REFERENCES users("id") ON DELETE CASCADE,
        "userIdentifier" TEXT, "tags" TEXT, "metadata" TEXT, "updatedAt" TEXT)""",
    """CREATE TABLE IF NOT EXISTS steps (
        "id" TEXT PRIMARY KEY, "name" TEXT NOT NULL, "type" TEXT NOT NULL,
        "threadId" TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE, "parentId" TEXT, "streaming" BOOLEAN,
        "waitForAnswer" BOOLEAN, "isError" BOOLEAN, "metadata" TEXT, "tags" TEXT, "input" TEXT, "output" TEXT,
        "createdAt" TEXT, "command" TEXT, "start" TEXT, "end" TEXT, "generation" TEXT, "showInput" TEXT,
        "language" TEXT, "indent" INTEGER, "defaultOpen" BOOLEAN, "autoCollapse" BOOLEAN, "modes" TEXT)""",
    """CREATE TABLE IF NOT EXISTS elements (
        "id" TEXT PRIMARY KEY, "threadId" TEXT NOT NULL REFERENCES threads("id") ON DELETE CASCADE, "type" TEXT,
        "url" TEXT, "chainlitKey" TEXT, "name" TEXT NOT NULL, "display" TEXT, "objectKey" TEXT, "size" TEXT,
        "page" INTEGER, "language" TEXT, "forId" TEXT, "mime" TEXT, "props" TEXT)""",
    """CREATE TABLE IF NOT EXISTS feedbacks (
        "id" TEXT PRIMARY KEY, "forId" TEXT NOT NULL UNIQUE REFERENCES steps("id") ON DELETE CASCADE,
        "threadId" TEXT REFERENCES threads("id") ON DELETE CASCADE, "value" INTEGER NOT NULL, "comment" TEXT,
        "createdAt" TEXT)""",
    """CREATE INDEX IF NOT EXISTS threads_of_user ON threads ("userId", "updatedAt")""",
    """CREATE INDEX IF NOT EXISTS steps_of_thread ON steps ("threadId", "createdAt")""",
    """CREATE INDEX IF NOT EXISTS elements_of_thread ON elements ("threadId")""",
)


async def executed(url: str, *statements: str) -> None:
    engine = database_engine(database_url(url))
    async with engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()


async def test_sqlite_has_a_write_ahead_log_four_connections_and_one_that_writes(tmp_path: Path) -> None:
    engine = database_engine(database_url(f"sqlite:///{tmp_path / 'history.sqlite3'}"))
    writers: set[tuple[int, int]] = set()

    def write(connection: Connection) -> None:
        writers.add((threading.get_ident(), id(connection.connection.dbapi_connection)))

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(engine.connect()) for _ in range(4)]
        pragmas = [await opened[0].scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "busy_timeout")]
        fifth = engine.connect()
        waiting = asyncio.create_task(fifth.start())
        await asyncio.gather(*(in_transaction(engine, write) for _ in range(8)))
        assert not waiting.done(), "a fifth waits in the queue"
    await (await waiting).close()
    await engine.dispose()
    assert pragmas == ["wal", 5000]
    assert len(writers) == 1


async def test_a_database_of_the_first_schema_keeps_its_rows_and_gets_what_it_lacks(database: str) -> None:
    """Also one in which a column is missing, as after an update of Chainlit."""
    await executed(
        database,
        *OLD_SCHEMA,
        "INSERT INTO users VALUES ('u', 'ada', '{}', '2026')",
        """INSERT INTO threads ("id", "userId", "userIdentifier", "name") VALUES ('t', 'u', 'ada', 'How?')""",
        """INSERT INTO steps ("id", "name", "type", "threadId", "output")
           VALUES ('s', 'ada', 'user_message', 't', 'How?')""",
        'ALTER TABLE steps DROP COLUMN "autoCollapse"',
    )
    history = History(database)
    before = await schema_problems(history.engine)
    await history.setup()
    assert before == ["The database has schema none, and this version needs 0002: restart the app."]
    assert await schema_problems(history.engine) == []
    question = {
        "id": "q",
        "name": "ada",
        "type": "user_message",
        "threadId": "t",
        "output": "And?",
        "autoCollapse": False,
    }
    await history.save_turn("t", [question | {"autoCollapse": False}], [])
    thread = await history.get_thread("t")
    assert thread is not None
    assert {step["output"] for step in thread["steps"]} == {"How?", "And?"}
    await history.close()


async def test_servers_that_start_at_once_migrate_once(database: str) -> None:
    engines = [database_engine(database_url(database)) for _ in range(4)]
    await asyncio.gather(*(migrate(engine) for engine in engines))
    assert [await schema_problems(engine) for engine in engines] == [[]] * 4
    for engine in engines:
        await engine.dispose()


async def test_a_schema_that_does_not_fit_is_told_and_a_newer_one_is_refused(database: str) -> None:
    history = History(database)
    await history.setup()
    await executed(database, 'ALTER TABLE elements DROP COLUMN "props"')
    assert await schema_problems(history.engine) == ["The database lacks elements.props: restore a backup."]
    await executed(database, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ConfigurationError, match="newer version") as refused:
        await history.setup()
    assert await schema_problems(history.engine) == [str(refused.value)]
    await history.close()
