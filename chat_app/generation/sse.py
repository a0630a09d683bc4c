"""Server-sent events from bytes, regardless of how they are split.

The decoder returns the ``data`` of each event. Lines end with LF, CR or CRLF only (U+2028 inside a JSON string is
text). Comments and the fields ``id`` and ``retry`` are skipped. Some gateways drop the blank lines: a second name, or
JSON that begins behind the end of other JSON, begins an event, too.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

import re
from collections.abc import Iterator

from chat_app.errors import ProtocolViolation

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Limit of an event; a response object with large file search results takes a few megabytes."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SSEDecoder:
    """Decodes bytes as they arrive into the data of complete events."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._first = True
        self._after_cr = False
        self._name = b""
        self.name = b""
        """The ``event:`` line of the event whose data was last returned; most JSON bodies repeat it as their type."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of each event that ``chunk`` completes. Raises ``ProtocolViolation`` for one too large."""
        if self._after_cr and chunk:
            # The CR that ended the last chunk has ended its line already; an LF here belongs to it.
            chunk = chunk[1:] if chunk.startswith(b"\n") else chunk
            self._after_cr = False
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._size -= sum(map(len, self._rest))
            self._rest.clear()
            if self._first:
                self._first = False
                lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if self._data and self._ends_event(line):
                yield self._event()
            if line.startswith(b"data:") or line == b"data":
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._size += len(line)
                if self._size > self._max:
                    raise self._too_large()
            elif line.startswith(b"event:"):
                self._name = line
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
            if self._size > self._max:
                raise self._too_large()

    def _ends_event(self, line: bytes) -> bool:
        """Return whether ``line`` ends the event so far."""
        if line.startswith(b"data:"):
            return self._data[-1].endswith(b"}") and line[5:7].lstrip().startswith((b"{", b"["))
        return not line or (line.startswith(b"event:") and self._name != b"")

    def _event(self) -> bytes:
        """Return the data of the event that is complete."""
        self.name, self._name = self._name, b""
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        self._size = 0
        return data

    def _too_large(self) -> ProtocolViolation:
        return ProtocolViolation(f"The model server sent an event of more than {self._max} bytes.")
