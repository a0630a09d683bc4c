"""``asclepius serve`` with two workers: they behave as one server, and end with it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.integration.test_replicas import read, read_of
from tests.support.certificates import server_certificate
from tests.support.page_sockets import asking, seen, socket_of
from tests.support.scripted_server import Request, ScriptedServer, Turn, WaitFor, text_reply
from tests.support.served import Served, serve
from tests.support.services import wait_until
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(600), pytest.mark.served]


@contextmanager
def model_server() -> Iterator[str]:
    """A model server whose answers end after half of their text, until nobody reads them."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    async def started() -> ScriptedServer:
        never, reply = asyncio.Event(), text_reply("Take ", "with food.")

        def turn(request: Request) -> Turn:
            return Turn([*reply[:5], WaitFor(never), *reply[5:]] if b"half" in request.body else reply)

        return await ScriptedServer([turn], repeat=True).__aenter__()

    server = run(started())
    try:
        yield server.base_url
    finally:
        run(server.__aexit__(None, None, None))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True)
class Workers:
    """A running server with two workers."""

    served: Served
    trust: ssl.SSLContext | None = None
    """Trusts the certificate of a server with https."""

    @property
    def url(self) -> str:
        return self.served.url.replace("127.0.0.1", "localhost")

    def path(self, number: int) -> Path:
        return self.served.data_dir / "run" / f"worker-{number}.sock"

    def process(self, number: int) -> psutil.Process | None:
        """Return the process of a worker; None while it is being started."""
        for child in psutil.Process(self.served.process.pid).children():
            try:
                if str(self.path(number)) in {connection.laddr for connection in child.net_connections("unix")}:
                    return child
            except psutil.Error:
                continue
        return None

    @asynccontextmanager
    async def client(self, number: int) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a signed-in client of one worker."""
        transport = httpx.AsyncHTTPTransport(uds=str(self.path(number)), verify=self.trust or True)
        address = f"{self.url.partition(':')[0]}://localhost"
        async with httpx.AsyncClient(transport=transport, base_url=address, timeout=60) as client:
            (await client.post("/auth/header")).raise_for_status()
            yield client

    def both_serve(self) -> bool:
        with httpx.Client(base_url=self.url, timeout=60, verify=self.trust or True) as client:
            return bool(client.get("/readyz").json()["parts"].get("workers", {}).get("ready"))


@contextmanager
def two_workers(folder: Path) -> Iterator[Workers]:
    with model_server() as model:
        settings = {"ASCLEPIUS_LOAD_DEMO": "false", "OPENAI_BASE_URL": model}
        with serve(folder / "data", "--workers", "2", loaded=False, **settings) as served:
            workers = Workers(served)
            wait_until(workers.both_serve, what="both workers", seconds=300)
            yield workers


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Two workers that serve https; the last test of the module kills them."""
    folder = tmp_path_factory.mktemp("secured")
    _, certificate = server_certificate("localhost", folder)
    settings = {"ASCLEPIUS_TLS_CERTIFICATE": str(certificate), "ASCLEPIUS_TLS_KEY": str(folder / "private.pem")}
    more = {"ASCLEPIUS_WORKERS": "2", "ASCLEPIUS_LOAD_DEMO": "false"}
    with serve(folder / "data", loaded=False, **settings, **more) as served:
        workers = Workers(served, ssl.create_default_context(cafile=str(certificate)))
        wait_until(workers.both_serve, what="both workers", seconds=300)
        yield workers


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    with two_workers(tmp_path_factory.mktemp("workers")) as running:
        yield running


def drugs_in(events: list[tuple[str, Any]]) -> object:
    """Return whether the settings panel that was shown last searches the drug database."""
    panels = [data for name, data in events if name == "chat_settings"]
    return next((each["initial"] for each in panels[-1] if each["id"] == "drugs"), None) if panels else None


def have_ended(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and not is_zombie(process) for process in processes)


def is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


async def test_two_processes_accept_connections_at_one_port(workers: Workers) -> None:
    first, second = workers.process(1), workers.process(2)
    assert first is not None
    assert second is not None
    port = int(workers.served.url.rpartition(":")[2])
    for process in (first, second):
        assert port in {connection.laddr.port for connection in process.net_connections("tcp")}


async def test_an_answer_is_resumed_and_stopped_at_the_other_worker(workers: Workers) -> None:
    async with (
        workers.client(1) as here,
        workers.client(2) as there,
        here.stream("POST", "/api/v1/consult", json={"message": "half an answer"}) as response,
    ):
        begun = await read(response, until="Take ")
        reading = asyncio.create_task(read_of(there, begun.turn_id))
        assert (await there.delete(f"/api/v1/turns/{begun.turn_id}")).status_code == 204
        stopped, elsewhere = await read_of(here, begun.turn_id), await reading
    assert [end["code"] for end in stopped.ends] == ["stopped"]
    assert [end["code"] for end in elsewhere.ends] == ["stopped"]
    assert elsewhere.text == begun.text


async def test_a_file_and_settings_reach_the_tab_through_either_worker(workers: Workers) -> None:
    async with httpx.AsyncClient(base_url=workers.served.url, timeout=60) as browser:
        (await browser.post("/auth/header")).raise_for_status()
        async with socket_of(workers.served, browser) as (socket, events, session):
            await socket.emit("client_message", asking("how?"))
            thread = (await seen(events, "first_interaction"))[0]["thread_id"]
            await seen(events, "element")
            for number in (1, 2):
                async with workers.client(number) as client:
                    files = {"file": ("note.pdf", b"%PDF-1.4", "application/pdf")}
                    upload = {"session_id": session}
                    sent = (await client.post("/project/file", params=upload, files=files)).raise_for_status().json()
                    got = await client.get(f"/project/file/{sent['id']}", params=upload)
                    assert got.raise_for_status().content == b"%PDF-1.4"
                    drugs = number == 2
                    changed = await client.post(f"/api/v1/threads/{thread}/settings", json={"drugs": drugs})
                    assert changed.status_code == 204
                    await until(lambda wanted=drugs: drugs_in(events) == wanted, what="the changed panel")


async def test_a_client_cannot_pass_for_a_worker(workers: Workers) -> None:
    async with workers.client(1) as client:
        for mark in ("? ?", "x ?", "x 127.0.0.1 1", "\xff ?"):
            headers = {"x-asclepius-worker": mark.encode("latin-1")}
            answer = await client.get("/project/file/1", params={"session_id": "x"}, headers=headers)
            assert answer.status_code == 401, "that is Chainlit's answer"


async def test_a_worker_that_was_killed_is_replaced_and_its_answer_is_marked(workers: Workers) -> None:
    killed = workers.process(1)
    assert killed is not None
    async with (
        workers.client(1) as here,
        workers.client(2) as there,
        here.stream("POST", "/api/v1/consult", json={"message": "half an answer"}) as response,
    ):
        begun = await read(response, until="Take ")
        reading = asyncio.create_task(read_of(there, begun.turn_id))
        killed.kill()
        found = await reading
    assert found.text == begun.text
    assert [end["code"] for end in found.ends] == ["server_stopped"]
    await asyncio.to_thread(wait_until, lambda: (workers.process(1) or killed) != killed, what="another worker")
    await asyncio.to_thread(wait_until, workers.both_serve, what="both workers", seconds=300)
    async with workers.client(1) as again:
        answer = (await again.post("/api/v1/consult", json={"message": "how?", "stream": False})).json()
    assert answer["answer"] == "Take with food."


def test_sigterm_ends_all_processes(workers: Workers) -> None:
    family = psutil.Process(workers.served.process.pid).children(recursive=True)
    assert len(family) > 2
    workers.served.process.send_signal(signal.SIGTERM)
    assert workers.served.process.wait(120) == 0
    wait_until(lambda: have_ended(family), what="the end of all processes")
    assert not list((workers.served.data_dir / "run").glob("*.sock"))


async def test_the_page_its_sockets_and_both_workers_speak_https_with_the_certificate_that_is_set(
    secured: Workers,
) -> None:
    assert secured.trust is not None
    async with httpx.AsyncClient(base_url=secured.url, timeout=60, verify=secured.trust) as browser:
        signed_in = (await browser.post("/auth/header")).raise_for_status()
        assert "; Secure" in signed_in.headers["set-cookie"]
        assert "strict-transport-security" in signed_in.headers
        async with socket_of(secured, browser, trust=secured.trust) as (_, events, session):
            await seen(events, "chat_settings")
            for number in (1, 2):
                async with secured.client(number) as client:
                    files = {"file": ("note.pdf", b"%PDF-1.4", "application/pdf")}
                    sent = await client.post("/project/file", params={"session_id": session}, files=files)
                    assert sent.status_code == 200, "one of the workers relays it to the other"


def test_tls_1_2_has_ciphers_with_authenticated_encryption_alone(secured: Workers) -> None:
    older = ssl.create_default_context(cafile=str(secured.served.data_dir.parent / "trusted.pem"))
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    older.set_ciphers("ALL")
    address = ("localhost", int(secured.url.rpartition(":")[2]))
    with (
        socket.create_connection(address, timeout=60) as plain,
        older.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        chosen = connection.cipher()
    assert chosen is not None
    assert "GCM" in chosen[0] or "CHACHA20" in chosen[0]


def test_the_workers_end_when_their_parent_is_killed(secured: Workers) -> None:
    family = psutil.Process(secured.served.process.pid).children(recursive=True)
    assert any("web_server" in " ".join(process.cmdline()) for process in family)
    os.kill(secured.served.process.pid, signal.SIGKILL)
    wait_until(lambda: have_ended(family), what="the end of all processes")
