"""Erasure: a deleted conversation is in no file of the app any more, and old ones are deleted by age."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from chat_app.errors import ProviderUnavailable
from chat_app.interface.history.history_layer import History
from chat_app.interface.keeping.erasure import _not_deleted
from chat_app.interface.user_data import erase_user, keep_purging, purge, user_data
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import api, ask
from tests.support.engine import adapter, chained, clinic, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, Status, calls_reply, text_reply
from tests.support.served import asclepius, serve
from tests.support.services import redis_server, wait_until
from tests.support.waiting import until
from tests.support.written_files import holding

CANARY = "Zanzibarquokka"
CALL = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
GUIDE = passage(text="Start metformin at 500 mg once daily with food.")
TURN = [
    calls_reply(CALL, response_id="resp_1"),
    chained(text_reply("Start metformin at 500 mg once daily with food. [1]", response_id="resp_2")),
]
DELETED = Status(200, body={"id": "resp", "object": "response", "deleted": True})


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_deleted_conversation_is_in_no_file(tmp_path: Path) -> None:
    """Row 55: history, sessions with Redis' append-only file, the offline server's responses, and traces."""
    data_dir = tmp_path / "data"
    traced = {
        "ASCLEPIUS_TRACE_DIR": str(data_dir / "traces"),
        "ASCLEPIUS_TRACE_CALLS": "all",
        "ASCLEPIUS_TRACE_TEXT": "true",
    }
    with serve(data_dir, **traced) as running, httpx.Client(base_url=running.url, timeout=60) as client:
        client.post("/auth/header").raise_for_status()
        body = {"message": f"Metformin for {CANARY}?", "stream": False}
        asked = client.post("/api/v1/consult", json=body).raise_for_status().json()
        before = holding(data_dir, CANARY)
        assert any("history" in name for name in before)
        assert any("offline" in name for name in before)
        assert any("redis" in name for name in before)
        wait_until(lambda: any("traces" in name for name in holding(data_dir, CANARY)), what="the trace", seconds=60)
        client.delete(f"/api/v1/conversations/{asked['conversation_id']}").raise_for_status()
        wait_until(lambda: holding(data_dir, CANARY) == [], what="the last trace is erased", seconds=60)
        assert asclepius("audit", "verify", data_dir=data_dir).returncode == 0
        again = client.post("/api/v1/consult", json=body).raise_for_status().json()
        exported = asclepius("export", "user", "demo", data_dir=data_dir)
        report = json.loads(exported.stdout)
        assert CANARY in json.dumps(report["conversations"])
        assert [session["session_id"] for session in report["sessions"]] == [again["conversation_id"]]
        assert {"question", "delete"} <= {entry["action"] for entry in report["audit"]}
        erased = asclepius("users", "erase", "demo", "--yes", data_dir=data_dir, **traced)
        assert erased.returncode == 0, erased.stderr
        wait_until(lambda: holding(data_dir, CANARY) == [], what="the user's data is erased", seconds=60)


async def test_what_is_deleted_while_another_process_reads_leaves_the_log_after_that(tmp_path: Path) -> None:
    history = History(f"sqlite:///{tmp_path / 'history.sqlite3'}")
    await history.setup()
    await history.save_turn("thread", owner="ana", name=CANARY)
    reader = sqlite3.connect(tmp_path / "history.sqlite3")
    reader.execute("BEGIN")
    assert reader.execute("SELECT COUNT(*) FROM threads").fetchone() == (1,)
    await history.delete_thread("thread")
    assert holding(tmp_path, CANARY) != []
    reader.close()
    await until(lambda: holding(tmp_path, CANARY) == [], what="the log is truncated", seconds=30)
    await history.close()


async def test_what_is_deleted_while_redis_rewrites_its_file_is_not_in_the_next_one(tmp_path: Path) -> None:
    with redis_server(tmp_path) as url:
        store = RedisSessionStore(url)
        async with Redis.from_url(url) as redis:
            await redis.config_set("aof-use-rdb-preamble", "no")
            await redis.mset({f"conversation {number}": CANARY for number in range(50)})
            # Microseconds for each key, so that the first rewrite takes a second.
            await redis.config_set("rdb-key-save-delay", 20_000)
            store.compact()
            async with asyncio.timeout(60):
                while not (await redis.info("persistence"))["aof_rewrite_in_progress"]:
                    await asyncio.sleep(0.01)
            await redis.delete(*(await redis.keys("conversation *")))
            store.compact()
            await store.aclose()
            await until(lambda: holding(tmp_path, CANARY) == [], what="the replaced file is removed", seconds=5)


async def test_every_response_at_an_external_server_is_deleted_with_its_conversation(
    redis_url: str, tmp_path: Path
) -> None:
    store = RedisSessionStore(redis_url)
    async with (
        ScriptedServer([*TURN, [DELETED], [DELETED]]) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)], store=store) as agent,
    ):
        model = adapter(server)
        async with api(agent, tmp_path / "data", sessions=store, client=model) as running, running.client() as client:
            name = (await ask(client))[0].data["conversation_id"]
            assert (await client.delete(f"/api/v1/conversations/{name}")).status_code == 204
        await model.aclose()
        deleted = [request.path for request in server.requests if request.method == "DELETE"]
        assert [path.rpartition("/")[2] for path in deleted] == ["resp_1", "resp_2"]


async def test_a_response_that_could_not_be_deleted_is_deleted_later_and_keeps_no_other_from_it(
    redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = RedisSessionStore(redis_url)
    failing = Status(500, body={"error": {"message": CANARY}})
    async with (
        ScriptedServer([*TURN, [failing], [DELETED], [DELETED]]) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)], store=store) as agent,
    ):
        model = adapter(server)
        async with api(agent, tmp_path / "data", sessions=store, client=model) as running, running.client() as client:
            name = (await ask(client))[0].data["conversation_id"]
            assert (await client.delete(f"/api/v1/conversations/{name}")).status_code == 204
            assert await store.left_responses.ids() == ["resp_1"]
            async with Redis.from_url(redis_url) as redis:
                await redis.delete("asclepius:{turn:purge}:claim")
            purging = asyncio.create_task(keep_purging(running.runtime))
            async with asyncio.timeout(60):
                while await store.left_responses.ids():
                    await asyncio.sleep(0.02)
            purging.cancel()
        await model.aclose()
        deleted = [request.path for request in server.requests if request.method == "DELETE"]
        assert [path.rpartition("/")[2] for path in deleted] == ["resp_1", "resp_2", "resp_1"]
    assert "1 of 2 responses of deleted conversations are still at the model server" in caplog.text
    assert CANARY not in caplog.text


async def test_a_model_server_that_is_down_is_not_asked_to_delete_every_response(redis_url: str) -> None:
    store, asked = RedisSessionStore(redis_url), list[str]()

    class Down:
        async def delete(self, response_id: str) -> None:
            asked.append(response_id)
            raise ProviderUnavailable("down")

    names = [f"resp_{number}" for number in range(9)]
    left = await _not_deleted(Down(), names)  # type: ignore[arg-type]
    assert (left, asked) == (names, names[:2])
    await store.left_responses.add(left)
    assert await store.left_responses.ids() == names
    await store.left_responses.remove(names)
    await store.aclose()


async def test_conversations_are_deleted_by_age_and_the_audit_log_keeps_its_own(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCLEPIUS_RETENTION_DAYS", "30")
    monkeypatch.setenv("ASCLEPIUS_AUDIT_RETENTION_DAYS", "365")
    store = RedisSessionStore(redis_url)
    async with (
        ScriptedServer([*TURN, *TURN]) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)], store=store) as agent,
        api(agent, tmp_path / "data", sessions=store) as running,
        running.client("purged") as client,
    ):
        runtime, now = running.runtime, datetime.now(UTC)
        await ask(client)
        await until(lambda: not runtime.turns.of_owner("purged"), what="the answer is stored")
        (old,) = await runtime.history.threads_of("purged")
        async with runtime.history.engine.begin() as connection:
            past = (now - timedelta(days=31)).isoformat()
            await connection.execute(text('UPDATE threads SET "updatedAt" = :past'), {"past": past})
        await ask(client)
        await until(lambda: not runtime.turns.of_owner("purged"), what="the answer is stored")
        async with Redis.from_url(redis_url) as redis:
            await redis.delete("asclepius:{turn:purge}:claim")
        purging = asyncio.create_task(keep_purging(runtime))
        async with asyncio.timeout(60):
            while old in await runtime.history.threads_of("purged"):
                await asyncio.sleep(0.02)
        purging.cancel()
        assert not await store.journal.claim("purge"), "no other process purges in the same hour"
        (kept,) = await runtime.history.threads_of("purged")
        assert kept != old
        assert len(await store.summaries("purged")) == 1
        assert await purge(runtime, now) == 0
        report = await user_data(runtime, "purged")
        assert [entry["action"] for entry in report["audit"]].count("question") == 2
        assert await purge(runtime, now + timedelta(days=400)) == 1
        assert (await user_data(runtime, "purged"))["audit"] == []
        assert await erase_user(runtime, "purged") == 0
