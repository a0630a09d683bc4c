"""A bounded channel from producers to one reader that merges queued text instead of dropping or accumulating it.

While the reader is slow, queued text deltas are joined with the next one; when the channel is full nevertheless, the
producer waits. Order is kept and nothing is lost.
"""

import asyncio
from collections import deque
from typing import Generic, Self, TypeVar, cast

from chat_app.events import TextDelta

E = TypeVar("E")

MAX_EVENTS = 64
MAX_CHARS = 8_192
"""Limit of the queued text in characters; a producer waits until its text fits, and through it the server."""


class EventChannel(Generic[E]):
    """A channel from one or more producers to one reader, who iterates it."""

    def __init__(self, *, max_events: int = MAX_EVENTS) -> None:
        self._max = max_events
        self._waiting: deque[E] = deque()
        self._chars = 0
        self._ended = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()

    async def put(self, event: E) -> None:
        """Add ``event``; wait while the channel is full. A text above the limit waits until no other text is queued."""
        size = len(event.text) if isinstance(event, TextDelta) else 0
        while not (self._fits(size) or self._ended):
            self._writable.clear()
            await self._writable.wait()
        if isinstance(event, TextDelta):
            self._chars += size
            last = self._waiting[-1] if self._waiting else None
            if isinstance(last, TextDelta):
                self._waiting[-1] = cast("E", TextDelta(text=last.text + event.text))
                return
        self._waiting.append(event)
        self._readable.set()

    def _fits(self, size: int) -> bool:
        return len(self._waiting) < self._max and (not self._chars or self._chars + size <= MAX_CHARS)

    def end(self) -> None:
        """End the channel; queued events can still be read."""
        self._ended = True
        self._readable.set()
        self._writable.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._readable.clear()
            await self._readable.wait()
        event = self._waiting.popleft()
        if isinstance(event, TextDelta):
            self._chars -= len(event.text)
        self._writable.set()
        return event
