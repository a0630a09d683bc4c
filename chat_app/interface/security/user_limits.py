"""Limits per user over page and API: questions per minute and concurrent questions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial

from chat_app.errors import AsclepiusError, ErrorCode, InputRejected, MessageParams
from chat_app.sessions.tallies import Tallies, Tally

_BUSY_RETRY_SECONDS = 5


class TooManyQuestions(AsclepiusError):
    """The user has to wait. ``retry_after``: whole seconds."""

    def __init__(self, message: str, *, retry_after: int, code: ErrorCode, params: MessageParams) -> None:
        super().__init__(message, code=code, params=params)
        self.retry_after = retry_after


class UserLimits:
    """Admits questions; ``clock`` returns Unix time."""

    def __init__(
        self, tallies: Tallies, *, per_minute: int, at_once: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._tallies = tallies
        self._per_minute = per_minute
        self._at_once = at_once
        self._clock = clock

    async def admit(self, user: str, *, running: int, asked: int = 1) -> None:
        """Count ``asked`` questions of ``user``, who has ``running`` others being answered.

        Raises ``TooManyQuestions`` when they are too many for now, ``InputRejected`` when they always will be; then
        nothing is counted.
        """
        if asked > (most := min(self._at_once, self._per_minute)):
            raise InputRejected(
                f"At most {most} models can be asked at once. Ask fewer.", code="too_many_models", params={"most": most}
            )
        if running + asked > self._at_once:
            raise TooManyQuestions(
                f"{running} of your questions are being answered; at most {self._at_once} can be at once. "
                "Wait for one to end, or stop one.",
                retry_after=_BUSY_RETRY_SECONDS,
                code="too_many_at_once",
                params={"running": running, "most": self._at_once},
            )
        await self._tallies.change([f"questions of {user}"], partial(self._less, asked), lasts=60)

    def _less(self, asked: int, found: Sequence[Tally]) -> list[Tally]:
        """Return what is left of the allowance, which refills evenly up to a minute's questions."""
        [known] = found
        now = self._clock()
        left = min(float(self._per_minute), known.amount + max(0.0, now - known.at) * self._per_minute / 60)
        if left < asked:
            wait = math.ceil((asked - left) * 60 / self._per_minute)
            raise TooManyQuestions(
                f"At most {self._per_minute} questions can be asked in a minute. Ask again in {wait} seconds.",
                retry_after=max(1, wait),
                code="too_many_per_minute",
                params={"most": self._per_minute, "seconds": wait},
            )
        return [Tally(left - asked, max(now, known.at))]
