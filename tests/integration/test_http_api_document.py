"""The API's OpenAPI document, and the API held to it: every operation with odd inputs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest

from chat_app import __version__
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import Api, api, ask
from tests.support.engine import chained, clinic, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, calls_reply, text_reply

CANARY = "JaneRoe1961"
CALL = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
ODD = (
    CANARY,
    "",
    " ",
    "0",
    "-1",
    "1e9",
    "null",
    "true",
    "[]",
    "{}",
    "\x00",
    "%00",
    "..",
    "../../etc/passwd",
    "*",
    "'; --",
    "𝔘𝔫𝔦",
    "\u202e" + CANARY,
    "a" * 5_000,
    "session_" + "0" * 32,
    "session_" + "g" * 32,
    "1" * 40,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@asynccontextmanager
async def documented(redis_url: str, folder: Path) -> AsyncIterator[tuple[Api, httpx.AsyncClient, dict[str, Any]]]:
    """The API of a signed-in user without limits, and its document."""
    store = RedisSessionStore(redis_url)
    found = passage(text="Start metformin at 500 mg once daily with food.")
    cited = chained(text_reply("Start metformin at 500 mg once daily with food. [1]", response_id="resp_2"))
    async with (
        ScriptedServer([calls_reply(CALL, response_id="resp_1"), cited, text_reply("Yes.")], repeat=True) as server,
        clinic(server, redis_url, [guideline_tool(found)], store=store) as agent,
        api(agent, folder / "data", sessions=store, questions_per_minute=10_000, concurrent_turns=1_000) as running,
        running.client() as client,
    ):
        yield running, client, (await client.get("/api/v1/openapi.json")).json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


async def test_the_document_says_what_a_client_has_to_know(redis_url: str, tmp_path: Path) -> None:
    async with documented(redis_url, tmp_path) as (_, _, document):
        pass
    assert (document["info"]["title"], document["info"]["version"]) == ("Asclepius", __version__)
    assert "/auth/header" in document["info"]["description"]
    named = {tag["name"] for tag in document["tags"]}
    for method, path, operation in operations(document):
        if not path.startswith("/api/v1"):
            continue
        assert operation["description"], f"{method} {path}"
        assert set(operation["tags"]) <= named, f"{method} {path}"
        assert operation["security"] == [{"login": []}]
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"], f"{method} {path} {status}"
    expected = {
        ("POST", "/api/v1/consult"),
        ("GET", "/api/v1/turns/{turn_id}/events"),
        ("DELETE", "/api/v1/turns/{turn_id}"),
        ("GET", "/api/v1/conversations"),
        ("GET", "/api/v1/conversations/{conversation_id}"),
        ("DELETE", "/api/v1/conversations/{conversation_id}"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }
    assert expected <= {(method, path) for method, path, _ in operations(document)}


async def test_every_reference_in_the_document_leads_somewhere(redis_url: str, tmp_path: Path) -> None:
    async with documented(redis_url, tmp_path) as (_, _, document):
        pass
    schemas = document["components"]["schemas"]
    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas, reference
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


async def test_the_examples_are_valid_and_work(redis_url: str, tmp_path: Path) -> None:
    async with documented(redis_url, tmp_path) as (_, client, document):
        content = document["paths"]["/api/v1/consult"]["post"]["requestBody"]["content"]["application/json"]
        for example in content["examples"].values():
            jsonschema.validate(example["value"], {**content["schema"], "components": document["components"]})
            if "models" not in example["value"]:
                assert (await client.post("/api/v1/consult", json=example["value"])).status_code == 200
    assert len(content["examples"]) >= 3


async def test_what_is_answered_is_what_the_document_says(redis_url: str, tmp_path: Path) -> None:
    async with documented(redis_url, tmp_path) as (_, client, document):
        whole = await ask(client)
        answer = (await client.post("/api/v1/consult", json={"message": "How?", "stream": False})).json()
        name = answer["conversation_id"]
        listed = (await client.get("/api/v1/conversations")).json()
        read = (await client.get(f"/api/v1/conversations/{name}")).json()
        problem = (await client.get("/api/v1/conversations/none")).json()
    kinds = {frame.event for frame in whole}
    assert {"turn_started", "text_delta", "citation", "run_item_stream_event", "references", "turn_ended"} <= kinds
    checks = [("AgentEvent", frame.data) for frame in whole] + [
        ("ConsultAnswer", answer),
        ("ConversationList", listed),
        ("StoredConversation", read),
        ("ProblemDetails", problem),
    ]
    for schema, value in checks:
        jsonschema.validate(value, {"$ref": f"#/components/schemas/{schema}", "components": document["components"]})


@pytest.mark.slow
async def test_odd_inputs_get_documented_answers_that_repeat_nothing(
    redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every parameter of every operation, one odd value after another; rows 39 and 46."""
    caplog.set_level("DEBUG", "chat_app")
    tried = 0
    async with documented(redis_url, tmp_path) as (_, client, document):
        for method, path, operation in operations(document):
            if not path.startswith("/api/v1"):
                continue
            for request in _requests(method, path, operation):
                tried += 1
                response = await client.send(client.build_request(**request))
                await response.aread()
                _holds(response, path, operation, request)
    assert tried > 200
    assert CANARY not in caplog.text


def _requests(method: str, path: str, operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usual = {"document_id": "hypertension", "page": "3", "passage_id": "htn:1:7"}
    names = re.findall(r"{(\w+)}", path)
    body = {"json": {"message": "How?", "stream": False}} if "requestBody" in operation else {}
    base: dict[str, Any] = {"method": method, **body}
    for odd in ODD:
        for name in names:
            values = {one: usual.get(one, "x") for one in names} | {name: quote(odd, safe="")}
            yield {**base, "url": path.format(**values)}
        address = path.format(**{one: usual.get(one, "x") for one in names})
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query":
                yield {**base, "url": address, "params": {parameter["name"]: odd}}
            elif parameter["in"] == "header" and odd.isascii() and odd.isprintable() and odd.strip():
                yield {**base, "url": address, "headers": {parameter["name"]: odd}}
        if body:
            for field in ("conversation_id", "model", "models", "length", "stream", "use_drug_database", odd):
                for value in (odd, [odd], {odd: odd}, 1, None):
                    yield {**base, "url": address, "json": {**body["json"], field: value}}


def _holds(response: httpx.Response, path: str, operation: dict[str, Any], request: dict[str, Any]) -> None:
    what = f"{request} got {response.status_code}: {response.text[:300]}"
    assert response.status_code < 500, what
    if response.status_code >= 400:
        assert response.headers["content-type"] == "application/problem+json", what
        assert CANARY not in response.text, what
        # An address with an empty or dotted part is another address, which may have other methods.
        if response.status_code != 405:
            assert str(response.status_code) in operation["responses"] or response.status_code == 404, f"{path}: {what}"
        assert json.loads(response.text)["status"] == response.status_code
