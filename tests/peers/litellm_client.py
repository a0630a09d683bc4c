"""LiteLLM as a client of a Responses server, run by its own Python: prints what it got as one JSON object.

python litellm_client.py tool BASE_URL            a chat with a function tool, streamed
python litellm_client.py files BASE_URL STORE     an answer from a vector store
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import litellm

MODEL = "openai/any-model"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


async def ask(base_url: str, given: Any, **how: Any) -> Any:
    """The finished response of a streamed request, and the text as it was streamed."""
    stream = await litellm.aresponses(model=MODEL, input=given, api_base=base_url, api_key="any", stream=True, **how)
    streamed = ""
    response: Any = None
    async for event in stream:
        if event.type == "response.output_text.delta":
            streamed += event.delta
        if event.type == "response.completed":
            response = event.response
    return response.model_dump(), streamed


def text_of(response: Any) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


async def tool(base_url: str) -> dict[str, Any]:
    called, _ = await ask(base_url, "What is the weather in Paris?", tools=[WEATHER])
    calls = [item for item in called["output"] if item["type"] == "function_call"]
    outputs = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps({"sky": "sunny, 21 degrees"})}
        for call in calls
    ]
    answer, streamed = await ask(base_url, outputs, tools=[WEATHER], previous_response_id=called["id"])
    return {
        "calls": [[call["name"], json.loads(call["arguments"])] for call in calls],
        "text": text_of(answer),
        "streamed": streamed,
        "usage": answer["usage"]["total_tokens"],
    }


async def files(base_url: str, store: str) -> dict[str, Any]:
    answer, streamed = await ask(
        base_url,
        "When is metformin contraindicated?",
        include=["file_search_call.results"],
        tools=[{"type": "file_search", "vector_store_ids": [store]}],
    )
    results = [r["text"] for i in answer["output"] if i["type"] == "file_search_call" for r in i["results"]]
    notes = [a for i in answer["output"] if i["type"] == "message" for p in i["content"] for a in p["annotations"]]
    return {
        "text": text_of(answer),
        "streamed": streamed,
        "results": results,
        "citations": [[note["file_id"], note["filename"], note["index"]] for note in notes],
    }


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    print(json.dumps(asyncio.run({"tool": tool, "files": files}[kind](*arguments))))
