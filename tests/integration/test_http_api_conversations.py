"""Conversations over the API: list, read, delete, each user's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chat_app.audit import AuditFilter
from chat_app.interface.history.branches import MAIN
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, api, ask, frames
from tests.support.engine import chained, clinic, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, WaitFor, calls_reply, text_reply
from tests.support.waiting import until

CALL = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
GUIDE = passage(text="Start metformin at 500 mg once daily with food.")
ANSWER: list[ScriptedTurn] = [
    calls_reply(CALL, response_id="resp_1"),
    chained(text_reply("Start metformin at 500 mg once daily with food. [1]", response_id="resp_2")),
]


@asynccontextmanager
async def clinic_api(
    turns: list[ScriptedTurn], redis_url: str, folder: Path
) -> AsyncIterator[tuple[Api, ScriptedServer]]:
    store = RedisSessionStore(redis_url)
    async with (
        ScriptedServer(turns) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)], store=store) as agent,
        api(agent, folder / "data", sessions=store) as running,
    ):
        yield running, server


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


async def test_a_conversation_is_listed_and_read_with_what_it_cites(redis_url: str, tmp_path: Path, ana: str) -> None:
    question = "How much metformin should a patient with newly diagnosed type 2 diabetes be given to begin with?"
    async with clinic_api(ANSWER, redis_url, tmp_path) as (running, _), running.client(ana) as client:
        name = (await ask(client, question))[0].data["conversation_id"]
        listed = (await client.get("/api/v1/conversations")).json()["conversations"]
        whole = (await client.get(f"/api/v1/conversations/{name}")).json()
    (summary,) = listed
    assert (summary["id"], summary["message_count"], summary["answering"]) == (name, 2, False)
    assert question.startswith(summary["title"].rstrip("…"))
    assert 10 < len(summary["title"]) <= 61
    assert summary == {key: whole[key] for key in summary}
    asked, answer = whole["messages"]
    assert (asked["role"], asked["content"], asked["references"]) == ("user", question, [])
    assert (answer["role"], answer["outcome"]) == ("assistant", "completed")
    assert answer["content"] == "Start metformin at 500 mg once daily with food. "
    (reference,) = answer["references"]
    assert (reference["number"], reference["passage"]["text"]) == (1, GUIDE.text)


async def test_the_conversation_asked_last_comes_first_and_the_list_can_be_short(
    redis_url: str, tmp_path: Path, ana: str
) -> None:
    turns: list[ScriptedTurn] = [chained(text_reply("Yes.", response_id=f"resp_{at}")) for at in range(3)]
    async with clinic_api(turns, redis_url, tmp_path) as (running, _), running.client(ana) as client:
        names = [(await ask(client, f"Question {at}?"))[0].data["conversation_id"] for at in range(3)]
        listed = (await client.get("/api/v1/conversations")).json()["conversations"]
        short = (await client.get("/api/v1/conversations", params={"limit": 1})).json()["conversations"]
    assert sorted(summary["id"] for summary in listed) == sorted(names)
    assert [summary["last_active_at"] for summary in listed] == sorted(
        (summary["last_active_at"] for summary in listed), reverse=True
    )
    assert len(short) == 1


async def test_a_stopped_answer_is_read_as_it_was_seen(redis_url: str, tmp_path: Path, ana: str) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with clinic_api([turn], redis_url, tmp_path) as (running, _), running.client(ana) as client:
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                if frame.event == "turn_started":
                    name = frame.data["conversation_id"]
                if frame.event == "text_delta":
                    (live,) = (await client.get("/api/v1/conversations")).json()["conversations"]
                    await client.delete(f"/api/v1/turns/{response.headers['x-turn-id']}")
        await running.runtime.turns.end_conversation(name, ana)
        whole = (await client.get(f"/api/v1/conversations/{name}")).json()
    assert live["answering"]
    assert [(message["content"], message["outcome"]) for message in whole["messages"]] == [
        ("How?", None),
        ("Take ", "incomplete"),
    ]


async def test_deleting_a_conversation_stops_its_turn_and_leaves_nothing(
    redis_url: str, tmp_path: Path, ana: str
) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with clinic_api([turn], redis_url, tmp_path) as (running, server), running.client(ana) as client:
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            read = []
            async for frame in frames(response):
                read.append(frame)
                if frame.event == "text_delta":
                    name = read[0].data["conversation_id"]
                    waiting = asyncio.create_task(ask(client, conversation_id=name))
                    while len(running.runtime.turns.of_owner(ana)) < 2:
                        await asyncio.sleep(0.01)
                    assert (await client.delete(f"/api/v1/conversations/{name}")).status_code == 204
                    async with asyncio.timeout(60):
                        await server.requests[0].left.wait()
        assert read[-1].data["outcome"]["reason"] == "stopped"
        assert (await waiting)[-1].data["outcome"]["reason"] == "stopped", "a question that waited is stopped, too"
        for method in ("GET", "DELETE"):
            assert (await client.request(method, f"/api/v1/conversations/{name}")).status_code == 404
        assert (await client.get("/api/v1/conversations")).json() == {"conversations": []}
    assert len(server.requests) == 1


@pytest.mark.parametrize("where", ["api", "page"])
async def test_a_conversation_deleted_while_its_first_answer_is_stored_leaves_nothing(
    redis_url: str, tmp_path: Path, ana: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history learns of the conversation of a first question only with its answer."""
    deleting = asyncio.Event()
    async with clinic_api(ANSWER, redis_url, tmp_path) as (running, _), running.client(ana) as client:
        history, store = running.runtime.history, (await running.runtime.ready()).sessions
        save, end = history.save_turn, running.runtime.turns.end_conversation

        async def save_late(*arguments: Any, **more: Any) -> None:
            if "metadata" in more or (len(arguments) > 3 and arguments[3]):
                await deleting.wait()
            await save(*arguments, **more)

        async def end_late(conversation: str, owner: str) -> None:
            deleting.set()
            await end(conversation, owner)

        monkeypatch.setattr(history, "save_turn", save_late)
        monkeypatch.setattr(running.runtime.turns, "end_conversation", end_late)
        name = (await ask(client))[0].data["conversation_id"]
        (thread,) = await history.threads_of(ana)
        if where == "api":
            assert (await client.delete(f"/api/v1/conversations/{name}")).status_code == 204
        else:
            await history.delete_thread(thread)
        await until(lambda: not running.runtime.turns.of_owner(ana), what="the answer is stored or given up")
        assert await history.threads_of(ana) == []
        assert await store.get(name, ana) is None
        assert await store.journal.open_turns() == {}


async def test_a_conversation_deleted_at_another_replica_while_its_first_question_is_answered_leaves_nothing(
    redis_url: str, tmp_path: Path, ana: str
) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    other = RedisSessionStore(redis_url)
    other.journal.writer = "another-host|1|1"
    async with (
        clinic_api([turn], redis_url, tmp_path) as (running, _),
        api(None, tmp_path / "data", sessions=other) as elsewhere,
        running.client(ana) as client,
        elsewhere.client(ana) as there,
        client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response,
    ):
        async for frame in frames(response):
            if frame.event == "turn_started":
                name = frame.data["conversation_id"]
            if frame.event == "text_delta":
                assert (await there.delete(f"/api/v1/conversations/{name}")).status_code == 204
        assert frame.data["outcome"]["reason"] == "stopped"
        await until(lambda: not running.runtime.turns.of_owner(ana), what="the answer is stored or given up")
        assert await running.runtime.history.threads_of(ana) == []
        assert await other.get(name, ana) is None
    await other.aclose()


async def test_deleting_a_conversation_takes_it_off_the_page_of_its_owner_alone(
    redis_url: str, tmp_path: Path, ana: str
) -> None:
    async with clinic_api(ANSWER, redis_url, tmp_path) as (running, _), running.client(ana) as client:
        name = (await ask(client))[0].data["conversation_id"]
        history = running.runtime.history
        for user, thread, conversation in ((ana, "t1", name), ("bert", "t2", name), (ana, "t3", f"{name}0")):
            await history.save_turn(thread, owner=user)
            await history.save_turn(thread, metadata={MAIN: conversation})
        assert (await client.delete(f"/api/v1/conversations/{name}")).status_code == 204
        left = [thread for thread in ("t1", "t2", "t3") if await history.owner_of("thread", thread)]
        entries = running.runtime.audit.entries(AuditFilter(actor=ana, action="delete"))
        deleted = [entry.conversation async for entry in entries]
    assert left == ["t2", "t3"]
    assert "t1" in deleted
    assert name not in deleted, "each deletion is found by the id that the questions have"


async def test_redis_that_is_gone_is_a_problem_that_says_so(tmp_path: Path) -> None:
    store = RedisSessionStore("redis://127.0.0.1:9/0")
    async with api(None, tmp_path / "data", sessions=store) as running, running.client() as client:
        responses = [
            await client.request(method, f"/api/v1/conversations{path}")
            for method, path in (("GET", ""), ("GET", "/session_" + "0" * 32), ("DELETE", "/session_" + "0" * 32))
        ]
    assert [response.status_code for response in responses] == [503] * 3
    assert all("Redis" in response.json()["detail"] for response in responses)
    await store.aclose()


async def test_a_conversation_deleted_on_the_page_is_gone_from_the_session_store_and_its_answer_ends(
    redis_url: str, tmp_path: Path, ana: str
) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with clinic_api([turn], redis_url, tmp_path) as (running, server), running.client(ana) as client:
        history = running.runtime.history
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                if frame.event == "turn_started":
                    name = frame.data["conversation_id"]
                    await history.save_turn("thread", owner=ana)
                    await history.save_turn("thread", metadata={MAIN: name})
                if frame.event == "text_delta":
                    await history.delete_thread("thread")
            assert frame.data["outcome"]["reason"] == "stopped"
        assert (await client.get(f"/api/v1/conversations/{name}")).status_code == 404
        assert await history.owner_of("thread", "thread") is None
    assert server.requests[0].left.is_set()
