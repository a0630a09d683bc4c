"""Streams that one process serves, over HTTP and on the page, beside plain servers in the same run.

    python -m tests.benchmarks.bench_streams [STREAMS]...

A model server sends every stream a delta each 20 ms (`BENCH_EVERY_MS`); each delta is the time at which it was sent.
Every server answers over the same upstream. Printed are the processor time of the server's process per delta while all
streams run, that of its child processes (Redis, Milvus), the delay from upstream to client, and the resident memory of
the server's process with all streams and before them. Server and load have a core each; two workers share both with
the load, and their figures are those of the processes together.

Before that, ten streams run in lockstep: each gets its next delta when its client has the last one, so that every delta
is a read, a pass through the server and a write. On a machine that is busy with other work only this figure is of use:
there deltas arrive together because the server waits for the processor.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import uvloop

from tests.benchmarks.bench_page import percentile, plain_chainlit
from tests.benchmarks.replay_server import begin, delta, replay_server
from tests.support.page_server import PROJECT
from tests.support.page_sockets import Address, asking, hand_back_marks, socket_of
from tests.support.served import COMMAND, serve
from tests.support.services import accepts, free_port, running

EVERY_MS = int(os.environ.get("BENCH_EVERY_MS", "20"))
SECONDS = 6.0
"""Length of the measured part of every run."""
_LEAD_SECONDS = 8.0
BEGIN_SECONDS = 120
"""Within which every stream must have begun."""
WORKER = "chat_app.cli.web_server"
_TURN = re.compile(r"x-turn-id: (\S+)")
_STAMP = re.compile(rb"\d{12,}")
_DELTA = re.compile(rb'delta\ndata: .*?"(?:text|delta)":"([^"]*)')


Client = Callable[[str, str, "Load"], Awaitable[None]]
"""Reads one stream of the server at an address, with a cookie."""


class Lockstep:
    """A model server that sends the next delta of a stream when ``arrived`` is called with the last one."""

    def __init__(self) -> None:
        self._sent: dict[bytes, asyncio.Event] = {}

    def arrived(self, stamp: bytes) -> None:
        if (sent := self._sent.pop(stamp, None)) is not None:
            sent.set()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Its connections are cancelled when the run ends.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not (head := (await reader.readuntil(b"\r\n\r\n")).lower()).startswith(b"post"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + begin())
            for number in count(4):
                stamp = str(time.monotonic_ns())
                came = self._sent[stamp.encode()] = asyncio.Event()
                # A capital first: digits could still become a list, and a small letter a variable; both are held back.
                writer.write(delta(f"T{stamp} ", number))
                await writer.drain()
                await came.wait()


class Load:
    """What the clients of one run have received."""

    def __init__(self, lockstep: Lockstep) -> None:
        self._lockstep = lockstep
        self.begun = 0
        self.turns: list[str] = []
        self.delays: list[float] | None = None

    def read(self, text: bytes) -> None:
        now, stamps = time.monotonic_ns(), _STAMP.findall(text)
        if self.delays is not None:
            self.delays.extend((now - int(stamp)) / 1e6 for stamp in stamps)
        for stamp in stamps:
            self._lockstep.arrived(stamp)


class _HttpReader(asyncio.Protocol):
    """Reads the events of one answer, with as little work as it can: hundreds of them share a core."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._begun = False
        self.closed = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._load.turns += _TURN.findall(data.decode())
            self._begun = b"delta" in data
            self._load.begun += self._begun
        self._load.read(b"".join(_DELTA.findall(data)))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _over_http(url: str, cookie: str, load: Load) -> None:
    body = b'{"message": "question"}'
    head = f"POST /api/v1/consult HTTP/1.1\r\nHost: {url[7:]}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n"
    request = head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    transport, reader = await asyncio.get_running_loop().create_connection(
        lambda: _HttpReader(load), "127.0.0.1", int(url.rpartition(":")[2])
    )
    transport.write(request)
    try:
        await reader.closed
    finally:
        transport.close()


async def _on_page(url: str, cookie: str, load: Load) -> None:
    cookies = dict(part.split("=", 1) for part in cookie.split("; ") if part)
    async with (
        httpx.AsyncClient(cookies=cookies) as client,
        socket_of(Address(url), client) as (socket, _, _),
    ):

        def token(data: Any) -> None:
            load.read(str(data["token"]).encode())

        async def start(data: Any) -> None:
            load.begun += 1
            load.read(str(data["output"]).encode())

        socket.on("stream_token", token)
        hand_back_marks(socket)
        socket.on("stream_start", start)
        await socket.emit("client_message", asking("question"))
        try:
            await asyncio.Event().wait()
        finally:
            await socket.emit("stop")


class Figures(NamedTuple):
    """Processor time in µs for each token, shares of a core, delays in ms, and memory in MB."""

    own: float
    services: float
    busy: float
    load: float
    """The share of a core that the clients take."""
    delays: list[float]
    memory: float
    idle: float

    def __str__(self) -> str:
        return (
            f"{self.own:6.0f} µs a token, {self.services:4.0f} µs in its services; {self.busy:4.0%} busy, "
            f"load {self.load:4.0%}, delay p50 {percentile(self.delays, 0.5):6.0f} ms, "
            f"p99 {percentile(self.delays, 0.99):6.0f} ms; {len(self.delays):,} tokens; "
            f"memory {self.memory:.0f} MB, before {self.idle:.0f} MB"
        )


async def measure(url: str, pid: int, streams: int, client: Client, lockstep: Lockstep) -> Figures:
    load, process = Load(lockstep), psutil.Process(pid)
    idle = memory_of(process)
    async with httpx.AsyncClient(base_url=url, timeout=60) as visitor:
        await visitor.post("/auth/header")
        cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    clients = [asyncio.ensure_future(client(url, cookie, load)) for _ in range(streams)]
    try:
        async with asyncio.timeout(BEGIN_SECONDS):
            while load.begun < streams:
                await asyncio.sleep(0.1)
        clients_before, before, load.delays = time.process_time(), cpu_seconds(process), []
        await asyncio.sleep(SECONDS)
        clients_took = time.process_time() - clients_before
        after, delays, memory = cpu_seconds(process), load.delays, memory_of(process)
    finally:
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        # Turns go on without their readers.
        async with httpx.AsyncClient(base_url=url, headers={"cookie": cookie}, timeout=60) as visitor:
            await asyncio.gather(*(visitor.delete(f"/api/v1/turns/{turn}") for turn in load.turns))
    own, children = ((b - a) / len(delays) * 1e6 for a, b in zip(before, after, strict=True))
    busy = (after[0] - before[0]) / SECONDS
    return Figures(own, children, busy, clients_took / SECONDS, delays, memory, idle)


def cpu_seconds(process: psutil.Process) -> tuple[float, float]:
    """Return what the server's processes have used, and what its other child processes have."""
    workers = _workers(process)
    others = [child for child in process.children(recursive=True) if child not in workers]
    own, services = ([each.cpu_times() for each in group] for group in ([process, *workers], others))
    return sum(spent.user + spent.system for spent in own), sum(spent.user + spent.system for spent in services)


def memory_of(process: psutil.Process) -> float:
    """Return the resident memory of the server's processes in MB."""
    return sum(float(each.memory_info().rss) for each in (process, *_workers(process))) / 1e6


def _workers(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children() if WORKER in child.cmdline()]


@contextmanager
def ours(
    folder: Path, *, at_once: int = 1_000, workers: int = 1, program: Sequence[str] = (COMMAND,)
) -> Generator[tuple[str, int]]:
    settings = {
        "ASCLEPIUS_LOAD_DEMO": "false",
        "ASCLEPIUS_QUESTIONS_PER_MINUTE": "100000",
        "ASCLEPIUS_CONCURRENT_TURNS": "1000",
        "ASCLEPIUS_TURNS_AT_ONCE": str(at_once),
        "ASCLEPIUS_WORKERS": str(workers),
        **{name: os.environ[name] for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ASCLEPIUS_MODEL")},
    }
    with serve(folder / "data", loaded=True, program=program, **settings) as served:
        yield served.url, served.process.pid


@contextmanager
def plain_fastapi(_: Path) -> Generator[tuple[str, int]]:
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.plain_fastapi", str(port)]
    os.environ["PYTHONPATH"] = str(PROJECT)
    with running(command, lambda: accepts(("127.0.0.1", port)), what="plain FastAPI"):
        yield f"http://127.0.0.1:{port}", _listener(port)


@contextmanager
def _chainlit(folder: Path) -> Generator[tuple[str, int]]:
    with plain_chainlit(folder / "plain") as url:
        yield url, _listener(int(url.rpartition(":")[2]))


def _listener(port: int) -> int:
    return next(
        int(child.pid)
        for child in psutil.Process().children(recursive=True)
        for socket in child.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN and socket.laddr.port == port
    )


CONTENDERS: dict[str, tuple[Callable[[Path], AbstractContextManager[tuple[str, int]]], Client, set[int]]] = {
    "Asclepius, HTTP": (ours, _over_http, {0}),
    "FastAPI + SDK": (plain_fastapi, _over_http, {0}),
    "Asclepius, page": (ours, _on_page, {0}),
    "two workers, page": (partial(ours, workers=2), _on_page, {0, 1}),
    "stock Chainlit + SDK": (_chainlit, _on_page, {0}),
}
"""Each server with its client and the cores that it may use."""


def pin(*cores: int, pid: int = 0) -> None:
    if (os.cpu_count() or 1) > 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(pid, cores)


def _pin_load(cores: set[int]) -> None:
    """Keep clients and model server off the core of a server that has one; else the system divides the cores."""
    load = {1} if len(cores) == 1 else cores
    pin(*load)
    for child in psutil.Process().children():
        if "tests.benchmarks.replay_server" in child.cmdline():
            pin(*load, pid=child.pid)


async def compare(sizes: list[int], names: list[str]) -> None:
    deltas, lockstep = int((SECONDS + _LEAD_SECONDS) * 1000 / EVERY_MS * 3), Lockstep()
    pin(1)
    with replay_server() as paced:
        async with await asyncio.start_server(lockstep.connection, "127.0.0.1", 0) as stepped:
            port = stepped.sockets[0].getsockname()[1]
            for name in names:
                for upstream, counts in ((f"http://127.0.0.1:{port}/v1", [10]), (paced, sizes)):
                    os.environ |= {"OPENAI_BASE_URL": upstream, "OPENAI_API_KEY": "none"}
                    os.environ["ASCLEPIUS_MODEL"] = f"paced:{deltas}:{EVERY_MS}"
                    await _report(name, counts, lockstep, "in lockstep" if upstream != paced else "paced")


async def _report(name: str, counts: list[int], lockstep: Lockstep, how: str) -> None:
    server, client, cores = CONTENDERS[name]
    if not counts:
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pin(*cores)
        # In a thread: the server may ask for its upstream, which is in this process.
        url, pid = await asyncio.to_thread(stack.enter_context, server(Path(folder)))
        _pin_load(cores)
        for streams in counts:
            try:
                measured = str(await measure(url, pid, streams, client, lockstep))
            except TimeoutError:
                measured = f"not all had begun after {BEGIN_SECONDS} s"
            print(f"{name:21}{streams:4} streams {how}: {measured}", flush=True)


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    names = [name for name in CONTENDERS if any(word in name for word in sys.argv[1:])]
    uvloop.run(compare([n for n in sizes or [50, 100, 200] if n], names or list(CONTENDERS)))


if __name__ == "__main__":
    main()
