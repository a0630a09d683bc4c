"""One question to several models side by side: real Redis, a Responses server on a real socket."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from chat_app.cli.running_app import ask_running_app
from chat_app.events import AgentEvent, TextDelta
from tests.support.api_server import api
from tests.support.engine import clinic, text_of
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply


def of(events: list[tuple[str, AgentEvent]], model: str) -> list[AgentEvent]:
    return [event for of, event in events if of == model]


async def test_line_separators_in_an_answer_reach_the_shell_whole(redis_url: str, tmp_path: Path) -> None:
    text = "Not\u2028with\u2029alcohol\u0085or\u000bwine\u001c."
    async with (
        ScriptedServer([text_reply(text)], repeat=True) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data", auth="demo") as running,
    ):
        alone = {"message": "With wine?"}
        both = alone | {"models": ["a", "b"]}
        assert text_of([event async for _, event in ask_running_app(running.url, alone)]) == text
        compared = [event async for event in ask_running_app(running.url, both)]
    assert [text_of(of(compared, model)) for model in "ab"] == [text, text]


async def test_leaving_at_the_shell_stops_the_turn(redis_url: str, tmp_path: Path) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with (
        ScriptedServer([turn], repeat=True) as server,
        clinic(server, redis_url) as agent,
        api(agent, tmp_path / "data", auth="demo") as running,
    ):
        body = {"message": "How?", "models": ["a", "b"]}
        async with aclosing(ask_running_app(running.url, body)) as events:
            async for _, event in events:
                if isinstance(event, TextDelta) and len(server.requests) == 2:
                    break
        async with asyncio.timeout(60):
            await asyncio.gather(*(request.left.wait() for request in server.requests))
