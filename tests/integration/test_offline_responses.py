"""The offline server behaves as the Responses API does: chains, tools, streams, background, limits, keys."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.support.offline_server import offline_server

Json = dict[str, Any]
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
    "strict": False,
}
DRUG: Any = {
    "type": "function",
    "name": "look_up_drug",
    "description": "Looks a drug up",
    "parameters": {"type": "object", "properties": {"drug_name": {"type": "string"}}, "required": ["drug_name"]},
    "strict": False,
}
SEARCH: Any = {
    "type": "function",
    "name": "search_documents",
    "description": "Searches the documents",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "strict": False,
}
SLOW = "40"


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", SLOW) as url:
        yield url


@pytest.fixture
async def client(base_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0) as found:
        yield found


def calls_in(response: Any) -> list[Any]:
    return [item for item in response.output if item.type == "function_call"]


def output_of(call: Any, body: Json) -> Any:
    return {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(body)}


async def test_a_call_is_filled_from_the_question_and_its_output_is_told(client: AsyncOpenAI) -> None:
    asked = await client.responses.create(model="m", input="What's the weather like in San Francisco?", tools=[WEATHER])
    (call,) = calls_in(asked)
    assert json.loads(call.arguments) == {"location": "San Francisco"}
    told = await client.responses.create(
        model="m",
        previous_response_id=asked.id,
        tools=[WEATHER],
        input=[output_of(call, {"celsius": 18, "sky": "fog"})],
    )
    assert told.output_text == "get_weather returned:\n\n- celsius: 18\n- sky: fog"


async def test_documents_and_drugs_are_searched_in_parallel_with_the_whole_question(client: AsyncOpenAI) -> None:
    question = "Does warfarin interact with amiodarone?"
    asked = await client.responses.create(model="m", input=question, tools=[DRUG, SEARCH])
    called = {call.name: json.loads(call.arguments) for call in calls_in(asked)}
    assert called == {"search_documents": {"query": question}, "look_up_drug": {"drug_name": question}}


async def test_without_parallel_calls_they_come_one_after_the_other(client: AsyncOpenAI) -> None:
    question = "Does warfarin interact with amiodarone?"
    first = await client.responses.create(model="m", input=question, tools=[DRUG, SEARCH], parallel_tool_calls=False)
    (call,) = calls_in(first)
    assert call.name == "search_documents"
    second = await client.responses.create(
        model="m",
        previous_response_id=first.id,
        tools=[DRUG, SEARCH],
        parallel_tool_calls=False,
        input=[output_of(call, {"results": [], "did_you_mean": []})],
    )
    assert [call.name for call in calls_in(second)] == ["look_up_drug"]


async def test_with_tool_choice_none_nothing_is_called(client: AsyncOpenAI) -> None:
    answered = await client.responses.create(model="m", input="Weather in Rome?", tools=[WEATHER], tool_choice="none")
    assert calls_in(answered) == []


async def test_with_tool_choice_required_something_is_called(client: AsyncOpenAI) -> None:
    answered = await client.responses.create(model="m", input="Hello", tools=[WEATHER, DRUG], tool_choice="required")
    assert len(calls_in(answered)) == 1


async def test_a_chain_remembers_and_instructions_do_not_carry_over(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="m", input="My name is Alice.", instructions="Be brief.")
    second = await client.responses.create(model="m", input="What is my name?", previous_response_id=first.id)
    assert "My name is Alice." in second.output_text
    assert second.instructions is None


async def test_an_unknown_previous_response_has_its_own_code(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.responses.create(model="m", input="Hi", previous_response_id="resp_none")
    assert caught.value.code == "previous_response_not_found"


async def test_a_response_that_was_not_stored_cannot_be_chained_to(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="m", input="Hello", store=False)
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="m", input="Hi", previous_response_id=first.id)


async def test_a_call_without_its_output_is_refused_on_the_next_turn(client: AsyncOpenAI) -> None:
    asked = await client.responses.create(model="m", input="Weather in Rome?", tools=[WEATHER])
    with pytest.raises(openai.BadRequestError, match="No tool output found"):
        await client.responses.create(model="m", input="And in Paris?", previous_response_id=asked.id)


async def test_an_output_without_its_call_is_refused(client: AsyncOpenAI) -> None:
    given: Any = [{"type": "function_call_output", "call_id": "call_none", "output": "{}"}]
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        await client.responses.create(model="m", input=given)


async def test_the_streamed_words_are_the_final_text(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Hello", stream=True)
    events = [event async for event in stream]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert events[-1].type == "response.completed"
    assert text == events[-1].response.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_the_stream_helper_of_the_client_works(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model="m", input="Weather in Rome?", tools=[WEATHER]) as stream:
        final = await stream.get_final_response()
    assert calls_in(final)[0].name == "get_weather"


async def test_a_websocket_answers_one_request_after_the_other(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="My name is Alice.")
        first = [event async for event in until_the_end(connection)]
        response_id = first[-1].response.id
        await connection.response.create(model="m", input="What is my name?", previous_response_id=response_id)
        second = [event async for event in until_the_end(connection)]
    assert [event.sequence_number for event in second] == list(range(len(second)))
    assert "My name is Alice." in second[-1].response.output_text


async def until_the_end(connection: Any) -> AsyncIterator[Any]:
    async for event in connection:
        yield event
        if event.type in {"response.completed", "error"}:
            return


async def test_a_bad_message_on_a_websocket_is_an_error_event(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="Hi", previous_response_id="resp_none")
        (event,) = [event async for event in until_the_end(connection)]
    assert (event.type, event.code) == ("error", "previous_response_not_found")


async def test_each_event_is_written_in_one_piece(base_url: str) -> None:
    body = {"model": "m", "input": "Hello", "stream": True}
    headers = {"Authorization": "Bearer any"}
    async with (
        httpx.AsyncClient(base_url=base_url, headers=headers, timeout=60) as http,
        http.stream("POST", "/responses", json=body) as answer,
    ):
        pieces = [piece async for piece in answer.aiter_raw()]
    assert all(re.fullmatch(rb"(?:event: \S+\ndata: [^\n]+\n\n)+", piece) for piece in pieces)


async def test_a_background_response_is_queued_and_then_completed(client: AsyncOpenAI) -> None:
    queued = await client.responses.create(model="m", input="Hello", background=True)
    assert queued.status in {"queued", "in_progress"}
    async with asyncio.timeout(60):
        while (found := await client.responses.retrieve(queued.id)).status != "completed":
            await asyncio.sleep(0.01)
    assert found.output_text.startswith("Hello.")


async def test_a_broken_stream_is_taken_up_where_it_broke(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Hello", stream=True, background=True)
    seen: list[Any] = []
    async for event in stream:
        seen.append(event)
        if event.type == "response.output_text.delta":
            break
    await stream.close()
    response_id = seen[0].response.id
    rest = await client.responses.retrieve(response_id, stream=True, starting_after=seen[-1].sequence_number)
    events = [*seen, *[event async for event in rest]]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == (await client.responses.retrieve(response_id)).output_text


async def test_the_replay_of_a_finished_stream_has_the_same_events(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Hello", stream=True)
    live = [event async for event in stream]
    again = await client.responses.retrieve(live[0].response.id, stream=True)
    replayed = [event async for event in again]
    assert [event.type for event in replayed] == [event.type for event in live]
    assert replayed[-1].to_dict() == live[-1].to_dict()


async def test_a_background_response_can_be_cancelled_more_than_once(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Hello", stream=True, background=True)
    created = await anext(aiter(stream))
    response_id = created.response.id  # type: ignore[union-attr]
    first = await client.responses.cancel(response_id)
    second = await client.responses.cancel(response_id)
    assert (first.status, second.status) == ("cancelled", "cancelled")
    assert [event.type async for event in stream][-1] != "response.completed"


async def test_only_background_responses_can_be_cancelled(client: AsyncOpenAI) -> None:
    done = await client.responses.create(model="m", input="Hello")
    with pytest.raises(openai.BadRequestError, match="background"):
        await client.responses.cancel(done.id)


async def test_a_client_that_leaves_ends_its_stream_and_nothing_is_stored(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Hello", stream=True)
    created = await anext(aiter(stream))
    await stream.close()
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(created.response.id)  # type: ignore[union-attr]


async def test_a_deleted_response_is_gone(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="m", input="Hello")
    await client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(made.id)


async def test_input_items_are_listed_newest_first_and_by_page(client: AsyncOpenAI) -> None:
    given: Any = [{"role": "user", "content": f"Part {number}."} for number in range(3)]
    made = await client.responses.create(model="m", input=given)
    items = [item async for item in client.responses.input_items.list(made.id, limit=2)]
    assert [item.content[0].text for item in items] == ["Part 2.", "Part 1.", "Part 0."]  # type: ignore[union-attr]


async def test_an_item_can_be_referred_to_by_its_id(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="m", input="My name is Alice.")
    page = await client.responses.input_items.list(made.id)
    reference: Any = [
        {"type": "item_reference", "id": page.data[0].id},
        made.output[0].to_dict(),
        {"role": "user", "content": "What is my name?"},
    ]
    assert "Alice" in (await client.responses.create(model="m", input=reference)).output_text


async def test_a_conversation_object_is_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="m", input="Hi", conversation="conv_a")
    assert refused.value.param == "conversation"


async def test_an_answer_that_is_too_long_is_incomplete(client: AsyncOpenAI) -> None:
    cut = await client.responses.create(model="m", input="Hello", max_output_tokens=16)
    assert cut.status == "incomplete"
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert cut.usage is not None
    assert 0 < cut.usage.output_tokens <= 16


async def test_structured_output_fits_its_schema(client: AsyncOpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "mood": {"type": "string", "enum": ["happy", "sad"]},
        },
        "required": ["name", "age", "mood"],
        "additionalProperties": False,
    }
    wanted: Any = {"format": {"type": "json_schema", "name": "person", "schema": schema, "strict": True}}
    answered = await client.responses.create(model="m", input="Alice is 30 years old and sad.", text=wanted)
    assert json.loads(answered.output_text) == {"name": "Alice", "age": 30, "mood": "sad"}


async def test_reasoning_says_what_is_being_done(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="m", input="Strengths of metformin?", tools=[DRUG], stream=True)
    said = "".join([e.delta async for e in stream if e.type == "response.reasoning_summary_text.delta"])
    assert said == "Searching the drug database."


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"input": 7}, "invalid_type", "input"),
        ({"colour": "red"}, "unknown_parameter", "colour"),
        ({"max_output_tokens": 3}, "invalid_value", "max_output_tokens"),
        ({"temperature": 9}, "invalid_value", "temperature"),
        ({"input": [{"role": "nurse", "content": "Hi"}]}, "invalid_value", "input[0].role"),
        ({"input": [{"role": "user"}]}, "missing_required_parameter", "input[0].content"),
        (
            {"input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": 7}]}]},
            "invalid_type",
            "input[0].summary[0].text",
        ),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "tools[0].name"),
        ({"background": True, "store": False}, "invalid_value", "store"),
    ],
)
async def test_a_bad_request_names_its_parameter(change: Json, code: str, param: str, base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60) as http:
        answer = await http.post("/responses", json={"model": "m", "input": "Hi", **change})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)
    assert error["type"] == "invalid_request_error"


async def test_errors_do_not_repeat_what_was_sent(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60) as http:
        answer = await http.post(
            "/responses", json={"model": "m", "input": [{"role": "John Doe, HIV", "content": "x"}]}
        )
    assert answer.status_code == 400
    assert "John Doe" not in answer.text


async def test_on_loopback_any_key_is_taken_but_one_must_be_there(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, timeout=60) as http:
        without = await http.get("/models")
        with_one = await http.get("/models", headers={"Authorization": "Bearer whatever"})
    assert (without.status_code, with_one.status_code) == (401, 200)


def test_a_configured_key_is_asked_for(tmp_path: Path) -> None:
    with offline_server(tmp_path, key="the-key") as url:
        wrong = httpx.get(f"{url}/models", headers={"Authorization": "Bearer other"}, timeout=60)
        right = httpx.get(f"{url}/models", headers={"Authorization": "Bearer the-key"}, timeout=60)
    assert (wrong.status_code, wrong.json()["error"]["code"], right.status_code) == (401, "invalid_api_key", 200)


def test_the_health_check_needs_no_key(base_url: str) -> None:
    assert httpx.get(base_url.replace("/v1", "/healthz"), timeout=60).json() == {"status": "ok"}


def test_a_body_past_the_limit_is_refused(base_url: str) -> None:
    body = b'{"model": "m", "input": "' + b"x" * (33 * 1024 * 1024) + b'"}'
    answer = httpx.post(f"{base_url}/responses", content=body, headers={"Authorization": "Bearer any"}, timeout=60)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "request_too_large"


def test_a_body_without_a_length_is_refused_past_the_limit(base_url: str) -> None:
    headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
    body = (b"x" * 2**20 for _ in range(34))
    answer = httpx.post(f"{base_url}/responses", content=body, headers=headers, timeout=60)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "request_too_large"
