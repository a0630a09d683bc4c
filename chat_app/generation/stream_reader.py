"""The body of a streamed response as batches of events, with its time limits and the pace of its reads.

Events that arrived together are one batch. While the process is idle, each read is handled at once. The more its thread
computes, the longer a stream's bytes stay in the system's buffer, so that one pass through the HTTP client and the app
carries several deltas.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import aiohttp
import httpx2
import orjson

from chat_app.errors import ProtocolViolation, StreamStalled, StreamTruncated
from chat_app.generation.model_client import EventBatch
from chat_app.generation.sse import SSEDecoder
from chat_app.response_events import LAST, OutputTextDelta, ResponseEvent, is_other, named, parse_event

LONGEST_PAUSE: Final = 0.08
OVERLOAD_PAUSE: Final = 0.3
TICK: Final = 0.02
"""Pauses end together, at multiples of this time: one pass through the event loop, and one write to Redis, then serves
several streams."""
_MEASURED_SECONDS: Final = 0.1
_CALM, _FULL = 0.1, 0.3
"""Shares of the time at which the pauses begin, and at which they are ``LONGEST_PAUSE``."""
_TARGET: Final = 0.85
"""The share above which they grow further: a process with more to do than it can would start no further answer."""
_END_OF_STREAM_WAIT = 0.25
"""Seconds to wait for the end of the body after the terminal event, so that the connection can be reused."""
_FIELD: Final = b"data:"
"""The name of the field, which some servers send twice. No JSON begins with it."""
_BROKEN: Final = (httpx2.HTTPError, aiohttp.ClientError)


def occupied_seconds(waits: Path = Path("/proc/thread-self/schedstat")) -> float:
    """Return for how long this thread has computed or, as ``waits`` tells on Linux, waited for a processor."""
    with suppress(OSError):
        return time.thread_time() + int(waits.read_text().split()[1]) / 1e9
    return time.thread_time()


class ReadPace:
    """The pause between two reads of a stream, by how much the event loop's thread computes.

    ``busy`` returns the seconds for which this thread had something to compute, of those that ``clock`` returns.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, busy: Callable[[], float] = occupied_seconds
    ) -> None:
        self._clock, self._busy = clock, busy
        self._since, self._before = clock(), busy()
        self._load = self._beyond = self._pause = 0.0

    def pause(self) -> float:
        """Return the seconds to wait before the next read; 0 unless the thread is busy."""
        now = self._clock()
        if now - self._since >= _MEASURED_SECONDS:
            busy = self._busy()
            self._adapt((busy - self._before) / (now - self._since), now - self._since)
            self._since, self._before = now, busy
        return max(0.0, self._pause - (now + self._pause) % TICK)

    def _adapt(self, load: float, seconds: float) -> None:
        self._load += (load - self._load) * min(1.0, seconds / _MEASURED_SECONDS / 2)
        share = min(1.0, max(0.0, (self._load - _CALM) / (_FULL - _CALM)))
        # By a share of itself. Long pauses lower the load, so one that follows the load alone swings between extremes.
        beyond = self._beyond + (LONGEST_PAUSE + self._beyond) * (load - _TARGET)
        self._beyond = min(OVERLOAD_PAUSE - LONGEST_PAUSE, max(0.0, beyond))
        self._pause = LONGEST_PAUSE * share + self._beyond

    def hold(self, transport: asyncio.ReadTransport | None) -> float:
        """Leave what arrives during the pause to the system, which joins it; return the pause in seconds."""
        if transport is None or not transport.is_reading() or not (pause := self.pause()):
            return 0.0
        transport.pause_reading()
        asyncio.get_running_loop().call_later(pause, transport.resume_reading)
        return pause


class _Limit:
    """A time limit that each event moves to a later time.

    ``asyncio.timeout`` sets a timer with each move, which takes longer than all else that a read does with time.
    """

    def __init__(self, at: float) -> None:
        self._at = at
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> _Limit:
        await self._timeout.__aenter__()
        self.move(self._at)
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def move(self, at: float) -> None:
        self._at = at
        if at < math.inf and self._timer is None:
            self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._at > self._loop.time():
            self.move(self._at)
        else:
            self._timeout.reschedule(self._at)


async def read_events(
    chunks: AsyncIterator[bytes],
    *,
    first: Callable[[], Awaitable[bytes | None]] | None = None,
    idle: float,
    until: float,
    pace: ReadPace,
    transport: asyncio.ReadTransport | None = None,
) -> AsyncGenerator[EventBatch, None]:
    """Yield the events of a body, up to the terminal one.

    Args:
        chunks: The body.
        first: Reads its first chunk, if that takes more than the next of ``chunks``; returns None for an empty body.
        transport: Where the body comes from; without it there are no pauses.
        idle: Seconds without an event, not counting comments, after which the stream has stalled.
        until: When the response must have ended, on the event loop's clock.
        pace: Decides how soon the next read follows.

    Raises a ``ProviderError`` when the stream stalls or breaks, or an event cannot be read.
    """
    now = asyncio.get_running_loop().time
    decoder, bodies = SSEDecoder(), _Bodies()
    deadline = min(now() + idle, until)
    try:
        async with _Limit(deadline) as limit:
            chunk = await (first() if first else anext(chunks, None))
            while True:
                # Some servers omit the last blank line; a partial event is a broken connection.
                batch, violation = _decoded(decoder, bodies, b"\n\n" if chunk is None else chunk)
                if batch:
                    # The reader's own pace and the pause count against neither deadline.
                    limit.move(math.inf)
                    given, ended = now(), isinstance(batch[-1], LAST)
                    pause = 0.0 if ended else pace.hold(transport)
                    yield batch
                    if ended:
                        await _read_to_end(chunks)
                        return
                    until += max(pause, now() - given)
                    deadline = min(max(given + pause, now()) + idle, until)
                    limit.move(deadline)
                if violation is not None and chunk is not None:
                    raise violation
                if chunk is None:
                    return
                chunk = await anext(chunks, None)
    except TimeoutError:
        raise StreamStalled(
            "The model server stopped sending. The answer may be incomplete.", time_is_up=deadline >= until
        ) from None
    except _BROKEN:
        raise StreamTruncated("The connection to the model server broke off.") from None


def _decoded(
    decoder: SSEDecoder, bodies: _Bodies, chunk: bytes
) -> tuple[list[ResponseEvent], ProtocolViolation | None]:
    """Return the events that ``chunk`` completes, up to a terminal one, and the violation that ended decoding."""
    batch: list[ResponseEvent] = []
    try:
        for data in decoder.feed(chunk):
            # Some servers send pings without data, or comments as data.
            if data and not data.startswith((b"[DONE]", b'"[DONE]', b":", b"data: [DONE]")):
                event = parse_event(bodies.read(data, decoder.name), decoder.name)
                batch.append(event)
                # Asking a model's class takes several times as long.
                if not isinstance(event, OutputTextDelta) and isinstance(event, LAST):
                    break
    except ProtocolViolation as violation:
        return batch, violation
    except (ValueError, RecursionError):
        return batch, ProtocolViolation("The model server sent an event that is not valid JSON.")
    return batch, None


class _Bodies:
    """Reads the JSON of a stream's events, and joins a character whose halves came in two deltas."""

    def __init__(self) -> None:
        self._half = ""

    def read(self, data: bytes, line: bytes) -> object:
        """Return the body; None for plain text under another event name. Raises ``ValueError`` for other text."""
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            if data.startswith(_FIELD):
                return self.read(data.removeprefix(_FIELD).lstrip(), line)
            # Some servers send -Infinity, or cut a character; the finished text puts it right.
            try:
                decoded = json.loads(data.decode(errors="replace"))
            except ValueError:
                if is_other(named(line)):
                    return None
                raise
            if isinstance(decoded, dict) and isinstance(delta := decoded.get("delta"), str):
                decoded["delta"] = self._joined(delta)
            halves = json.dumps(decoded, ensure_ascii=False).encode("utf-16", "surrogatepass")
            return json.loads(halves.decode("utf-16", "replace"))

    def _joined(self, delta: str) -> str:
        """Return ``delta`` behind the half that the one before ended with, without one that it ends with itself."""
        delta, self._half = self._half + delta, ""
        if "\ud800" <= delta[-1:] <= "\udbff":
            delta, self._half = delta[:-1], delta[-1]
        return delta


async def _read_to_end(chunks: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, *_BROKEN):
        async with asyncio.timeout(_END_OF_STREAM_WAIT):
            async for _ in chunks:
                pass
