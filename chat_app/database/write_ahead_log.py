"""SQLite's write-ahead log, which holds deleted rows until it is truncated."""

from typing import Final

from sqlalchemy.ext.asyncio import AsyncEngine

from chat_app.background import UntilDone
from chat_app.database.database_engine import BUSY_MS, DATABASE_ERRORS

_WAIT_SECONDS: Final = 1.0
_LOCK_MS: Final = 200
"""Limit of one attempt, which keeps others from writing while it waits for readers."""


class WriteAheadLog:
    """Truncates the log of ``engine``; does nothing for another database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._steps = UntilDone(self._truncated)

    async def truncate(self) -> None:
        """Remove deleted rows from the log; while a reader prevents that, retry in the background."""
        if self._engine.dialect.name == "sqlite" and not await self._truncated():
            self._steps.begin()
            await self._steps.wait(_WAIT_SECONDS)

    async def end(self) -> None:
        """Give up what has not been removed yet."""
        await self._steps.end()

    async def _truncated(self) -> bool:
        try:
            async with self._engine.connect() as connection:
                await connection.exec_driver_sql(f"PRAGMA busy_timeout={_LOCK_MS}")
                try:
                    busy = (await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")).scalar()
                finally:
                    await connection.exec_driver_sql(f"PRAGMA busy_timeout={BUSY_MS}")
        except DATABASE_ERRORS:
            return False
        return not busy
