"""Every body and every event of the offline server fits OpenAI's description of the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.offline_server import ApiDescription, offline_server

Json = dict[str, Any]

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city"}},
        "required": ["location"],
        "additionalProperties": False,
    },
    "strict": True,
}
PERSON = {
    "type": "json_schema",
    "name": "person",
    "strict": True,
    "schema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
}
IMAGE = "data:image/png;base64,iVBORw0KGgo="
LEAFLET = b"Metformin is contraindicated when eGFR is below 30 mL/min. Lisinopril can cause a dry cough. " * 3


@dataclass
class Api:
    """A client that holds each answer to the description as it comes."""

    http: httpx.Client
    description: ApiDescription
    made: int = 0
    kept: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, schema: str | None = None, status: int = 200, **request: Any) -> Json:
        answer = self.http.request(method, path, **request)
        assert answer.status_code == status, answer.text
        body: Json = answer.json()
        expected = "ErrorResponse" if status >= 400 else schema
        assert expected is None or self.description.problems(expected, body) == []
        self.made += 1
        return body

    def respond(self, **body: Any) -> Json:
        return self.call("POST", "/responses", "Response", json={"model": "m", **body})

    def stream(self, path: str = "/responses", method: str = "POST", **body: Any) -> list[Json]:
        request: Json = {"json": {"model": "m", "stream": True, **body}} if method == "POST" else {"params": body}
        answer = self.http.request(method, path, **request)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        events = list(frames(answer.text))
        for event in events:
            assert self.description.event_problems(event) == []
        self.made += 1
        return events


def frames(text: str) -> Iterator[Json]:
    for frame in text.split("\n\n"):
        if frame and not frame.startswith(":"):
            name, data = frame.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            yield event


@pytest.fixture(scope="module")
def api(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    description = ApiDescription(shared / "data/openapi/openai-openapi.json")
    with (
        offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "0") as base_url,
        httpx.Client(base_url=base_url, headers={"Authorization": "Bearer any"}, timeout=60) as http,
    ):
        yield Api(http, description)


@pytest.fixture(scope="module")
def store_id(api: Api) -> str:
    file = api.call(
        "POST", "/files", "OpenAIFile", files={"file": ("leaflet.txt", LEAFLET)}, data={"purpose": "assistants"}
    )
    store = api.call("POST", "/vector_stores", "VectorStoreObject", json={"name": "leaflets"})
    added = {"file_id": file["id"], "attributes": {"kind": "leaflet", "year": 2026}}
    api.call("POST", f"/vector_stores/{store['id']}/files", "VectorStoreFileObject", json=added)
    api.kept |= {"file": file["id"]}
    while api.call("GET", f"/vector_stores/{store['id']}", "VectorStoreObject")["status"] != "completed":
        pass
    return str(store["id"])


def call_and_answer(api: Api) -> Json:
    first = api.respond(input="What's the weather in San Francisco?", tools=[WEATHER])
    call = next(item for item in first["output"] if item["type"] == "function_call")
    return api.respond(
        previous_response_id=first["id"],
        tools=[WEATHER],
        input=[{"type": "function_call_output", "call_id": call["call_id"], "output": '{"celsius": 18}'}],
    )


EXCHANGES: dict[str, Callable[[Api], object]] = {
    "a text as input": lambda api: api.respond(input="Hello"),
    "messages as input": lambda api: api.respond(input=[{"role": "user", "content": "Hello"}]),
    "typed parts": lambda api: api.respond(
        input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
    ),
    "a system message": lambda api: api.respond(
        input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}]
    ),
    "instructions": lambda api: api.respond(input="Hello", instructions="Be brief."),
    "an image": lambda api: api.respond(
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": IMAGE},
                ],
            }
        ]
    ),
    "an earlier turn in the input": lambda api: api.respond(
        input=[
            {"role": "user", "content": "My name is Alice."},
            {"role": "assistant", "content": "Hello Alice."},
            {"role": "user", "content": "What is my name?"},
        ]
    ),
    "a function call": lambda api: api.respond(input="What's the weather in San Francisco?", tools=[WEATHER]),
    "a function call and its output": call_and_answer,
    "a tool choice by name": lambda api: api.respond(
        input="Hello", tools=[WEATHER], tool_choice={"type": "function", "name": "get_weather"}
    ),
    "a required call": lambda api: api.respond(input="Hello", tools=[WEATHER], tool_choice="required"),
    "no call allowed": lambda api: api.respond(input="Weather in Rome?", tools=[WEATHER], tool_choice="none"),
    "allowed tools": lambda api: api.respond(
        input="Weather in Rome?",
        tools=[WEATHER],
        tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]},
    ),
    "structured output": lambda api: api.respond(input="Alice is 30 years old.", text={"format": PERSON}),
    "a JSON object": lambda api: api.respond(input="Hello", text={"format": {"type": "json_object"}}),
    "an answer that is cut": lambda api: api.respond(input="Hello, please.", max_output_tokens=16),
    "metadata and user": lambda api: api.respond(input="Hello", metadata={"a": "b"}, user="u", safety_identifier="s"),
    "sampling settings": lambda api: api.respond(input="Hello", temperature=0.2, top_p=0.5, service_tier="auto"),
    "reasoning settings": lambda api: api.respond(
        input="Weather in Rome?",
        tools=[WEATHER],
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
    ),
    "nothing stored": lambda api: api.respond(input="Hello", store=False),
    "in the background": lambda api: api.respond(input="Hello", background=True),
    "a streamed text": lambda api: api.stream(input="Hello"),
    "a streamed call": lambda api: api.stream(input="What's the weather in San Francisco?", tools=[WEATHER]),
    "a streamed cut answer": lambda api: api.stream(input="Hello, please.", max_output_tokens=16),
    "streamed JSON": lambda api: api.stream(input="Alice is 30 years old.", text={"format": PERSON}),
    "streamed in the background": lambda api: api.stream(input="Hello", background=True),
    "retrieve": lambda api: api.call("GET", f"/responses/{api.respond(input='Hello')['id']}", "Response"),
    "retrieve as a stream": lambda api: api.stream(
        f"/responses/{api.respond(input='Hello')['id']}", "GET", stream="true"
    ),
    "retrieve the rest of a stream": lambda api: api.stream(
        f"/responses/{api.respond(input='Hello')['id']}", "GET", stream="true", starting_after="3"
    ),
    "input items": lambda api: api.call(
        "GET", f"/responses/{api.respond(input='Hello')['id']}/input_items", "ResponseItemList"
    ),
    "cancel": lambda api: api.call(
        "POST", f"/responses/{api.respond(input='Hello', background=True)['id']}/cancel", "Response"
    ),
    "delete": lambda api: api.call("DELETE", f"/responses/{api.respond(input='Hello')['id']}"),
    "models": lambda api: api.call("GET", "/models", "ListModelsResponse"),
    "one model": lambda api: api.call("GET", "/models/gpt-4o-mini", "Model"),
    "an unknown response": lambda api: api.call("GET", "/responses/resp_none", status=404),
    "an unknown previous response": lambda api: api.call(
        "POST", "/responses", status=400, json={"model": "m", "input": "Hi", "previous_response_id": "resp_none"}
    ),
    "no input": lambda api: api.call("POST", "/responses", status=400, json={"model": "m"}),
    "an unknown parameter": lambda api: api.call(
        "POST", "/responses", status=400, json={"model": "m", "input": "Hi", "colour": "red"}
    ),
    "a wrong type": lambda api: api.call("POST", "/responses", status=400, json={"model": "m", "input": 7}),
    "a tool that was not declared": lambda api: api.call(
        "POST",
        "/responses",
        status=400,
        json={"model": "m", "input": "Hi", "tool_choice": {"type": "function", "name": "f"}},
    ),
    "a schema that takes too much to fill": lambda api: api.call(
        "POST",
        "/responses",
        status=400,
        json={
            "model": "m",
            "input": "Hi",
            "tools": [
                {"type": "function", "name": "f", "parameters": {"type": "array", "minItems": 10**9, "items": {}}}
            ],
        },
    ),
    "no JSON": lambda api: api.call(
        "POST", "/responses", status=400, content=b"{", headers={"Content-Type": "application/json"}
    ),
    "an unknown URL": lambda api: api.call("GET", "/nothing", status=404),
    "a wrong method": lambda api: api.call("PUT", "/responses", status=405),
    "no key": lambda api: api.call("GET", "/models", status=401, headers={"Authorization": ""}),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_an_exchange_fits_the_description(name: str, api: Api) -> None:
    EXCHANGES[name](api)


def test_files_and_vector_stores_fit_the_description(api: Api, store_id: str) -> None:
    file = api.kept["file"]
    store = f"/vector_stores/{store_id}"
    filters = {
        "type": "and",
        "filters": [{"type": "eq", "key": "kind", "value": "leaflet"}, {"type": "gte", "key": "year", "value": 2020}],
    }
    api.call("GET", "/files", "ListFilesResponse")
    api.call("GET", f"/files/{file}", "OpenAIFile")
    api.call("GET", "/vector_stores", "ListVectorStoresResponse")
    api.call("POST", store, "VectorStoreObject", json={"name": "renamed", "metadata": {"a": "b"}})
    api.call("GET", f"{store}/files", "ListVectorStoreFilesResponse")
    api.call("GET", f"{store}/files/{file}", "VectorStoreFileObject")
    api.call("POST", f"{store}/files/{file}", "VectorStoreFileObject", json={"attributes": {"kind": "leaflet"}})
    api.call("GET", f"{store}/files/{file}/content", "VectorStoreFileContentResponse")
    page = api.call("POST", f"{store}/search", "VectorStoreSearchResultsPage", json={"query": "metformin"})
    assert page["data"]
    assert not api.call(
        "POST", f"{store}/search", "VectorStoreSearchResultsPage", json={"query": "metformin", "filters": filters}
    )["data"]


def test_hosted_file_search_fits_the_description(api: Api, store_id: str) -> None:
    request: Json = {
        "input": "When is metformin contraindicated?",
        "include": ["file_search_call.results"],
        "tools": [{"type": "file_search", "vector_store_ids": [store_id], "max_num_results": 3}],
    }
    answered = api.respond(**request)
    streamed = api.stream(**request)
    kinds = [item["type"] for item in answered["output"]]
    assert kinds == ["reasoning", "file_search_call", "message"]
    assert answered["output"][1]["results"][0]["text"].startswith("Metformin is contraindicated")
    (citation,) = answered["output"][2]["content"][0]["annotations"]
    assert citation["filename"] == "leaflet.txt"
    (added,) = [event["annotation"] for event in streamed if event["type"].endswith("annotation.added")]
    assert added == citation


def test_thirty_exchanges_are_held_to_the_description(api: Api, store_id: str) -> None:
    del store_id
    for exchange in EXCHANGES.values():
        exchange(api)
    assert api.made >= 30
