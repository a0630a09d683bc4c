"""The nginx configuration that is shipped, in a real nginx before two replicas that say who they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import websockets
from websockets.asyncio.server import ServerConnection, serve

from tests.support.nginx import balancer
from tests.support.services import free_port


@dataclass
class Replica:
    """Answers every request with its name; hangs up on one with ``broken``, and takes nothing while it stops."""

    name: str
    stopping: bool = False
    requests: list[str] = field(default_factory=list)
    port: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if not self.stopping:
            self.requests.append(head)
        if "broken" not in head.split("\r\n")[0]:
            status = "503 Service Unavailable" if self.stopping else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 1\r\n\r\n{self.name}".encode())
        writer.close()


@asynccontextmanager
async def two_replicas(folder: Path) -> AsyncIterator[tuple[str, list[Replica]]]:
    replicas, servers = [Replica("a"), Replica("b")], []
    for replica in replicas:
        server = await asyncio.start_server(replica.answer, "127.0.0.1", 0)
        replica.port = server.sockets[0].getsockname()[1]
        servers.append(server)
    balancing = balancer([f"127.0.0.1:{replica.port}" for replica in replicas], folder)
    url = await asyncio.to_thread(balancing.__enter__)
    try:
        yield url, replicas
    finally:
        await asyncio.to_thread(balancing.__exit__, None, None, None)
        for server in servers:
            server.close()


async def test_a_browser_stays_at_one_replica_and_browsers_spread(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (url, _):
        homes: set[str] = set()
        for _browser in range(20):
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                first = (await client.get("/")).text
                assert client.cookies.get("asclepius_route")
                answers = {(await client.get(f"/project/{number}")).text for number in range(5)}
                assert answers == {first}
            homes.add(first)
    assert homes == {"a", "b"}


async def test_a_question_is_not_asked_twice_when_its_replica_hangs_up(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (url, replicas), httpx.AsyncClient(base_url=url, timeout=60) as client:
        for path in ("/broken", "/api/v1/consult?broken"):
            assert (await client.post(path, content=b"{}")).status_code == 502
    assert sum(len(replica.requests) for replica in replicas) == 2


async def test_another_replica_takes_what_one_that_is_being_stopped_does_not(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (url, replicas):
        replicas[0].stopping = True
        for _browser in range(8):
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                assert (await client.post("/api/v1/consult", content=b"{}")).text == "b"
                upgrade = {"connection": "upgrade", "upgrade": "websocket"}
                assert (await client.get("/ws/socket.io/", headers=upgrade)).text == "b"
    assert len(replicas[1].requests) == 16


async def test_the_other_replica_takes_over_the_browsers_of_one_that_is_gone(tmp_path: Path) -> None:
    replica = Replica("a")
    server = await asyncio.start_server(replica.answer, "127.0.0.1", 0)
    alive = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    balancing = balancer([f"127.0.0.1:{free_port()}", alive], tmp_path)
    url = await asyncio.to_thread(balancing.__enter__)
    try:
        for _browser in range(10):
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                assert (await client.get("/")).text == "a"
    finally:
        await asyncio.to_thread(balancing.__exit__, None, None, None)
        server.close()


async def test_nobody_outside_names_the_user_or_sees_readiness(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (url, replicas), httpx.AsyncClient(base_url=url, timeout=60) as client:
        await client.get("/", headers={"X-Forwarded-User": "chief", "X-Request-ID": "text of a client"})
        assert (await client.get("/readyz")).status_code == 404
    (head,) = [head for replica in replicas for head in replica.requests]
    assert "chief" not in head
    assert "text of a client" not in head
    assert "x-request-id: " in head.lower()


async def test_a_web_socket_passes(tmp_path: Path) -> None:
    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async with serve(echo, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        balancing = balancer([f"127.0.0.1:{port}"], tmp_path)
        url = await asyncio.to_thread(balancing.__enter__)
        try:
            async with websockets.connect(url.replace("http", "ws") + "/ws/socket.io/") as client:
                await client.send("words")
                assert await client.recv() == "words"
        finally:
            await asyncio.to_thread(balancing.__exit__, None, None, None)
