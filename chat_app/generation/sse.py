"""Server-sent events from bytes, however they are sliced.

The decoder gives the ``data`` of each event. Lines end with LF, CR or CRLF and with nothing else (U+2028 inside a
JSON string is text). Comments, ``event``, ``id`` and ``retry`` fields are skipped: the event's type stands in its JSON.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat_app.errors import ProtocolViolation

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""A response object with large file-search results takes a few megabytes; beyond this a stream is broken."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SSEDecoder:
    """Feed it bytes as they arrive; it yields the data of every event that is complete."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the data of each event that ``chunk`` completes.

        Raises ``ProtocolViolation`` when one line or one event grows past the cap.
        """
        if self._after_cr and chunk:
            # The CR that ended the last chunk has ended its line already; an LF here belongs to it.
            chunk = chunk[1:] if chunk.startswith(b"\n") else chunk
            self._after_cr = False
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        for line in lines:
            yield from self._line(line)
        if rest:
            self._rest.append(rest)
            self._rest_size += len(rest)
            self._check(self._rest_size)

    def _line(self, line: bytes) -> Iterator[bytes]:
        if self._rest:
            line = b"".join((*self._rest, line))
            self._rest.clear()
            self._rest_size = 0
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                yield b"\n".join(self._data)
                self._data.clear()
                self._data_size = 0
        elif line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            self._add(value)
        elif line == b"data":
            self._add(b"")

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._data_size += len(value) + 1
        self._check(self._data_size)

    def _check(self, size: int) -> None:
        if size > self._max:
            raise ProtocolViolation(f"The model server sent an event of more than {self._max} bytes.")
