"""The index of a user's conversations in Redis, newest use first.

An entry may outlive its conversation, never the reverse; entries without a conversation are removed when the index is
read. The key contains a hash of the user, so that no name appears in a list of keys.
"""

import hashlib
import time
from typing import Any, Final, cast

from chat_app.sessions import redis_scripts
from chat_app.sessions.batched_redis import BatchedRedis

_SLACK_SECONDS: Final = 7_200
"""A turn renews its conversation after the index entry, at most by the length of a turn."""
_PAGE: Final = 100


class UserIndex:
    """The indexes of all users. ``ttl`` is the expiry of a conversation after its last use, in seconds."""

    def __init__(self, redis: BatchedRedis, ttl: int) -> None:
        self._redis = redis
        self._kept = ttl + _SLACK_SECONDS
        self._remember = redis.register_script(redis_scripts.script("remember"))

    async def remember(self, user_id: str, session_id: str) -> None:
        """Record that ``session_id`` is used now."""
        now = int(time.time())
        await self._remember(keys=[_key(user_id)], args=[self._kept, now, session_id])

    async def forget(self, user_id: str, *session_ids: bytes | str) -> None:
        """Remove entries."""
        await self._redis.zrem(_key(user_id), *session_ids)

    async def newest(self, user_id: str, limit: int) -> list[tuple[list[bytes], bytes | None]]:
        """Return the records of at most ``limit`` existing conversations, each with its oldest message."""
        found: list[tuple[list[bytes], bytes | None]] = []
        start = 0
        while len(found) < limit:
            page = await self._redis.zrange(_key(user_id), start, start + _PAGE - 1, desc=True)
            ids = cast("list[bytes]", page)
            if not ids:
                break
            replies = await self._peek_all(user_id, ids)
            gone = [name for name, reply in zip(ids, replies, strict=True) if reply[0] != b"ok"]
            if gone:
                await self.forget(user_id, *gone)
            found += [(reply[1], reply[2]) for reply in replies if reply[0] == b"ok"]
            start += len(ids) - len(gone)
        return found[:limit]

    async def _peek_all(self, user_id: str, ids: list[bytes]) -> list[list[Any]]:
        pipeline = self._redis.pipeline(transaction=False)
        for name in ids:
            keys = [redis_scripts.session_key(name.decode(), part) for part in redis_scripts.PARTS[:2]]
            pipeline.eval(redis_scripts.script("peek"), len(keys), *keys, user_id)
        return await self._redis.execute_together(pipeline)


def _key(user_id: str) -> str:
    return f"asclepius:user:{hashlib.sha256(user_id.encode()).hexdigest()[:32]}:conversations"
