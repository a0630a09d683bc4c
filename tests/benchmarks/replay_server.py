"""A Responses server for measurements, in a process of its own: ``python -m tests.benchmarks.replay_server``.

It prints its port. The model's name says what it plays:

    burst:N            N text deltas as fast as they go
    paced:N:MS         N text deltas, one every MS milliseconds, each the time at which it was sent
    kept:N:MS          the same as background responses, which can be read again
    open:N             N text deltas, then silence until the client leaves
    clinic:N:MS        a guideline search, then N text deltas as above, of distinct words
    gap                two calls at once, then text until one second has passed; the next request is answered at once
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvloop

from tests.support.scripted_server import Event, calls_reply, response_body, text_reply

_PIECE = 1_400
"""About what one packet carries."""
_open_connections: set[asyncio.Task[None] | None] = set()
"""Held, so that no stream that its client left is collected with a complaint in the middle of the figures."""


def _where(number: int) -> dict[str, Any]:
    return {"item_id": "msg_1", "output_index": 0, "content_index": 0, "sequence_number": number}


def begin() -> bytes:
    return b"".join(step.encode() for step in text_reply("x")[:4] if isinstance(step, Event))


def delta(text: str, number: int) -> bytes:
    return Event({"type": "response.output_text.delta", **_where(number), "delta": text, "logprobs": []}).encode()


def _end(text: str, number: int) -> bytes:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return b"".join(
        Event(body).encode()
        for body in (
            {"type": "response.output_text.done", **_where(number), "text": text, "logprobs": []},
            {"type": "response.content_part.done", **_where(number + 1), "part": part},
            {"type": "response.output_item.done", "output_index": 0, "item": item, "sequence_number": number + 2},
            {
                "type": "response.completed",
                "sequence_number": number + 3,
                "response": response_body("resp_1", "completed", [item]),
            },
        )
    )


async def _burst(count: int) -> AsyncIterator[bytes]:
    body = b"".join(step.encode() for step in text_reply(*["word "] * count) if isinstance(step, Event))
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


async def _paced(count: int, milliseconds: float) -> AsyncIterator[bytes]:
    yield begin()
    said: list[str] = []
    # JSON for each delta would cost more than sending it, and hundreds of streams share a core with their readers.
    before, between, after = delta("<text>", 987).decode().replace("987", "<text>").split("<text>")
    due = asyncio.get_running_loop().time()
    for number in range(count):
        due += milliseconds / 1000
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        # A letter first: lines of digits alone are read more slowly, because they could still become lists.
        said.append(f"T{time.monotonic_ns()} ")
        yield f"{before}{number + 4}{between}{said[-1]}{after}".encode()
    yield _end("".join(said), count + 4)


async def _clinic(request: dict[str, Any], count: int, milliseconds: float) -> AsyncIterator[bytes]:
    if any(item.get("type") == "function_call_output" for item in request["input"]):
        async for piece in _paced(count, milliseconds):
            yield piece
        return
    search = ("call_1", "search_clinical_guidelines", json.dumps({"question": "Which drugs are contraindicated?"}))
    for step in calls_reply(search):
        if isinstance(step, Event):
            yield step.encode()


async def _kept(response_id: str) -> AsyncIterator[bytes]:
    """A background response. All of it follows from its id, so that it is the same each time it is read."""
    _, kind, count, milliseconds, began = response_id.split("_")
    words = [f"{began}-{number} " for number in range(int(count))]
    search = ("call_1", "search_clinical_guidelines", json.dumps({"question": "Which drugs are contraindicated?"}))
    steps = (
        text_reply(*words, response_id=response_id) if kind == "text" else calls_reply(search, response_id=response_id)
    )
    due = int(began) / 1000
    for step in steps:
        if isinstance(step, Event) and isinstance(step.body, dict):
            if step.body["type"] == "response.output_text.delta":
                due += float(milliseconds) / 1000
                await asyncio.sleep(due - time.monotonic())
            yield step.encode()


async def _open(count: int) -> AsyncIterator[bytes]:
    yield begin()
    for number in range(count):
        yield delta("word ", number + 4)
    await asyncio.Event().wait()


async def _gap(request: dict[str, Any]) -> AsyncIterator[bytes]:
    if any(item.get("type") == "function_call_output" for item in request["input"]):
        async for piece in _burst(1):
            yield piece
        return
    began = asyncio.get_running_loop().time()
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": f"call_{n}",
            "name": name,
            "arguments": "{}",
            "status": "completed",
        }
        for n, name in enumerate(("first", "second"))
    ]
    yield Event({"type": "response.created", "response": response_body("resp_1", "in_progress")}).encode()
    for call in calls:
        yield Event({"type": "response.output_item.added", "item": {**call, "arguments": ""}}).encode()
        yield Event({"type": "response.output_item.done", "item": call}).encode()
    for number in range(1, 21):
        await asyncio.sleep(began + number / 20 - asyncio.get_running_loop().time())
        yield Event({"type": "response.output_text.delta", "item_id": "msg_1", "delta": "word "}).encode()
    yield Event({"type": "response.completed", "response": response_body("resp_1", "completed", calls)}).encode()


def _play(request: dict[str, Any]) -> AsyncIterator[bytes]:
    kind, *numbers = str(request["model"]).split(":")
    match kind:
        case "burst":
            return _burst(int(numbers[0]))
        case "paced":
            return _paced(int(numbers[0]), float(numbers[1]))
        case "clinic":
            return _clinic(request, int(numbers[0]), float(numbers[1]))
        case "kept":
            answered = any(item.get("type") == "function_call_output" for item in request["input"])
            return _kept(
                "_".join(("resp", "text" if answered else "search", *numbers, str(int(time.monotonic() * 1000))))
            )
        case "open":
            return _open(int(numbers[0]))
        case _:
            return _gap(request)


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    task = asyncio.current_task()
    _open_connections.add(task)
    # uvloop raises a RuntimeError where a client left between two writes.
    with suppress(ConnectionError, RuntimeError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            method, path, _ = head.split(" ", 2)
            length = next((line for line in head.split("\r\n") if line.startswith("content-length:")), ":0")
            body = await reader.readexactly(int(length.partition(":")[2]))
            reads = re.search(r"/responses/(\w+)\?stream=true", path)
            if path.endswith("/cancel") or (method == "get" and reads is None):
                # Asked whether it keeps a response: any of them.
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
                continue
            playing = _kept(reads[1]) if reads else _play(json.loads(body))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            async for piece in playing:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    _open_connections.discard(task)
    writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def replay_server() -> Iterator[str]:
    """The server as a child process; its base URL."""
    process = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.replay_server"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    uvloop.run(_serve())
