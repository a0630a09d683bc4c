"""A Responses API server on a real socket that plays a script, for protocol and fault tests.

    async with ScriptedServer([text_reply("Take ", "with food.")]) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="test")
        ...
    assert server.requests[0].json["input"] == "..."

Each request takes the next turn of the script, whatever its path. A turn is a list of steps:

    Event(body)         one SSE event; its ``event:`` line is the body's type, or ``name`` (None: no such line)
    Raw(data)           these bytes unchanged: half a frame, bad UTF-8, a comment, an endless line
    Wait(seconds)       a pause
    WaitFor(event)      a pause until the test sets the asyncio.Event
    Status(code, ...)   this status, headers and body as the whole answer (must be the first step)
    Disconnect()        close the connection in the middle of the body
    Reset()             reset the connection (RST)

After the last step the body ends cleanly, with or without a terminal event. ``Turn(steps, slice_bytes=n)`` writes the
body in pieces of n bytes. A turn may be a function of the request. A request after the end of the script gets status
500 and is counted in ``server.unexpected``.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final

Json = dict[str, Any]
_FROM_BODY: Final = "\0type"


@dataclass(frozen=True)
class Event:
    """One SSE event. ``newline`` is its line end, for parser tests."""

    body: Mapping[str, Any] | list[Any] | str | int | None
    name: str | None = _FROM_BODY
    newline: str = "\n"

    def encode(self) -> bytes:
        name = self.name
        if name == _FROM_BODY:
            name = str(self.body["type"]) if isinstance(self.body, Mapping) and "type" in self.body else None
        lines = [] if name is None else [f"event: {name}"]
        plain = json.dumps(self.body, ensure_ascii=False)
        # Half a character has no bytes of its own: JSON carries it escaped.
        lines.append(f"data: {plain if _is_utf8(plain) else json.dumps(self.body)}")
        return (self.newline.join(lines) + self.newline * 2).encode()


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True)
class Raw:
    data: bytes


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class WaitFor:
    event: asyncio.Event


@dataclass(frozen=True)
class Disconnect:
    pass


@dataclass(frozen=True)
class Reset:
    pass


@dataclass(frozen=True)
class Status:
    """An answer without a stream. ``body`` is sent as JSON unless it is bytes."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | bytes = b""


Step = Event | Raw | Wait | WaitFor | Disconnect | Reset | Status


@dataclass(frozen=True)
class Turn:
    """The answer to one request: its steps, and how its bytes are sliced."""

    steps: Sequence[Step]
    slice_bytes: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})


@dataclass(frozen=True)
class Request:
    """A received request. ``closed`` is set when its answer has ended or the client has disconnected."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client disconnected before the turn was played to its end."""
    progress: list[int] = field(default_factory=lambda: [0])
    """The number of steps sent so far, in a list because a request is frozen."""

    @property
    def json(self) -> Json:
        decoded = json.loads(self.body)
        assert isinstance(decoded, dict)
        return decoded


ScriptedTurn = Turn | Sequence[Step] | Callable[[Request], "Turn | Sequence[Step]"]


class _HangUpError(Exception):
    """Ends a turn before its body is complete."""


class ScriptedServer:
    """Plays ``turns`` in order on 127.0.0.1; with ``repeat`` the last turn answers all further requests."""

    def __init__(
        self, turns: Iterable[ScriptedTurn], *, repeat: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        self._turns = list(turns)
        self._repeat = repeat
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()
        self.requests: list[Request] = []
        self.unexpected = 0
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Called at the end, such as a client's ``aclose``."""

    @property
    def base_url(self) -> str:
        assert self._server is not None, "use `async with ScriptedServer(...)`"
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def add(self, *turns: ScriptedTurn) -> None:
        """Append turns to the script."""
        self._turns.extend(turns)

    async def request(self, number: int = 0, *, seconds: float = 60.0) -> Request:
        """Wait until request ``number`` (from 0) has arrived."""
        async with asyncio.timeout(seconds), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) > number)
        return self.requests[number]

    async def stalled(self, number: int = 0) -> None:
        """Wait until request ``number`` has been answered, or its client holds the server back.

        Server and client share an event loop, so a server that could send would have done so within 40 turns of it.
        """
        request, still = await self.request(number), 0
        while not request.closed.is_set() and still < 40:
            before = request.progress[0]
            await asyncio.sleep(0.005)
            still = still + 1 if request.progress[0] == before else 0

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        for close in self.closing:
            await close()
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        turn = self._next_turn(request)
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        player = asyncio.ensure_future(_play(turn, writer, request.progress))
        # A client that waits for its answer sends nothing more: what can be read is the connection's end.
        watcher = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({player, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if not player.done():
                request.left.set()
            elif player.exception() is not None:
                with suppress(_HangUpError):
                    player.result()
        finally:
            for task in (player, watcher):
                task.cancel()
            await asyncio.gather(player, watcher, return_exceptions=True)
            request.closed.set()

    def _next_turn(self, request: Request) -> Turn:
        if not self._turns:
            self.unexpected += 1
            return Turn([Status(500, body={"error": {"message": "the script has no more turns"}})])
        turn = self._turns[0] if self._repeat and len(self._turns) == 1 else self._turns.pop(0)
        played = turn if isinstance(turn, Turn | Sequence) else turn(request)
        return played if isinstance(played, Turn) else Turn(played)


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def _play(turn: Turn, writer: asyncio.StreamWriter, progress: list[int]) -> None:
    if turn.steps and isinstance(turn.steps[0], Status):
        await _send_status(turn.steps[0], writer)
        return
    writer.write(_head(200, {**turn.headers, "Transfer-Encoding": "chunked"}))
    for step in turn.steps:
        progress[0] += 1
        match step:
            case Event():
                await _send(step.encode(), writer, turn.slice_bytes)
            case Raw(data):
                await _send(data, writer, turn.slice_bytes)
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case WaitFor(event):
                await event.wait()
            case Disconnect():
                raise _HangUpError
            case Reset():
                connection: socket.socket = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                raise _HangUpError
            case Status():
                raise AssertionError("Status is the whole answer: it must be the first step of its turn")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _send_status(status: Status, writer: asyncio.StreamWriter) -> None:
    body = status.body if isinstance(status.body, bytes) else json.dumps(status.body).encode()
    kind = "text/plain" if isinstance(status.body, bytes) else "application/json"
    headers = {"Content-Type": kind, **status.headers, "Content-Length": str(len(body))}
    writer.write(_head(status.code, headers) + body)
    await writer.drain()


def _head(code: int, headers: Mapping[str, str]) -> bytes:
    phrase = HTTPStatus(code).phrase
    lines = [
        f"HTTP/1.1 {code} {phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send(data: bytes, writer: asyncio.StreamWriter, size: int | None) -> None:
    step = size or len(data) or 1
    for start in range(0, len(data), step):
        piece = data[start : start + step]
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
        if size is not None:
            # Lets the bytes leave on their own instead of being joined with the next ones.
            await asyncio.sleep(0)


def response_body(response_id: str, status: str, output: Sequence[Json] = (), **fields: Any) -> Json:
    """Return a Response object with every field that OpenAI's description requires."""
    empty: Json = dict.fromkeys(
        (
            "error",
            "incomplete_details",
            "instructions",
            "max_output_tokens",
            "previous_response_id",
            "usage",
            "user",
        )
    )
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    return (
        empty
        | {
            "id": response_id,
            "object": "response",
            "created_at": 1_760_000_000,
            "status": status,
            "model": "scripted",
            "output": list(output),
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "top_p": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "text": {"format": {"type": "text"}},
            "truncation": "disabled",
            "usage": usage if status == "completed" else None,
        }
        | fields
    )


def text_reply(*pieces: str, response_id: str = "resp_1", terminal: str = "completed") -> list[Step]:
    """Return a complete streamed answer whose text arrives in ``pieces``."""
    text, item_id = "".join(pieces), f"msg_{response_id}"
    where = {"item_id": item_id, "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}
    bodies = [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    return _enclose(bodies, response_id, terminal, [item])


def calls_reply(*calls: tuple[str, str, str], response_id: str = "resp_1") -> list[Step]:
    """Return a complete streamed answer of calls, each ``(call_id, name, arguments as JSON)``."""
    bodies: list[Json] = []
    items: list[Json] = []
    for index, (call_id, name, arguments) in enumerate(calls):
        item = {
            "type": "function_call",
            "id": f"fc_{call_id}",
            "call_id": call_id,
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }
        where = {"item_id": f"fc_{call_id}", "output_index": index}
        items.append(item)
        bodies += [
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "arguments": "", "status": "in_progress"},
            },
            {"type": "response.function_call_arguments.delta", **where, "delta": arguments},
            {"type": "response.function_call_arguments.done", **where, "name": name, "arguments": arguments},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    return _enclose(bodies, response_id, "completed", items)


def _enclose(bodies: list[Json], response_id: str, terminal: str, output: list[Json]) -> list[Step]:
    started = response_body(response_id, "in_progress")
    framed: list[Json] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
        *bodies,
        {"type": f"response.{terminal}", "response": response_body(response_id, terminal, output)},
    ]
    return [Event({**body, "sequence_number": number}) for number, body in enumerate(framed)]
