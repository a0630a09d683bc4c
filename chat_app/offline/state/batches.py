"""Batches: files that are added to a vector store together, and whose progress is asked for together."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from chat_app.offline.state.state_database import Database
from chat_app.offline.state.vector_store import VectorStores
from chat_app.offline.wire.errors import not_found
from chat_app.offline.wire.objects import new_id, now
from chat_app.offline.wire.wire_stores import AddFile

Json = dict[str, Any]


class Batches:
    def __init__(self, database: Database, stores: VectorStores) -> None:
        self._database = database
        self._stores = stores

    async def create(self, store_id: str, files: Sequence[AddFile]) -> Json:
        """Adds all of ``files``, or none when one of them is unknown."""
        await self._stores.check(store_id, [file.file_id for file in files])
        batch_id = new_id("vsfb")

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, 0)", (batch_id, store_id, now()))

        await self._database.run(write)
        for file in files:
            await self._stores.add_file(
                store_id, file.file_id, attributes=file.attributes or {}, chunking=file.chunking(), batch_id=batch_id
            )
        return await self.get(store_id, batch_id)

    async def get(self, store_id: str, batch_id: str) -> Json:
        return await self._database.run(lambda connection: _batch(connection, store_id, batch_id))

    async def cancel(self, store_id: str, batch_id: str) -> Json:
        """Cancels what is not indexed yet; the rest of the batch stays."""

        def write(connection: sqlite3.Connection) -> Json:
            _batch(connection, store_id, batch_id)
            if connection.execute(
                "UPDATE vector_store_files SET status = 'cancelled' WHERE batch_id = ? AND status = 'in_progress'",
                (batch_id,),
            ).rowcount:
                connection.execute("UPDATE batches SET cancelled = 1 WHERE id = ?", (batch_id,))
            return _batch(connection, store_id, batch_id)

        return await self._database.run(write)


def _batch(connection: sqlite3.Connection, store_id: str, batch_id: str) -> Json:
    row = connection.execute("SELECT * FROM batches WHERE id = ? AND store_id = ?", (batch_id, store_id)).fetchone()
    if row is None:
        raise not_found("Batch", batch_id)
    counts = dict.fromkeys(("in_progress", "completed", "failed", "cancelled"), 0)
    for status, number in connection.execute(
        "SELECT status, COUNT(*) FROM vector_store_files WHERE batch_id = ? GROUP BY status", (batch_id,)
    ):
        counts[status] = number
    status = "cancelled" if row["cancelled"] else "in_progress" if counts["in_progress"] else "completed"
    if status == "completed" and counts["failed"] and not counts["completed"]:
        status = "failed"
    return {
        "id": batch_id,
        "object": "vector_store.files_batch",
        "created_at": row["created_at"],
        "vector_store_id": store_id,
        "status": status,
        "file_counts": {**counts, "total": sum(counts.values())},
    }
