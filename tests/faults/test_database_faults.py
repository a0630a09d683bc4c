"""A database, Redis or disk that fails under the app: answers continue, parts are named, and nothing is lost."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from redis.asyncio import Redis
from sqlalchemy import URL, make_url

from chat_app.events import Notice
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.page.question_events import question_events
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, api, frames
from tests.support.engine import clinic
from tests.support.page_server import fake_page
from tests.support.page_sockets import asking, seen, socket_of
from tests.support.postgres import fresh_database
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply
from tests.support.served import COMMAND, asclepius, clean_environment
from tests.support.services import redis_server

MODEL = "any"
MOUNTS = ("unshare", "--mount")


async def allow(database: str, *, connections: bool) -> None:
    """Let the server accept or refuse connections to ``database``; refusing ends those that there are."""
    name = database.rpartition("?")[0].rpartition("/")[2]
    admin = await asyncpg.connect(host=database.partition("host=")[2], user="asclepius", database="postgres")
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {'true' if connections else 'false'}")
    if not connections:
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
    await admin.close()


@asynccontextmanager
async def clinic_api(redis: str, folder: Path, *turns: Any) -> AsyncIterator[tuple[Api, ScriptedServer]]:
    store = RedisSessionStore(redis)
    async with (
        ScriptedServer(list(turns)) as server,
        clinic(server, redis, [], store=store) as agent,
        api(agent, folder / "data", sessions=store) as running,
    ):
        yield running, server
    await store.aclose()


async def readiness(running: Api) -> tuple[int, dict[str, Any]]:
    async with running.client(None) as nobody:
        response = await nobody.get("/readyz")
        return response.status_code, response.json()


async def test_questions_are_answered_while_postgres_is_down_and_stored_when_it_is_back(
    postgres: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 51."""
    database = await fresh_database(postgres)
    monkeypatch.setenv("DATABASE_URL", database)
    async with clinic_api(redis_url, tmp_path, text_reply("Take ", "with food.")) as (running, _):
        assert (await readiness(running))[1]["degraded"] == []
        await allow(database, connections=False)
        status, found = await readiness(running)
        assert (status, found["status"], found["degraded"]) == (200, "degraded", ["history"])
        assert not found["parts"]["history"]["ready"]

        keeper, thread = running.runtime.keeper, str(uuid4())
        question = PageQuestion("ana", thread, str(uuid4()), "How?", str(uuid4()), PageOptions(), [MODEL])
        turn = question.turns[MODEL]
        await keeper.begin(question)
        stored = await keeper.answer(turn, question_events(running.runtime, question, MODEL))
        assert stored == "later"
        assert turn.log.answer == "Take with food."
        assert "history_unavailable" in [event.code for event in turn.log.events if isinstance(event, Notice)]

        await allow(database, connections=True)
        async with asyncio.timeout(60):
            while (kept := await running.runtime.history.get_thread(thread)) is None:
                await keeper.recover()
        outputs = {step["type"]: step["output"] for step in kept["steps"]}
        assert (outputs["user_message"], outputs["assistant_message"]) == ("How?", "Take with food.")
        assert kept["userIdentifier"] == "ana"
        assert (await readiness(running))[1]["degraded"] == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda url: url.set(username="nobody", password="secret"), "it refused the user name or the password"),
        (lambda url: url.set(database="secret"), "there is no database of that name"),
        (lambda url: url.set(query={}, host="secret.invalid"), "its host name is unknown"),
        (lambda url: url.set(query={}, host="127.0.0.1", port=9, password="secret"), "it refused the connection"),
    ],
    ids=["login", "database", "host", "port"],
)
async def test_why_a_database_cannot_be_used_is_said_once_and_without_its_address(
    postgres: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    change: Callable[[URL], URL],
    reason: str,
) -> None:
    url = change(make_url(await fresh_database(postgres)))
    monkeypatch.setenv("DATABASE_URL", url.render_as_string(hide_password=False))
    async with api(None, tmp_path / "data") as running:
        for _ in range(3):
            await running.runtime._set_up_history()
    said = [message for message in caplog.messages if "history's database" in message]
    assert said == [
        f"The history's database does not answer ({reason}); trying again. Check DATABASE_URL and the server."
    ]
    assert "secret" not in caplog.text


async def test_a_redis_that_loses_everything_in_a_turn_is_told(tmp_path: Path) -> None:
    """Row 52: FLUSHALL while an answer streams."""
    (tmp_path / "redis").mkdir()
    gate = asyncio.Event()
    reply = text_reply("Take ", "with food.")
    with redis_server(tmp_path / "redis") as url:
        async with (
            clinic_api(url, tmp_path, [*reply[:5], WaitFor(gate), *reply[5:]]) as (running, _),
            running.client("ana") as client,
            client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response,
        ):
            seen = []
            async for frame in frames(response):
                seen.append(frame)
                if frame.event == "text_delta" and not gate.is_set():
                    redis: Redis = Redis.from_url(url)
                    await redis.flushall()
                    await redis.aclose()
                    gate.set()
    assert "conversation_lost" in [frame.data["code"] for frame in seen if frame.event == "notice"]
    assert seen[-1].data["outcome"]["kind"] == "completed"


async def test_an_answer_goes_on_while_the_disk_is_full_and_is_stored_when_there_is_space(
    tmp_path: Path, redis_url: str
) -> None:
    """Row 47. A limit on the size of the server's files stands in for a full disk."""
    with fake_page(tmp_path, environment={"REDIS_URL": redis_url}) as page:
        async with httpx.AsyncClient(base_url=page.url, timeout=60) as client:
            (await client.post("/auth/header")).raise_for_status()
            async with socket_of(page, client) as (socket, events, _):
                await socket.emit("client_message", asking("gated 40 of 100 full"))
                thread = (await seen(events, "first_interaction"))[0]["thread_id"]
                async with asyncio.timeout(60):
                    while "n40" not in str(events):
                        await asyncio.sleep(0.02)
                soft, hard = resource.prlimit(page.process.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(page.process.pid, resource.RLIMIT_FSIZE, (1, hard))
                page.open_gate("full")
                ended = (await seen(events, "element"))[0]["props"]
                await seen(events, "task_end", 3)
                resource.prlimit(page.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
            assert ended["outcome"]["kind"] == "completed"
            assert ended["plain"].rstrip().endswith("n100")
            async with asyncio.timeout(60):
                while "n100" not in (await client.get(f"/project/thread/{thread}")).text:
                    await asyncio.sleep(0.1)


def test_the_doctor_starts_and_creates_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    folder.mkdir()
    done = asclepius("doctor", data_dir=folder / "data")
    assert done.returncode == 0, done.stdout
    assert "not started" in done.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said", "command"),
    [
        ("size=64k", "No space left on device", ("serve", "--port", "0")),
        ("ro", "Read-only file system", ("keys", "create", "ana")),
    ],
)
def test_a_disk_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, options: str, said: str, command: tuple[str, ...]
) -> None:
    """Row 53, on a small disk that only the command sees."""
    if subprocess.run([*MOUNTS, "mount", "-t", "tmpfs", "disk", "/mnt"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a disk")
    data = tmp_path / "data"
    data.mkdir()
    script = f'mount -t tmpfs -o {options},mode=700 disk "$0" && exec "$@"'
    started = [*MOUNTS, "sh", "-c", script, str(data), COMMAND, *command]
    done = subprocess.run(
        started, env=clean_environment(data), cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 1, done.stdout
    assert f"cannot be written ({said})" in done.stderr
    assert "ASCLEPIUS_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_directory_that_cannot_be_written_is_a_sentence() -> None:
    """Row 53."""
    done = asclepius("serve", data_dir=Path("/proc/asclepius"), ASCLEPIUS_PORT="0")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "cannot be written" in said
    assert "ASCLEPIUS_DATA_DIR" in said
    assert "Traceback" not in said


def test_a_file_in_place_of_the_data_directory_is_a_sentence(tmp_path: Path) -> None:
    """Row 53."""
    (tmp_path / "data").write_text("")
    done = asclepius("serve", data_dir=tmp_path / "data", ASCLEPIUS_PORT="0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "ASCLEPIUS_DATA_DIR" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_damaged_history_is_named_and_not_taken_for_a_full_disk(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "data" / "history.sqlite3"
    file.parent.mkdir()
    file.write_bytes(b"damaged " * 1_000)
    for command in (("doctor",), ("serve", "--port", "0", "--workers", workers)):
        done = asclepius(*command, data_dir=file.parent)
        said = done.stdout + done.stderr
        assert done.returncode == 1, said
        assert f"{file} is damaged: restore a backup" in said
        assert "Traceback" not in said


def test_a_damaged_file_of_users_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "data" / "users.json"
    file.parent.mkdir()
    file.write_text("{")
    done = asclepius("users", "list", data_dir=file.parent)
    assert done.returncode == 1
    assert done.stderr == f"asclepius: {file} is damaged: restore it from a backup, or remove it.\n"


def test_a_port_of_the_metrics_that_is_taken_is_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = asclepius("serve", "--port", "0", data_dir=tmp_path / "data", ASCLEPIUS_METRICS_PORT=port)
    assert done.returncode == 1
    assert "set ASCLEPIUS_METRICS_PORT to a free one" in done.stderr
    assert "Asclepius is at" not in done.stderr
    assert "Traceback" not in done.stderr
