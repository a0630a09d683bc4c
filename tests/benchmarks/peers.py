"""Other libraries' streaming loops, as contenders; those that are not installed or could not load are left out."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Awaitable, Callable
from typing import Any


def peers(client: Any, model: str) -> dict[str, Callable[[], Awaitable[int]]]:
    """One contender for each library that can be imported, all over the same ``AsyncOpenAI`` client."""
    found: dict[str, Callable[[], Awaitable[int]]] = {}
    if importlib.util.find_spec("agents"):
        found["openai-agents"] = _openai_agents(client, model)
    if importlib.util.find_spec("pydantic_ai"):
        found["pydantic-ai"] = _pydantic_ai(client, model)
    if importlib.util.find_spec("adalflow") and not os.environ.get("TIKTOKEN_CACHE_DIR"):
        print("AdalFlow is left out: it would fetch a token encoding. `make bench` has one, in TIKTOKEN_CACHE_DIR.")
    elif importlib.util.find_spec("adalflow"):
        found["AdalFlow"] = _adalflow(client, model)
    return found


def _openai_agents(client: Any, model: str) -> Callable[[], Awaitable[int]]:
    import agents

    agents.set_tracing_disabled(True)
    agent = agents.Agent(name="bench", model=agents.OpenAIResponsesModel(model=model, openai_client=client))

    async def read() -> int:
        count = 0
        async for event in agents.Runner.run_streamed(agent, "question").stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                count += len(event.data.delta)
        return count

    return read


def _pydantic_ai(client: Any, model: str) -> Callable[[], Awaitable[int]]:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIResponsesModel(model, provider=OpenAIProvider(openai_client=client)))

    async def read() -> int:
        count = 0
        async with agent.run_stream("question") as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                count += len(text)
        return count

    return read


def _adalflow(client: Any, model: str) -> Callable[[], Awaitable[int]]:
    """Its generator over the Responses API: its Runner gives up on text that is not JSON."""
    from adalflow.components.model_client.openai_client import OpenAIClient
    from adalflow.core import Generator

    adal = OpenAIClient(api_key="none", base_url=str(client.base_url))
    generator = Generator(model_client=adal, model_kwargs={"model": model, "stream": True})

    async def read() -> int:
        output = await generator.acall(prompt_kwargs={"input_str": "question"})
        count = 0
        async for event in output.stream_events():
            data = getattr(event, "data", event)
            if getattr(data, "type", "") == "response.output_text.delta":
                count += len(data.delta)
        return count

    return read
