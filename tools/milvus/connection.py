"""One Milvus connection for a tool: made lazily, called in threads, every call inside a deadline.

pymilvus is synchronous and logs whole filter expressions when a call fails; here its calls run in a few threads of
their own, its logger is silent, and its errors become the tool errors that a reader can act on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from pymilvus import MilvusClient, MilvusException

from tools.errors import IndexMismatch, ToolUnavailable

T = TypeVar("T")
Client = Any
"""pymilvus's ``MilvusClient``; its annotations describe neither its sync nor its async results."""
CONNECT_SECONDS: Final = 3.0
CHANNEL: Final = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": 0}
"""The client's own habit of a ping every ten seconds is taken for an attack by Milvus Lite, which then hangs up."""
_NOT_FOUND: Final = 100
_NOT_LOADED: Final = 101
"""Also after Milvus has restarted: it loads nothing by itself."""
_UNAVAILABLE: Final = (
    "The drug database cannot be reached: Milvus does not answer. Check that it runs and that MILVUS_URI is right."
)
_SLOW: Final = "The drug database did not answer in time: Milvus is overloaded or hangs. Try again, or check Milvus."


class CollectionGone(Exception):
    """The collection was replaced by a newer one, or is no longer loaded: what is known of it must be read anew."""


class MilvusConnection:
    """Runs functions on a client. ``uri`` is that of a server (``http://host:port``)."""

    def __init__(self, uri: str, token: str | None = None, *, threads: int = 4) -> None:
        self._uri = uri
        self._token = token
        self._client: Client | None = None
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="drug-database")
        # pymilvus writes the filter of a failed call to its log; that text can name what a patient takes.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)

    async def run(self, call: Callable[[Client], T], *, deadline: float | None, explain: bool = False) -> T:
        """The result of ``call(client)``, run in a thread.

        ``explain`` lets Milvus's own words into the error: only for calls that carry nothing a user typed.

        Raises ``ToolUnavailable`` when Milvus refuses, fails or does not answer within ``deadline`` seconds, and
        ``CollectionGone`` when a collection is not there.
        """
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, self._call, call, explain)
        try:
            return await asyncio.wait_for(future, deadline)
        except TimeoutError:
            raise ToolUnavailable(_SLOW) from None

    def _call(self, call: Callable[[Client], T], explain: bool) -> T:
        try:
            return call(self._connected())
        except MilvusException as error:
            # What pymilvus says can repeat a filter: the chain is cut here on purpose.
            raise _translated(error, explain=explain) from None

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = MilvusClient(
                    self._uri, token=self._token or "", timeout=CONNECT_SECONDS, grpc_options=CHANNEL
                )
            return self._client

    async def aclose(self) -> None:
        """Closes the connection; later calls raise ``RuntimeError``."""
        client, self._client = self._client, None
        self._threads.shutdown(wait=False, cancel_futures=True)
        if client is not None:
            await asyncio.to_thread(_close, client)


def _close(client: Client) -> None:
    client.close()


def _translated(error: MilvusException, *, explain: bool) -> Exception:
    code = int(getattr(error, "code", 0) or 0)
    text = str(error)
    if code in {_NOT_FOUND, _NOT_LOADED} or "does not exist" in text or "not found" in text:
        return CollectionGone()
    if code == 2 or "connect" in text.lower() or "unavailable" in text.lower() or "timeout" in text.lower():
        return ToolUnavailable(_UNAVAILABLE)
    if "dimension" in text.lower() or "schema" in text.lower() or "field" in text.lower():
        return IndexMismatch(
            "The stored drug index does not fit this version. Run `asclepius drugs import --replace "
            "PATH...` with all your drug data: it builds the index anew."
        )
    said = f": {' '.join(text.split())[:200]}" if explain else ""
    return ToolUnavailable(f"The drug database failed (Milvus code {code}{said}). Look at Milvus's own log.")
