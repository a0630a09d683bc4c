"""``POST /api/v1/consult`` and what belongs to it: the routes on a real socket, the engine, Redis, a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from chat_app.events import TextDelta
from chat_app.interface.api.turn_stream import frames_of
from chat_app.interface.security.identity import NotOwner
from chat_app.interface.turns import asked_questions
from chat_app.interface.turns.asked_questions import AskedQuestion, RecentQuestions
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import Cursor
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, Frame, api, ask, frames, others, resume, text_of
from tests.support.engine import chained, clinic, guideline_tool, passage
from tests.support.scripted_server import (
    Request,
    ScriptedServer,
    ScriptedTurn,
    Status,
    Turn,
    WaitFor,
    calls_reply,
    text_reply,
)
from tests.support.waiting import until

CALL = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
GUIDE = passage(text="Start metformin at 500 mg once daily with food. Do not use it when eGFR is below 30.")
CITED: list[ScriptedTurn] = [
    calls_reply(CALL, response_id="resp_1"),
    chained(
        text_reply(
            "Start ",
            "metformin at 500 mg once",
            " daily with food. [",
            "1",
            "]\n\nTake ",
            "care.",
            response_id="resp_2",
        )
    ),
]


@asynccontextmanager
async def asked(
    turns: list[ScriptedTurn], redis_url: str, folder: Path, *, repeat: bool = False, **settings: Any
) -> AsyncIterator[tuple[Api, ScriptedServer]]:
    """The API in front of a model server that plays ``turns``."""
    async with (
        ScriptedServer(turns, repeat=repeat) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)]) as agent,
        api(agent, folder / "data", **settings) as running,
    ):
        yield running, server


async def test_a_streamed_turn_has_every_event_that_the_page_gets(redis_url: str, tmp_path: Path) -> None:
    async with (
        asked(CITED, redis_url, tmp_path) as (running, _),
        running.client() as client,
        client.stream("POST", "/api/v1/consult", json={"message": "How much?"}) as response,
    ):
        read = [frame async for frame in frames(response)]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert all(frame.event == frame.data["type"] for frame in read)
    kinds = [frame.event for frame in read]
    assert (kinds[0], kinds[-2:]) == ("turn_started", ["references", "turn_ended"])
    assert response.headers["x-turn-id"] == read[0].data["turn_id"]
    assert text_of(read) == read[-1].data["answer"] == "Start metformin at 500 mg once daily with food. \n\nTake care."
    assert {"run_item_stream_event", "citation"} <= set(kinds)
    (cited,) = (frame.data for frame in read if frame.event == "citation")
    assert cited["passage"]["text"] == GUIDE.text
    assert len({frame.id for frame in read}) == len(read)


async def test_one_json_answer_says_where_each_citation_stands(redis_url: str, tmp_path: Path) -> None:
    async with asked(CITED, redis_url, tmp_path) as (running, _), running.client() as client:
        response = await client.post("/api/v1/consult", json={"message": "How much?", "stream": False})
    answer = response.json()
    assert answer["answer"] == "Start metformin at 500 mg once daily with food. \n\nTake care."
    assert answer["outcome"]["kind"] == "completed"
    assert answer["model"] == "asclepius-extractive"
    (citation,) = answer["citations"]
    assert (citation["number"], answer["answer"][: citation["at"]].rstrip()[-5:]) == (1, "food.")
    (reference,) = answer["references"]
    assert reference["quotes"] == ["Start metformin at 500 mg once daily with food."]
    assert answer["conversation_id"].startswith("session_")
    assert answer["usage"]["total_tokens"] == 30


async def test_a_statement_that_is_not_in_its_source_is_in_the_stream_and_in_the_json_answer(
    redis_url: str, tmp_path: Path
) -> None:
    said = "Start metformin at 850 mg once daily with food."
    wrong = [calls_reply(CALL, response_id="resp_1"), chained(text_reply(f"{said} [1]", response_id="resp_2"))]
    expected = {"text": said, "numbers": [1], "reasons": ["number"], "details": ["850 mg"]}
    async with asked(wrong, redis_url, tmp_path / "json") as (running, _), running.client() as client:
        answer = (await client.post("/api/v1/consult", json={"message": "How much?", "stream": False})).json()
    assert answer["unsupported"] == [expected]
    async with asked(wrong, redis_url, tmp_path / "stream") as (running, _), running.client() as client:
        (checked,) = [frame.data for frame in await ask(client) if frame.data["type"] == "statements_checked"]
    assert checked["unsupported"] == [expected]


async def test_an_ended_turn_can_be_taken_up_behind_any_of_its_events(redis_url: str, tmp_path: Path) -> None:
    """Cut after each event in turn: what was read and what comes then are the turn, nothing missing, nothing twice."""
    async with asked(CITED, redis_url, tmp_path) as (running, _), running.client() as client:
        whole = await ask(client)
        turn_id = whole[0].data["turn_id"]
        for last in range(len(whole)):
            rest = await resume(client, turn_id, whole[last].id)
            together = [*whole[: last + 1], *rest]
            assert text_of(together) == text_of(whole)
            assert others(together) == others(whole)
        assert others(await resume(client, turn_id)) == others(whole)


@pytest.mark.parametrize("read_before", [1, 2, 3, 4, 5])
async def test_a_stream_that_is_cut_while_the_answer_runs_goes_on_where_it_was(
    read_before: int, redis_url: str, tmp_path: Path
) -> None:
    gates = [asyncio.Event() for _ in range(4)]
    steps = text_reply("Not ", "with ", "al", "cohol.")
    # Before each piece of the text stands a gate: created, in progress, item, part, then the deltas.
    gated = [
        part for at, step in enumerate(steps) for part in ((WaitFor(gates[at - 4]), step) if 4 <= at < 8 else (step,))
    ]
    async with asked([gated], redis_url, tmp_path) as (running, server), running.client() as client:
        read: list[Frame] = []
        gates[0].set()
        async with client.stream("POST", "/api/v1/consult", json={"message": "With wine?"}) as response:
            async for frame in frames(response):
                read.append(frame)
                if len(read) >= read_before:
                    break
                if frame.event == "text_delta":
                    next(gate for gate in gates if not gate.is_set()).set()
        request = await server.request(0)
        for gate in gates:
            gate.set()
        rest = await resume(client, read[0].data["turn_id"], read[-1].id)
    assert not request.left.is_set(), "the turn goes on without its reader"
    assert text_of([*read, *rest]) == "Not with alcohol."
    kinds = [data["type"] for data in others([*read, *rest])]
    assert (kinds.count("turn_started"), kinds.count("turn_ended"), kinds[-1]) == (1, 1, "turn_ended")
    assert rest[-1].data["outcome"]["kind"] == "completed"


async def test_behind_the_end_there_is_nothing_and_the_client_need_not_ask_again(
    redis_url: str, tmp_path: Path
) -> None:
    async with asked([text_reply("Yes.")], redis_url, tmp_path) as (running, _), running.client() as client:
        whole = await ask(client)
        headers = {"last-event-id": whole[-1].id}
        response = await client.get(f"/api/v1/turns/{whole[0].data['turn_id']}/events", headers=headers)
    assert response.status_code == 204


@pytest.mark.parametrize(
    "place", ["", ".", ".0", ".99.0", ".1.99", ".0.1", ".1.0.1.0", ".-1.0", ".1.0 x", ".x.y", ".01.0"]
)
async def test_an_event_id_that_was_never_given_is_refused(place: str, redis_url: str, tmp_path: Path) -> None:
    async with asked([text_reply("Yes.")], redis_url, tmp_path) as (running, _), running.client() as client:
        turn_id = (await ask(client))[0].data["turn_id"]
        headers = {"last-event-id": f"{turn_id}{place}"}
        response = await client.get(f"/api/v1/turns/{turn_id}/events", headers=headers)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


async def test_stop_ends_the_turn_with_what_was_read_and_stopping_again_changes_nothing(
    redis_url: str, tmp_path: Path
) -> None:
    """Row 15 over the API: the model server's connection is closed within a second."""
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with asked([turn], redis_url, tmp_path) as (running, server), running.client() as client:
        read: list[Frame] = []
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                read.append(frame)
                if frame.event == "text_delta":
                    address = f"/api/v1/turns/{response.headers['x-turn-id']}"
                    assert (await client.delete(address)).status_code == 204
                    async with asyncio.timeout(60):
                        await server.requests[0].left.wait()
        assert (await client.delete(address)).status_code == 204
        again = await resume(client, response.headers["x-turn-id"])
    assert text_of(read) == "Take "
    assert (read[-1].event, read[-1].data["answer"]) == ("turn_ended", "Take ")
    assert (read[-1].data["outcome"]["kind"], read[-1].data["outcome"]["reason"]) == ("incomplete", "stopped")
    assert others(again) == others(read)


@pytest.mark.parametrize(
    ("content", "media_type", "says"),
    [
        ('{"message": Jane}', "application/json", "The body is not valid JSON from character 13 on."),
        ('{"message": "Jane"}', "text/plain", "Send the body with the header `content-type: application/json`."),
        ('["Jane"]', "application/json; charset=utf-8", "The body must be a JSON object."),
        ("", "application/json", "The body must be a JSON object."),
        ('{"message": 5}', "application/json", "body.message (Input should be a valid string)"),
        ('{"message": "Jane", "length": "Jane"}', "application/json", "body.length (Input should be 'brief', "),
        ('{"message": "Jane", "Jane": 5}', "application/json", "body.(unknown field) (Extra inputs are not permitted)"),
    ],
)
async def test_a_request_that_is_not_valid_is_told_what_is_expected(
    content: str, media_type: str, says: str, redis_url: str, tmp_path: Path
) -> None:
    async with asked([], redis_url, tmp_path) as (running, _), running.client() as client:
        answer = await client.post("/api/v1/consult", content=content, headers={"content-type": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert says in answer.json()["detail"]
    assert "Jane" not in answer.text


@pytest.mark.parametrize(("message", "says"), [("", "empty"), (" \n\t", "empty"), ("Jane Roe " * 3_000, "20,000")])
async def test_a_message_that_cannot_be_taken_is_a_problem_before_anything_starts(
    message: str, says: str, redis_url: str, tmp_path: Path
) -> None:
    async with asked([], redis_url, tmp_path) as (running, server), running.client() as client:
        for stream in (True, False):
            response = await client.post("/api/v1/consult", json={"message": message, "stream": stream})
            assert response.status_code == 422
            assert response.headers["content-type"] == "application/problem+json"
            assert says in response.json()["detail"]
            assert "Jane" not in response.text
        assert running.runtime.turns.of_owner("ana") == []
    assert server.requests == []


@pytest.mark.parametrize("conversation", ["session_" + "0" * 32, "nonsense", "../../etc/passwd", "*"])
async def test_an_unknown_conversation_begins_anew_and_says_so(
    conversation: str, redis_url: str, tmp_path: Path
) -> None:
    async with asked([text_reply("Yes.")], redis_url, tmp_path) as (running, _), running.client() as client:
        read = await ask(client, conversation_id=conversation)
    assert "new_conversation" in [frame.data.get("code") for frame in read]
    assert read[-1].data["outcome"]["kind"] == "completed"


async def test_two_questions_at_once_in_one_conversation_are_answered_one_after_the_other(
    redis_url: str, tmp_path: Path
) -> None:
    """Row 28: the second waits for the first, and follows it."""
    gate = asyncio.Event()
    turns: list[ScriptedTurn] = [
        chained(text_reply("First.", response_id="resp_1")),
        chained([WaitFor(gate), *text_reply("Second.", response_id="resp_2")]),
        chained(text_reply("Third.", response_id="resp_3")),
    ]
    async with asked(turns, redis_url, tmp_path) as (running, server), running.client() as client:
        conversation = (await ask(client))[0].data["conversation_id"]
        second = asyncio.create_task(ask(client, conversation_id=conversation))
        await server.request(1)
        third = asyncio.create_task(ask(client, conversation_id=conversation))
        done, _ = await asyncio.wait({third}, timeout=0.3)
        assert not done
        assert len(server.requests) == 2
        gate.set()
        assert [text_of(await task) for task in (second, third)] == ["Second.", "Third."]
    assert [request.json.get("previous_response_id") for request in server.requests] == [None, "resp_1", "resp_2"]


async def test_whoever_waits_for_a_whole_answer_and_leaves_stops_it(redis_url: str, tmp_path: Path) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with asked([turn], redis_url, tmp_path) as (running, server):
        async with running.client() as client:
            waiting = asyncio.create_task(client.post("/api/v1/consult", json={"message": "How?", "stream": False}))
            request = await server.request(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(60):
            await request.left.wait()


async def test_a_slow_reader_gets_every_word_and_holds_nobody_up(redis_url: str, tmp_path: Path) -> None:
    """Row 20 over the API: the model is read to its end while the reader sleeps; what waited comes merged."""
    pieces = [f"{number} {'x' * 200}\n" for number in range(4_000)]
    async with asked([text_reply(*pieces)], redis_url, tmp_path) as (running, server):
        host, port = httpx.URL(running.url).host, httpx.URL(running.url).port
        cookie = running.client().cookies["access_token"]
        reader, writer = await asyncio.open_connection(host, port, limit=4_096)
        body = b'{"message": "Everything?"}'
        writer.write(
            f"POST /api/v1/consult HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: access_token={cookie}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        )
        writer.write(body)
        first = await reader.readuntil(b"text_delta")
        async with asyncio.timeout(60):
            await (await server.request(0)).closed.wait()
        assert not server.requests[0].left.is_set()
        received = first + await reader.read(-1)
        writer.close()
    content = _unchunked(received.split(b"\r\n\r\n", 1)[1])
    stream = httpx.Response(200, content=content)
    read = [frame async for frame in frames(stream)]
    assert text_of(read) == "".join(pieces)
    assert read[-1].data["outcome"]["kind"] == "completed"
    assert len(read) < len(pieces), "text that waits is merged"


def _unchunked(data: bytes) -> bytes:
    found = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        found, data = found + data[:length], data[length + 2 :]
        if not length:
            break
    return found


async def test_a_failing_model_server_is_an_outcome_of_the_turn(redis_url: str, tmp_path: Path) -> None:
    refused: ScriptedTurn = [Status(401, body={"error": {"message": "Jane Roe"}})]
    async with asked([refused], redis_url, tmp_path) as (running, _), running.client() as client:
        response = await client.post("/api/v1/consult", json={"message": "How?", "stream": False})
    assert response.status_code == 200
    assert response.json()["outcome"]["kind"] == "failed"
    assert "OPENAI_API_KEY" in response.json()["outcome"]["message"]
    assert "Jane" not in response.text


async def test_the_users_name_is_not_sent_to_the_model_server(redis_url: str, tmp_path: Path) -> None:
    async with (
        asked([text_reply("Yes.")], redis_url, tmp_path) as (running, server),
        running.client("quuxley") as client,
    ):
        await ask(client)
    (request,) = server.requests
    assert b"quuxley" not in request.body + str(request.headers).encode()
    assert len(request.json["safety_identifier"]) == 32


async def test_options_reach_the_model(redis_url: str, tmp_path: Path) -> None:
    async with (
        asked([text_reply("Yes.")], redis_url, tmp_path, repeat=True, auth="demo") as (running, server),
        running.client("demo") as client,
    ):
        await ask(client, model="llama:8b", enable_tool_execution=False)
        await ask(client, use_clinical_guidelines=False)
        await ask(client)
    named, without, with_guidelines = (request.json for request in server.requests)
    assert (named["model"], named.get("tools") or []) == ("llama:8b", [])
    assert not without.get("tools")
    assert [tool["name"] for tool in with_guidelines["tools"]] == ["search_clinical_guidelines"]


async def test_a_silent_stream_is_kept_alive_and_says_nothing_else() -> None:
    turn = LiveTurn("ana", "", "")
    turn.log.append(TextDelta(text="first"))
    seen: list[bytes] = []
    async for frame in frames_of(AskedQuestion("ana", {"m": turn}), {"m": Cursor()}, keep_alive=0.02):
        seen.append(frame)
        if len(seen) == 4:
            turn.log.append(TextDelta(text="second"))
            turn.log.append(TextDelta(text=" and third"))
            turn.stop()
    comment = b": still working\n\n"
    assert seen[1:4] == [comment] * 3
    last = b"".join(frame for frame in seen[4:] if frame != comment)
    assert b'"first"' in seen[0]
    assert b'"second and third"' in last, "what waits is one event"
    assert last.endswith(b"\n\n")
    assert b"event: turn_ended" in last


@pytest.mark.parametrize("leaving", ["closed", "cancelled"])
async def test_a_stream_that_is_left_is_no_reader_any_more(leaving: str) -> None:
    turns = {"a": LiveTurn("ana", "", ""), "b": LiveTurn("ana", "", "")}
    stream = frames_of(AskedQuestion("ana", turns, compared=True), dict.fromkeys(turns, Cursor()), keep_alive=0.01)
    assert await anext(stream) == b": still working\n\n"
    assert all(turn.log.watchers for turn in turns.values())
    if leaving == "closed":
        await stream.aclose()
    else:
        waiting = asyncio.ensure_future(read_all(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert not any(turn.log.watchers for turn in turns.values())


async def read_all(stream: AsyncGenerator[bytes, None]) -> None:
    async for _ in stream:
        pass


async def test_questions_are_forgotten_a_while_after_their_end_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_questions, "KEPT_SECONDS", 0.05)
    recent = RecentQuestions()
    running, ended = LiveTurn("ana", "", ""), LiveTurn("ana", "", "")
    question = AskedQuestion("ana", {"small": running, "large": ended}, compared=True)
    recent.add(question)
    ended.stop()
    recent.keep_a_while(ended)
    assert recent.get(ended.id, "ana")
    await until(lambda: forgotten(recent, ended.id), what="the turn that ended is forgotten")
    assert recent.get(question.id, "ana") is question
    running.stop()
    recent.keep_a_while(running)
    await until(lambda: forgotten(recent, question.id), what="the question is forgotten")


def forgotten(recent: RecentQuestions, name: str) -> bool:
    try:
        recent.get(name, "ana")
    except NotOwner:
        return True
    return False


def by_model(request: Request) -> Turn:
    return Turn(text_reply("I am ", request.json["model"], "."))


async def test_several_models_answer_in_one_stream_that_says_whose_each_event_is(
    redis_url: str, tmp_path: Path
) -> None:
    setting = {"models": "small,large"}
    async with (
        asked([by_model], redis_url, tmp_path, repeat=True, model=setting) as (running, _),
        running.client() as client,
    ):
        whole = await ask(client, models=["small", "large"])
        turn_id = whole[0].id.partition(".")[0]
        for model in ("small", "large"):
            turn = [frame.tagged for frame in whole if frame.data["model"] == model]
            assert (turn[0]["type"], turn[0]["model"]) == ("turn_started", model)
            assert turn[-1]["answer"] == f"I am {model}."
        for last in range(len(whole)):
            together = [*whole[: last + 1], *await resume(client, turn_id, whole[last].id)]
            assert _per_model(together) == _per_model(whole)
        answer = await client.post(
            "/api/v1/consult", json={"message": "Who?", "models": ["large", "small"], "stream": False}
        )
    assert [(part["model"], part["answer"]) for part in answer.json()["answers"]] == [
        ("large", "I am large."),
        ("small", "I am small."),
    ]
    assert len({part["conversation_id"] for part in answer.json()["answers"]}) == 2


def _per_model(read: list[Frame]) -> dict[str, Any]:
    """Each model's text, and its other events in order."""
    found: dict[str, Any] = {}
    for frame in read:
        text, rest = found.setdefault(frame.data["model"], ([], []))
        event = frame.tagged
        (text if event["type"] == "text_delta" else rest).append(event.get("text", event))
    return {model: ("".join(text), rest) for model, (text, rest) in found.items()}


async def test_one_of_several_models_or_all_of_them_can_be_stopped(redis_url: str, tmp_path: Path) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    setting = {"models": "small,large"}
    async with (
        asked([turn], redis_url, tmp_path, repeat=True, model=setting) as (running, _),
        running.client() as client,
    ):
        read: list[Frame] = []
        body = {"message": "How?", "models": ["small", "large"]}
        async with client.stream("POST", "/api/v1/consult", json=body) as response:
            async for frame in frames(response):
                read.append(frame)
                ended = [one.data["model"] for one in read if one.tagged["type"] == "turn_ended"]
                if [one.tagged["type"] for one in read].count("text_delta") == 2 and not ended:
                    small = next(one.tagged for one in read if one.data["model"] == "small")
                    await client.delete(f"/api/v1/turns/{small['turn_id']}")
                elif ended == ["small"]:
                    await client.delete(f"/api/v1/turns/{response.headers['x-turn-id']}")
    assert ended == ["small", "large"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"models": ["small", "other"]}, "asclepius-extractive, small, large"),
        ({"model": "other"}, "asclepius-extractive, small, large"),
        ({"models": ["small"], "model": "large"}, "not both"),
        ({"models": ["small"], "conversation_id": "session_" + "0" * 32}, "conversation_id"),
    ],
)
async def test_models_that_may_not_be_asked_are_refused_with_those_that_may(
    body: dict[str, Any], says: str, redis_url: str, tmp_path: Path
) -> None:
    async with (
        asked([], redis_url, tmp_path, model={"models": "small,large"}) as (running, server),
        running.client() as client,
    ):
        response = await client.post("/api/v1/consult", json={"message": "How?", **body})
    assert (response.status_code, server.requests) == (422, [])
    assert says in response.json()["detail"]


async def test_a_turn_that_another_process_may_run_is_not_called_unknown_without_redis(tmp_path: Path) -> None:
    sessions = RedisSessionStore("unix:///nowhere/redis.sock")
    async with api(None, tmp_path, sessions=sessions) as running, running.client() as client:
        address = f"/api/v1/turns/{uuid4()}"
        answers = [await client.get(f"{address}/events"), await client.delete(address)]
    assert [answer.status_code for answer in answers] == [503, 503]


async def test_a_turn_is_looked_for_once_the_services_have_opened(redis_url: str, tmp_path: Path) -> None:
    sessions = RedisSessionStore(redis_url)
    async with api(None, tmp_path, sessions=sessions, auth="demo") as running, running.client("demo") as client:
        await running.runtime.ready()
        running.runtime._opened = asyncio.Event()
        asking = asyncio.create_task(client.get(f"/api/v1/turns/{uuid4()}/events"))
        done, _ = await asyncio.wait({asking}, timeout=1)
        assert not done, "it may be one that the process before this one ran"
        running.runtime._opened.set()
        assert (await asking).status_code == 404
