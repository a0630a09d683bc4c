"""Copies of all keys of a Redis, as lines of JSON, for backups of the embedded one."""

import base64
import json
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from chat_app.errors import SessionStoreUnavailable


async def dump(url: str, path: Path) -> None:
    """Write each key with its value and time to live to a file. Raises ``SessionStoreUnavailable``."""
    try:
        async with Redis.from_url(url) as redis:
            with path.open("w", encoding="utf-8") as file:
                async for key in redis.scan_iter(count=500):
                    value, left = await redis.dump(key), await redis.pttl(key)
                    if value is not None:
                        encoded = [base64.b64encode(part).decode() for part in (key, value)]
                        file.write(json.dumps([*encoded, max(left, 0)]) + "\n")
    except RedisError:
        raise SessionStoreUnavailable("Redis could not be copied: check that it answers.") from None


async def load(url: str, path: Path) -> None:
    """Write the keys in a file of ``dump`` to another Redis. Raises ``SessionStoreUnavailable``."""
    try:
        async with Redis.from_url(url) as redis:
            with path.open(encoding="utf-8") as lines:
                for key, value, left in map(json.loads, lines):
                    await redis.restore(base64.b64decode(key), left, base64.b64decode(value), replace=True)
    except ResponseError:
        reason = "the Redis here is older than that of the backup"
    except RedisError:
        reason = "check that Redis answers"
    except (OSError, ValueError):
        reason = "the backup is damaged"
    else:
        return
    raise SessionStoreUnavailable(f"The conversations could not be restored: {reason}.")
