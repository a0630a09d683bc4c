"""Malformed requests to the offline server: each is refused as OpenAI refuses it, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.offline_server import offline_server

Json = dict[str, Any]
SECRET = "Mrs Quillfeather"
PIXEL = "data:image/png;base64,"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        offline_server(tmp_path_factory.mktemp("offline")) as url,
        httpx.Client(base_url=url, headers={"Authorization": "Bearer any"}, timeout=60) as client,
    ):
        yield client


def part(**fields: Any) -> Json:
    return {"input": [{"role": "user", "content": [fields]}]}


def tool(**fields: Any) -> Json:
    return {"tools": [{"type": "function", "name": "f", **fields}]}


def search(**fields: Any) -> Json:
    return {"tools": [{"type": "file_search", "vector_store_ids": ["vs_none"], **fields}]}


def output(schema: Any) -> Json:
    return {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}}


WRONG_VALUES: dict[str, list[Any]] = {
    "model": [None, 7, "", []],
    "input": [7, True, {}, [7], [None], ["text"], [[]]],
    "instructions": [7, {}],
    "previous_response_id": [7, "resp_none"],
    "tools": ["f", {}, [7], [None], [{}], [{"type": SECRET}], [{"type": 7}]],
    "tool_choice": [
        7,
        SECRET,
        {},
        {"type": SECRET},
        {"type": "function", "name": "f"},
        {"type": "allowed_tools"},
        "required",
    ],
    "parallel_tool_calls": ["yes", 1],
    "truncation": [SECRET, True],
    "text": ["plain", [], {"format": SECRET}, {"format": {"type": SECRET}}, {"verbosity": SECRET}],
    "reasoning": ["high", {"effort": SECRET}, {"summary": SECRET}],
    "stream": ["yes", 1, {}],
    "stream_options": ["yes", {"include_obfuscation": "yes"}, {"include_obfuscation": True}],
    "background": ["yes", 1],
    "store": ["yes", 0],
    "metadata": ["m", [], {"k": 7}, {"k" * 65: "v"}, {"k": "v" * 513}, {str(n): "v" for n in range(17)}],
    "max_output_tokens": ["many", 0, -1, 15, 16.5, 2**70],
    "max_tool_calls": ["many", 0, 1.5, 1e30],
    "include": ["results", [SECRET], {}],
    "temperature": ["hot", -1, 2.1],
    "top_p": ["all", -0.1, 1.1],
    "top_logprobs": ["all", -1, 21],
    "presence_penalty": [3, "no"],
    "frequency_penalty": [-3, "no"],
    "user": [7],
    "safety_identifier": [7, "s" * 65],
    "prompt_cache_key": [7],
    "prompt_cache_retention": [SECRET],
    "service_tier": [SECRET],
    "prompt": [{"id": "pmpt_1"}],
    "conversation": ["conv_1"],
    "colour": ["red"],
}
BAD: list[Json] = [
    *({name: value} for name, values in WRONG_VALUES.items() for value in values),
    {"background": True, "store": False},
    {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
    {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": ["function"], "name": {}}]}},
    {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}},
    {"input": [{"role": "user", "content": "x"}] * 10_001},
    {"tools": [{"type": "function", "name": f"f{number}"} for number in range(129)]},
    {"input": [{"role": SECRET, "content": "x"}]},
    {"input": [{"role": "user"}]},
    {"input": [{"role": "user", "content": 7}]},
    {"input": [{"type": SECRET}]},
    {"input": [{"type": "function_call", "call_id": "c", "name": "f"}]},
    {"input": [{"type": "function_call", "call_id": "", "name": "f", "arguments": "{}"}]},
    {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
    {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
    {"input": [{"type": "function_call_output", "call_id": "c", "output": 7}]},
    {"input": [{"type": "compaction", "encrypted_content": "not base64"}]},
    {"input": [{"type": "compaction", "encrypted_content": "bm8="}]},
    part(type=SECRET),
    part(type="input_text"),
    part(type="input_text", text=7),
    part(type="input_file"),
    part(type="input_file", file_id="file-none"),
    part(type="input_file", filename="a.pdf", file_data="data:application/pdf;base64,@@@"),
    part(type="input_audio", input_audio={"data": "@@@", "format": "wav"}),
    part(type="input_image"),
    part(type="input_image", image_url=7),
    part(type="input_image", image_url=f"{PIXEL}@@@"),
    part(type="input_image", image_url=f"{PIXEL}iVBOR"),
    tool(name=""),
    tool(name="two words"),
    tool(name="n" * 65),
    tool(name=None),
    tool(parameters="none"),
    tool(parameters={"properties": []}),
    tool(parameters={"type": "object", "properties": {"q": 7}}),
    tool(parameters={"type": "object", "properties": {"q": None}}),
    tool(parameters={"type": "object", "required": "q"}),
    tool(parameters={"type": "object", "properties": {"q": {"type": "integer", "minimum": "1"}}}),
    tool(strict="yes"),
    tool(description=7),
    search(vector_store_ids=[]),
    search(vector_store_ids="vs_none"),
    search(vector_store_ids=["vs_none"] * 9),
    search(max_num_results=0),
    search(max_num_results=51),
    search(ranking_options={"score_threshold": 2}),
    search(filters={"type": SECRET}),
    search(filters={"type": "eq", "key": "k"}),
    search(filters={"type": "and", "filters": "none"}),
    output(None),
    output([]),
    output({"type": "string", "pattern": "("}),
    output({"type": "array", "minItems": 1_000_000_000}),
    output({"type": "object", "properties": {"q": {"type": SECRET}}}),
    output({"type": "number", "multipleOf": 0}),
    output({"type": "integer", "minimum": 5, "maximum": 1}),
    output({"type": "string", "minLength": 9, "maxLength": 1}),
    output({"type": []}),
    output({"type": [["string"]]}),
    output({"enum": []}),
    output({"format": 5}),
    output({"$ref": 5}),
    output({"$ref": "https://example.com/schema.json"}),
    output({"type": "string", "pattern": "(a|b)" * 5_000}),
    output({"type": "object", "minProperties": 1_000_000_000}),
    output({"type": "array", "minContains": 1_000_000_000}),
    output({"type": "object", "required": [f"p{number}" for number in range(10_001)]}),
    output({"type": "array", "minItems": 2.5}),
]
MISSING: list[tuple[str, str, Json | None]] = [
    ("POST", "/responses", {"model": "m", "input": "Hi", **search()}),
    ("POST", "/responses", {"model": "m", "input": "Hi", "stream": True, **search()}),
    ("POST", "/responses", {"model": "m", "input": [{"type": "item_reference", "id": "msg_none"}]}),
    ("GET", "/responses/resp_none", None),
    ("DELETE", "/responses/resp_none", None),
    ("POST", "/responses/resp_none/cancel", None),
    ("GET", "/responses/resp_none/input_items", None),
    ("GET", "/files/file-none", None),
    ("GET", "/files/file-none/content", None),
    ("DELETE", "/files/file-none", None),
    ("GET", "/vector_stores/vs_none", None),
    ("POST", "/vector_stores/vs_none", {"name": "n"}),
    ("DELETE", "/vector_stores/vs_none", None),
    ("POST", "/vector_stores/vs_none/search", {"query": "q"}),
    ("GET", "/vector_stores/vs_none/files", None),
    ("POST", "/vector_stores/vs_none/files", {"file_id": "file-none"}),
    ("GET", "/nothing", None),
]
BODIES: list[tuple[str, Any]] = [
    ("/responses", {}),
    ("/responses", {"input": "Hi"}),
    ("/responses", {"model": "m"}),
    ("/responses", []),
    ("/responses", "Hi"),
    ("/responses", None),
    ("/responses/compact", {"input": "Hi"}),
    ("/responses/compact", {"model": "m"}),
    ("/vector_stores", {"file_ids": "file-none"}),
    ("/vector_stores", {"expires_after": {"anchor": "last_active_at", "days": 0}}),
    ("/vector_stores", {"chunking_strategy": {"type": SECRET}}),
    ("/vector_stores", {"metadata": {"k": 7}}),
    ("/embeddings", {"model": "m"}),
    ("/embeddings", {"model": "m", "input": []}),
    ("/embeddings", {"model": "m", "input": "a", "encoding_format": SECRET}),
]
RAW = [b"", b"{", b'{"model": NaN}', b'"\xff"', b'{"model": "\\ud800", "input": "Hi"}', b"[" * 100_000]


def refused(answer: httpx.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    assert SECRET not in answer.text
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["message"]


@pytest.mark.parametrize("change", BAD, ids=lambda change: str(change)[:60])
def test_a_malformed_field_is_a_bad_request(change: Json, http: httpx.Client) -> None:
    refused(http.post("/responses", json={"model": "m", "input": "Hi", **change}), 400)


def test_look_around_is_refused_in_words_that_name_it(http: httpx.Client) -> None:
    answer = http.post(
        "/responses", json={"model": "m", "input": "Hi", **output({"type": "string", "pattern": "(?!a)"})}
    )
    refused(answer, 400)
    assert "regex lookaround is not supported" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] == "text.format.schema"


@pytest.mark.parametrize(("method", "path", "body"), MISSING)
def test_what_does_not_exist_is_not_found(method: str, path: str, body: Json | None, http: httpx.Client) -> None:
    refused(http.request(method, path, json=body), 404)


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_a_malformed_body_is_a_bad_request(path: str, body: Any, http: httpx.Client) -> None:
    refused(http.post(path, json=body), 400)


@pytest.mark.parametrize("body", RAW, ids=range(len(RAW)))
def test_a_body_that_is_no_json_is_a_bad_request(body: bytes, http: httpx.Client) -> None:
    refused(http.post("/responses", content=body, headers={"Content-Type": "application/json"}), 400)


def test_the_server_still_answers(http: httpx.Client) -> None:
    image = {"role": "user", "content": [{"type": "input_image", "image_url": f"{PIXEL}iVBORw=="}]}
    spoken = {"role": "user", "content": [{"type": "input_text", "text": ""}]}
    assert http.post("/responses", json={"model": "m", "input": [spoken, image]}).status_code == 200
