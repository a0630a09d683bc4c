"""``/livez`` and ``/readyz``: alive, and each part with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chat_app.sessions import RedisSessionStore
from tests.support.api_server import api
from tests.support.engine import adapter
from tests.support.scripted_server import ScriptedServer, Status
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


async def test_probes_do_not_flood_the_model_server(tmp_path: Path, redis_url: str) -> None:
    store = RedisSessionStore(redis_url)
    async with ScriptedServer([LIST], repeat=True) as server:
        client = adapter(server)
        async with api(None, tmp_path / "data", sessions=store, client=client) as running:
            assert {(await parts(running))[0] for _ in range(10)} == {200}
        await client.aclose()
        assert len(server.requests) == 1
    await store.aclose()
