"""SQL of the history for SQLite and PostgreSQL: queries and upserts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import uuid4

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from chat_app.interface.history.history_rows import Row, encoded_json, encoded_value, kept
from chat_app.interface.security.identity import require_owner

# Steps of the same millisecond follow what contains them: the page drops a step that comes before its parent.
STEPS = """SELECT s.*, f."id" AS feedback_id, f."value" AS feedback_value, f."comment" AS feedback_comment
    FROM steps s LEFT JOIN feedbacks f ON f."forId" = s."id"
    WHERE s."threadId" = :id ORDER BY s."createdAt", CASE s."type" WHEN 'user_message' THEN 1
    WHEN 'run' THEN 2 WHEN 'llm' THEN 3 WHEN 'tool' THEN 4 WHEN 'undefined' THEN 5 ELSE 6 END"""
OWNERS = {
    "thread": 'SELECT "userIdentifier" AS owner FROM threads WHERE "id" = :id',
    "step": 'SELECT t."userIdentifier" AS owner FROM steps s JOIN threads t ON t."id" = s."threadId" '
    'WHERE s."id" = :id',
    "element": 'SELECT t."userIdentifier" AS owner FROM elements e JOIN threads t ON t."id" = e."threadId" '
    'WHERE e."id" = :id',
    "feedback": 'SELECT t."userIdentifier" AS owner FROM feedbacks f JOIN threads t ON t."id" = f."threadId" '
    'WHERE f."id" = :id',
}
# The first message with the words, or null. A question does not count where the name, which is mostly that question,
# has the words.
FOUND = """(SELECT s."output" FROM steps s WHERE s."threadId" = t."id"
    AND s."type" IN ('user_message', 'assistant_message', 'llm')
    AND LOWER(COALESCE(s."output", '')) LIKE :search ESCAPE '!'
    AND (s."type" != 'user_message' OR LOWER(COALESCE(t."name", '')) NOT LIKE :search ESCAPE '!')
    ORDER BY s."createdAt" LIMIT 1)"""
SEARCH = f"""(LOWER(COALESCE(t."name", '')) LIKE :search ESCAPE '!' OR {FOUND} IS NOT NULL)"""
AFTER_CURSOR = """(t."updatedAt", t."id") < (SELECT c."updatedAt", c."id" FROM threads c WHERE c."id" = :cursor)"""
NEWEST_FIRST = 'ORDER BY t."updatedAt" DESC, t."id" DESC LIMIT :limit'
DELETE_STEP = (
    'DELETE FROM feedbacks WHERE "forId" = :id',
    'DELETE FROM elements WHERE "forId" = :id',
    'DELETE FROM steps WHERE "id" = :id',
)
UPSERT_FEEDBACK = """INSERT INTO feedbacks ("id", "forId", "threadId", "value", "comment", "createdAt")
    VALUES (:id, :for, :thread, :value, :comment, :at)
    ON CONFLICT ("forId") DO UPDATE SET "value" = :value, "comment" = :comment RETURNING "id" """
UPSERT_USER = """INSERT INTO users ("id", "identifier", "metadata", "createdAt") VALUES (:id, :owner, '{}', :at)
    ON CONFLICT ("identifier") DO UPDATE SET "identifier" = EXCLUDED."identifier" RETURNING "id" """
NAME_THREAD = 'UPDATE threads SET "name" = :name WHERE "id" = :id AND "name" IS NULL'
_LONGEST_NAME = 120
# An owner never changes, so that nobody can take over a thread by naming it.
_UPSERT_THREAD = """INSERT INTO threads
    ("id", "createdAt", "updatedAt", "name", "userId", "userIdentifier", "tags", "metadata")
    VALUES (:id, :now, :now, :name, :user, (SELECT "identifier" FROM users WHERE "id" = :user), :tags, :metadata)
    ON CONFLICT ("id") DO UPDATE SET "updatedAt" = :now,
        "name" = COALESCE(:name, threads."name"), "userId" = COALESCE(threads."userId", EXCLUDED."userId"),
        "userIdentifier" = COALESCE(threads."userIdentifier", EXCLUDED."userIdentifier"),
        "tags" = COALESCE(:tags, threads."tags"), "metadata" = {merged}"""
# In the statement itself: two writers that read first would lose one another's keys. A null takes its key away.
_MERGED = {
    "sqlite": """json_patch(COALESCE(threads."metadata", '{}'), :patch)""",
    "postgresql": """CAST(jsonb_strip_nulls(CAST(COALESCE(threads."metadata", '{}') AS jsonb)
        || CAST(:patch AS jsonb)) AS text)""",
}


async def rows_of(connection: AsyncConnection, query: str, **parameters: Any) -> list[Row]:
    """Run ``query`` and return its rows by column name."""
    result = await connection.execute(text(query), parameters)
    return [dict(row) for row in result.mappings()]


async def upsert_thread(
    connection: AsyncConnection,
    thread_id: str,
    *,
    name: str | None = None,
    user_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    tags: list[str] | None = None,
) -> None:
    """Insert or update a conversation; a key whose value is None is removed from its metadata."""
    patch = metadata or {}
    values = {
        "id": thread_id,
        "now": now(),
        "user": user_id,
        "name": " ".join(kept(name).split())[:_LONGEST_NAME] if name else None,
        "tags": encoded_json(tags) if tags is not None else None,
        "metadata": encoded_json({key: value for key, value in patch.items() if value is not None}),
        "patch": encoded_json(patch),
    }
    statement = _UPSERT_THREAD.replace("{merged}", _MERGED[connection.dialect.name])
    await connection.execute(text(statement), values)


async def claim_thread(connection: AsyncConnection, thread_id: str, owner: str, name: str | None) -> None:
    """Create a conversation for ``owner`` if needed, named ``name`` unless it has a name.

    Raises ``NotOwner`` for another user's conversation.
    """
    known = await rows_of(connection, UPSERT_USER, owner=owner, id=str(uuid4()), at=now())
    await upsert_thread(connection, thread_id, user_id=known[0]["id"])
    await connection.execute(text(NAME_THREAD), {"id": thread_id, "name": kept(name)})
    owners = await rows_of(connection, OWNERS["thread"], id=thread_id)
    require_owner(owner, owners[0]["owner"])


async def upsert(
    connection: AsyncConnection, table: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert or update rows with those of ``columns`` that each has; a row never moves to another thread."""
    encoded = [{name: encoded_value(name, row[name]) for name in columns if name in row} for row in rows]
    for given, alike in groupby(encoded, key=tuple):
        names = ", ".join(f'"{column}"' for column in given)
        marks = ", ".join(f":{column}" for column in given)
        updates = ", ".join(f'"{column}" = EXCLUDED."{column}"' for column in given if column != "id")
        statement = f'INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ("id") DO UPDATE SET {updates}'  # noqa: S608
        statement += f' WHERE {table}."threadId" = EXCLUDED."threadId"'
        await connection.execute(text(statement), list(alike))


def like(words: str) -> str:
    """Escape ``words`` for a LIKE with ``ESCAPE '!'``."""
    return words.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def now() -> str:
    """Return the time in UTC with milliseconds, as Chainlit writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
