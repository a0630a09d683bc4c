"""Other libraries complete a chat with a tool and with file search against the offline server, unmodified.

They are optional packages; a test is skipped by name where its library is not installed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.offline_server import offline_server

pytestmark = pytest.mark.peers
KEY = "any"
LEAFLET = b"Metformin is contraindicated in patients with an eGFR below 30 mL/min."
QUESTION = "When is metformin contraindicated?"
WEATHER = "What's the weather in San Francisco?"
TOLD = "get_weather returned:\n\n- city: San Francisco\n- celsius: 18"
EXTRACT = "Metformin is contraindicated in patients with an eGFR below 30 mL/min."


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with offline_server(tmp_path_factory.mktemp("offline"), "--delta-ms", "0") as url:
        yield url


@pytest.fixture(scope="module")
def store_id(base_url: str) -> str:
    with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as http:
        file = http.post("/files", files={"file": ("leaflet.txt", LEAFLET)}, data={"purpose": "assistants"}).json()
        store: str = http.post("/vector_stores", json={"file_ids": [file["id"]]}).json()["id"]
        while http.get(f"/vector_stores/{store}").json()["status"] != "completed":
            time.sleep(0.01)
    return store


async def test_openai_agents(base_url: str, store_id: str) -> None:
    agents = pytest.importorskip("agents")
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(True)
    model = agents.OpenAIResponsesModel("m", AsyncOpenAI(base_url=base_url, api_key=KEY))

    @agents.function_tool  # type: ignore[misc, unused-ignore]
    def get_weather(location: str) -> dict[str, Any]:
        """Get the current weather for a location."""
        return {"city": location, "celsius": 18}

    with_tool = await agents.Runner.run(agents.Agent(name="a", tools=[get_weather], model=model), WEATHER)
    assert "San Francisco" in with_tool.final_output
    search = agents.FileSearchTool(vector_store_ids=[store_id], include_search_results=True)
    streamed = agents.Runner.run_streamed(agents.Agent(name="a", tools=[search], model=model), QUESTION)
    events = [event async for event in streamed.stream_events()]
    assert events
    assert EXTRACT in streamed.final_output
    message = streamed.new_items[-1].raw_item
    assert message.content[0].annotations[0].filename == "leaflet.txt"


async def test_pydantic_ai(base_url: str, store_id: str) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    capabilities = pytest.importorskip("pydantic_ai.capabilities")
    from pydantic_ai.models.openai import OpenAIResponsesModel  # type: ignore[import-not-found, unused-ignore]
    from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found, unused-ignore]

    model = OpenAIResponsesModel("m", provider=OpenAIProvider(base_url=base_url, api_key=KEY))
    agent = pydantic_ai.Agent(model)

    @agent.tool_plain  # type: ignore[misc, unused-ignore]
    def get_weather(location: str) -> dict[str, Any]:
        """Get the current weather for a location."""
        return {"city": location, "celsius": 18}

    assert (await agent.run(WEATHER)).output == TOLD
    async with agent.run_stream(WEATHER) as stream:
        assert await stream.get_output() == TOLD
    search = capabilities.NativeTool(pydantic_ai.FileSearchTool(file_store_ids=[store_id]))
    answered = await pydantic_ai.Agent(model, capabilities=[search]).run(QUESTION)
    assert EXTRACT in answered.output


async def test_litellm(base_url: str, store_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = pytest.importorskip("litellm")
    server = {"model": "openai/m", "api_base": base_url, "api_key": KEY}
    tool = {
        "type": "function",
        "name": "get_weather",
        "description": "Get the weather",
        "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
    }
    asked = await litellm.aresponses(**server, input=WEATHER, tools=[tool])
    (call,) = [item for item in asked.output if item.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": '{"celsius": 18}'}
    told = await litellm.aresponses(**server, input=[output], previous_response_id=asked.id)
    assert told.output[-1].content[0].text == "get_weather returned:\n\n- celsius: 18"
    search = {"type": "file_search", "vector_store_ids": [store_id]}
    stream = await litellm.aresponses(**server, input=QUESTION, tools=[search], stream=True)
    events = [event async for event in stream]
    assert EXTRACT in events[-1].response.output[-1].content[0].text
