"""What the offline server has acknowledged survives kill -9 at any moment."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from chat_app.offline.__main__ import main
from tests.support.forked import Process
from tests.support.offline_server import port_of, start_offline_server

Json = dict[str, Any]
CYCLES = int(os.environ.get("ASCLEPIUS_KILL_CYCLES", "6"))
"""Kill and restart cycles; the full measure is 1,000."""
HEADERS = {"Authorization": "Bearer any"}
WRITERS = 4


def start(folder: Path) -> tuple[Process, str]:
    process = start_offline_server(folder, "--delta-ms", "0")
    return process, f"http://127.0.0.1:{port_of(process, folder)}/v1"


def kill(process: Process) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


async def write_until_killed(base_url: str, acknowledged: dict[str, str], number: int) -> None:
    """Creates chained responses until the connection breaks; notes each that was acknowledged in full."""
    previous: str | None = None
    with suppress(httpx.TransportError):
        async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http:
            while True:
                number += 1
                body = {"model": "m", "input": f"Note number {number}.", "previous_response_id": previous}
                answer = await http.post("/responses", json=body)
                previous = answer.json()["id"]
                acknowledged[previous] = f"Note number {number}."


async def check_all(base_url: str, acknowledged: dict[str, str]) -> None:
    async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http:
        for response_id, text in acknowledged.items():
            found = await http.get(f"/responses/{response_id}")
            assert (found.status_code, found.json()["status"]) == (200, "completed")
            items = (await http.get(f"/responses/{response_id}/input_items")).json()["data"]
            assert items[0]["content"][0]["text"] == text


@pytest.mark.timeout(60 + 60 * CYCLES)
async def test_no_acknowledged_response_is_lost(tmp_path: Path) -> None:
    chance = random.Random(7)
    total = 0
    process, base_url = start(tmp_path)
    for _ in range(CYCLES):
        acknowledged: dict[str, str] = {}
        writers = [asyncio.create_task(write_until_killed(base_url, acknowledged, 1000 * n)) for n in range(WRITERS)]
        while not acknowledged:
            await asyncio.sleep(0.005)
        await asyncio.sleep(chance.uniform(0, 0.05))
        kill(process)
        await asyncio.gather(*writers)
        process, base_url = start(tmp_path)
        await check_all(base_url, acknowledged)
        total += len(acknowledged)
    kill(process)
    assert total >= CYCLES


async def test_a_background_response_is_finished_after_a_kill(tmp_path: Path) -> None:
    process = start_offline_server(tmp_path, "--delta-ms", "1000")
    base_url = f"http://127.0.0.1:{port_of(process, tmp_path)}/v1"
    body = {"model": "m", "input": "Hello", "background": True, "stream": True}
    async with (
        httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http,
        http.stream("POST", "/responses", json=body) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: ") and "output_text.delta" in line:
                break
        created = (await http.get("/models")).status_code
    assert created == 200
    kill(process)
    process, base_url = start(tmp_path)
    async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http, asyncio.timeout(60):
        response_id = _only_response(tmp_path)
        while (found := (await http.get(f"/responses/{response_id}")).json())["status"] != "completed":
            await asyncio.sleep(0.02)
    kill(process)
    assert found["output"][0]["content"][0]["text"].startswith("Hello.")


def _only_response(folder: Path) -> str:
    import sqlite3

    with sqlite3.connect(folder / "offline.sqlite3") as connection:
        ((response_id,),) = connection.execute("SELECT id FROM responses").fetchall()
    return str(response_id)


async def test_a_file_that_was_being_indexed_is_indexed_after_a_kill(tmp_path: Path) -> None:
    process, base_url = start(tmp_path)
    text = b"Metformin is contraindicated below an eGFR of 30 mL/min. " * 20_000
    async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http:
        file = (await http.post("/files", files={"file": ("a.txt", text)}, data={"purpose": "assistants"})).json()
        store = (await http.post("/vector_stores", json={"file_ids": [file["id"]]})).json()
    kill(process)
    process, base_url = start(tmp_path)
    async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60) as http, asyncio.timeout(60):
        while (await http.get(f"/vector_stores/{store['id']}")).json()["status"] != "completed":
            await asyncio.sleep(0.05)
        page = (await http.post(f"/vector_stores/{store['id']}/search", json={"query": "metformin"})).json()
    kill(process)
    assert page["data"]


def test_a_data_directory_that_cannot_be_used_is_named_with_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        assert main(["--data-dir", str(folder)]) == 2
        said = capsys.readouterr().err
        assert f"The data directory {folder} cannot be used" in said
        assert "--port" not in said
