"""Tallies that all processes share in Redis: the questions of a minute, wrong passwords.

A tally is a number and a time. While Redis cannot be reached, this process counts alone.
"""

import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio.client import Pipeline

from chat_app.batches import Batches
from chat_app.errors import SessionStoreUnavailable
from chat_app.sessions.batched_redis import BatchedRedis

_RETRY_SECONDS: Final = 5.0
_FORGET_BEYOND: Final = 10_000

_logger = logging.getLogger(__name__)


class Tally(NamedTuple):
    """A number and the Unix time that belongs to it."""

    amount: float = 0.0
    at: float = 0.0


NewTallies = Callable[[Sequence[Tally]], Sequence[Tally]]
"""Returns the new values of tallies, or raises to leave them unchanged. It may be called more than once."""


class TallyChange(NamedTuple):
    """A change of the tallies ``names``, which last for so many seconds."""

    names: Sequence[str]
    new: NewTallies
    lasts: int


Changed = tuple[dict[str, tuple[Tally, int]], list[Exception | None]]
"""The changed tallies by name, each with the seconds for which it lasts, and what each change raised."""


def _applied(changes: Sequence[TallyChange], known: dict[str, Tally]) -> Changed:
    """Make the changes one after the other; one that raises changes nothing."""
    changed: dict[str, tuple[Tally, int]] = {}
    raised: list[Exception | None] = []
    for names, new, lasts in changes:
        try:
            tallies = dict(zip(names, new([known.get(name, Tally()) for name in names]), strict=True))
        except Exception as error:  # noqa: BLE001 - the caller gets it
            raised.append(error)
            continue
        known |= tallies
        changed |= {name: (tally, lasts) for name, tally in tallies.items()}
        raised.append(None)
    return changed, raised


async def change_in_redis(redis: BatchedRedis, changes: Sequence[TallyChange]) -> Changed:
    """Make the changes at once for all processes. Raises ``SessionStoreUnavailable``."""
    keys = {name: f"asclepius:tally:{name}" for change in changes for name in change.names}

    async def change(pipeline: Pipeline) -> Changed:
        found = dict(zip(keys, map(_read, await pipeline.mget(keys.values())), strict=True))
        changed, raised = _applied(changes, found)
        pipeline.multi()  # type: ignore[no-untyped-call]
        for name, (tally, lasts) in changed.items():
            pipeline.set(keys[name], json.dumps(tally), ex=lasts)
        return changed, raised

    return await redis.transact(change, *keys.values())


ChangeTallies = Callable[[Sequence[TallyChange]], Awaitable[Changed]]


class Tallies:
    """Tallies by name, in Redis or, while it cannot be reached, here. ``shared`` returns those of Redis once open."""

    def __init__(self, shared: Callable[[], ChangeTallies | None]) -> None:
        self._shared = shared
        self._known: dict[str, tuple[float, Tally]] = {}
        self._ask_again = 0.0
        self._changes: Batches[TallyChange, None] = Batches(self._change_together)

    async def change(self, names: Sequence[str], new: NewTallies, lasts: int) -> None:
        """Replace the tallies ``names`` by ``new`` of them, for ``lasts`` seconds; raises like ``new``."""
        hashed = [hashlib.sha256(name.encode()).hexdigest() for name in names]
        await self._changes.do(TallyChange(hashed, new, lasts))

    async def _change_together(self, changes: Sequence[TallyChange]) -> Sequence[Exception | None]:
        made = await self._changed_in_redis(changes)
        names = {name for change in changes for name in change.names} & self._known.keys()
        changed, raised = made or _applied(changes, {name: self._known[name][1] for name in names})
        now = time.time()
        if len(self._known) >= _FORGET_BEYOND:
            self._known = {name: known for name, known in self._known.items() if known[0] > now}
        self._known |= {name: (now + lasts, tally) for name, (tally, lasts) in changed.items()}
        return raised

    async def _changed_in_redis(self, changes: Sequence[TallyChange]) -> Changed | None:
        shared = self._shared()
        if shared is None or time.monotonic() < self._ask_again:
            return None
        try:
            return await shared(changes)
        except SessionStoreUnavailable:
            self._ask_again = time.monotonic() + _RETRY_SECONDS
            _logger.warning("Questions and logins are counted in each process while Redis cannot be reached.")
            return None


def _read(text: Any) -> Tally:
    """Return a stored tally; one that another version wrote counts as nothing."""
    try:
        amount, at = json.loads(text or "[0, 0]")
        return Tally(float(amount), float(at))
    except (TypeError, ValueError):
        return Tally()
