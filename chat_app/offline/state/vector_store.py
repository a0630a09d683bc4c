"""Vector stores: their files and how far each is indexed.

The index is full text (SQLite FTS5 with Porter stemming, ranked by BM25) and needs no model.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from typing import Final

import orjson

from chat_app.offline.state.file_store import FileStore
from chat_app.offline.state.file_text import UnreadableFileError, chunks, text_of_file
from chat_app.offline.state.state_database import Database
from chat_app.offline.wire.errors import ApiError, Json, invalid, not_found
from chat_app.offline.wire.objects import new_id, now
from chat_app.offline.wire.wire_stores import AddFile, CreateVectorStore, UpdateVectorStore

logger = logging.getLogger(__name__)
_DAY: Final = 86_400


class VectorStoreState:
    """All vector stores of the server. Indexing runs in the background and survives a restart."""

    def __init__(self, database: Database, files: FileStore) -> None:
        self._database = database
        self._files = files
        self._indexing: set[asyncio.Task[None]] = set()
        # One file at a time: each may use a processor and some gigabytes.
        self._reading = asyncio.Lock()

    async def create(self, wanted: CreateVectorStore) -> Json:
        """Create a store and start indexing its files. Raises ``ApiError`` 404 if one of them does not exist."""
        files = [AddFile(file_id=one, chunking_strategy=wanted.chunking_strategy) for one in wanted.file_ids or ()]
        for file in files:
            await self._files.get(file.file_id)
        store_id, days = new_id("vs"), wanted.expires_after and wanted.expires_after.days
        await self._database.write(
            "INSERT INTO vector_stores VALUES (?, ?, ?, ?, ?, ?)",
            (store_id, now(), now(), days, wanted.name or "", orjson.dumps(wanted.metadata or {})),
        )
        for file in files:
            await self.add_file(store_id, file)
        return await self.get(store_id)

    async def get(self, store_id: str) -> Json:
        """Return a store. Raises ``ApiError`` 404 for an unknown one."""
        return await self._database.run(lambda connection: _store(connection, store_id))

    async def all(self) -> list[Json]:
        """Return all stores, oldest first."""

        def read(connection: sqlite3.Connection) -> list[Json]:
            rows = connection.execute("SELECT id FROM vector_stores ORDER BY created_at, id").fetchall()
            return [_store(connection, row["id"]) for row in rows]

        return await self._database.run(read)

    async def update(self, store_id: str, changes: UpdateVectorStore) -> Json:
        """Change what ``changes`` gives; the name stays where it is null."""
        given = changes.model_fields_set
        stored: Json = {} if changes.name is None else {"name": changes.name}
        if "metadata" in given:
            stored["metadata"] = orjson.dumps(changes.metadata or {})
        if "expires_after" in given:
            stored["expire_days"] = changes.expires_after and changes.expires_after.days

        def write(connection: sqlite3.Connection) -> Json:
            for column, value in stored.items():
                connection.execute(f"UPDATE vector_stores SET {column} = ? WHERE id = ?", (value, store_id))  # noqa: S608
            return _store(connection, store_id)

        return await self._database.run(write)

    async def delete(self, store_id: str) -> None:
        """Delete a store. Raises ``ApiError`` 404 for an unknown one."""
        if not await self._database.erase("DELETE FROM vector_stores WHERE id = ?", (store_id,)):
            raise not_found("Vector store", store_id)

    async def add_file(self, store_id: str, added: AddFile) -> Json:
        """Add a file and start indexing it; return it with status ``in_progress``."""
        file_id = added.file_id
        await self._files.get(file_id)

        def write(connection: sqlite3.Connection) -> Json:
            _store(connection, store_id)
            # Its chunks go with the row that is replaced.
            connection.execute(
                "INSERT OR REPLACE INTO vector_store_files VALUES (?, ?, ?, 'in_progress', 0, NULL, ?, ?)",
                (store_id, file_id, now(), orjson.dumps(added.attributes or {}), orjson.dumps(added.chunking())),
            )
            return _file(connection, store_id, file_id)

        file = await self._database.run(write)
        self._begin(store_id, file_id)
        return file

    def _begin(self, store_id: str, file_id: str) -> None:
        task = asyncio.create_task(self._index(store_id, file_id), name=f"index {file_id}")
        self._indexing.add(task)
        task.add_done_callback(self._indexing.discard)

    async def _index(self, store_id: str, file_id: str) -> None:
        try:
            file = await self._files.get(file_id)
            entry = await self.file(store_id, file_id)
            static = entry["chunking_strategy"]["static"]
            size, overlap = static["max_chunk_size_tokens"], static["chunk_overlap_tokens"]
            path, name = self._files.path(file_id), file["filename"]
            async with self._reading:
                text = await text_of_file(path, name)
                cut = await asyncio.to_thread(lambda: list(chunks(text, size=size, overlap=overlap)))
        except UnreadableFileError as error:
            await self._fail(store_id, file_id, "unsupported_file", str(error))
        except ApiError:
            return
        except Exception as error:  # noqa: BLE001 - an uploaded file may break any parser
            logger.error("A file could not be indexed: %s", type(error).__name__)  # noqa: TRY400
            await self._fail(store_id, file_id, "server_error", "The file could not be read.")
        else:
            await self._keep(store_id, file_id, cut)

    async def _keep(self, store_id: str, file_id: str, cut: Sequence[str]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            used = sum(len(chunk.encode()) for chunk in cut)
            if connection.execute(
                "UPDATE vector_store_files SET status = 'completed', usage_bytes = ? "
                "WHERE store_id = ? AND file_id = ? AND status = 'in_progress'",
                (used, store_id, file_id),
            ).rowcount:
                connection.executemany(
                    "INSERT INTO chunks (store_id, file_id, ordinal, text) VALUES (?, ?, ?, ?)",
                    [(store_id, file_id, ordinal, chunk) for ordinal, chunk in enumerate(cut)],
                )

        await self._database.run(write)

    async def _fail(self, store_id: str, file_id: str, code: str, message: str) -> None:
        error = orjson.dumps({"code": code, "message": message})
        await self._database.write(
            "UPDATE vector_store_files SET status = 'failed', error = ? WHERE store_id = ? AND file_id = ?",
            (error, store_id, file_id),
        )

    async def file(self, store_id: str, file_id: str) -> Json:
        """Return a file of a store."""
        return await self._database.run(lambda connection: _file(connection, store_id, file_id))

    async def files(self, store_id: str, *, status: str | None = None) -> list[Json]:
        """Return the store's files, oldest first. Raises ``ApiError`` 404 for an unknown store."""
        await self.get(store_id)
        rows = await self._database.rows(
            "SELECT * FROM vector_store_files WHERE store_id = ? AND (? IS NULL OR status = ?) "
            "ORDER BY created_at, file_id",
            (store_id, status, status),
        )
        return [_file_object(row) for row in rows]

    async def set_attributes(self, store_id: str, file_id: str, attributes: Json) -> Json:
        """Replace the attributes of a file."""
        await self._database.write(
            "UPDATE vector_store_files SET attributes = ? WHERE store_id = ? AND file_id = ?",
            (orjson.dumps(attributes), store_id, file_id),
        )
        return await self.file(store_id, file_id)

    async def remove_file(self, store_id: str, file_id: str) -> None:
        """Remove a file and its chunks from a store."""
        await self.file(store_id, file_id)
        await self._database.erase(
            "DELETE FROM vector_store_files WHERE store_id = ? AND file_id = ?", (store_id, file_id)
        )

    async def content(self, store_id: str, file_id: str) -> list[str]:
        """Return the chunks of a file in order."""
        await self.file(store_id, file_id)
        rows = await self._database.rows(
            "SELECT text FROM chunks WHERE store_id = ? AND file_id = ? ORDER BY ordinal", (store_id, file_id)
        )
        return [row["text"] for row in rows]

    async def take_up(self) -> None:
        """Resume the indexing that the last run of the server left unfinished."""
        for row in await self._database.rows("SELECT * FROM vector_store_files WHERE status = 'in_progress'"):
            self._begin(row["store_id"], row["file_id"])

    async def aclose(self) -> None:
        """Cancel the indexing in progress; it resumes at the next start."""
        for task in self._indexing:
            task.cancel()
        await asyncio.gather(*self._indexing, return_exceptions=True)


def touch(connection: sqlite3.Connection, store_id: str) -> Json:
    """Return a store, and record its use. Raises ``ApiError``: 404 for an unknown one, 400 for an expired one."""
    found = _store(connection, store_id)
    if found["status"] == "expired":
        raise invalid(f"Vector store {store_id[:80]} has expired.", "vector_store_ids", "expired")
    connection.execute("UPDATE vector_stores SET last_active_at = ? WHERE id = ?", (now(), store_id))
    return found


def _store(connection: sqlite3.Connection, store_id: str) -> Json:
    row = connection.execute("SELECT * FROM vector_stores WHERE id = ?", (store_id,)).fetchone()
    if row is None:
        raise not_found("Vector store", store_id)
    counts = dict.fromkeys(("in_progress", "completed", "failed", "cancelled"), 0)
    used = 0
    for status, number, size in connection.execute(
        "SELECT status, COUNT(*), SUM(usage_bytes) FROM vector_store_files WHERE store_id = ? GROUP BY status",
        (store_id,),
    ):
        counts[status] = number
        used += size
    days = row["expire_days"]
    expires_at = None if days is None else row["last_active_at"] + days * _DAY
    status = "in_progress" if counts["in_progress"] else "completed"
    return {
        "id": store_id,
        "object": "vector_store",
        "created_at": row["created_at"],
        "name": row["name"],
        "usage_bytes": used,
        "file_counts": {**counts, "total": sum(counts.values())},
        "status": "expired" if expires_at is not None and expires_at <= now() else status,
        **({} if days is None else {"expires_after": {"anchor": "last_active_at", "days": days}}),
        "expires_at": expires_at,
        "last_active_at": row["last_active_at"],
        "metadata": orjson.loads(row["metadata"]),
    }


def _file(connection: sqlite3.Connection, store_id: str, file_id: str) -> Json:
    _store(connection, store_id)
    row = connection.execute(
        "SELECT * FROM vector_store_files WHERE store_id = ? AND file_id = ?", (store_id, file_id)
    ).fetchone()
    if row is None:
        raise not_found("File", file_id)
    return _file_object(row)


def _file_object(row: sqlite3.Row) -> Json:
    return {
        "id": row["file_id"],
        "object": "vector_store.file",
        "usage_bytes": row["usage_bytes"],
        "created_at": row["created_at"],
        "vector_store_id": row["store_id"],
        "status": row["status"],
        "last_error": None if row["error"] is None else orjson.loads(row["error"]),
        "chunking_strategy": orjson.loads(row["chunking"]),
        "attributes": orjson.loads(row["attributes"]),
    }
