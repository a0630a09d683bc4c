"""A bounded way from a producer to one reader that merges waiting text instead of dropping or piling it up.

When the reader is slow, text deltas that still wait are joined with the next one; when the channel is full all the
same, the producer waits. Order is kept and nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from chat_app.events import TextDelta

E = TypeVar("E")

MAX_EVENTS = 64
MAX_CHARS = 8_192
"""Text that waits in one channel, in characters; beyond it the producer waits, and through it the server."""


class ChannelClosed(Exception):
    """The channel has ended and everything in it was read."""


class EventChannel(Generic[E]):
    """One or more producers, one reader."""

    def __init__(self, *, max_events: int = MAX_EVENTS) -> None:
        self._max = max_events
        self._waiting: deque[E] = deque()
        self._chars = 0
        self._ended = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()

    async def put(self, event: E) -> None:
        """Adds ``event``; waits while the channel is full."""
        while self._is_full() and not self._ended:
            self._writable.clear()
            await self._writable.wait()
        self._chars += _chars(event)
        merged = _merge(self._waiting[-1], event) if self._waiting else None
        if merged is not None:
            self._waiting[-1] = merged
        else:
            self._waiting.append(event)
        self._readable.set()

    def _is_full(self) -> bool:
        # Text merges into what waits, so it is counted by its characters, and everything else by its number.
        return self._chars >= MAX_CHARS or len(self._waiting) >= self._max

    def end(self) -> None:
        """No more events will come; those that wait can still be read."""
        self._ended = True
        self._readable.set()
        self._writable.set()

    async def get(self) -> E:
        """The next event. Raises ``ChannelClosed`` at the end."""
        while not self._waiting:
            if self._ended:
                raise ChannelClosed
            self._readable.clear()
            await self._readable.wait()
        event = self._waiting.popleft()
        self._chars -= _chars(event)
        self._writable.set()
        return event


def _chars(event: object) -> int:
    return len(event.text) if isinstance(event, TextDelta) else 0


def _merge(last: E, event: E) -> E | None:
    """``last`` and ``event`` as one, when both are text."""
    if isinstance(last, TextDelta) and isinstance(event, TextDelta):
        return TextDelta(text=last.text + event.text)  # type: ignore[return-value]
    return None
