"""The scripted server of the fault tests does to a real client what its script says."""

from __future__ import annotations

import asyncio

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.support.scripted_server import (
    Disconnect,
    Event,
    Raw,
    Request,
    Reset,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Turn,
    Wait,
    WaitFor,
    calls_reply,
    text_reply,
)


def client_of(server: ScriptedServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.base_url, api_key="test", max_retries=0)


async def texts(server: ScriptedServer) -> list[str]:
    stream = await client_of(server).responses.create(model="m", input="question", stream=True)
    return [event.delta async for event in stream if event.type == "response.output_text.delta"]


async def body_of(server: ScriptedServer) -> bytes:
    async with httpx.AsyncClient(timeout=60) as client:
        return (await client.post(f"{server.base_url}/responses", json={})).content


async def test_a_text_reply_reaches_the_official_client_piece_by_piece() -> None:
    async with ScriptedServer([text_reply("Take ", "with\n", "food.")]) as server:
        assert await texts(server) == ["Take ", "with\n", "food."]
        assert server.requests[0].json["input"] == "question"
        assert server.requests[0].path == "/v1/responses"


async def test_a_reply_of_calls_carries_each_call_whole() -> None:
    script = calls_reply(("c1", "one", "{}"), ("c2", "two", '{"a": 1}'))
    async with (
        ScriptedServer([script]) as server,
        client_of(server).responses.stream(model="m", input="q") as stream,
    ):
        final = await stream.get_final_response()
    assert [(item.call_id, item.arguments) for item in final.output if item.type == "function_call"] == [
        ("c1", "{}"),
        ("c2", '{"a": 1}'),
    ]


@pytest.mark.parametrize("size", [1, 2, 7])
async def test_sliced_bytes_are_the_same_bytes(size: int) -> None:
    script = text_reply("naïve ", "dose ≥ 5 µg")
    async with ScriptedServer([Turn(script), Turn(script, slice_bytes=size)]) as server:
        assert await body_of(server) == await body_of(server)


async def test_raw_bytes_are_sent_untouched() -> None:
    async with ScriptedServer([[Raw(b": ping\n\n"), Raw(b"data: \xff\n\n"), Event({"a": 1}, name=None)]]) as server:
        assert await body_of(server) == b': ping\n\ndata: \xff\n\ndata: {"a": 1}\n\n'


@pytest.mark.parametrize("ending", [Disconnect(), Reset()])
async def test_a_cut_connection_is_seen_as_cut(ending: Disconnect | Reset) -> None:
    async with ScriptedServer([[Event({"type": "response.x"}), Wait(0.05), ending]]) as server:
        with pytest.raises(httpx.TransportError):
            await body_of(server)


async def test_a_status_is_answered_with_its_headers_and_body() -> None:
    turn = [Status(429, {"Retry-After": "7"}, {"error": {"message": "slow down"}})]
    async with ScriptedServer([turn]) as server:
        with pytest.raises(openai.RateLimitError) as caught:
            await client_of(server).responses.create(model="m", input="q")
    assert caught.value.response.headers["retry-after"] == "7"


async def test_a_stream_waits_for_the_test() -> None:
    gate = asyncio.Event()
    steps = text_reply("a", "b")
    async with ScriptedServer([[*steps[:5], WaitFor(gate), *steps[5:]]]) as server:
        stream = await client_of(server).responses.create(model="m", input="q", stream=True)
        events = aiter(stream)
        while (await anext(events)).type != "response.output_text.delta":
            pass
        assert not server.requests[0].closed.is_set()
        gate.set()
        assert [event.type async for event in events][-1] == "response.completed"


async def test_a_client_that_leaves_is_noticed() -> None:
    async with ScriptedServer([[Raw(b": hello\n\n"), WaitFor(asyncio.Event())]]) as server:
        asking = asyncio.ensure_future(body_of(server))
        request = await server.request()
        asking.cancel()
        await asyncio.wait_for(request.left.wait(), 60)


async def test_a_turn_may_depend_on_the_request_and_the_script_has_an_end() -> None:
    def echo(request: Request) -> list[Event]:
        return [Event({"echo": request.path}, name=None)]

    turns: list[ScriptedTurn] = [echo]
    async with ScriptedServer(turns) as server:
        assert await body_of(server) == b'data: {"echo": "/v1/responses"}\n\n'
        assert b"no more turns" in await body_of(server)
        assert server.unexpected == 1
