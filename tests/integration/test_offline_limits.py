"""The offline server keeps within its limits: what is past its time goes, and it listens to others only with a key."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from chat_app.errors import ConfigurationError
from chat_app.offline.config import OfflineConfig
from chat_app.offline.execution.response_service import ResponseService
from chat_app.offline.state.file_store import FileStore
from chat_app.offline.state.response_store import MOST_RESPONSES, ResponseStore
from chat_app.offline.state.state_database import Database
from chat_app.offline.state.vector_search import VectorSearch
from chat_app.offline.wire.errors import ApiError
from chat_app.offline.wire.requests import CreateResponse
from tests.support.hostile_schemas import HOSTILE_SCHEMAS, LARGE_SCHEMAS, Json
from tests.support.offline_server import offline_server, port_of, start_offline_server

HEADERS = {"Authorization": "Bearer any"}


def respond(base_url: str) -> str:
    answer = httpx.post(f"{base_url}/responses", json={"model": "m", "input": "Hello"}, headers=HEADERS, timeout=60)
    return str(answer.json()["id"])


def test_beyond_loopback_a_key_is_required(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_OFFLINE_KEY"):
        OfflineConfig(host="0.0.0.0", port=0, data_dir=tmp_path, delta_ms=0).check()


def test_the_command_refuses_to_listen_to_others_without_a_key(tmp_path: Path) -> None:
    assert start_offline_server(tmp_path, "--host", "0.0.0.0").wait(60) == 2
    said = (tmp_path / "offline.log").read_text()
    assert "ASCLEPIUS_OFFLINE_KEY" in said
    assert "Traceback" not in said


def test_what_is_past_its_time_is_gone_and_removed_at_the_next_start(tmp_path: Path) -> None:
    with offline_server(tmp_path, "--delta-ms", "0") as base_url:
        old, kept = respond(base_url), respond(base_url)
        with sqlite3.connect(tmp_path / "offline.sqlite3") as connection:
            connection.execute("UPDATE responses SET expires_at = 1 WHERE id = ?", (old,))
        assert httpx.get(f"{base_url}/responses/{old}", headers=HEADERS, timeout=60).status_code == 404
    with offline_server(tmp_path, "--delta-ms", "0") as base_url:
        assert httpx.get(f"{base_url}/responses/{kept}", headers=HEADERS, timeout=60).status_code == 200
    with sqlite3.connect(tmp_path / "offline.sqlite3") as connection:
        assert connection.execute("SELECT id FROM responses").fetchall() == [(kept,)]


async def test_the_oldest_responses_make_room(tmp_path: Path) -> None:
    database = Database(tmp_path / "offline.sqlite3")
    store = ResponseStore(database)
    await store.expire()
    rows = [(f"resp_{n}", n, 1 << 40, "completed", None, b"{}", b"[]", None) for n in range(MOST_RESPONSES + 5)]

    def fill(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    await database.run(fill)
    assert await store.expire() == 5
    assert await store.get("resp_5") == {}
    await database.aclose()


async def test_nothing_of_what_is_past_its_time_stays_in_the_files(tmp_path: Path) -> None:
    database = Database(tmp_path / "offline.sqlite3")
    await database.write("INSERT INTO files VALUES ('file_1', 1, 1, 'Quartermaine.txt', 'assistants', 4)")
    await database.write("INSERT INTO responses VALUES ('resp_1', 1, 1, 'completed', NULL, 'Quartermaine', '[]', NULL)")
    assert any(b"Quartermaine" in path.read_bytes() for path in tmp_path.iterdir())
    await FileStore(database, tmp_path / "files").expire()
    await ResponseStore(database).expire()
    assert not any(b"Quartermaine" in path.read_bytes() for path in tmp_path.iterdir())
    await database.aclose()


@asynccontextmanager
async def serving(folder: Path, **limits: Any) -> AsyncIterator[tuple[ResponseService, Database]]:
    """The service behind ``/v1/responses``, and its database, which a ``max_page_count`` of 1 lets grow no more."""
    database = Database(folder / "offline.sqlite3")
    config = OfflineConfig(data_dir=folder, **limits)
    service = ResponseService(config, ResponseStore(database), VectorSearch(database))
    yield service, database
    await service.aclose()
    await database.aclose()


@pytest.mark.parametrize("background", [False, True])
async def test_no_more_responses_than_the_limit_begin_at_once(background: bool, tmp_path: Path) -> None:
    request = CreateResponse.model_validate({"model": "m", "input": "Hello", "background": background, "stream": True})
    async with serving(tmp_path, max_live=2, delta_ms=1000) as (service, _):
        begun = await asyncio.gather(*(service.start(request) for _ in range(20)), return_exceptions=True)
        refused = [turn.status_code for turn in begun if isinstance(turn, ApiError)]
        assert refused == [429] * 18


@pytest.mark.timeout(60)
async def test_a_response_that_cannot_be_stored_fails_and_its_stream_ends(tmp_path: Path) -> None:
    request = CreateResponse.model_validate({"model": "m", "input": "Hello " * 5_000, "stream": True})
    async with serving(tmp_path) as (service, database):
        await database.rows("PRAGMA max_page_count = 1")
        turn = await service.start(request)
        frames = [frame async for frame in turn.frames(0, None)]
    assert frames[-1].startswith(b"event: response.failed")
    assert b"could not store the response" in frames[-1]


async def test_a_background_response_that_cannot_be_stored_leaves_its_place(tmp_path: Path) -> None:
    stored = CreateResponse.model_validate({"model": "m", "input": "Hello " * 5_000, "background": True})
    other = CreateResponse.model_validate({"model": "m", "input": "Hello", "store": False})
    async with serving(tmp_path, max_live=1) as (service, database):
        await database.rows("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            await service.start(stored)
        turn = await service.start(other)
        await turn.wait()
    assert turn.response["status"] == "completed"


def test_the_state_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    with offline_server(tmp_path, "--delta-ms", "0") as base_url:
        respond(base_url)
    assert (tmp_path / "offline.sqlite3").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["another version", "no database"])
def test_a_state_that_cannot_be_read_is_refused_with_a_sentence(damage: str, tmp_path: Path) -> None:
    if damage == "no database":
        (tmp_path / "offline.sqlite3").write_bytes(b"not a database, but long enough to look like one" * 100)
    else:
        with sqlite3.connect(tmp_path / "offline.sqlite3") as connection:
            connection.execute("PRAGMA user_version = 999")
    assert start_offline_server(tmp_path).wait(60) == 2
    said = (tmp_path / "offline.log").read_text()
    assert "out of the data directory to start with an empty one" in said
    assert "Traceback" not in said


def test_neither_questions_nor_answers_are_logged(tmp_path: Path) -> None:
    with offline_server(tmp_path, "--delta-ms", "0") as base_url:
        canary = "Zebulon Quartermaine, HIV positive"
        httpx.post(f"{base_url}/responses", json={"model": "m", "input": canary}, headers=HEADERS, timeout=60)
        httpx.post(
            f"{base_url}/responses", json={"model": "m", "input": [{"role": canary}]}, headers=HEADERS, timeout=60
        )
        httpx.get(f"{base_url}/responses/{canary}", headers=HEADERS, timeout=60)
    assert "Quartermaine" not in (tmp_path / "offline.log").read_text()


def test_an_unforeseen_error_is_logged_without_its_message(tmp_path: Path) -> None:
    """SQLite quotes a text that it cannot decode."""
    with offline_server(tmp_path) as base_url:
        with sqlite3.connect(tmp_path / "offline.sqlite3") as connection:
            broken = ("vs_1", 1, 1, None, b"Zebulon Quartermaine \xff", b"{}")
            connection.execute("INSERT INTO vector_stores VALUES (?, ?, ?, ?, CAST(? AS TEXT), ?)", broken)
        assert httpx.get(f"{base_url}/vector_stores", headers=HEADERS, timeout=60).status_code == 500
    logged = (tmp_path / "offline.log").read_text()
    assert "OperationalError" in logged
    assert "Quartermaine" not in logged


@contextmanager
def measured(folder: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Run the server and yield a client and its process, whose memory may grow by 200 MB."""
    process = start_offline_server(folder, "--delta-ms", "0")
    url, server = f"http://127.0.0.1:{port_of(process, folder)}/v1", psutil.Process(process.pid)
    before = server.memory_info().rss
    with httpx.Client(base_url=url, headers=HEADERS, timeout=60) as client:
        yield client, server
    highest = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    assert highest
    assert int(highest[1]) * 1024 - before <= 200_000_000
    process.terminate()
    process.wait(60)


def test_hostile_schemas_are_refused_in_a_second_and_200_mb(tmp_path: Path) -> None:
    every: list[Json] = [{"type": "function", "name": "f", "parameters": schema} for schema in HOSTILE_SCHEMAS]
    fan = {"properties": {f"p{number}": {"$ref": "#/$defs/a"} for number in range(900)}, "$defs": {"a": {"items": {}}}}
    # The memory of a long body is that of its JSON.
    often = [one for one in [*every, {**every[0], "parameters": fan}] if len(str(one)) < 50_000]
    tools = [*([one] for one in every), *([{**one, "name": f"f{number}"} for number in range(128)] for one in often)]
    with measured(tmp_path) as (client, server):
        for offered in tools:
            started = server.cpu_times().user
            answer = client.post("/responses", json={"model": "m", "input": "a", "tools": offered})
            assert answer.status_code == 400, offered
            assert "tools[" in answer.json()["error"]["message"]
            assert server.cpu_times().user - started <= 1, offered


def test_large_ordinary_schemas_are_filled_in_two_seconds_and_200_mb(tmp_path: Path) -> None:
    text = "Metformin for Mrs Quillfeather in Leeds, 500 mg. " * 2_000
    with measured(tmp_path) as (client, server):
        for schema in LARGE_SCHEMAS:
            tool = {"type": "function", "name": "f", "parameters": schema}
            form = {"type": "json_schema", "name": "n", "schema": schema}
            for more in ({"tools": [tool], "tool_choice": "required"}, {"text": {"format": form}}):
                started = server.cpu_times().user
                answer = client.post("/responses", json={"model": "m", "input": text, **more})
                assert answer.status_code == 200, answer.text[:300]
                assert server.cpu_times().user - started <= 2, schema


def test_a_request_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(260):
        deep = [deep]
    with measured(tmp_path) as (client, _):
        for tool in (
            {"type": "function", "name": "f", "parameters": {"const": deep}},
            {"type": "web_search", "x": deep},
        ):
            answer = client.post("/responses", json={"model": "m", "input": "a", "tools": [tool], "stream": True})
            assert answer.status_code == 400
