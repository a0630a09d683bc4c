"""Server of the page: uvicorn tuned for many open streams, with a clean end of running answers."""

import asyncio
import gc
import logging
import resource
import socket
import sys
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chat_app.interface.runtime import Runtime
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.settings import Settings

HEADER_SECONDS: Final = 20.0
logger = logging.getLogger(__name__)

_IDLE_SECONDS = 75
"""Longer than proxies keep an idle connection (nginx and AWS 60 s): one that the server closed first fails a POST."""
_SHUTDOWN_SECONDS = 5
_FORCED_EXIT_POLL = 0.2
_MOST_CONNECTIONS = 8_192
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2; uvicorn's own default leaves only those without authenticated encryption."""
_SEARCHES: Final = (10_000, 5, 1_000_000)
"""New objects before a search of them, more than a pass over hundreds of streams creates; such searches before one of
what they left; and of these, before one of all objects: never."""
_TICKS, _TICKS_IN_USE = 600, 1_200
"""Tenths of a second between two searches of all objects, without and with running answers. With hundreds of these a
search takes 200 ms; Python itself would begin one whenever a quarter more objects exist, so in each burst."""


class PageServer(uvicorn.Server):
    """Drains on shutdown, then ends live turns before it disconnects their readers."""

    def __init__(self, config: uvicorn.Config, runtime: Runtime, on_ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._runtime = runtime
        self._on_ready = on_ready
        self._ticks = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Objects created so far live on; scanning them again would make streams stutter.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_SEARCHES)
        parts = (type(asyncio.get_running_loop()), self.config.http_protocol_class, self.config.ws_protocol_class)
        named = ", ".join(f"{part.__module__}.{part.__name__}" for part in parts if part)
        logger.debug("Serving with %s; %d objects are no longer searched for garbage", named, gc.get_freeze_count())
        if self.started and not self.should_exit and self._on_ready is not None:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Search all objects for garbage, if possible while no answer runs."""
        self._ticks += 1
        if self._ticks >= (_TICKS_IN_USE if self._runtime.turns.running else _TICKS):
            self._ticks = 0
            gc.collect()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._drain()
        await self._runtime.turns.end_all()
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        """Let running answers end while health checks are still served; a second Ctrl-C cuts that short.

        Browsers go to another replica, each when its answer has ended.
        """
        draining = asyncio.create_task(self._runtime.keeper.drain(self._runtime.settings.server.drain_seconds))
        while not draining.done() and not self.force_exit:
            await _release_browsers(self._runtime.turns)
            await asyncio.wait({draining}, timeout=_FORCED_EXIT_POLL)
        draining.cancel()


async def _release_browsers(turns: LiveTurns) -> None:
    """Close the sockets of browsers that wait for no answer of this process; they connect again by themselves."""
    # Chainlit reads its configuration on import, which the server prepares after it has imported this module.
    from chainlit.session import ws_sessions_id

    from chat_app.interface.rendering.sockets import close_transport, owner_of

    for session in list(ws_sessions_id.values()):
        owner = owner_of(session)
        if owner is None or not turns.of_thread(session.thread_id, owner):
            await close_transport(session)


def page_server(app: FastAPI, settings: Settings, *, on_ready: Callable[[], None] | None = None) -> PageServer:
    """Return a server for ``app`` (from ``create_app``): call ``run()`` or ``await serve()``.

    ``on_ready`` is called once the page can be opened. SIGINT and SIGTERM end it within about ten seconds.
    """
    most = raise_connection_limit()
    config = uvicorn.Config(
        app,
        host=settings.server.host,
        port=settings.server.port,
        ssl_certfile=settings.server.tls_certificate,
        ssl_keyfile=settings.server.tls_key,
        ssl_ciphers=_CIPHERS,
        loop="uvloop",
        http=TimedHttpProtocol,
        ws="websockets-sansio",
        # Compressing small frames costs more processor time than it saves bytes.
        ws_per_message_deflate=False,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # The guard compares the peer itself with the trusted proxies.
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        lifespan="on",
        # Beyond them a request gets 503. The rest of the system's limit is for files and services.
        limit_concurrency=min(_MOST_CONNECTIONS, most - most // 4),
    )
    return PageServer(config, app.state.runtime, on_ready)


class TimedHttpProtocol(HttpToolsProtocol):
    """Closes a connection ``HEADER_SECONDS`` after a request began whose headers are not complete."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Begin to wait when the data is the start of another request."""
        super().data_received(data)
        if self._deadline is None and self.cycle is not None and self.cycle.response_complete:  # pyright: ignore
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
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
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most > 0 else sys.maxsize
