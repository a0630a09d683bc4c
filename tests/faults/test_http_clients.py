"""Clients of the API that leave and never come back, and a server that ends while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import FastAPI

from chat_app.events import AgentEvent, TextDelta
from chat_app.interface.serving import page_server
from chat_app.interface.turns.live_turn import ABANDONED, SHUT_DOWN, LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.settings import Settings
from tests.support.api_server import api, frames, resume
from tests.support.engine import clinic
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply

ENDLESS = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]


async def test_a_turn_whose_reader_never_comes_back_ends_after_a_while_and_is_saved(
    redis_url: str, tmp_path: Path
) -> None:
    """Row 16 over the API."""
    async with (
        ScriptedServer([ENDLESS]) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data") as running,
        running.client() as client,
    ):
        running.runtime.turns = LiveTurns(abandon_after=2, check_every=0.05)
        conversation = ""
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                if frame.event == "turn_started":
                    conversation = frame.data["conversation_id"]
                if frame.event == "text_delta":
                    break
        async with asyncio.timeout(60):
            await server.requests[0].left.wait()
        read = await resume(client, response.headers["x-turn-id"])
        saved = await agent.chats.store.messages(conversation)
    assert read[-1].data["outcome"]["message"] == ABANDONED.message
    assert read[-1].data["answer"] == "Take "
    assert [message.content for message in saved] == ["How?", "Take "]


async def test_a_turn_that_is_being_read_is_not_given_up(redis_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    steps = text_reply("Take ", "with food.")
    async with (
        ScriptedServer([[*steps[:5], WaitFor(gate), *steps[5:]]]) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data") as running,
        running.client() as client,
    ):
        running.runtime.turns = LiveTurns(abandon_after=1, check_every=0.02)
        answers: list[str] = []
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                answers += [frame.data["answer"]] if frame.event == "turn_ended" else []
                if frame.event == "text_delta" and not gate.is_set():
                    unread = LiveTurn("ana", "", "")
                    running.runtime.turns.start(unread, unread.run(_endless()))
                    async with asyncio.timeout(60):
                        await unread.saved.wait()
                    gate.set()
    assert answers == ["Take with food."]


def test_an_idle_connection_outlives_the_one_that_a_proxy_keeps() -> None:
    """nginx and AWS keep one for 60 s; a POST on a connection that the server has just closed fails with 502."""
    app = FastAPI()
    app.state.runtime = None
    assert page_server(app, Settings()).config.timeout_keep_alive > 60


async def test_whoever_waits_for_a_whole_answer_gets_what_there_was_when_the_server_ends(
    redis_url: str, tmp_path: Path
) -> None:
    """Row 19, for the JSON answer."""
    async with (
        ScriptedServer([ENDLESS]) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data") as running,
        running.client() as client,
    ):
        waiting = asyncio.create_task(client.post("/api/v1/consult", json={"message": "How?", "stream": False}))
        await server.request(0)
        (turn,) = running.runtime.turns.of_owner("ana")
        async for events in turn.events():
            if any(isinstance(event, TextDelta) for event in events):
                break
        await running.runtime.turns.end_all()
        answer = (await waiting).json()
    assert (answer["answer"], answer["outcome"]["message"]) == ("Take ", SHUT_DOWN.message)


async def test_a_question_that_comes_while_the_server_ends_is_told_so(redis_url: str, tmp_path: Path) -> None:
    async with (
        ScriptedServer([]) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data") as running,
        running.client() as client,
    ):
        await running.runtime.turns.end_all()
        answer = await client.post("/api/v1/consult", json={"message": "How?", "stream": False})
    assert (answer.status_code, answer.json()["detail"]) == (503, "The server is being stopped. Ask again in a moment.")
    assert server.requests == []


async def test_only_its_own_turns_end_with_a_conversation() -> None:
    turns = LiveTurns()
    kept = LiveTurn("ana", "session_1", ""), LiveTurn("bert", "session_2", "")
    ended = LiveTurn("ana", "session_2", "")
    for turn in (*kept, ended):
        turns.start(turn, turn.run(_endless()))
    await turns.end_conversation("session_2", "ana")
    assert [turn.log.ended is not None for turn in (*kept, ended)] == [False, False, True]
    await turns.end_all()


async def _endless() -> AsyncIterator[AgentEvent]:
    await asyncio.Event().wait()
    yield TextDelta(text="never")
