"""Rewriting of Redis' append-only file, so that it no longer holds deleted data."""

from redis.asyncio import Redis

from chat_app.background import UntilDone
from chat_app.errors import SessionStoreUnavailable


class Compaction:
    """Rewrites the file in the background until a rewrite that began after the last request has succeeded.

    Redis refuses a rewrite while another one runs, and that one may have copied what was deleted since it began.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._wanted = self._begun = False
        self._steps = UntilDone(self._step)

    def request(self) -> None:
        """Rewrite the file without the keys that have been deleted."""
        self._wanted = True
        self._steps.begin()

    async def end(self, seconds: float) -> None:
        """Wait until the file is rewritten; give up after ``seconds``."""
        await self._steps.end(seconds)

    async def _step(self) -> bool:
        try:
            found = await self._redis.info("persistence")
            if found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"]:
                return False
            if self._begun and not self._wanted and found["aof_last_bgrewrite_status"] == "ok":
                self._begun = False
                return True
            self._wanted, self._begun = False, True
            await self._redis.bgrewriteaof()
        except SessionStoreUnavailable:
            self._wanted = True
        return False
