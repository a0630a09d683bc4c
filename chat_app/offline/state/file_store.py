"""Uploaded files: records in the database, bytes in the data directory."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

from chat_app.offline.state.state_database import Database
from chat_app.offline.wire.errors import Json, not_found
from chat_app.offline.wire.objects import new_id, now


class FileStore:
    """Files by id. A file is listed only when all of its bytes are on disk."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder

    async def add(self, filename: str, purpose: str, pieces: AsyncIterator[bytes], *, expires_in: int | None) -> Json:
        """Store a file; nothing is stored when its pieces end in an error."""
        file_id = new_id("file")
        target = self.path(file_id)
        part = target.with_suffix(".part")
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            size = await self._write(part, pieces)
            await asyncio.to_thread(os.replace, part, target)
        finally:
            part.unlink(missing_ok=True)
        created = now()
        expires_at = created + expires_in if expires_in else None
        await self._database.write(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", (file_id, created, expires_at, filename, purpose, size)
        )
        return await self.get(file_id)

    async def _write(self, part: Path, pieces: AsyncIterator[bytes]) -> int:
        size = 0
        with part.open("wb") as out:
            async for piece in pieces:
                size += await asyncio.to_thread(out.write, piece)
            await asyncio.to_thread(os.fsync, out.fileno())
        return size

    async def get(self, file_id: str) -> Json:
        """Return a file's metadata. Raises ``ApiError`` 404 for an unknown or expired file."""
        row = await self._database.row(
            "SELECT * FROM files WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)", (file_id, now())
        )
        if row is None:
            raise not_found("File", file_id)
        return _file(row)

    async def all(self, purpose: str | None) -> list[Json]:
        """Return all files, oldest first."""
        rows = await self._database.rows(
            "SELECT * FROM files WHERE (expires_at IS NULL OR expires_at > ?) AND (? IS NULL OR purpose = ?) "
            "ORDER BY created_at, id",
            (now(), purpose, purpose),
        )
        return [_file(row) for row in rows]

    def path(self, file_id: str) -> Path:
        """Return the path of a file's bytes; ``file_id`` must come from this store."""
        return self._folder / file_id

    async def delete(self, file_id: str) -> None:
        """Delete a file, also from all vector stores."""
        await self.get(file_id)
        await self._remove(file_id)

    async def expire(self) -> None:
        """Delete expired files."""
        rows = await self._database.rows("SELECT id FROM files WHERE expires_at <= ?", (now(),))
        if rows:
            await self._remove(*(row["id"] for row in rows))

    async def _remove(self, *file_ids: str) -> None:
        def remove(connection: sqlite3.Connection) -> None:
            for file_id in file_ids:
                connection.execute("DELETE FROM vector_store_files WHERE file_id = ?", (file_id,))
                connection.execute("DELETE FROM files WHERE id = ?", (file_id,))

        await self._database.run(remove)
        for file_id in file_ids:
            await asyncio.to_thread(self.path(file_id).unlink, missing_ok=True)
        await self._database.purge()


def _file(row: sqlite3.Row) -> Json:
    stored = {column: value for column, value in zip(row.keys(), row, strict=True) if value is not None}
    return {**stored, "object": "file", "status": "processed"}
