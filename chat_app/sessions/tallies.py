"""Tallies that all processes share in Redis: the questions of a minute, wrong passwords.

A tally is a number and a time. While Redis cannot be reached, this process counts alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from chat_app.errors import SessionStoreUnavailable
from chat_app.sessions.session_lock import Bounded

_RETRY_SECONDS: Final = 5.0
_FORGET_BEYOND: Final = 10_000

_logger = logging.getLogger(__name__)


class Tally(NamedTuple):
    """A number and the Unix time that belongs to it."""

    amount: float = 0.0
    at: float = 0.0


NewTallies = Callable[[Sequence[Tally]], Sequence[Tally]]
"""Returns the new values of tallies, or raises to leave them unchanged. It may be called more than once."""


class RedisTallies:
    """The tallies in Redis."""

    def __init__(self, redis: Redis, bounded: Bounded) -> None:
        self._redis, self._bounded = redis, bounded

    async def change(self, names: Sequence[str], new: NewTallies, lasts: int) -> Sequence[Tally]:
        """Replace tallies by ``new`` of them, at once for all processes; raises like ``new``.

        Raises ``SessionStoreUnavailable``.
        """
        keys = [f"asclepius:tally:{name}" for name in names]

        async def changed(pipeline: Pipeline) -> Sequence[Tally]:
            tallies = new([_read(text) for text in await pipeline.mget(keys)])
            pipeline.multi()  # type: ignore[no-untyped-call]
            for key, tally in zip(keys, tallies, strict=True):
                pipeline.set(key, json.dumps(tally), ex=lasts)
            return tallies

        transaction = partial(self._redis.transaction, changed, *keys, value_from_callable=True)
        tallies: Sequence[Tally] = await self._bounded(transaction)
        return tallies


class Tallies:
    """Tallies by name, in Redis or, while it cannot be reached, here. ``shared`` returns those of Redis once open."""

    def __init__(self, shared: Callable[[], RedisTallies | None]) -> None:
        self._shared = shared
        self._known: dict[str, tuple[float, Tally]] = {}
        self._ask_again = 0.0
        # Redis repeats transactions that meet at one key, so this process begins one after the other.
        self._one_at_a_time = asyncio.Lock()

    async def change(self, names: Sequence[str], new: NewTallies, lasts: int) -> None:
        """Replace the tallies ``names`` by ``new`` of them, for ``lasts`` seconds; raises like ``new``."""
        hashed = [hashlib.sha256(name.encode()).hexdigest() for name in names]
        async with self._one_at_a_time:
            tallies = await self._changed_in_redis(hashed, new, lasts)
            if tallies is None:
                tallies = new([self._known.get(name, (0.0, Tally()))[1] for name in hashed])
            self._remember(hashed, tallies, time.time() + lasts)

    async def _changed_in_redis(self, names: Sequence[str], new: NewTallies, lasts: int) -> Sequence[Tally] | None:
        shared = self._shared()
        if shared is None or time.monotonic() < self._ask_again:
            return None
        try:
            return await shared.change(names, new, lasts)
        except SessionStoreUnavailable:
            self._ask_again = time.monotonic() + _RETRY_SECONDS
            _logger.warning("Questions and logins are counted in each process while Redis cannot be reached.")
            return None

    def _remember(self, names: Sequence[str], tallies: Sequence[Tally], until: float) -> None:
        if len(self._known) >= _FORGET_BEYOND:
            now = time.time()
            self._known = {name: known for name, known in self._known.items() if known[0] > now}
        self._known |= {name: (until, tally) for name, tally in zip(names, tallies, strict=True)}


def _read(text: Any) -> Tally:
    """Return a stored tally; one that another version wrote counts as nothing."""
    try:
        amount, at = json.loads(text or "[0, 0]")
        return Tally(float(amount), float(at))
    except (TypeError, ValueError):
        return Tally()
