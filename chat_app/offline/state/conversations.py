"""Stored conversations: a list of items that responses read and extend."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from chat_app.offline.state.response_store import RETENTION, append_items
from chat_app.offline.state.state_database import Database
from chat_app.offline.wire.errors import not_found
from chat_app.offline.wire.objects import new_id, now

Json = dict[str, Any]


class ConversationStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, metadata: Json, items: Sequence[Json]) -> Json:
        conversation_id = new_id("conv")

        def write(connection: sqlite3.Connection) -> Json:
            connection.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?)",
                (conversation_id, now(), now() + RETENTION, orjson.dumps(metadata)),
            )
            append_items(connection, conversation_id, items)
            return _conversation(connection, conversation_id)

        return await self._database.run(write)

    async def get(self, conversation_id: str) -> Json:
        """Raises ``ApiError`` 404 when there is no such conversation."""
        return await self._database.run(lambda connection: _conversation(connection, conversation_id))

    async def update(self, conversation_id: str, metadata: Json) -> Json:
        def write(connection: sqlite3.Connection) -> Json:
            connection.execute(
                "UPDATE conversations SET metadata = ? WHERE id = ?", (orjson.dumps(metadata), conversation_id)
            )
            return _conversation(connection, conversation_id)

        return await self._database.run(write)

    async def delete(self, conversation_id: str) -> None:
        def remove(connection: sqlite3.Connection) -> int:
            return connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,)).rowcount

        if not await self._database.run(remove):
            raise not_found("Conversation", conversation_id)

    async def all_items(self, conversation_id: str) -> list[Json]:
        """All items, oldest first. Raises ``ApiError`` 404 when there is no such conversation."""

        def read(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            _conversation(connection, conversation_id)
            return connection.execute(
                "SELECT body FROM conversation_items WHERE conversation_id = ? ORDER BY position", (conversation_id,)
            ).fetchall()

        return [orjson.loads(row["body"]) for row in await self._database.run(read)]

    async def append(self, conversation_id: str, items: Sequence[Json]) -> None:
        await self._database.run(lambda connection: append_items(connection, conversation_id, items))

    async def remove_item(self, conversation_id: str, item_id: str) -> Json:
        def remove(connection: sqlite3.Connection) -> Json:
            found = _conversation(connection, conversation_id)
            if not connection.execute(
                "DELETE FROM conversation_items WHERE conversation_id = ? AND id = ?", (conversation_id, item_id)
            ).rowcount:
                raise not_found("Item", item_id)
            return found

        return await self._database.run(remove)


def _conversation(connection: sqlite3.Connection, conversation_id: str) -> Json:
    row = connection.execute(
        "SELECT * FROM conversations WHERE id = ? AND expires_at > ?", (conversation_id, now())
    ).fetchone()
    if row is None:
        raise not_found("Conversation", conversation_id)
    return {
        "id": row["id"],
        "object": "conversation",
        "created_at": row["created_at"],
        "metadata": orjson.loads(row["metadata"]),
    }
