"""A conversation's lock in Redis: one turn at a time, in all processes.

The lock is a key that contains its owner's random token and expires. Only that token renews or removes it, so that an
owner who was suspended beyond the expiry cannot remove another owner's lock.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

from chat_app.background import in_background
from chat_app.errors import SessionBusy, SessionStoreUnavailable
from chat_app.sessions.batched_redis import BatchedRedis
from chat_app.sessions.redis_scripts import script

LOCK_SECONDS: Final = 6.0
"""Seconds after which the lock of a dead holder expires: less than a question waits for it."""
_RENEWALS_PER_LIFE: Final = 3
_FIRST_POLL_SECONDS: Final = 0.02
_LAST_POLL_SECONDS: Final = 0.25

BUSY: Final = (
    "Another question of this conversation is still being answered: wait for its end, or stop it, then ask again."
)

_RELEASE: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def session_lock(redis: BatchedRedis, key: str, *, wait: float) -> AsyncGenerator[None]:
    """Hold ``key`` for the block; a Redis that fails while the lock is held disturbs neither the block nor its end.

    Raises ``SessionBusy`` when the lock is still taken after ``wait`` seconds, or ``SessionStoreUnavailable``.
    """
    lock = _Lock(redis, key)
    await lock.acquire(wait)
    ended = asyncio.Event()
    holding = in_background(lock.hold_until(ended))
    try:
        yield
    finally:
        ended.set()
        await asyncio.shield(holding)


class _Lock:
    def __init__(self, redis: BatchedRedis, key: str) -> None:
        self._redis, self._key = redis, key
        self._token = secrets.token_hex(16)
        self._milliseconds = int(LOCK_SECONDS * 1000)
        self._renewal, self._removal = redis.register_script(script("renew_lock")), redis.register_script(_RELEASE)

    async def acquire(self, wait: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        pause = _FIRST_POLL_SECONDS
        while not await self._try():
            left = deadline - loop.time()
            if left <= 0:
                raise SessionBusy(BUSY)
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, _LAST_POLL_SECONDS)

    async def hold_until(self, ended: asyncio.Event) -> None:
        """Renews the lock until ``ended``, then removes it: in one task, so that no renewal comes after the end."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LOCK_SECONDS / _RENEWALS_PER_LIFE)
                break
            try:
                renewed = await self._renewal(keys=[self._key], args=[self._token, self._milliseconds])
            except SessionStoreUnavailable:
                continue
            if not renewed:
                _logger.warning("A conversation's lock was lost to another turn; the chain is still checked on saving")
                return
        await self._remove()

    async def _try(self) -> bool:
        trying = in_background(self._redis.set(self._key, self._token, nx=True, px=self._milliseconds))
        try:
            return bool(await asyncio.shield(trying))
        except asyncio.CancelledError:
            # The command is on its way and may yet take the lock for a turn that no longer exists.
            trying.add_done_callback(lambda _: in_background(self._remove()))
            raise

    async def _remove(self) -> None:
        try:
            await self._removal(keys=[self._key], args=[self._token])
        except SessionStoreUnavailable:
            _logger.info("A conversation's lock could not be given back; it expires by itself")
