"""Bytes of uploaded files that all processes hold for open conversations, by user.

Each process keeps one record in Redis. A record that is not renewed expires, so that the files of a process that died
no longer count.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from redis.asyncio.client import Pipeline

from chat_app.sessions.batched_redis import BatchedRedis

_KEY: Final = "asclepius:held-files"
_RECORD_SECONDS: Final = 30
_FORGOTTEN_SECONDS: Final = 86_400

Held = Mapping[str, int]
"""Bytes by user."""


class HeldFiles:
    """The records of all processes. That of ``holder``, this process, expires unless it is renewed."""

    def __init__(self, redis: BatchedRedis, holder: str) -> None:
        self._redis, self.holder = redis, holder

    async def record(self, held: Callable[[], Held], fits: Callable[[Held], bool]) -> bool:
        """Record the bytes that this process holds if ``fits`` accepts the sum of all processes; return its answer.

        Both may be called more than once. Raises ``SessionStoreUnavailable``.
        """

        async def changed(pipeline: Pipeline) -> bool:
            now: int = (await pipeline.time())[0]
            own = held()
            total, expired = Counter(own), list[bytes | str]()
            for name, record in (await pipeline.hgetall(_KEY)).items():
                until, theirs = json.loads(record)
                if until < now:
                    expired.append(name)
                elif name != self.holder.encode():
                    total.update(theirs)
            accepted = fits(total)
            pipeline.multi()  # type: ignore[no-untyped-call]
            if expired:
                pipeline.hdel(_KEY, *expired)
            if accepted:
                pipeline.hset(_KEY, self.holder, json.dumps([now + _RECORD_SECONDS, own]))
                pipeline.expire(_KEY, _FORGOTTEN_SECONDS)
            return accepted

        return await self._redis.transact(changed, _KEY)
