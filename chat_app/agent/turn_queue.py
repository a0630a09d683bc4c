"""The queue in front of the work of a question: a bounded number of turns run at once, and others wait in order."""

import asyncio
import time
from bisect import insort
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Final, NamedTuple

from chat_app.events import Notice

_TELL_SECONDS: Final = 1.0
"""Seconds after which a reader is told how many questions are ahead, and between two of these notices."""
_LEFT: Final = Notice(code="queue_left", message="Your question is being answered now.")


class _Waiting(NamedTuple):
    """A turn that waits; sorts by the time at which its question was asked."""

    asked_at: float
    number: int
    admitted: asyncio.Future[None]


class TurnQueue:
    """Admits turns in the order in which their questions were asked.

    One turn is admitted in each pass of the event loop. So in a burst the processor prepares one request after the
    other, and the first questions need not wait until all are prepared.

    Args:
        at_once: Turns that run at the same time.
    """

    def __init__(self, at_once: int, *, tell_seconds: float = _TELL_SECONDS) -> None:
        self._free = at_once
        self._tell_seconds = tell_seconds
        self._waiting: list[_Waiting] = []
        self._placed: set[str] = set()
        self._numbers = count()
        self._pausing = False

    @property
    def length(self) -> int:
        """The number of turns that wait for a place."""
        return len(self._waiting)

    @asynccontextmanager
    async def place(self, asked_at: float, turn_id: str) -> AsyncGenerator[AsyncGenerator[Notice, None], None]:
        """Hold a place until the block ends; the turn may begin once the yielded notices have ended.

        A turn that has a place already keeps that one: the page takes it before it reads the history.

        Args:
            asked_at: When the question was asked, in seconds since the epoch.
            turn_id: The turn.
        """
        turn = _Waiting(asked_at, next(self._numbers), asyncio.get_running_loop().create_future())
        if turn_id in self._placed:
            turn.admitted.set_result(None)
            yield self._notices(turn)
            return
        self._placed.add(turn_id)
        insort(self._waiting, turn)
        self._admit()
        try:
            async with aclosing(self._notices(turn)) as notices:
                yield notices
        finally:
            self._placed.remove(turn_id)
            if turn.admitted.done():
                self._free += 1
            else:
                self._waiting.remove(turn)
            self._admit()

    def _admit(self) -> None:
        if self._waiting and self._free and not self._pausing:
            self._free -= 1
            self._waiting.pop(0).admitted.set_result(None)
            self._pausing = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._pausing = False
        self._admit()

    async def _notices(self, turn: _Waiting) -> AsyncGenerator[Notice, None]:
        """Yield how many questions are ahead, whenever these are fewer, until the turn is admitted."""
        told = 0
        pause = max(0.0, turn.asked_at + self._tell_seconds - time.time())
        while not turn.admitted.done() and not (await asyncio.wait({turn.admitted}, timeout=pause))[0]:
            pause = self._tell_seconds
            ahead = self._waiting.index(turn) + 1
            # A question that was asked earlier may arrive later.
            if not told or ahead < told:
                told = ahead
                message = f"Your question is waiting. Questions ahead of it: {ahead}"
                yield Notice(code="queued", params={"ahead": ahead}, message=message)
        if told:
            yield _LEFT
