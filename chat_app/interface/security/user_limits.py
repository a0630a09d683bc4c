"""Limits per user over page and API: questions per minute and concurrent questions.

Each process counts separately. A user is forgotten after a minute without a question.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from chat_app.errors import AsclepiusError, ErrorCode, InputRejected, MessageParams

_FORGET_BEYOND = 1_000
_BUSY_RETRY_SECONDS = 5


class TooManyQuestions(AsclepiusError):
    """The user has to wait. ``retry_after``: whole seconds."""

    def __init__(self, message: str, *, retry_after: int, code: ErrorCode, params: MessageParams) -> None:
        super().__init__(message, code=code, params=params)
        self.retry_after = retry_after


@dataclass
class _Allowance:
    """Token bucket that refills evenly up to a minute's questions."""

    left: float
    at: float


class UserLimits:
    """Admits questions; ``clock`` is monotonic, in seconds."""

    def __init__(self, *, per_minute: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._at_once = at_once
        self._clock = clock
        self._allowances: dict[str, _Allowance] = {}

    def admit(self, user: str, *, running: int, asked: int = 1) -> None:
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
        now = self._clock()
        left = self._left(user, now)
        if left < asked:
            wait = math.ceil((asked - left) * 60 / self._per_minute)
            raise TooManyQuestions(
                f"At most {self._per_minute} questions can be asked in a minute. Ask again in {wait} seconds.",
                retry_after=max(1, wait),
                code="too_many_per_minute",
                params={"most": self._per_minute, "seconds": wait},
            )
        self._forget(now)
        self._allowances[user] = _Allowance(left - asked, now)

    def _left(self, user: str, now: float) -> float:
        known = self._allowances.get(user)
        if known is None:
            return float(self._per_minute)
        return min(float(self._per_minute), known.left + (now - known.at) * self._per_minute / 60)

    def _forget(self, now: float) -> None:
        if len(self._allowances) > _FORGET_BEYOND:
            self._allowances = {user: known for user, known in self._allowances.items() if now - known.at < 60}
