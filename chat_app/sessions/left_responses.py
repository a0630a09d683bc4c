"""Responses of deleted conversations that the model server could not delete yet. They are noted without their text."""

import time
from collections.abc import Iterable
from typing import Final, cast

from chat_app.sessions.batched_redis import BatchedRedis

_KEY: Final = "asclepius:left-responses"
KEPT_DAYS: Final = 30
"""Days after which a response is given up; OpenAI keeps one no longer than that."""
_MOST: Final = 10_000


class LeftResponses:
    """The ids of these responses, of all processes. Every method raises ``SessionStoreUnavailable``."""

    def __init__(self, redis: BatchedRedis) -> None:
        self._redis = redis

    async def add(self, ids: Iterable[str]) -> None:
        """Note responses; of more than ten thousand the oldest are given up."""
        now = time.time()
        await self._redis.zadd(_KEY, dict.fromkeys(ids, now), nx=True)
        await self._redis.zremrangebyrank(_KEY, 0, -_MOST - 1)
        await self._redis.expire(_KEY, KEPT_DAYS * 86_400)

    async def ids(self) -> list[str]:
        """Return the noted responses, and drop those that were noted too long ago."""
        await self._redis.zremrangebyscore(_KEY, 0, time.time() - KEPT_DAYS * 86_400)
        return [name.decode() for name in cast("list[bytes]", await self._redis.zrange(_KEY, 0, -1))]

    async def remove(self, ids: Iterable[str]) -> None:
        """Drop responses that were deleted."""
        if names := list(ids):
            await self._redis.zrem(_KEY, *names)
