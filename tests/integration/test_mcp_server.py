"""The MCP server as the SDK's own client meets it, over standard input and output and over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl

from chat_app.interface.security.accounts import hash_password
from chat_app.tool_registry import built_in_tools
from tests.support.served import COMMAND, Served, asclepius, clean_environment, serve
from tools.drug_database import DrugDatabase
from tools.guidelines import GuidelineLibrary

QUESTION = "Which patients must not take ACE inhibitors?"
TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": types.LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
HEADERS = {"accept": "application/json, text/event-stream"}


def key_of(served: Served, user: str, **environment: str) -> str:
    done = asclepius("keys", "create", user, "--scope", "read", data_dir=served.data_dir, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[ClientSession]:
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
        streamable_http_client(f"{url}/mcp", http_client=client) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def connected(served: Served, transport: str) -> AsyncIterator[ClientSession]:
    if transport == "http":
        async with over_http(served.url, key_of(served, "demo")) as session:
            yield session
        return
    command = StdioServerParameters(command=COMMAND, args=["mcp"], env=clean_environment(served.data_dir))
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def called(session: ClientSession, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Return the structured content of a call; the client checks it against the tool's schema."""
    answer = await session.call_tool(tool, arguments)
    (text,) = answer.content
    assert isinstance(text, types.TextContent)
    assert not answer.isError, text.text
    assert answer.structuredContent is not None
    assert json.loads(text.text) == answer.structuredContent, "clients without structured content read the text"
    return answer.structuredContent


async def refusal(session: ClientSession, tool: str, /, **arguments: Any) -> str:
    answer = await session.call_tool(tool, arguments)
    (text,) = answer.content
    assert isinstance(text, types.TextContent)
    assert answer.isError
    return text.text


@TRANSPORTS
async def test_a_client_lists_what_the_model_has_without_what_only_strict_mode_needs(
    served: Served, transport: str, tmp_path: Path
) -> None:
    async with connected(served, transport) as session:
        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
    definitions = [tool.definition for tool in built_in_tools(DrugDatabase("x"), GuidelineLibrary("x", tmp_path))]
    by_description = {tool.description: tool for tool in listed.values()}
    assert {definition.description for definition in definitions} == by_description.keys() - {
        listed["read_passage"].description
    }
    for definition in definitions:
        schema = by_description[definition.description].inputSchema
        assert schema["properties"] == definition.parameters["properties"]
    assert listed.keys() >= {"search_drugs", "drug_label", "check_interactions", "search_guidelines", "calculate_bmi"}
    assert listed["search_guidelines"].inputSchema["required"] == ["question"]
    assert listed["check_interactions"].inputSchema["required"] == ["names"]
    for tool in listed.values():
        jsonschema.Draft202012Validator.check_schema(tool.inputSchema)
        assert tool.annotations is not None
        assert tool.annotations.readOnlyHint


@TRANSPORTS
async def test_a_passage_that_a_search_found_is_read_by_its_id_and_by_its_address(
    served: Served, transport: str
) -> None:
    async with connected(served, transport) as session:
        found = await called(session, "search_guidelines", question=QUESTION)
        first, source = found["result"]["passages"][0], found["passages"][0]
        assert first["cite"] == source["cite"]
        read = await called(session, "read_passage", passage_id=source["cite"])
        resource = await session.read_resource(AnyUrl(source["uri"]))
        assert isinstance(resource.contents[0], types.TextResourceContents)
        passage = json.loads(resource.contents[0].text)
        documents = {document.title: document.uri for document in (await session.list_resources()).resources}
        outline = await session.read_resource(documents[source["title"]])
        assert isinstance(outline.contents[0], types.TextResourceContents)
        listed = json.loads(outline.contents[0].text)["passages"]
        templates = (await session.list_resource_templates()).resourceTemplates
    assert "angioedema" in passage["text"]
    assert first["text"] == read["result"]["text"] == passage["text"]
    assert source["page"] == passage["page"] >= 1
    assert {"uri": source["uri"], "page": source["page"]}.items() <= next(
        one.items() for one in listed if one["uri"] == source["uri"]
    )
    assert [template.uriTemplate for template in templates] == [
        "asclepius://documents/{document_id}",
        "asclepius://passages/{passage_id}",
    ]


@TRANSPORTS
async def test_drugs_and_calculators_answer_with_their_sources(served: Served, transport: str) -> None:
    async with connected(served, transport) as session:
        drug = await called(session, "search_drugs", drug_name="Glucophage")
        label = await called(session, "drug_label", name="metformin", sections=["contraindications"])
        pair = await called(session, "check_interactions", names=["warfarin", "aspirin"])
        index = await called(
            session, "calculate_bmi", weight={"value": 80, "unit": "kg"}, height={"value": 2, "unit": "m"}
        )
        needs = await called(session, "calculate_bmi")
    assert drug["result"]["results"][0]["generic_name"] == "metformin"
    for answer in (label, pair):
        assert answer["result"]["results"][0]["cite"] in {source["cite"] for source in answer["passages"]}
        assert answer["passages"][0]["title"]
    assert "20" in index["result"]["result"]
    assert "Bands" in index["passages"][0]["text"]
    assert "Height" in needs["result"]["needs"]


@TRANSPORTS
async def test_what_does_not_exist_is_refused_without_repeating_it(served: Served, transport: str) -> None:
    async with connected(served, transport) as session:
        with pytest.raises(McpError, match="no tool of that name"):
            await session.call_tool("jane_roe", {})
        with pytest.raises(McpError, match="cannot be read"):
            await session.call_tool("check_interactions", {"names": 2**64})
        for address in (
            "asclepius://passages/guideline%3Ajane-roe%40e598ee3e8e39%3A1",
            "asclepius://documents/jane-roe",
            "asclepius://patients/jane-roe",
            "file:///etc/passwd",
        ):
            with pytest.raises(McpError, match="no such document or passage"):
                await session.read_resource(AnyUrl(address))
        said = [
            await refusal(session, "read_passage", passage_id="jane-roe"),
            await refusal(session, "search_guidelines", question=QUESTION, limit="jane-roe"),
            await refusal(session, "search_guidelines", question=QUESTION, documents=["jane-roe"]),
            await refusal(session, "search_guidelines", limit=2),
            await refusal(session, "read_passage", passage_id=None),
        ]
        assert (await called(session, "search_drugs", drug_name="metformin"))["passages"], "the session goes on"
    assert "There is no such passage" in said[0]
    assert "limit" in said[1]
    assert "no such argument" in said[2], "parameters that the app sets are hidden"
    assert "needs question" in said[3]
    assert "needs passage_id" in said[4]
    assert "jane" not in " ".join(said)


def test_the_address_takes_requests_of_its_own_pages_and_of_keys_alone(served: Served) -> None:
    key = {"Authorization": f"Bearer {key_of(served, 'demo')}"}
    with httpx.Client(base_url=served.url, headers=HEADERS, timeout=60) as client:
        nobody = client.post("/mcp", json=INITIALIZE)
        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")
        assert "asclepius keys create" in nobody.json()["detail"]
        assert client.post("/mcp", json=INITIALIZE, headers={"Authorization": "Bearer ask_x_y"}).status_code == 401
        foreign = {**key, "origin": "https://evil.example"}
        assert client.post("/mcp", json=INITIALIZE, headers=foreign).status_code == 403
        assert client.post("/mcp", json=INITIALIZE, headers={**key, "host": "evil.example"}).status_code == 421
        assert client.post("/mcp", json=INITIALIZE, headers=key).status_code == 200
        assert client.post("/mcp", content=b"x" * 1_000_001, headers=key).status_code == 413
        assert client.post("/mcp", content=b"{", headers=key).status_code == 400
        for malformed in (
            {"patient": "Jane Roe"},
            [INITIALIZE],
            {**INITIALIZE, "params": "Jane Roe"},
            b'"Jane Roe',
            b"\xff",
        ):
            given = {"content": malformed} if isinstance(malformed, bytes) else {"json": malformed}
            answer = client.post("/mcp", headers=key, **given)  # type: ignore[arg-type]
            assert answer.status_code == 400
            assert types.JSONRPCError.model_validate_json(answer.content).error.message.startswith("The body is n")
            assert "Roe" not in answer.text
            assert "input" not in answer.text
        for method in ("GET", "DELETE", "PUT"):
            answer = client.request(method, "/mcp", headers=key)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST"), method
        wrong = {**INITIALIZE, "method": "tools/call", "params": {"name": {"patient": "Jane Roe"}}}
        assert client.post("/mcp", json=wrong, headers=key).json()["error"]["code"] == types.INVALID_PARAMS
        client.post("/auth/header")
        assert client.post("/mcp", json=INITIALIZE).status_code == 200, "a login is as good as a key"
    log = served.log.read_text()
    assert "Reported at session" in log, "the SDK logs what it could not read"
    assert "Roe" not in log


@pytest.fixture
def below_a_path(tmp_path: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    users = ",".join(f"{name}:{hash_password('right')}" for name in ("ana", "bert"))
    settings = {"ASCLEPIUS_AUTH": "password", "ASCLEPIUS_USERS": users, "ASCLEPIUS_ROOT_PATH": "/clinic"}
    with serve(tmp_path / "data", loaded=False, ASCLEPIUS_LOAD_DEMO="false", **settings) as running:
        yield running, settings


async def test_below_a_path_each_users_calls_are_audited_without_their_text(
    below_a_path: tuple[Served, dict[str, str]],
) -> None:
    served, settings = below_a_path
    for user in ("ana", "bert"):
        async with over_http(served.url, key_of(served, user, **settings)) as session:
            await called(session, "calculate_bmi", weight={"value": 80, "unit": "kg"})
    command = StdioServerParameters(
        command=COMMAND, args=["mcp"], env=clean_environment(served.data_dir, ASCLEPIUS_LOAD_DEMO="false", **settings)
    )
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await called(session, "search_drugs", drug_name="Jane Roe")
    done = asclepius("audit", "export", "--action", "tool", data_dir=served.data_dir, **settings)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(entry["actor"], entry["detail"]) for entry in entries[:2]] == [
        ("ana", "mcp calculate_bmi"),
        ("bert", "mcp calculate_bmi"),
    ]
    assert entries[2]["actor"].startswith("shell:")
    assert entries[2]["detail"] == "mcp search_drugs"
    assert all(entry["address"] for entry in entries[:2])
    assert "Roe" not in done.stdout
