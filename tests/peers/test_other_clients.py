"""Other projects' clients of the Responses API, as they come, against our offline server.

Each holds a streamed chat with a function tool, and asks a question that an uploaded file answers.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

FOLDER = Path(__file__).resolve().parent
FACT = "Metformin is contraindicated in patients with an eGFR below 30 mL/min."
LEAFLET = f"{FACT} Metformin should be taken with meals. Lisinopril can cause a dry cough."
ASKED = "When is metformin contraindicated?"
ANSWER = f"From the files:\n\n- {FACT}"
SKY = "sunny, 21 degrees"


@dataclass(frozen=True)
class Library:
    """A vector store with one indexed file."""

    store: str
    file: str

    @property
    def citation(self) -> list[object]:
        """The one that the answer has: after its last character."""
        return [self.file, "leaflet.txt", len(ANSWER)]


@pytest.fixture
async def client(offline_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=offline_url, api_key="any", max_retries=0) as opened:
        yield opened


@pytest.fixture
async def library(client: AsyncOpenAI) -> Library:
    file = await client.files.create(file=("leaflet.txt", LEAFLET.encode()), purpose="assistants")
    store = await client.vector_stores.create(name="leaflets")
    added = await client.vector_stores.files.create_and_poll(
        vector_store_id=store.id, file_id=file.id, poll_interval_ms=20
    )
    assert added.status == "completed"
    return Library(store.id, file.id)


class Weather:
    """A tool, and the cities that it was asked about."""

    def __init__(self) -> None:
        self.cities: list[str] = []

    def get_weather(self, city: str) -> dict[str, str]:
        """Get the current weather of a city."""
        self.cities.append(city)
        return {"sky": SKY}


def citations(annotations: list[Any]) -> list[list[object]]:
    """From annotations as dicts or objects."""
    plain = [note if isinstance(note, dict) else note.model_dump() for note in annotations]
    return [[note["file_id"], note["filename"], note["index"]] for note in plain]


def openai_agent(client: AsyncOpenAI, *tools: Any) -> Any:
    agents = pytest.importorskip("agents")
    agents.set_tracing_disabled(True)
    model = agents.OpenAIResponsesModel(model="any-model", openai_client=client)
    return agents.Agent(name="assistant", instructions="Be exact.", model=model, tools=list(tools))


def pydantic_agent(client: AsyncOpenAI, **how: Any) -> Any:
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIResponsesModel("any-model", provider=OpenAIProvider(openai_client=client))
    return ai.Agent(model, instructions="Be exact.", **how)


def run_litellm(python: Path, *arguments: str) -> dict[str, Any]:
    """What ``litellm_client.py`` printed."""
    done = subprocess.run(
        [str(python), str(FOLDER / "litellm_client.py"), *arguments],
        capture_output=True,
        timeout=240,
        check=False,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    printed = json.loads(done.stdout.decode().strip().splitlines()[-1])
    assert isinstance(printed, dict)
    return printed


async def test_openai_agents_runs_a_function_tool(client: AsyncOpenAI) -> None:
    agents = pytest.importorskip("agents")
    weather = Weather()
    run = agents.Runner.run_streamed(
        openai_agent(client, agents.function_tool(weather.get_weather)), "What is the weather in Paris?"
    )
    streamed = ""
    async for event in run.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            streamed += event.data.delta
    assert weather.cities == ["Paris"]
    assert SKY in run.final_output
    assert streamed == run.final_output


async def test_openai_agents_keeps_a_conversation_by_response_id(client: AsyncOpenAI) -> None:
    agents = pytest.importorskip("agents")
    weather = Weather()
    agent = openai_agent(client, agents.function_tool(weather.get_weather))
    first = await agents.Runner.run(agent, "What is the weather in Paris?")
    second = await agents.Runner.run(agent, "What is the weather in Rome?", previous_response_id=first.last_response_id)
    assert weather.cities == ["Paris", "Rome"]
    assert SKY in second.final_output


async def test_openai_agents_gets_a_cited_answer_from_a_file(client: AsyncOpenAI, library: Library) -> None:
    agents = pytest.importorskip("agents")
    search = agents.FileSearchTool(vector_store_ids=[library.store], include_search_results=True)
    run = await agents.Runner.run(openai_agent(client, search), ASKED)
    assert run.final_output == ANSWER
    assert citations(run.new_items[-1].raw_item.content[0].annotations) == [library.citation]
    [call] = [item.raw_item for item in run.new_items if item.raw_item.type == "file_search_call"]
    assert FACT in call.results[0].text


async def test_pydantic_ai_runs_a_function_tool(client: AsyncOpenAI) -> None:
    weather = Weather()
    agent = pydantic_agent(client, tools=[weather.get_weather])
    async with agent.run_stream("What is the weather in Paris?") as run:
        streamed = "".join([text async for text in run.stream_text(delta=True, debounce_by=None)])
    assert weather.cities == ["Paris"]
    assert SKY in streamed


async def test_pydantic_ai_keeps_a_conversation_by_its_messages(client: AsyncOpenAI) -> None:
    weather = Weather()
    agent = pydantic_agent(client, tools=[weather.get_weather])
    first = await agent.run("What is the weather in Paris?")
    second = await agent.run("What is the weather in Rome?", message_history=first.all_messages())
    assert weather.cities == ["Paris", "Rome"]
    assert SKY in second.output


async def test_pydantic_ai_gets_a_cited_answer_from_a_file(client: AsyncOpenAI, library: Library) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.capabilities import NativeTool
    from pydantic_ai.messages import NativeToolReturnPart, TextPart
    from pydantic_ai.native_tools import FileSearchTool

    agent = pydantic_agent(
        client,
        capabilities=[NativeTool(FileSearchTool(file_store_ids=[library.store]))],
        model_settings={"openai_include_file_search_results": True, "openai_include_raw_annotations": True},
    )
    run = await agent.run(ASKED)
    assert run.output == ANSWER
    parts = [part for message in run.all_messages() for part in message.parts]
    [text] = [part for part in parts if isinstance(part, TextPart)]
    assert citations(text.provider_details["annotations"]) == [library.citation]
    [found] = [part for part in parts if isinstance(part, NativeToolReturnPart)]
    assert FACT in found.content["results"][0]["text"]


def test_litellm_runs_a_function_tool(offline_url: str, litellm_interpreter: Path) -> None:
    got = run_litellm(litellm_interpreter, "tool", offline_url)
    assert got["calls"] == [["get_weather", {"city": "Paris"}]]
    assert SKY in got["text"]
    assert got["streamed"] == got["text"]
    assert got["usage"] > 0


async def test_litellm_gets_a_cited_answer_from_a_file(
    offline_url: str, litellm_interpreter: Path, library: Library
) -> None:
    got = run_litellm(litellm_interpreter, "files", offline_url, library.store)
    assert got["text"] == got["streamed"] == ANSWER
    assert got["citations"] == [library.citation]
    assert FACT in got["results"][0]
