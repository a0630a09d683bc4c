"""HTTP connections that must send each request's headers in time, so that half-open ones do not pile up."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS: Final = 20.0


class TimedHttpProtocol(HttpToolsProtocol):
    """Closes a connection ``HEADER_SECONDS`` after a request began whose headers are not complete."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Begin to wait when the data is the start of another request."""
        super().data_received(data)
        if self._deadline is None and self.cycle is not None and self.cycle.response_complete:  # pyright: ignore
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def raise_connection_limit() -> int:
    """Let the process hold as many connections as the system allows it to, and return their number."""
    if sys.platform == "win32":
        return 512
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most > 0 else sys.maxsize
