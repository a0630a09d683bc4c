"""The queue in front of the model: a bounded number of turns run at once, and others wait in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Final

from chat_app.events import Notice

_TELL_SECONDS: Final = 1.0
"""Seconds until a reader is told how many questions are ahead, and between two of these notices."""
_LEFT: Final = Notice(code="queue_left", message="Your question is being answered now.")


class TurnQueue:
    """Admits turns in the order in which they came.

    Args:
        at_once: Turns that run at the same time.
    """

    def __init__(self, at_once: int, *, tell_seconds: float = _TELL_SECONDS) -> None:
        self._free = at_once
        self._tell_seconds = tell_seconds
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def length(self) -> int:
        """The number of turns that wait for a place."""
        return len(self._waiting)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[AsyncGenerator[Notice, None], None]:
        """Hold a place until the block ends; the turn may begin once the yielded notices have ended."""
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(admitted)
        self._admit()
        try:
            async with aclosing(self._notices(admitted)) as notices:
                yield notices
        finally:
            if admitted.done():
                self._free += 1
            else:
                self._waiting.remove(admitted)
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._free:
            self._free -= 1
            self._waiting.popleft().set_result(None)

    async def _notices(self, admitted: asyncio.Future[None]) -> AsyncGenerator[Notice, None]:
        """Yield how many questions are ahead, whenever that has changed, until the turn is admitted."""
        told = 0
        while not (await asyncio.wait({admitted}, timeout=self._tell_seconds))[0]:
            ahead = self._waiting.index(admitted) + 1
            if ahead != told:
                told = ahead
                message = f"Your question is waiting. Questions ahead of it: {ahead}"
                yield Notice(code="queued", params={"ahead": ahead}, message=message)
        if told:
            yield _LEFT
