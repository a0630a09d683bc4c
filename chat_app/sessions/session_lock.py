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

from redis.asyncio.lock import Lock
from redis.exceptions import LockNotOwnedError

from chat_app.background import in_background
from chat_app.errors import SessionBusy, SessionStoreUnavailable
from chat_app.sessions.batched_redis import BatchedRedis
from chat_app.sessions.redis_scripts import script

LOCK_SECONDS: Final = 6.0
"""Seconds after which the lock of a dead holder expires: less than a question waits for it."""
_RENEWALS_PER_LIFE: Final = 3
_POLL_SECONDS: Final = 0.1

BUSY: Final = (
    "Another question of this conversation is still being answered: wait for its end, or stop it, then ask again."
)

_logger = logging.getLogger(__name__)


class _Lock(Lock):
    LUA_REACQUIRE_SCRIPT = script("renew_lock")
    # The class keeps its registered scripts; those of redis' own locks differ.
    lua_release = lua_extend = lua_reacquire = None


@asynccontextmanager
async def session_lock(redis: BatchedRedis, key: str, *, wait: float) -> AsyncGenerator[None]:
    """Hold ``key`` for the block; a Redis that fails while the lock is held disturbs neither the block nor its end.

    Raises ``SessionBusy`` when the lock is still taken after ``wait`` seconds, or ``SessionStoreUnavailable``.
    """
    lock = _Lock(redis, key, LOCK_SECONDS, _POLL_SECONDS, blocking_timeout=wait, thread_local=False)
    token = secrets.token_hex(16)
    try:
        if not await lock.acquire(token=token):
            raise SessionBusy(BUSY)
    except asyncio.CancelledError:
        # The command is on its way and may yet take the lock for a turn that no longer exists.
        in_background(_remove(lock, token))
        raise
    ended = asyncio.Event()
    holding = in_background(_hold(lock, token, ended))
    try:
        yield
    finally:
        ended.set()
        await asyncio.shield(holding)


async def _hold(lock: _Lock, token: str, ended: asyncio.Event) -> None:
    """Renew the lock until ``ended``, then remove it: in one task, so that no renewal comes after the end."""
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), LOCK_SECONDS / _RENEWALS_PER_LIFE)
            break
        try:
            await lock.reacquire()
        except SessionStoreUnavailable:
            continue
        except LockNotOwnedError:
            _logger.warning("A conversation's lock was lost to another turn; the chain is still checked on saving")
            return
    await _remove(lock, token)


async def _remove(lock: _Lock, token: str) -> None:
    try:
        with suppress(LockNotOwnedError):
            await lock.do_release(token.encode())
    except SessionStoreUnavailable:
        _logger.info("A conversation's lock could not be given back; it expires by itself")
