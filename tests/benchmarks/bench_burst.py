"""Many questions within two seconds, over HTTP and on the page, beside a plain server in the same run.

    python -m tests.benchmarks.bench_burst [QUESTIONS] [SERVER]...

The model server answers each question with 50 deltas, one each 20 ms. Printed are how many answers arrived whole, and
the seconds from a question to the first word of its answer. Server and load have a core each. On a machine that is busy
with other work only the processor time of a question is of use.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil

from chat_app.settings import ServerSettings
from tests.benchmarks.bench_page import percentile
from tests.benchmarks.bench_streams import cpu_seconds, ours, pin, plain_fastapi
from tests.benchmarks.replay_server import replay_server
from tests.support.page_sockets import Address, asking, hand_back_marks, socket_of

WITHIN_SECONDS = 2.0
DELTAS, EVERY_MS = 50, 20
_PATIENCE_SECONDS = 120.0
# Each delta is a time and a space; ids can have as many digits.
_STAMP = re.compile(rb"(\d{12,}) ")


class Answer:
    """What one client has received, from its question on."""

    def __init__(self) -> None:
        self._asked = 0.0
        self._text: list[bytes] = []
        self._whole = asyncio.Event()
        self.first: float | None = None
        self.queued = False

    @property
    def is_whole(self) -> bool:
        return self._whole.is_set()

    def ask(self) -> None:
        self._asked = time.monotonic()

    def read(self, text: bytes) -> None:
        self.queued = self.queued or b'"queued"' in text
        if self.first is None and _STAMP.search(text):
            self.first = time.monotonic() - self._asked
        self._text.append(text)

    def end(self) -> None:
        if len(set(_STAMP.findall(b"".join(self._text)))) == DELTAS:
            self._whole.set()


Client = Callable[[str, str, Answer, asyncio.Semaphore, Awaitable[None]], Awaitable[None]]
"""Connects to the server at an address with a cookie, says so, and asks when it is told to."""


async def _over_http(url: str, cookie: str, answer: Answer, connected: asyncio.Semaphore, due: Awaitable[None]) -> None:
    connected.release()
    await due
    answer.ask()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    body = b'{"message": "question"}'
    head = f"POST /api/v1/consult HTTP/1.1\r\nHost: {url[7:]}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n"
    writer.write(head.encode() + b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    try:
        while chunk := await reader.read(65_536):
            answer.read(chunk)
    finally:
        writer.close()
        answer.end()


async def _on_page(url: str, cookie: str, answer: Answer, connected: asyncio.Semaphore, due: Awaitable[None]) -> None:
    cookies = dict(part.split("=", 1) for part in cookie.split("; ") if part)
    ended = asyncio.Event()
    async with (
        httpx.AsyncClient(cookies=cookies) as client,
        socket_of(Address(url), client) as (socket, _, _),
    ):

        def token(data: Any) -> None:
            answer.read(str(data["token"]).encode())

        def start(data: Any) -> None:
            answer.read(str(data["output"]).encode())

        def step(data: Any) -> None:
            answer.queued = answer.queued or "ahead" in data.get("name", "")

        def end(data: Any) -> None:
            if "outcome" in (data.get("props") or {}):
                ended.set()

        socket.on("stream_token", token)
        socket.on("stream_start", start)
        socket.on("new_message", step)
        socket.on("update_message", step)
        socket.on("element", end)
        hand_back_marks(socket)
        connected.release()
        await due
        answer.ask()
        await socket.emit("client_message", asking("question"))
        await ended.wait()
        answer.end()


_ours = partial(ours, at_once=ServerSettings.model_fields["turns_at_once"].default)
CONTENDERS: dict[str, tuple[Callable[[Path], AbstractContextManager[tuple[str, int]]], Client]] = {
    "Asclepius, HTTP": (_ours, _over_http),
    "FastAPI + SDK": (plain_fastapi, _over_http),
    "Asclepius, page": (_ours, _on_page),
}


async def burst(url: str, pid: int, questions: int, client: Client) -> str:
    async with httpx.AsyncClient(base_url=url, timeout=60) as visitor:
        await visitor.post("/auth/header")
        cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    connected, begin = asyncio.Semaphore(0), asyncio.Event()

    async def due(number: int) -> None:
        await begin.wait()
        await asyncio.sleep(WITHIN_SECONDS * number / questions)

    answers = [Answer() for _ in range(questions)]
    clients = []
    for number, answer in enumerate(answers):
        clients.append(asyncio.ensure_future(client(url, cookie, answer, connected, due(number))))
        # One after the other: connecting is not measured.
        await connected.acquire()
    process = psutil.Process(pid)
    before, began = cpu_seconds(process), time.monotonic()
    begin.set()
    await asyncio.wait(clients, timeout=_PATIENCE_SECONDS)
    seconds = time.monotonic() - began
    own, children = ((b - a) / questions * 1e3 for a, b in zip(before, cpu_seconds(process), strict=True))
    for task in clients:
        task.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    firsts = [answer.first for answer in answers if answer.first is not None] or [float("nan")]
    return (
        f"{sum(answer.is_whole for answer in answers)} of {questions} whole after {seconds:.1f} s, first word p50 "
        f"{percentile(firsts, 0.5):.2f} s, p95 {percentile(firsts, 0.95):.2f} s, last {max(firsts):.2f} s; "
        f"{own:.1f} ms of processor a question, {children:.1f} in its services; "
        f"{sum(answer.queued for answer in answers)} saw the queue"
    )


async def compare(questions: int, names: list[str]) -> None:
    pin(1)
    with replay_server() as upstream:
        os.environ |= {"OPENAI_BASE_URL": upstream, "OPENAI_API_KEY": "none"}
        os.environ["ASCLEPIUS_MODEL"] = f"paced:{DELTAS}:{EVERY_MS}"
        for name in names:
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                pin(0)
                server, client = CONTENDERS[name]
                url, pid = await asyncio.to_thread(stack.enter_context, server(Path(folder)))
                pin(1)
                print(f"{name:16}{await burst(url, pid, questions, client)}", flush=True)


def main() -> None:
    questions = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), 400)
    names = [name for name in CONTENDERS if any(word in name for word in sys.argv[1:])]
    asyncio.run(compare(questions, names or list(CONTENDERS)))


if __name__ == "__main__":
    main()
