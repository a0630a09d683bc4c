"""One connection to a Milvus server: made by the first call, with errors that say what to do.

pymilvus is synchronous, and it logs the whole filter expression of a call that fails. Here its log is silent, and none
of its own words are passed on: they can name what a patient takes.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, Literal, TypeVar

from tools.errors import IndexMismatch, ToolUnavailable

T = TypeVar("T")
Client = Any
"""pymilvus's ``MilvusClient``; its annotations describe neither its sync nor its async results."""
Contents = Literal["drug database", "guideline index"]
CONNECT_SECONDS: Final = 5.0
_CHANNEL: Final = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": 0}
"""By default the client pings every ten seconds; Milvus Lite takes that for an attack and hangs up."""
_UNREACHABLE: Final = (2, "DEADLINE_EXCEEDED", "UNAVAILABLE")
_NOT_FOUND: Final = 100
_NOT_LOADED: Final = 101
"""Also after Milvus has restarted: it loads nothing by itself."""
_REBUILD: Final[dict[Contents, str]] = {
    "drug database": "Run `asclepius drugs import --replace PATH...` with all your drug data",
    "guideline index": "Run `asclepius guidelines reindex`: it uses the stored originals",
}


class ServerFailed(ToolUnavailable):
    """The server was reached and could not do what it was asked."""


class CollectionGone(ServerFailed):
    """The collection was replaced or dropped: read its name again."""


class NotLoaded(CollectionGone):
    """The collection is there and not in memory."""


def index_mismatch(contents: Contents) -> IndexMismatch:
    """Return the error of an index that another version wrote, with the command that rebuilds it."""
    return IndexMismatch(f"The stored {contents} was written by another version of Asclepius. {_REBUILD[contents]}.")


class MilvusConnection:
    """The client of one Milvus server, shared by threads. Errors call its content ``contents``."""

    def __init__(self, uri: str, token: str | None = None, *, contents: Contents) -> None:
        self._uri = uri
        self._token = token
        self._contents: Contents = contents
        self._client: Client | None = None
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix=contents.replace(" ", "-"))

    def call(self, call: Callable[[Client], T], *, explain: bool = False) -> T:
        """Return ``call(client)``; blocks.

        ``explain`` lets Milvus's own words into the error: only for calls that carry nothing a user typed.

        Raises ``ToolUnavailable`` when the server cannot be reached, ``ServerFailed`` when it fails, ``CollectionGone``
        and ``NotLoaded`` for a collection that cannot be read, and ``IndexMismatch`` when it has another schema.
        """
        try:
            return call(self._connected())
        # gRPC's own errors pass through pymilvus: a call that ran out of time raises one.
        except (import_module("pymilvus").MilvusException, import_module("grpc").RpcError) as error:
            # The chain is cut on purpose: what pymilvus says can repeat a filter.
            raise self._translated(error, explain=explain) from None

    async def run(self, call: Callable[[Client], T], *, deadline: float | None, explain: bool = False) -> T:
        """Like ``call``, in a thread. Raises ``ToolUnavailable`` also after ``deadline`` seconds."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, lambda: self.call(call, explain=explain))
        try:
            return await asyncio.wait_for(future, deadline)
        except TimeoutError:
            raise ToolUnavailable(
                f"The {self._contents} did not answer in time. Try again, or check whether Milvus is overloaded."
            ) from None

    async def aclose(self) -> None:
        """Close the connection; later calls of ``run`` raise ``RuntimeError``."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the connection; blocks. A later ``call`` opens it again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                pymilvus = import_module("pymilvus")
                # Its import sets the level, too.
                logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
                self._client = pymilvus.MilvusClient(
                    self._uri, token=self._token or "", timeout=CONNECT_SECONDS, grpc_options=_CHANNEL
                )
            return self._client

    def _translated(self, error: Any, *, explain: bool) -> Exception:
        # An attribute of pymilvus's errors, a method of gRPC's own, whose status is no number.
        given: Any = error.code() if callable(error.code) else error.code
        code = int(given) if isinstance(given, int) else given.name
        text = str(error)
        lower = text.lower()
        if code == _NOT_LOADED or "load()" in lower or "not loaded" in lower:
            return NotLoaded(f"The {self._contents} is being rebuilt. Ask again in a moment.")
        if code == _NOT_FOUND or "does not exist" in lower or "not found" in lower:
            return CollectionGone(f"The {self._contents} changed while it was read. Try again.")
        # No more words than these: Milvus Lite repeats what the system said of a file, such as "unavailable".
        if code in _UNREACHABLE or "timeout" in lower or "is illegal, needs" in lower:
            return ToolUnavailable(
                f"The {self._contents} cannot be reached: Milvus does not answer. Check that it runs and that "
                "MILVUS_URI is right, or run `asclepius doctor`."
            )
        if "no space left" in lower:
            return ServerFailed(
                f"The {self._contents} cannot be used: Milvus's disk is full. Free space, then try again."
            )
        if any(word in lower for word in ("dimension", "schema", "field")):
            return index_mismatch(self._contents)
        said = f": {' '.join(text.split())[:200]}" if explain else ""
        return ServerFailed(
            f"The {self._contents} cannot be used (Milvus error {code}{said}). Look at Milvus's own log, "
            "or run `asclepius doctor`."
        )


def quote(value: str) -> str:
    """Return ``value`` as a string literal of Milvus's filter language.

    Raises ``ValueError`` for control characters and lone surrogates, which no key or name of a record holds; the
    message does not repeat the value.
    """
    if any(ord(sign) < 32 or 127 <= ord(sign) < 160 or 0xD800 <= ord(sign) < 0xE000 for sign in value):
        raise ValueError("a filter value may not hold control characters")
    return json.dumps(value, ensure_ascii=False)


def one_of(field: str, values: Iterable[str]) -> str:
    """Return the filter expression for ``field`` being one of ``values``."""
    if not field.isidentifier():
        raise ValueError("a filter needs a plain field name")
    return f"{field} in [{', '.join(map(quote, values))}]"
