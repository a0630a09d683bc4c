"""``/livez`` and ``/readyz``: alive, and each part with its reason."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from chat_app.errors import AuditUnavailable
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import api
from tests.support.engine import adapter
from tests.support.scripted_server import ScriptedServer, Status, WaitFor
from tests.support.served import asclepius
from tests.support.services import redis_server

LIST = [Status(200, body={"object": "list", "data": []})]
REFUSED = [Status(401, body={"error": {"message": "Jane Roe"}})]


async def parts(running: Any) -> tuple[int, dict[str, Any]]:
    async with running.client(None) as nobody:
        for alive in ("/livez", "/healthz"):
            assert (await nobody.get(alive)).json() == {"status": "ok"}
        response = await nobody.get("/readyz")
        return response.status_code, response.json()["parts"]


async def test_a_part_that_cannot_be_used_is_named_with_its_reason_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    with redis_server(tmp_path / "redis") as url:
        store = RedisSessionStore(url)
        async with ScriptedServer([REFUSED, LIST]) as server:
            client = adapter(server)
            async with api(None, tmp_path / "data", sessions=store, client=client) as running:
                status, found = await parts(running)
                assert (status, found["sessions"]["ready"], found["model"]["ready"]) == (503, True, False)
                assert "OPENAI_API_KEY" in found["model"]["reason"]
                assert "Jane" not in str(found)
                status, found = await parts(running)
                assert (status, found["model"]) == (200, {"ready": True, "reason": None})
            await client.aclose()
        await store.aclose()


async def test_a_redis_that_is_gone_is_a_reason_in_words(tmp_path: Path) -> None:
    store = RedisSessionStore("redis://127.0.0.1:9/0")
    async with api(None, tmp_path / "data", sessions=store) as running:
        status, found = await parts(running)
    assert (status, found["sessions"]["ready"]) == (200, False), "questions are answered without it"
    assert "Redis" in found["sessions"]["reason"]
    await store.aclose()


async def test_a_model_server_that_never_answers_does_not_hold_the_probe(tmp_path: Path) -> None:
    async with ScriptedServer([[WaitFor(asyncio.Event())]]) as server:
        client = adapter(server)
        async with api(None, tmp_path / "data", client=client) as running:
            status, found = await parts(running)
        await client.aclose()
    assert (status, found["model"]["ready"], found["sessions"]["ready"]) == (503, False, True)


async def test_a_damaged_file_of_users_is_a_reason_without_its_path(tmp_path: Path) -> None:
    (data_dir := tmp_path / "data").mkdir()
    async with api(None, data_dir, auth="password") as running:
        (data_dir / "users.json").write_text("{")
        status, found = await parts(running)
        assert (status, found["accounts"]["ready"]) == (503, False)
        assert "Nobody can sign in" in found["accounts"]["reason"]
        assert str(tmp_path) not in str(found)
        (data_dir / "users.json").write_text('{"users": {}}')
        assert (await parts(running))[0] == 200


async def test_an_audit_log_for_which_actions_are_refused_is_a_reason_until_one_is_recorded(tmp_path: Path) -> None:
    (data_dir := tmp_path / "data").mkdir()
    governance = {"audit_file": str(data_dir / "folder" / "audit.jsonl")}
    async with api(None, data_dir, governance=governance) as running:
        assert (await parts(running))[0] == 200
        with pytest.raises(AuditUnavailable):
            await running.runtime.audit.record("question", "ana")
        status, found = await parts(running)
        assert (status, found["audit"]["ready"]) == (503, False)
        assert "The audit log cannot be written" in found["audit"]["reason"]
        (data_dir / "folder").mkdir()
        await running.runtime.audit.record("question", "ana")
        assert (await parts(running))[0] == 200


async def test_a_schema_that_does_not_fit_is_named_by_the_probe_and_by_doctor(tmp_path: Path) -> None:
    async with api(None, tmp_path / "data") as running:
        async with running.runtime.history.engine.begin() as connection:
            await connection.execute(text('ALTER TABLE elements DROP COLUMN "props"'))
        status, found = await parts(running)
    assert (status, found["history"]["ready"]) == (200, False), "questions are answered without it"
    assert "elements.props" in found["history"]["reason"]
    done = await asyncio.to_thread(asclepius, "doctor", data_dir=tmp_path / "data")
    assert done.returncode == 1
    assert "elements.props" in done.stdout


async def test_probes_do_not_flood_the_model_server(tmp_path: Path, redis_url: str) -> None:
    store = RedisSessionStore(redis_url)
    async with ScriptedServer([LIST], repeat=True) as server:
        client = adapter(server)
        async with api(None, tmp_path / "data", sessions=store, client=client) as running:
            assert {(await parts(running))[0] for _ in range(10)} == {200}
        await client.aclose()
        assert len(server.requests) == 1
    await store.aclose()
