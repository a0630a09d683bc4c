"""A bounded way from a producer to one reader that merges waiting text instead of dropping or piling it up.

When the reader is slow, text deltas that still wait are joined with the next one; when the channel is full all the
same, the producer waits. Order is kept and nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from chat_app.events import RawResponsesStreamEvent, TextDelta
from chat_app.response_events import OutputTextDelta

E = TypeVar("E")

MAX_EVENTS = 64
MAX_MERGED_CHARS = 16_384


class ChannelClosed(Exception):
    """The channel has ended and everything in it was read."""


class EventChannel(Generic[E]):
    """One or more producers, one reader."""

    def __init__(self, *, max_events: int = MAX_EVENTS) -> None:
        self._max = max_events
        self._waiting: deque[E] = deque()
        self._ended = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()

    async def put(self, event: E) -> None:
        """Adds ``event``; waits while the channel is full."""
        if self._waiting:
            merged = _merge(self._waiting[-1], event)
            if merged is not None:
                self._waiting[-1] = merged
                return
        while len(self._waiting) >= self._max and not self._ended:
            self._writable.clear()
            await self._writable.wait()
        self._waiting.append(event)
        self._readable.set()

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
        self._writable.set()
        return event


def _merge(last: E, event: E) -> E | None:
    """``last`` and ``event`` as one, when both are text of the same place and not too long together."""
    merged: object = None
    match last, event:
        case TextDelta(), TextDelta() if len(last.text) < MAX_MERGED_CHARS:
            merged = TextDelta(text=last.text + event.text)
        case RawResponsesStreamEvent(), RawResponsesStreamEvent():
            merged = _merge_raw(last, event)
        case _:
            pass
    return merged  # type: ignore[return-value]


def _merge_raw(last: RawResponsesStreamEvent, event: RawResponsesStreamEvent) -> RawResponsesStreamEvent | None:
    first, second = last.data, event.data
    if not (isinstance(first, OutputTextDelta) and isinstance(second, OutputTextDelta)):
        return None
    same = (first.item_id, first.content_index) == (second.item_id, second.content_index)
    if not same or len(first.delta) >= MAX_MERGED_CHARS:
        return None
    joined = second.model_copy(update={"delta": first.delta + second.delta})
    return RawResponsesStreamEvent.model_construct(data=joined)
