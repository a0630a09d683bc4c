"""Limits per user over page and API: questions per minute, concurrent questions and uploads."""

import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from chat_app.errors import AsclepiusError, ErrorCode, InputRejected, MessageParams, SessionStoreUnavailable
from chat_app.sessions.held_files import Held, HeldFiles
from chat_app.sessions.tallies import Tallies, Tally

MOST_OF_USER: Final = 500_000_000
MOST_IN_ALL: Final = 10_000_000_000
"""Bytes of files that can be sent in an hour, and of those that are held for open conversations."""
_BUSY_RETRY_SECONDS: Final = 5
_HOUR: Final = 3600
RECORD_SECONDS: Final = 5.0


class TooManyQuestions(AsclepiusError):
    """The user has to wait. ``retry_after``: whole seconds."""

    def __init__(self, message: str, *, retry_after: int, code: ErrorCode, params: MessageParams) -> None:
        super().__init__(message, code=code, params=params)
        self.retry_after = retry_after


class _TooManyBytes(Exception):
    """The user, or all users together, have sent too much."""


@dataclass(frozen=True)
class UserLimits:
    """Admits questions; ``clock`` returns Unix time."""

    tallies: Tallies
    per_minute: int
    at_once: int
    clock: Callable[[], float] = time.time

    async def admit(self, user: str, *, running: int, asked: int = 1) -> None:
        """Count ``asked`` questions of ``user``, who has ``running`` others being answered.

        Raises ``TooManyQuestions`` when they are too many for now, ``InputRejected`` when they always will be; then
        nothing is counted.
        """
        if asked > (most := min(self.at_once, self.per_minute)):
            raise InputRejected(
                f"At most {most} models can be asked at once. Ask fewer.", code="too_many_models", params={"most": most}
            )
        if running + asked > self.at_once:
            raise TooManyQuestions(
                f"{running} of your questions are being answered; at most {self.at_once} can be at once. "
                "Wait for one to end, or stop one.",
                retry_after=_BUSY_RETRY_SECONDS,
                code="too_many_at_once",
                params={"running": running, "most": self.at_once},
            )
        await self.tallies.change([f"questions of {user}"], partial(self._less, asked), lasts=60)

    def _less(self, asked: int, found: Sequence[Tally]) -> list[Tally]:
        [left], delay = _spent(found, asked, (self.per_minute,), 60, self.clock())
        if delay > 0:
            wait = max(1, math.ceil(delay))
            raise TooManyQuestions(
                f"At most {self.per_minute} questions can be asked in a minute. Ask again in {wait} seconds.",
                retry_after=wait,
                code="too_many_per_minute",
                params={"most": self.per_minute, "seconds": wait},
            )
        return [left]

    async def may_send(self, user: str, size: int) -> bool:
        """Count a file of ``size`` bytes; return False, and count nothing, when it is too much for now."""
        try:
            await self.tallies.change([f"uploads of {user}", "uploads"], partial(self._sent, size), lasts=_HOUR)
        except _TooManyBytes:
            return False
        return True

    def _sent(self, size: int, found: Sequence[Tally]) -> list[Tally]:
        left, delay = _spent(found, size, (MOST_OF_USER, MOST_IN_ALL), _HOUR, self.clock())
        if delay > 0:
            raise _TooManyBytes
        return left


def _spent(
    found: Sequence[Tally], cost: int, most: Sequence[int], seconds: int, now: float
) -> tuple[list[Tally], float]:
    """Return the allowances less ``cost``, and the seconds until they suffice.

    Each refills evenly, up to its ``most`` in ``seconds``.
    """
    lefts = [
        min(limit, known.amount + max(0.0, now - known.at) * limit / seconds)
        for known, limit in zip(found, most, strict=True)
    ]
    delay = max((cost - left) * seconds / limit for left, limit in zip(lefts, most, strict=True))
    return [Tally(left - cost, max(now, known.at)) for left, known in zip(lefts, found, strict=True)], delay


class UploadRoom:
    """Admits files while those that all processes hold for open conversations stay within the limits.

    ``shared`` returns the records in Redis, or None while there are none; then this process, whose bytes by user
    ``here`` returns, counts alone.
    """

    def __init__(self, shared: Callable[[], HeldFiles | None], here: Callable[[], Held]) -> None:
        self._shared, self._here = shared, here
        self._arriving: Counter[str] = Counter()

    @asynccontextmanager
    async def admitted(self, user: str, size: int) -> AsyncGenerator[bool]:
        """Yield whether a file of ``size`` bytes fits; it counts as held during the block, which stores it."""
        self._arriving[user] += size
        try:
            yield await self._record(partial(_fits, user))
        finally:
            self._arriving[user] -= size

    async def record_held(self) -> None:
        """Record what this process holds; to be repeated every ``RECORD_SECONDS``."""
        await self._record(lambda _: True)

    async def _record(self, fits: Callable[[Held], bool]) -> bool:
        if (shared := self._shared()) is not None:
            with suppress(SessionStoreUnavailable):
                return await shared.record(self._held, fits)
        return fits(self._held())

    def _held(self) -> Held:
        return Counter(self._here()) + self._arriving


def _fits(user: str, held: Held) -> bool:
    return held.get(user, 0) <= MOST_OF_USER and sum(held.values()) <= MOST_IN_ALL
