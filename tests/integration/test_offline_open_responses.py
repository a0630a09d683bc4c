"""The offline server passes what the Open Responses project asks of a server, over HTTP, SSE and WebSocket.

The requests and the demands are those of its acceptance tests; the schemas come from its own package of types.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Any

import httpx
import openresponses_types.types as wire
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from websockets.sync.client import ClientConnection, connect

from tests.support.offline_server import offline_server

Json = dict[str, Any]
_EVENTS: list[Any] = [
    found for name, found in inspect.getmembers(wire, inspect.isclass) if name.endswith("StreamingEvent")
]
EVENT: TypeAdapter[Any] = TypeAdapter(reduce(or_, _EVENTS))
SOCKET_EVENT: TypeAdapter[Any] = TypeAdapter(reduce(or_, [*_EVENTS, wire.WebSocketErrorEvent]))
HEADERS = {"Authorization": "Bearer any"}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}},
        "required": ["location"],
    },
}
# One red pixel.
IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "0") as url:
        yield url


@pytest.fixture(scope="module")
def http(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base_url, headers=HEADERS, timeout=60) as found:
        yield found


@pytest.fixture
def socket(base_url: str) -> Iterator[ClientConnection]:
    with open_socket(base_url) as found:
        yield found


def open_socket(base_url: str) -> ClientConnection:
    return connect(base_url.replace("http:", "ws:") + "/responses", additional_headers=HEADERS)


def said(role: str, content: Any, **more: str) -> Json:
    return {"type": "message", "role": role, "content": content, **more}


def fits(schema: type[BaseModel] | TypeAdapter[Any], body: Json) -> Json:
    """``body``, once it is seen to fit; JSON is read strictly, as the project's own tests read it."""
    read = schema.validate_json if isinstance(schema, TypeAdapter) else schema.model_validate_json
    read(json.dumps(body), strict=True)
    return body


def respond(http: httpx.Client, *given: Json, **more: Any) -> Json:
    answer = http.post("/responses", json={"model": "m", "input": list(given), "stream": False, **more})
    assert answer.status_code == 200, answer.text
    return fits(wire.ResponseResource, answer.json())


def completed(response: Json) -> Json:
    assert response["status"] == "completed"
    assert response["output"] != []
    return response


def stream(http: httpx.Client, *given: Json, **more: Any) -> list[Json]:
    answer = http.post("/responses", json={"model": "m", "input": list(given), "stream": True, **more})
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [fits(EVENT, json.loads(line)) for line in lines if line != "[DONE]"]


def turn(socket: ClientConnection, given: Any, **more: Any) -> list[Json]:
    """The events of one request on a socket, to its last."""
    socket.send(json.dumps({"type": "response.create", "model": "m", "store": False, "input": given, **more}))
    events: list[Json] = []
    while not events or events[-1]["type"] not in {
        "response.completed",
        "response.failed",
        "response.incomplete",
        "error",
    }:
        events.append(fits(SOCKET_EVENT, json.loads(socket.recv(timeout=60))))
    return events


def ended(events: list[Json]) -> Json:
    response: Json = events[-1]["response"]
    return completed(fits(wire.ResponseResource, response))


def code_of(events: list[Json]) -> str:
    assert events[-1]["type"] == "error"
    return str(events[-1]["error"]["code"])


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([said("user", "Say hello in exactly 3 words.")], id="basic text"),
        pytest.param(
            [
                said("assistant", "I should answer with the saved number.", phase="commentary"),
                said("assistant", "The number is four.", phase="final_answer"),
                said("user", "Repeat only the number."),
            ],
            id="assistant phases",
        ),
        pytest.param(
            [said("system", "You are a pirate. Always respond in pirate speak."), said("user", "Say hello.")],
            id="system prompt",
        ),
        pytest.param(
            [
                said(
                    "user",
                    [
                        {"type": "input_text", "text": "What do you see in this image? Answer in one sentence."},
                        {"type": "input_image", "image_url": IMAGE},
                    ],
                )
            ],
            id="image",
        ),
        pytest.param(
            [
                said("user", "My name is Alice."),
                said("assistant", "Hello Alice! Nice to meet you. How can I help you today?"),
                said("user", "What is my name?"),
            ],
            id="multi-turn",
        ),
    ],
)
def test_an_answer_is_complete_and_fits(given: list[Json], http: httpx.Client) -> None:
    completed(respond(http, *given))


def test_a_stream_fits_event_by_event(http: httpx.Client) -> None:
    events = stream(http, said("user", "Count from 1 to 5."))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    ended(events)


def test_a_declared_function_is_called(http: httpx.Client) -> None:
    asked = respond(http, said("user", "What's the weather like in San Francisco?"), tools=[WEATHER])
    assert "function_call" in [item["type"] for item in asked["output"]]


def test_a_streamed_call_has_its_argument_events(http: httpx.Client) -> None:
    events = stream(http, said("user", "What's the weather like in San Francisco?"), tools=[WEATHER])
    kinds = {(event["type"], event.get("item", {}).get("type")) for event in events}
    assert kinds >= {
        ("response.output_item.added", "function_call"),
        ("response.function_call_arguments.delta", None),
        ("response.function_call_arguments.done", None),
        ("response.output_item.done", "function_call"),
    }


def test_a_structured_output_is_echoed_and_fits(http: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"greeting": {"type": "string"}}, "required": ["greeting"]}
    wanted = {"type": "json_schema", "name": "hello", "schema": schema, "strict": False}
    answer = http.post("/responses", json={"model": "m", "input": "Say hello.", "text": {"format": wanted}}).json()
    assert answer["text"]["format"]["schema"] == schema
    assert list(json.loads(completed(answer)["output"][-1]["content"][0]["text"])) == ["greeting"]


def test_a_conversation_is_compacted(http: httpx.Client) -> None:
    told = [
        said("user", "We agreed to launch on Tuesday and notify support first."),
        said("assistant", "Understood. The launch is Tuesday, with support notified beforehand."),
    ]
    answer = http.post("/responses/compact", json={"model": "m", "prompt_cache_key": "some-key", "input": told})
    body = fits(wire.CompactResource, answer.json())
    assert body["object"] == "response.compaction"
    assert [item["type"] for item in body["output"]] == ["message", "compaction"]


def test_a_compaction_needs_its_model(http: httpx.Client) -> None:
    answer = http.post("/responses/compact", json={"input": [said("user", "Compact this conversation.")]})
    assert answer.status_code == 400


def test_a_socket_answers_one_request_after_the_other(socket: ClientConnection) -> None:
    ended(turn(socket, [said("user", "Count from 1 to 3.")]))
    ended(turn(socket, "Reply with exactly: second"))


def test_a_socket_continues_what_is_not_stored(socket: ClientConnection, http: httpx.Client) -> None:
    first = ended(turn(socket, "My code word is cobalt."))
    assert http.get(f"/responses/{first['id']}").status_code == 404
    second = ended(turn(socket, "What is my code word?", previous_response_id=first["id"]))
    assert "cobalt" in second["output"][-1]["content"][0]["text"]


def test_another_socket_does_not_know_what_is_not_stored(socket: ClientConnection, base_url: str) -> None:
    first = ended(turn(socket, "Remember the code word: copper. Reply with OK."))
    with open_socket(base_url) as other:
        assert code_of(turn(other, "Go on", previous_response_id=first["id"])) == "previous_response_not_found"
        ended(turn(other, [said("user", "Start anew.")]))


def test_a_missing_previous_response_has_its_code(socket: ClientConnection) -> None:
    assert code_of(turn(socket, "Go on", previous_response_id="resp_missing")) == "previous_response_not_found"


def test_a_failed_continuation_is_forgotten(socket: ClientConnection) -> None:
    first = ended(turn(socket, "Remember the code word: ember. Reply with OK."))
    output = {"type": "function_call_output", "call_id": "call_missing", "output": "No such call was made."}
    assert turn(socket, [output], previous_response_id=first["id"])[-1]["type"] == "error"
    assert code_of(turn(socket, "Go on", previous_response_id=first["id"])) == "previous_response_not_found"


def test_a_compaction_begins_a_new_chain(socket: ClientConnection, http: httpx.Client) -> None:
    told = [
        said("user", [{"type": "input_text", "text": "My compaction code word is slate."}]),
        said("assistant", [{"type": "output_text", "text": "OK."}]),
    ]
    output = http.post("/responses/compact", json={"model": "m", "input": told}).json()["output"]
    answer = ended(turn(socket, [*output, said("user", "What is my compaction code word?")], tools=[]))
    assert "slate" in answer["output"][-1]["content"][0]["text"]


def test_the_schemas_do_refuse(http: httpx.Client) -> None:
    body = respond(http, said("user", "Hello"))
    del body["completed_at"]
    with pytest.raises(ValidationError):
        fits(wire.ResponseResource, body)
