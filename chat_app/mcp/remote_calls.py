"""Requests to MCP servers that others wrote: one connection for each, bounded in time and in bytes.

A server that hangs, ends, floods or answers nonsense fails the one request. Nothing of it outlives the request.
"""

import asyncio
import logging
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from os import killpg
from typing import Any, Final, TypeVar

import anyio
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import ValidationError

from chat_app.mcp.server_list import HttpServer, RemoteServer, StdioServer
from tools.errors import ToolError, ToolUnavailable

logger = logging.getLogger(__name__)
T = TypeVar("T")
Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

MOST_BYTES: Final = 2_000_000
"""That a server may send in answer to one request, with the connection."""
_ENDING_SECONDS: Final = 1.0


@dataclass
class _Allowance:
    """Ends ``scope`` once more than ``MOST_BYTES`` were received."""

    scope: anyio.CancelScope
    left: int = MOST_BYTES

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            self.scope.cancel()


async def exchange(name: str, server: RemoteServer, ask: Callable[[ClientSession], Awaitable[T]]) -> T:
    """Connect to a server, return what ``ask`` gets from it, and disconnect. The caller bounds the time.

    Raises ``ToolUnavailable`` when the server cannot be reached, ended, or broke the protocol, and ``ToolError`` when
    ``ask`` raised it, or the server sent too much.
    """
    try:
        with anyio.CancelScope() as scope:
            spent = _Allowance(scope)
            connect = _over_stdio(server, spent) if isinstance(server, StdioServer) else _over_http(server, spent)
            async with connect as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
                await session.initialize()
                return await ask(session)
    except Exception as error:  # noqa: BLE001 - the boundary to code that is not ours
        cause: Exception = error
        while isinstance(cause, ExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, ToolError):
            raise cause from None
        logger.warning("The MCP server %s failed: %s", name, type(cause).__name__)
        raise ToolUnavailable(f"The MCP server {name} cannot be reached, or did not answer as it should.") from None
    raise ToolError(f"The MCP server {name} sent more than {MOST_BYTES:,} bytes; ask for less.")


@asynccontextmanager
async def _over_stdio(server: StdioServer, allowance: _Allowance) -> AsyncGenerator[Streams]:
    env = get_default_environment() | {name: value.get_secret_value() for name, value in server.env.items()}
    process = await asyncio.create_subprocess_exec(
        server.command, *server.args, env=env, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    received, incoming = anyio.create_memory_object_stream[Incoming]()
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as group:
        group.start_soon(_receive, process, received, allowance)
        group.start_soon(_send, process, sent)
        try:
            yield incoming, outgoing
        finally:
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _receive(process: Process, received: MemoryObjectSendStream[Incoming], allowance: _Allowance) -> None:
    assert process.stdout is not None, "it is a pipe"  # noqa: S101
    rest = b""
    async with received:
        while chunk := await process.stdout.read(65_536):
            allowance.spend(len(chunk))
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                # Servers print other things to standard output, too.
                with suppress(ValidationError):
                    await received.send(SessionMessage(JSONRPCMessage.model_validate_json(line)))


async def _send(process: Process, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None, "it is a pipe"  # noqa: S101
    async with sent:
        async for message in sent:
            process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n")
            # A server that has ended is found by the end of its output.
            with suppress(OSError):
                await process.stdin.drain()


async def _end(process: Process) -> None:
    """End a process as the protocol asks: close its input, then terminate it, then kill it."""
    assert process.stdin is not None and process.stdout is not None, "they are pipes"  # noqa: S101, PT018
    process.stdin.close()
    for last_resort in (signal.SIGTERM, signal.SIGKILL):
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _ENDING_SECONDS)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                killpg(process.pid, last_resort)
    await process.wait()
    # A pipe is closed once it is read to its end, which a child that the process left behind could put off.
    with suppress(TimeoutError):
        async with asyncio.timeout(_ENDING_SECONDS):
            while await process.stdout.read(65_536):
                pass


@asynccontextmanager
async def _over_http(server: HttpServer, allowance: _Allowance) -> AsyncGenerator[Streams]:
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    headers["accept-encoding"] = "identity"

    async def limit(response: httpx.Response) -> None:
        # The full size of a compressed body is unknown.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx.DecodingError("a compressed body was not asked for")
        assert isinstance(response.stream, httpx.AsyncByteStream), "it is read asynchronously"  # noqa: S101
        response.stream = _Counted(response.stream, allowance)

    hooks: dict[str, list[Callable[..., Any]]] = {"response": [limit]}
    async with (
        # With an explicit transport httpx ignores proxies that the environment names.
        httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(), event_hooks=hooks, headers=headers, timeout=server.timeout
        ) as client,
        streamable_http_client(server.url, http_client=client) as (incoming, outgoing, _),
    ):
        yield incoming, outgoing


@dataclass
class _Counted(httpx.AsyncByteStream):
    stream: httpx.AsyncByteStream
    allowance: _Allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.stream:
            self.allowance.spend(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()
