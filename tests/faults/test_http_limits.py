"""Row 39 over the API: floods, long messages, large and crooked bodies, tricks with ranges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.page.question_events import question_events
from chat_app.interface.security import request_body
from chat_app.interface.security.request_body import RequestBody
from tests.support.api_server import Api, api, ask
from tests.support.engine import clinic
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, WaitFor, text_reply

CANARY = "Jane Roe 1961"


@asynccontextmanager
async def limited(
    turn: ScriptedTurn, redis_url: str, folder: Path, **settings: Any
) -> AsyncIterator[tuple[Api, ScriptedServer]]:
    async with (
        ScriptedServer([turn], repeat=True) as server,
        clinic(server, redis_url) as agent,
        api(agent, folder / "data", **settings) as running,
    ):
        yield running, server


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document; that it is one, with this status, is part of every test here."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == status
    assert {"type", "title", "detail"} <= set(document)
    assert CANARY not in response.text
    return dict(document)


async def test_a_flood_of_questions_is_held_back_and_told_how_long_to_wait(redis_url: str, tmp_path: Path) -> None:
    limits = {"questions_per_minute": 3, "concurrent_turns": 100}
    async with (
        limited(text_reply("Yes."), redis_url, tmp_path, **limits) as (running, server),
        running.client("ana") as ana,
        running.client("bert") as bert,
    ):
        for _ in range(3):
            assert (await ask(ana))[-1].data["outcome"]["kind"] == "completed"
        for _ in range(5):
            refused = await ana.post("/api/v1/consult", json={"message": CANARY})
            assert "3 questions" in problem(refused, 429)["detail"]
            assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert (await ask(bert))[-1].data["outcome"]["kind"] == "completed"
    assert len(server.requests) == 4


async def test_questions_at_once_are_bounded_until_one_ends(redis_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    turn = [WaitFor(gate), *text_reply("Yes.")]
    async with (
        limited(turn, redis_url, tmp_path, concurrent_turns=2) as (running, server),
        running.client("ana") as ana,
        running.client("bert") as bert,
    ):
        asking = [asyncio.create_task(ask(ana)) for _ in range(2)]
        await server.request(1)
        refused = await ana.post("/api/v1/consult", json={"message": "How?"})
        assert "2 of your questions" in problem(refused, 429)["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        other = asyncio.create_task(ask(bert))
        await server.request(2)
        gate.set()
        await asyncio.gather(*asking, other)
        assert (await ask(ana))[-1].data["outcome"]["kind"] == "completed"


async def test_a_comparison_takes_as_many_places_as_it_has_models(redis_url: str, tmp_path: Path) -> None:
    models = {"models": "a,b,c"}
    async with (
        limited(text_reply("Yes."), redis_url, tmp_path, concurrent_turns=2, model=models) as (running, server),
        running.client() as client,
    ):
        refused = await client.post("/api/v1/consult", json={"message": CANARY, "models": ["a", "b", "c"]})
        assert "At most 2 models" in problem(refused, 422)["detail"]
        assert server.requests == []
        assert len({frame.data["model"] for frame in await ask(client, models=["a", "b"])}) == 2


async def test_a_body_that_does_not_arrive_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    arriving = iter([{"type": "http.request", "body": b"{", "more_body": True}])

    async def receive() -> Any:
        return next(arriving, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)
    body = RequestBody(receive, 100)
    answer = body.unless_refused(send)
    assert [(await body.receive())["type"] for _ in range(2)] == ["http.request", "http.disconnect"]
    await answer({"type": "http.response.start", "status": 500, "headers": []})
    await answer({"type": "http.response.body", "body": b"unexpected"})
    assert [message.get("status") for message in sent] == [408, None]


@pytest.mark.parametrize("length", ["declared", "chunked"])
async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(
    length: str, redis_url: str, tmp_path: Path
) -> None:
    body = json.dumps({"message": CANARY + "x" * 2_000_000}).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 50_000):
            yield body[start : start + 50_000]

    async with limited(text_reply("Yes."), redis_url, tmp_path) as (running, server), running.client() as client:
        content = body if length == "declared" else pieces()
        response = await client.post("/api/v1/consult", content=content, headers={"content-type": "application/json"})
        problem(response, 413)
        assert (await client.get("/healthz")).status_code == 200
    assert server.requests == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"message": "Jane Roe 1961"', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"message": "\xff\xfe Jane Roe 1961"}', "application/json"),
        (b'{"message": NaN}', "application/json"),
        (b'{"message": ["Jane Roe 1961"]}', "application/json"),
        (b'{"message": "How?", "Jane Roe 1961": true}', "application/json"),
        (b'{"message": "How?", "vector_store_id": "vs_of_somebody_else"}', "application/json"),
        (b'{"message": "How?", "user_id": "somebody else"}', "application/json"),
        (b'{"message": "How?", "length": "Jane Roe 1961"}', "application/json"),
        (b'{"message": "How?", "model": "Jane Roe 1961"}', "application/json"),
        (b'{"message": "How?", "models": ["a", "a b", "Jane Roe 1961"]}', "application/json"),
        (b'{"message": "How?", "stream": "Jane Roe 1961"}', "application/json"),
        (b'"Jane Roe 1961"', "application/json"),
        (b"null", "application/json"),
        (b"", "application/json"),
        (b"message=Jane Roe 1961", "application/x-www-form-urlencoded"),
        (
            b'--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nJane Roe 1961\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
        ),
        (b"--x\r\n" * 10_000, "multipart/form-data; boundary=x"),
        (b'{"message": "Jane Roe 1961"}', "text/plain"),
    ],
)
async def test_a_crooked_body_is_a_problem_that_repeats_none_of_it(
    content: bytes, kind: str, redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor can a client name a vector store (row 36) or a user: the body has no place for them."""
    caplog.set_level("DEBUG", "chat_app")
    async with limited(text_reply("Yes."), redis_url, tmp_path) as (running, server), running.client() as client:
        response = await client.post("/api/v1/consult", content=content, headers={"content-type": kind})
        assert problem(response, response.status_code)
    assert response.status_code in {400, 422}
    assert "Jane" not in response.text + caplog.text
    assert server.requests == []


async def test_many_ranges_of_a_file_cost_nothing_and_get_no_more_than_the_file(redis_url: str, tmp_path: Path) -> None:
    pdf = tmp_path / "guide.pdf"
    pdf.write_bytes(b"%PDF-1.7\n" + b"x" * 100_000)
    async with limited(text_reply("Yes."), redis_url, tmp_path) as (running, _), running.client() as client:
        app = await running.runtime.ready()
        app.guidelines.pdf = pdf  # type: ignore[attr-defined]
        ranges = ",".join(f"{at}-" for at in range(3_000))
        async with asyncio.timeout(60):
            response = await client.get("/api/v1/guidelines/htn/original.pdf", headers={"range": f"bytes={ranges}"})
        assert response.status_code in {200, 206, 400, 416}
        assert len(response.content) <= 2 * pdf.stat().st_size
        one = await client.get("/api/v1/guidelines/htn/original.pdf", headers={"range": "bytes=0-7"})
        assert (one.status_code, one.content) == (206, b"%PDF-1.7")


MODEL = "any"


def page_question(thread_id: str) -> PageQuestion:
    return PageQuestion(
        owner="ana",
        thread_id=thread_id,
        message_id="question",
        text="How?",
        run_id="run",
        options=PageOptions(),
        models=[MODEL],
    )


async def test_the_pages_questions_and_those_over_the_api_count_together(redis_url: str, tmp_path: Path) -> None:
    gate = asyncio.Event()
    turn = [WaitFor(gate), *text_reply("Yes.")]
    async with (
        limited(turn, redis_url, tmp_path, concurrent_turns=2) as (running, server),
        running.client("ana") as client,
    ):
        asked = [page_question(f"thread-{number}") for number in range(3)]
        turns = [question.turns[MODEL] for question in asked]
        for question in asked[:2]:
            running.runtime.turns.start(
                question.turns[MODEL], question.turns[MODEL].run(question_events(running.runtime, question, MODEL))
            )
        await server.request(1)
        problem(await client.post("/api/v1/consult", json={"message": "How?"}), 429)
        running.runtime.turns.start(turns[2], turns[2].run(question_events(running.runtime, asked[2], MODEL)))
        await turns[2].saved.wait()
        assert turns[2].log.ended is not None
        assert "2 of your questions" in turns[2].log.ended.outcome.message
        gate.set()
        await asyncio.gather(*(on_page.saved.wait() for on_page in turns))
    assert [on_page.log.answer for on_page in turns] == ["Yes.", "Yes.", ""]
