"""Copies of all keys of a Redis, as lines of JSON, for backups of the embedded one."""

import base64
import json
from collections.abc import AsyncGenerator, Iterable

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chat_app.errors import SessionStoreUnavailable


async def dumped(url: str) -> AsyncGenerator[str, None]:
    """Yield each key with its value and time to live. Raises ``SessionStoreUnavailable``."""
    redis: Redis = Redis.from_url(url)
    try:
        async for key in redis.scan_iter(count=500):
            value, left = await redis.dump(key), await redis.pttl(key)
            if value is not None:
                encoded = [base64.b64encode(part).decode() for part in (key, value)]
                yield json.dumps([*encoded, max(left, 0)])
    except (RedisError, OSError):
        raise SessionStoreUnavailable("Redis could not be copied: check that it answers.") from None
    finally:
        await redis.aclose()


async def load(url: str, lines: Iterable[str]) -> int:
    """Write the keys of ``dumped`` to another Redis; return their number. Raises ``SessionStoreUnavailable``."""
    redis: Redis = Redis.from_url(url)
    count = 0
    try:
        for line in lines:
            key, value, left = json.loads(line)
            await redis.restore(base64.b64decode(key), left, base64.b64decode(value), replace=True)
            count += 1
    except (RedisError, OSError, ValueError):
        raise SessionStoreUnavailable(
            "The conversations could not be restored: the Redis here is older than that of the backup."
        ) from None
    finally:
        await redis.aclose()
    return count
