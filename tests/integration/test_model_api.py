"""``/v1``: the app as a model, asked with OpenAI's own client, over the engine, Redis and a scripted model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from sqlalchemy import text as sql

from chat_app.interface.security.accounts import Scope, api_keys_at, create_key
from chat_app.safety.emergency_notice import TEXTS
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, api
from tests.support.engine import chained, clinic, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, Status, WaitFor, calls_reply, text_reply

CALL = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
SAID = "Start metformin at 500 mg once daily with food."
GUIDE = passage(text=f"{SAID} Do not use it when eGFR is below 30.")
CITED: list[ScriptedTurn] = [
    calls_reply(CALL, response_id="resp_1"),
    chained(text_reply("Start ", "metformin at 500 mg once", " daily with food. [", "1", "]", response_id="resp_2")),
]
QUESTION: list[Any] = [{"role": "user", "content": "How much metformin?"}]
TEXT = f"{SAID} [1]"


@dataclass
class Facade:
    """The served API, its model server, and a user's key."""

    api: Api
    server: ScriptedServer
    key: str
    clients: AsyncExitStack = field(default_factory=AsyncExitStack)

    def client(self, key: str | None = None, **options: Any) -> AsyncOpenAI:
        made = AsyncOpenAI(
            **{"base_url": f"{self.api.url}/v1", "api_key": key or self.key, "max_retries": 0, **options}
        )
        self.clients.push_async_callback(made.close)
        return made

    def sent(self, request: int = -1) -> list[dict[str, Any]]:
        """The messages that the model server got: role and text."""
        given = cast("list[dict[str, Any]]", self.server.requests[request].json["input"])
        return [item for item in given if item.get("role") in {"user", "assistant"}]


@asynccontextmanager
async def facade(
    turns: list[ScriptedTurn],
    redis_url: str,
    folder: Path,
    *,
    repeat: bool = False,
    user: str = "ana",
    scope: Scope = "ask",
    **how: Any,
) -> AsyncIterator[Facade]:
    store = RedisSessionStore(redis_url)
    async with (
        ScriptedServer(turns, repeat=repeat) as server,
        clinic(server, redis_url, [guideline_tool(GUIDE)], store=store) as agent,
        api(agent, folder / "data", sessions=store, **how) as running,
    ):
        there = Facade(running, server, create_key(api_keys_at(folder / "data"), user, scope, 1))
        async with there.clients:
            yield there


def cited(text: str, annotations: Any) -> list[tuple[str, str]]:
    """The text at each annotation, and the title of what it opens."""
    found = [one.url_citation if hasattr(one, "url_citation") else one for one in annotations]
    return [(text[one.start_index : one.end_index], one.title) for one in found]


async def test_an_answer_has_its_references_as_text_and_as_url_citations(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path, public_url="https://asclepius.example") as there:
        done = await there.client().chat.completions.create(model="asclepius", messages=QUESTION)
    (choice,) = done.choices
    text = choice.message.content or ""
    assert text.startswith(f"{TEXT}\n\n---\n\n**References**\n\n1. [Diabetes]")
    assert f"> {SAID}" in text
    assert cited(text, choice.message.annotations) == [("[1]", "Diabetes")]
    (annotation,) = choice.message.annotations or ()
    address = httpx.URL(annotation.url_citation.url)
    assert (address.host, address.path) == ("asclepius.example", "/passages/guide:1")
    assert address.params["quote"] == SAID
    assert str(address) in text
    assert (choice.finish_reason, done.model) == ("stop", "asclepius")
    assert done.usage is not None and done.usage.total_tokens == 30


async def test_a_streamed_answer_is_the_same_text(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path) as there, there.client() as client:
        stream = await client.chat.completions.create(
            model="asclepius", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    text = "".join(delta.content or "" for delta in deltas)
    assert text.startswith(f"{TEXT}\n\n---\n\n**References**")
    (annotation,) = [one for delta in deltas for one in (delta.model_extra or {}).get("annotations", ())]
    assert annotation["url_citation"]["title"] == "Diabetes"
    where = annotation["url_citation"]
    assert text[where["start_index"] : where["end_index"]] == "[1]"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens == 30
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_words_come_while_the_model_still_writes(redis_url: str, tmp_path: Path) -> None:
    gate, steps = asyncio.Event(), text_reply("Take ", "with food.")
    async with facade([[*steps[:5], WaitFor(gate), *steps[5:]]], redis_url, tmp_path) as there:
        stream = await there.client().chat.completions.create(model="asclepius", messages=QUESTION, stream=True)
        words = ""
        async for chunk in stream:
            words += chunk.choices[0].delta.content or ""
            if words == "Take ":
                gate.set()
    assert words == "Take with food."


async def test_the_synchronous_client_streams_too(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path) as there:

        def ask() -> str:
            with OpenAI(base_url=f"{there.api.url}/v1", api_key=there.key, max_retries=0) as client:
                stream = client.chat.completions.create(model="asclepius", messages=QUESTION, stream=True)
                return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

        assert (await asyncio.to_thread(ask)).startswith(TEXT)


async def test_a_response_and_its_stream_have_the_same_text_and_citations(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path / "whole") as there:
        whole = await there.client().responses.create(model="asclepius", input="How much metformin?")
    async with (
        facade(CITED, redis_url, tmp_path / "streamed") as there,
        there.client().responses.stream(model="asclepius", input="How much metformin?") as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert [event.sequence_number for event in events if hasattr(event, "sequence_number")] == list(range(len(events)))
    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.annotation.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    for done in (whole, final):
        assert done.status == "completed"
        assert done.output_text.startswith(TEXT)
        part = cast("Any", done.output[0]).content[0]
        assert cited(done.output_text, part.annotations) == [("[1]", "Diabetes")]
        assert done.usage is not None and done.usage.total_tokens == 30
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert deltas == final.output_text


async def test_earlier_messages_are_what_the_model_gets_as_the_conversation(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path / "first") as there:
        first = await there.client().chat.completions.create(model="asclepius", messages=QUESTION)
    before = [
        {"role": "system", "content": "The patient is 80 years old."},
        *QUESTION,
        {"role": "assistant", "content": first.choices[0].message.content},
    ]
    parts = [{"type": "text", "text": "And with"}, {"type": "text", "text": "kidney disease?"}]
    messages: list[Any] = [*before, {"role": "user", "content": parts}]
    async with facade([text_reply("Less.")], redis_url, tmp_path / "second") as there:
        await there.client().chat.completions.create(model="asclepius", messages=messages)
        sent = there.sent()
    assert [(item["role"], item["content"][0]["text"]) for item in sent] == [
        ("user", "The patient is 80 years old."),
        ("user", "How much metformin?"),
        ("assistant", SAID),
        ("user", "And with\nkidney disease?"),
    ]


async def test_no_message_of_a_long_conversation_is_lost(redis_url: str, tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": f"a{n}"}] for n in range(60)]
    messages: list[Any] = [*(one for turn in turns for one in turn), {"role": "user", "content": "last"}]
    async with facade([text_reply("Yes.")], redis_url, tmp_path) as there:
        await there.client().chat.completions.create(model="asclepius", messages=messages)
        sent = json.dumps(there.sent())
    places = [sent.find(f"{kind}{n}") for n in range(60) for kind in "qa"]
    assert min(places) >= 0 and places == sorted(places)


async def test_a_response_continues_a_stored_conversation_or_any_point_of_it(redis_url: str, tmp_path: Path) -> None:
    replies = [text_reply(f"Answer {n}.", response_id=f"resp_{n}") for n in (1, 2, 3)]
    async with facade([replies[0], chained(replies[1]), replies[2]], redis_url, tmp_path) as there, there.client() as c:
        first = await c.responses.create(model="asclepius", input="One?")
        second = await c.responses.create(model="asclepius", input="Two?", previous_response_id=first.id)
        assert second.previous_response_id == first.id
        assert there.server.requests[1].json["previous_response_id"] == "resp_1", "the same conversation goes on"
        await c.responses.create(
            model="asclepius", input="Other?", previous_response_id=first.id, instructions="Be brief."
        )
        texts = [item["content"][0]["text"] for item in there.sent()]
        assert texts == ["One?", "Answer 1.", "Be brief.", "Other?"]
        for unknown in ("resp_x", f"resp_{'0' * 32}_{'0' * 32}"):
            with pytest.raises(openai.NotFoundError) as error:
                await c.responses.create(model="asclepius", input="Three?", previous_response_id=unknown)
            assert error.value.code == "previous_response_not_found"
        bert = create_key(api_keys_at(tmp_path / "data"), "bert", "ask", 1)
        with pytest.raises(openai.NotFoundError):
            await there.client(bert).responses.create(model="asclepius", input="?", previous_response_id=first.id)


async def test_a_stored_response_can_be_read_and_erased_by_its_owner_alone(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path, user="gina") as there, there.client() as client:
        made = await client.responses.create(model="asclepius", input="How much metformin?")
        bert = there.client(create_key(api_keys_at(tmp_path / "data"), "bert", "ask", 1))
        for refused in (bert.responses.retrieve(made.id), bert.responses.delete(made.id)):
            with pytest.raises(openai.NotFoundError) as unknown:
                await refused
            assert unknown.value.param == "response_id"
        assert (await client.responses.retrieve(made.id)).to_json() == made.to_json()
        with pytest.raises(openai.BadRequestError):
            await client.responses.retrieve(made.id, stream=True)
        await client.responses.delete(made.id)
        async with there.api.client("gina") as gina:
            assert (await gina.get("/api/v1/conversations")).json() == {"conversations": []}
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(made.id)


async def stored(client: AsyncOpenAI, name: str) -> Any:
    """Return the stored response; None while it is not stored yet."""
    with suppress(openai.NotFoundError):
        return await client.responses.retrieve(name)
    return None


async def test_a_stored_response_is_the_one_that_was_streamed_also_to_a_client_that_left(
    redis_url: str, tmp_path: Path
) -> None:
    gate, steps = asyncio.Event(), text_reply("Take ", "with food.", response_id="resp_3")
    left = [*steps[:5], WaitFor(gate), *steps[5:]]
    async with facade([*CITED, left], redis_url, tmp_path) as there, there.client() as client:
        events = [e async for e in await client.responses.create(model="asclepius", input="How?", stream=True)]
        final = cast("Any", events[-1]).response
        assert (await client.responses.retrieve(final.id)).to_json() == final.to_json()
        stream = await client.responses.create(model="asclepius", input="And?", stream=True)
        name = ""
        async for event in stream:
            if event.type == "response.created":
                name = event.response.id
            if event.type == "response.output_text.delta":
                break
        await stream.close()

        async with asyncio.timeout(60):
            while not (broken := await stored(client, name)):
                await asyncio.sleep(0.05)
    assert broken.status == "incomplete"
    assert broken.output_text.startswith("Take \n\n**This answer is not complete.**")


async def test_tools_of_a_client_are_never_called_and_refused_only_where_one_must_be(
    redis_url: str, tmp_path: Path
) -> None:
    """Open WebUI sends tools with every question."""
    tools: list[Any] = [{"type": "function", "function": {"name": "search_web", "parameters": {"type": "object"}}}]
    async with facade(CITED, redis_url, tmp_path) as there, there.client() as client:
        done = await client.chat.completions.create(model="asclepius", messages=QUESTION, tools=tools)
        sent = json.dumps([request.json for request in there.server.requests])
        with pytest.raises(openai.BadRequestError) as error:
            await client.chat.completions.create(
                model="asclepius", messages=QUESTION, tools=tools, tool_choice="required"
            )
    assert done.choices[0].message.tool_calls is None
    assert "search_web" not in sent
    assert error.value.param == "tool_choice"


async def test_the_emergency_notice_comes_first(redis_url: str, tmp_path: Path) -> None:
    question: list[Any] = [{"role": "user", "content": "He has taken 40 tablets of paracetamol at once. What now?"}]
    async with facade([text_reply("Give acetylcysteine.")], redis_url, tmp_path) as there, there.client() as client:
        stream = await client.chat.completions.create(model="asclepius", messages=question, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == TEXTS["en"]["exposure"] + "\n\nGive acetylcysteine."


async def test_an_answer_that_broke_off_says_so(redis_url: str, tmp_path: Path) -> None:
    cut = text_reply("Take ", "with", terminal="incomplete")
    async with facade([cut], redis_url, tmp_path, repeat=True) as there, there.client() as client:
        done = await client.chat.completions.create(model="asclepius", messages=QUESTION)
        response = await client.responses.create(model="asclepius", input="How?")
    assert (done.choices[0].message.content or "").startswith("Take with\n\n**This answer is not complete.** ")
    assert done.choices[0].finish_reason == "length"
    assert response.status == "incomplete" and response.incomplete_details is not None


async def test_a_turn_that_fails_without_a_word_is_an_error(redis_url: str, tmp_path: Path) -> None:
    refused = [Status(400, body={"error": {"message": "no"}})]
    async with facade([refused], redis_url, tmp_path, repeat=True) as there:
        client = there.client(max_retries=2)
        with pytest.raises(openai.InternalServerError) as error:
            await client.chat.completions.create(model="asclepius", messages=QUESTION)
        assert (error.value.status_code, error.value.type) == (503, "server_error")
        assert len(there.server.requests) == 1, "a question is not asked again by itself"
        stream = await client.chat.completions.create(model="asclepius", messages=QUESTION, stream=True)
        with pytest.raises(openai.APIError):
            _ = [chunk async for chunk in stream]
        async with client.responses.stream(model="asclepius", input="How?") as events:
            kinds = [event.type async for event in events]
        assert kinds[-1] == "response.failed"


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_stops_its_turn(path: str, stream: bool, redis_url: str, tmp_path: Path) -> None:
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    body = {"model": "asclepius", "messages": QUESTION, "input": "How?", "stream": stream}
    async with facade([turn], redis_url, tmp_path) as there:
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {there.key}"}, timeout=60) as client:
            waiting = asyncio.create_task(client.post(f"{there.api.url}/v1/{path}", json=body))
            request = await there.server.request(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(60):
            await request.left.wait()


async def test_a_wrong_key_a_reading_key_and_no_key_are_refused(redis_url: str, tmp_path: Path) -> None:
    async with facade([], redis_url, tmp_path, scope="read") as there:
        for client, kind in (
            (there.client(), openai.PermissionDeniedError),
            (there.client("ask_unknown_x"), openai.AuthenticationError),
            (there.client("sk-of-another-server"), openai.AuthenticationError),
        ):
            with pytest.raises(kind) as error:
                await client.chat.completions.create(model="asclepius", messages=QUESTION)
            assert error.value.type == "invalid_request_error"
        assert [model.id async for model in await there.client().models.list()] == ["asclepius"]
        assert there.server.requests == []


async def test_models_are_listed_and_only_those_can_be_asked(redis_url: str, tmp_path: Path) -> None:
    model = {"models": "large,small"}
    async with facade([text_reply("Yes.")], redis_url, tmp_path, model=model) as there, there.client() as client:
        names = [one.id async for one in await client.models.list()]
        assert names[0] == "asclepius" and names[-2:] == ["asclepius/large", "asclepius/small"]
        assert (await client.models.retrieve("asclepius/small")).id == "asclepius/small"
        await client.chat.completions.create(model="asclepius/small", messages=QUESTION)
        assert there.server.requests[0].json["model"] == "small"
        for name in ("gpt-5", "asclepius/", "asclepius/huge", "asclepiusx"):
            with pytest.raises(openai.NotFoundError) as error:
                await client.chat.completions.create(model=name, messages=QUESTION)
            assert (error.value.code, error.value.param) == ("model_not_found", "model")
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-5")
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="asclepius", input="x")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": QUESTION, "model": "asclepius/ä b"}, "model"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content"),
        ({"messages": QUESTION, "function_call": {"name": "f"}}, "function_call"),
        ({"messages": QUESTION, "n": 2}, "n"),
        ({"messages": QUESTION, "response_format": {"type": "json_object"}}, "response_format.type"),
        ({"messages": [*QUESTION, {"role": "assistant", "content": "x"}]}, None),
        ({"messages": [{"role": "user", "content": " "}]}, None),
    ],
)
async def test_what_cannot_be_answered_is_a_bad_request_that_repeats_nothing(
    body: dict[str, Any], param: str | None, redis_url: str, tmp_path: Path
) -> None:
    async with (
        facade([], redis_url, tmp_path) as there,
        httpx.AsyncClient(
            base_url=there.api.url, headers={"Authorization": f"Bearer {there.key}"}, timeout=60
        ) as client,
    ):
        answer = await client.post("/v1/chat/completions", json={"model": "asclepius", **body})
        assert there.server.requests == []
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert error["type"] == "invalid_request_error"
    assert (error["param"] or "").startswith(param or "")
    assert "image_url" not in answer.text


@pytest.mark.parametrize(
    ("content", "param", "says"),
    [
        ('{"model": image_url}', None, "The body is not valid JSON from character 11 on."),
        ("[]", None, "The body must be a JSON object."),
        ('{"model": "asclepius", "input": []}', "input", "supported here: input. "),
        ('{"model": "asclepius", "input": [5]}', "input.0", "supported here: input.0. "),
        (
            '{"model": "asclepius", "input": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "input.0.content.0",
            "supported here: input.0.content.0. ",
        ),
    ],
)
async def test_an_error_names_the_field_as_the_client_wrote_it(
    content: str, param: str | None, says: str, redis_url: str, tmp_path: Path
) -> None:
    async with facade([], redis_url, tmp_path) as there:
        headers = {"Authorization": f"Bearer {there.key}", "content-type": "application/json"}
        address = f"{there.api.url}/v1/responses"
        answer = await asyncio.to_thread(httpx.post, address, content=content, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param)
    assert says in error["message"]
    assert "image_url" not in answer.text


async def test_a_user_has_the_limits_of_the_other_api_and_nothing_is_left_of_a_refused_question(
    redis_url: str, tmp_path: Path
) -> None:
    earlier: list[Any] = [*QUESTION, {"role": "assistant", "content": "Yes."}, *QUESTION]
    limited = facade([text_reply("Yes.")], redis_url, tmp_path, user="uma", questions_per_minute=1)
    async with limited as there, there.client() as client:
        await client.chat.completions.create(model="asclepius", messages=QUESTION)
        with pytest.raises(openai.RateLimitError) as error:
            await client.chat.completions.create(model="asclepius", messages=earlier)
        assert error.value.code == "rate_limit_exceeded"
        assert int(error.value.response.headers["retry-after"]) > 0
        headers = {"Authorization": f"Bearer {there.key}"}
        listed = await asyncio.to_thread(httpx.get, f"{there.api.url}/api/v1/conversations", headers=headers)
        assert [one["message_count"] for one in listed.json()["conversations"]] == [2]


async def test_a_question_is_in_the_history_and_the_audit_log(redis_url: str, tmp_path: Path) -> None:
    async with facade(CITED, redis_url, tmp_path) as there:
        await there.client().chat.completions.create(model="asclepius", messages=QUESTION)
        recorded: set[tuple[str, str]] = set()
        named: Sequence[str] = ()
        # The sources are recorded once the answer has been sent.
        async with asyncio.timeout(60):
            while not {("key", "ana"), ("question", "ana"), ("sources", "ana")} <= recorded:
                async with there.api.runtime.history.engine.connect() as connection:
                    rows = await connection.execute(sql("SELECT action, actor FROM audit"))
                    recorded = {(row.action, row.actor) for row in rows}
                    named = (await connection.execute(sql('SELECT "name" FROM threads'))).scalars().all()
    assert named == ["How much metformin?"]


@pytest.mark.parametrize(("verbosity", "length"), [("low", "brief"), ("high", "full")])
async def test_the_verbosity_is_the_length_of_the_answer(
    verbosity: Any, length: str, redis_url: str, tmp_path: Path
) -> None:
    async with facade([text_reply("Yes.")], redis_url, tmp_path, repeat=True) as there, there.client() as client:
        await client.chat.completions.create(model="asclepius", messages=QUESTION)
        await client.chat.completions.create(model="asclepius", messages=QUESTION, verbosity=verbosity)
        await client.responses.create(model="asclepius", input="How?", text={"verbosity": verbosity})
        plain, first, second = (request.json["instructions"] for request in there.server.requests)
    assert first == second != plain, length
