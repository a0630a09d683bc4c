"""Queries and upserts of the history, from ``history.sql``."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress, groupby
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, bindparam, text

from chat_app.database.database_engine import named_statements, statement
from chat_app.interface.history.history_rows import (
    ELEMENT_COLUMNS,
    STEP_COLUMNS,
    Row,
    encoded_json,
    encoded_value,
    kept,
)
from chat_app.interface.security.identity import NotOwner, owns

_SQL: Final = named_statements(Path(__file__).with_name("history.sql"))
STEPS, UPSERT_FEEDBACK = _SQL["steps"], _SQL["upsert_feedback"]
FOUND, AFTER_CURSOR, NEWEST_FIRST = _SQL["found"], _SQL["after_cursor"], _SQL["newest_first"]
SEARCH: Final = f"""(LOWER(COALESCE(t."name", '')) LIKE :search ESCAPE '!' OR {FOUND} IS NOT NULL)"""
DELETE_THREAD, DELETE_STEP = _SQL["delete_thread"].split(";"), _SQL["delete_step"].split(";")
# What is looked up by id, for all who wait at once.
VALUES_OF: Final = {
    kind: text(_SQL[f"value_of_{kind}"]).bindparams(bindparam("ids", expanding=True))
    for kind in ("metadata", "thread", "step", "element", "feedback")
}
_LONGEST_NAME: Final = 120


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
        connection.execute(statement(_SQL["add_user"]), users)
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
    query = _SQL["upsert_thread"].replace("{merged}", _SQL[f"merged_{connection.dialect.name}"])
    # In one order, so that two writers never wait for each other.
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    connection.execute(statement(query), ordered)


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
