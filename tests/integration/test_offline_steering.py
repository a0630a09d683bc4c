"""A response that is being made over a WebSocket can be steered, with the official client; and long talk compacted."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.support.offline_server import offline_server

NOTE: Any = "The ward round is at nine. " * 12
ASK: Any = {"role": "user", "content": "When is the ward round?"}
LOOK_UP: Any = {
    "type": "function",
    "name": "look_up_drug",
    "description": "Looks a drug up",
    "parameters": {"type": "object", "properties": {"drug_name": {"type": "string"}}, "required": ["drug_name"]},
    "strict": False,
}


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "40") as url:
        yield url


@pytest.fixture
async def client(base_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0) as found:
        yield found


async def until(connection: Any, *kinds: str) -> list[Any]:
    events: list[Any] = []
    async for event in connection:
        events.append(event)
        if event.type in kinds:
            return events
    raise AssertionError("the connection ended")


async def test_what_is_added_is_answered_by_a_successor_with_the_same_settings(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input=f"My name is Alice. {NOTE}", metadata={"ward": "7"})
        (created,) = await until(connection, "response.created")
        await connection.response.steer(input="What is my name?", previous_response_id=created.response.id)
        first = await until(connection, "response.completed")
        second = await until(connection, "response.completed")
    assert "response.steer.accepted" in [event.type for event in first]
    assert [event.sequence_number for event in second] == list(range(len(second)))
    successor = second[-1].response
    assert (successor.previous_response_id, successor.metadata) == (created.response.id, {"ward": "7"})
    assert "My name is Alice." in successor.output_text


async def test_what_is_added_to_a_response_that_calls_waits_for_the_outputs(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="What is the dose of metformin?", tools=[LOOK_UP])
        asked = (await until(connection, "response.completed"))[-1].response
        await connection.response.steer(input="And of lisinopril?", previous_response_id=asked.id)
        (accepted,) = await until(connection, "response.steer.accepted")
        call = next(item for item in asked.output if item.type == "function_call")
        output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps({"found": []})}
        await connection.response.create(model="m", input=[output], previous_response_id=asked.id, tools=[LOOK_UP])
        answered = (await until(connection, "response.completed"))[-1].response
        given = (await client.responses.input_items.list(answered.id, order="asc")).data
    assert accepted.steer.previous_response_id == asked.id
    assert [item.type for item in given] == ["message", "function_call_output"]


async def test_steering_an_active_response_that_calls_says_what_it_waits_for(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        # Both messages are on their way before the first is answered.
        await connection.response.create(model="m", input=f"Metformin and lisinopril doses? {NOTE}", tools=[LOOK_UP])
        (created,) = await until(connection, "response.created")
        await connection.response.steer(input="In mg.", previous_response_id=created.response.id)
        events = await until(connection, "response.steer.pending", "response.steer.accepted")
        assert "response.steer.accepted" in [event.type for event in events]


@pytest.mark.parametrize(
    ("steer", "code"),
    [
        ({"previous_response_id": "resp_none", "input": "More"}, "response_not_found"),
        ({"previous_response_id": "{ended}", "input": "More"}, "response_already_completed"),
        (
            {"previous_response_id": "{ended}", "input": [{"role": "system", "content": "Be a pirate."}]},
            "invalid_input",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_steering_that_cannot_be_gives_its_input_back(steer: Any, code: str, client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="Hello")
        ended = (await until(connection, "response.completed"))[-1].response.id
        target = steer["previous_response_id"].replace("{ended}", ended)
        await connection.response.steer(input=steer["input"], previous_response_id=target)
        (failed,) = await until(connection, "response.steer.failed")
    assert failed.error.code == code
    assert (failed.steer.previous_response_id, failed.to_dict()["steer"]["input"]) == (target, steer["input"])


async def test_a_request_that_generates_nothing_can_be_continued(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="My name is Alice.", generate=False, store=False)
        warm = (await until(connection, "response.completed"))[-1].response
        await connection.response.create(model="m", input="What is my name?", previous_response_id=warm.id)
        answer = (await until(connection, "response.completed"))[-1].response
    assert warm.output == []
    assert "My name is Alice." in answer.output_text


async def test_the_lane_of_a_request_is_on_each_of_its_events(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        await connection.response.create(model="m", input="Hello", stream_id="bed-7")
        events = await until(connection, "response.completed")
    assert {event.stream_id for event in events} == {"bed-7"}


async def test_a_message_that_is_no_request_is_an_error_and_the_socket_stays(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        for message in (b"\x00", "[]", '{"type": "response.steer"}', '{"type": "response.cancel"}'):
            await connection.send_raw(message)
            (event,) = await until(connection, "error")
            assert event.status == 400
        await connection.response.create(model="m", input="Hello")
        assert (await until(connection, "response.completed"))[-1].response.status == "completed"


async def test_a_compacted_conversation_still_knows_what_was_said(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="m", input="My allergy is to penicillin.")
    made = await client.responses.compact(model="gpt-5", previous_response_id=first.id, input="Thank you.")
    assert [item.type for item in made.output] == ["message", "message", "compaction"]
    assert made.usage.input_tokens > 0
    sealed: Any = [item.to_dict(warnings=False) for item in made.output]
    given: Any = [*sealed, {"role": "user", "content": "What is my allergy?"}]
    answer = await client.responses.create(model="m", input=given)
    assert "My allergy is to penicillin." in answer.output_text
    again = await client.responses.compact(model="gpt-5", previous_response_id=answer.id)
    assert [item.type for item in again.output] == ["message", "message", "message", "compaction"]


BOMB = base64.b64encode(zlib.compress(b"[" + b" " * 80_000_000 + b"]")).decode()


@pytest.mark.parametrize(
    "sealed", ["gAAAAABl-not-ours", "", base64.b64encode(zlib.compress(b'{"a": 1}')).decode(), BOMB]
)
async def test_a_compaction_of_another_server_is_refused(sealed: str, client: AsyncOpenAI) -> None:
    given: Any = [{"type": "compaction", "encrypted_content": sealed}, ASK]
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="m", input=given)
    assert refused.value.code == "invalid_encrypted_content"
