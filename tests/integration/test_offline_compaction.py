"""Compaction with the official client, and WebSocket messages that are not requests."""

from __future__ import annotations

import base64
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.support.offline_server import offline_server

ASK: Any = {"role": "user", "content": "When is the ward round?"}


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline")) as url:
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


async def test_a_message_that_is_no_request_is_an_error_and_the_socket_stays(client: AsyncOpenAI) -> None:
    async with client.responses.connect() as connection:
        for message in (b"\x00", "[]", '{"type": "response.cancel"}'):
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


def packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


@pytest.mark.parametrize(
    "sealed",
    [lambda: "gAAAAABl-not-ours", str, lambda: packed(b'{"a": 1}'), lambda: packed(b"[" + b" " * 80_000_000 + b"]")],
    ids=["foreign", "empty", "other content", "huge"],
)
async def test_a_compaction_of_another_server_is_refused(sealed: Callable[[], str], client: AsyncOpenAI) -> None:
    given: Any = [{"type": "compaction", "encrypted_content": sealed()}, ASK]
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="m", input=given)
    assert refused.value.code == "invalid_encrypted_content"
