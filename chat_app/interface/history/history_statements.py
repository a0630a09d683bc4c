"""SQL of the history for SQLite and PostgreSQL: queries and upserts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress, groupby
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, bindparam, text

from chat_app.database.database_engine import statement
from chat_app.interface.history.history_rows import (
    ELEMENT_COLUMNS,
    STEP_COLUMNS,
    Row,
    encoded_json,
    encoded_value,
    kept,
)
from chat_app.interface.security.identity import NotOwner, owns

# Steps of the same millisecond follow what contains them: the page drops a step that comes before its parent.
STEPS = """SELECT s.*, f."id" AS feedback_id, f."value" AS feedback_value, f."comment" AS feedback_comment
    FROM steps s LEFT JOIN feedbacks f ON f."forId" = s."id"
    WHERE s."threadId" = :id ORDER BY s."createdAt", CASE s."type" WHEN 'user_message' THEN 1
    WHEN 'run' THEN 2 WHEN 'llm' THEN 3 WHEN 'tool' THEN 4 WHEN 'undefined' THEN 5 ELSE 6 END"""
_OWNER = """SELECT r."id", t."userIdentifier" AS value FROM {} r JOIN threads t ON t."id" = r."threadId"
    WHERE r."id" IN :ids"""
# What is looked up by id, for all who wait at once.
VALUES_OF = {
    kind: text(query).bindparams(bindparam("ids", expanding=True))
    for kind, query in {
        "metadata": 'SELECT "id", "metadata" AS value FROM threads WHERE "id" IN :ids',
        "thread": 'SELECT "id", "userIdentifier" AS value FROM threads WHERE "id" IN :ids',
        "step": _OWNER.format("steps"),
        "element": _OWNER.format("elements"),
        "feedback": _OWNER.format("feedbacks"),
    }.items()
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
DELETE_THREAD = (
    'DELETE FROM feedbacks WHERE "threadId" = :id',
    'DELETE FROM elements WHERE "threadId" = :id',
    'DELETE FROM steps WHERE "threadId" = :id',
    'DELETE FROM threads WHERE "id" = :id',
)
DELETE_STEP = (
    'DELETE FROM feedbacks WHERE "forId" = :id',
    'DELETE FROM elements WHERE "forId" = :id',
    'DELETE FROM steps WHERE "id" = :id',
)
UPSERT_FEEDBACK = """INSERT INTO feedbacks ("id", "forId", "threadId", "value", "comment", "createdAt")
    VALUES (:id, :for, :thread, :value, :comment, :at)
    ON CONFLICT ("forId") DO UPDATE SET "value" = :value, "comment" = :comment RETURNING "id" """
_ADD_USER = """INSERT INTO users ("id", "identifier", "metadata", "createdAt") VALUES (:id, :owner, '{}', :at)
    ON CONFLICT ("identifier") DO NOTHING"""
_LONGEST_NAME = 120
# An owner never changes, so that nobody can take over a thread by naming it; who claims it as ``owner`` changes nothing
# of another user's.
_UPSERT_THREAD = """INSERT INTO threads
    ("id", "createdAt", "updatedAt", "name", "userId", "userIdentifier", "tags", "metadata")
    VALUES (:id, :now, :now, COALESCE(:name, :title),
        COALESCE(:user, (SELECT "id" FROM users WHERE "identifier" = :owner)),
        COALESCE(:owner, (SELECT "identifier" FROM users WHERE "id" = :user)), :tags, :metadata)
    ON CONFLICT ("id") DO UPDATE SET "updatedAt" = :now,
        "name" = COALESCE(:name, threads."name", :title), "userId" = COALESCE(threads."userId", EXCLUDED."userId"),
        "userIdentifier" = COALESCE(threads."userIdentifier", EXCLUDED."userIdentifier"),
        "tags" = COALESCE(:tags, threads."tags"), "metadata" = {merged}
    WHERE :owner IS NULL OR COALESCE(threads."userIdentifier", :owner) = :owner"""
# In the statement itself: two writers that read first would lose one another's keys. A null takes its key away.
_MERGED = {
    "sqlite": """json_patch(COALESCE(threads."metadata", '{}'), :patch)""",
    "postgresql": """CAST(jsonb_strip_nulls(CAST(COALESCE(threads."metadata", '{}') AS jsonb)
        || CAST(:patch AS jsonb)) AS text)""",
}


class TurnRows(NamedTuple):
    """What the history stores of a turn: rows of its thread, which is made ``owner``'s unless that is None."""

    thread_id: str
    steps: Sequence[Mapping[str, Any]]
    elements: Sequence[Mapping[str, Any]]
    metadata: Mapping[str, Any] | None = None
    owner: str | None = None
    title: str | None = None
    """Names a conversation that has no name yet."""


def write_turns(connection: Connection, turns: Sequence[TurnRows]) -> list[Exception | None]:
    """Write turns with a few statements; return ``NotOwner`` for each that names another user's conversation."""
    owners = sorted({turn.owner for turn in turns if turn.owner is not None})
    if owners:
        users = [{"id": str(uuid4()), "owner": owner, "at": now()} for owner in owners]
        connection.execute(statement(_ADD_USER), users)
    upsert_threads(connection, [thread_values(turn) for turn in turns])
    known: dict[str, str] = {}
    if owners:
        found = connection.execute(VALUES_OF["thread"], {"ids": list({turn.thread_id for turn in turns})})
        known = {row.id: row.value for row in found}
    allowed = [turn.owner is None or owns(turn.owner, known[turn.thread_id]) for turn in turns]
    written = list(compress(turns, allowed))
    _upsert(connection, "steps", STEP_COLUMNS, (row for turn in written for row in turn.steps))
    _upsert(connection, "elements", ELEMENT_COLUMNS, (row for turn in written for row in turn.elements))
    return [None if may else NotOwner() for may in allowed]


def thread_values(turn: TurnRows, *, name: str | None = None, user: str | None = None, tags: Any = None) -> Row:
    """Return the values to insert or update a conversation; a metadata key whose value is None is removed."""
    patch = turn.metadata or {}
    return {
        "id": turn.thread_id,
        "now": now(),
        "user": user,
        "owner": turn.owner,
        "title": kept(turn.title),
        "name": " ".join(kept(name).split())[:_LONGEST_NAME] if name else None,
        "tags": encoded_json(tags) if tags is not None else None,
        "metadata": encoded_json({key: value for key, value in patch.items() if value is not None}),
        "patch": encoded_json(patch),
    }


def upsert_threads(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert or update conversations; one of another user than its ``owner`` stays as it is."""
    merged = _MERGED[connection.dialect.name]
    # In one order, so that two writers never wait for each other.
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    connection.execute(statement(_UPSERT_THREAD.replace("{merged}", merged)), ordered)


def _upsert(connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert or update rows with those of ``columns`` that each has; a row never moves to another thread."""
    last: dict[tuple[Any, Any], Row] = {}
    for row in rows:
        encoded = {name: encoded_value(name, row[name]) for name in columns if name in row}
        key = (encoded.get("threadId"), encoded["id"])
        last[key] = last.get(key, {}) | encoded
    for given, alike in groupby(sorted(last.values(), key=tuple), key=tuple):
        names = ", ".join(f'"{column}"' for column in given)
        marks = ", ".join(f":{column}" for column in given)
        updates = ", ".join(f'"{column}" = EXCLUDED."{column}"' for column in given if column != "id")
        query = f'INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ("id") DO UPDATE SET {updates}'  # noqa: S608
        query += f' WHERE {table}."threadId" = EXCLUDED."threadId"'
        connection.execute(statement(query), list(alike))


def like(words: str) -> str:
    """Escape ``words`` for a LIKE with ``ESCAPE '!'``."""
    return words.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def now() -> str:
    """Return the time in UTC with milliseconds, as Chainlit writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
