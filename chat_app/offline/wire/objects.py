"""Makes the objects that the server sends: ids, responses with all fields, output items, token counts."""

import base64
import re
import secrets
import time
from collections.abc import Iterable
from typing import Any, Final

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.requests import CreateResponse, FunctionToolIn, SchemaFormat
from chat_app.offline.wire.wire_items import InputItem, MessageIn

_PART_DEFAULTS: Final[dict[str, Json]] = {
    "output_text": {"annotations": [], "logprobs": []},
    "input_image": {"detail": "auto"},
}
"""Fields of a message part that the sender may leave out."""
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")


def new_id(prefix: str) -> str:
    """Return an id such as ``resp_...`` with 192 random bits."""
    return f"{prefix}_{secrets.token_hex(24)}"


def now() -> int:
    """Return the current time in whole seconds."""
    return int(time.time())


def count_tokens(text: str) -> int:
    """Count the tokens of ``text``: punctuation marks, and runs of up to six letters or digits."""
    return len(_TOKEN.findall(text))


def read_tokens(items: Iterable[Json], instructions: str) -> int:
    """Count the tokens that the model reads."""
    return sum(count_tokens(text_of(item)) for item in items) + count_tokens(instructions)


def cut_to_tokens(text: str, limit: int) -> str:
    """Return the start of ``text`` with at most ``limit`` tokens."""
    for number, match in enumerate(_TOKEN.finditer(text), start=1):
        if number > limit:
            return text[: match.start()]
    return text


def response_object(request: CreateResponse) -> Json:
    """Return a new Response for ``request`` with every required field and no output."""
    text = request.text.model_dump(by_alias=True, exclude_none=True) if request.text else {}
    if request.text and isinstance(request.text.format, SchemaFormat):
        text["format"].setdefault("strict", False)
        text["format"].setdefault("description", "")
    reasoning = request.reasoning.model_dump(exclude_none=True) if request.reasoning else {}
    choice = request.tool_choice
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": now(),
        "status": "queued" if request.background else "in_progress",
        "background": bool(request.background),
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "model": request.model,
        "output": [],
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "previous_response_id": request.previous_response_id,
        "conversation": None,
        "prompt_cache_key": request.prompt_cache_key,
        "prompt_cache_retention": request.prompt_cache_retention,
        "reasoning": {"effort": None, "summary": None} | reasoning,
        "safety_identifier": request.safety_identifier,
        "service_tier": "default",
        "store": request.store is not False,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | text,
        "tool_choice": "auto" if choice is None else choice if isinstance(choice, str) else choice.model_dump(),
        "tools": [_tool(tool) for tool in request.tools or ()],
        "top_logprobs": request.top_logprobs or 0,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "presence_penalty": request.presence_penalty or 0.0,
        "frequency_penalty": request.frequency_penalty or 0.0,
        "truncation": request.truncation or "disabled",
        "usage": usage(0, []),
        "metadata": request.metadata or {},
        **({} if request.user is None else {"user": request.user}),
    }


def _tool(tool: Any) -> Json:
    body: Json = tool.model_dump(exclude_none=True)
    if isinstance(tool, FunctionToolIn):
        body |= {"description": tool.description, "parameters": tool.parameters, "strict": tool.strict is not False}
    return body


def message_item(text: str, annotations: list[Json]) -> Json:
    """Return a message with one text part."""
    part = {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}
    return {"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed", "content": [part]}


def function_call_item(name: str, arguments: str) -> Json:
    """Return a function call with a new call id."""
    return {
        "type": "function_call",
        "id": new_id("fc"),
        "call_id": f"call_{secrets.token_hex(12)}",
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def reasoning_item(summary: str, *, sealed: bool) -> Json:
    """Return a reasoning item; ``sealed`` adds the opaque string that clients send back if nothing is stored."""
    item: Json = {"type": "reasoning", "id": new_id("rs"), "summary": [{"type": "summary_text", "text": summary}]}
    return item | {"encrypted_content": base64.b64encode(summary.encode()).decode()} if sealed else item


def file_search_item(queries: list[str]) -> Json:
    """Return a completed file search call without results."""
    return {"type": "file_search_call", "id": new_id("fs"), "status": "completed", "queries": queries, "results": None}


def usage(input_tokens: int, output: list[Json]) -> Json:
    """Return the token counts of one response."""
    thought = sum(count_tokens(part["text"]) for item in output for part in item.get("summary", []))
    written = sum(count_tokens(text_of(item)) for item in output if item["type"] != "reasoning")
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": thought + written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": input_tokens + thought + written,
    }


def text_of(item: Json) -> str:
    """Return the text of an item that the model reads."""
    match item["type"]:
        case "message":
            return text_of_content(item["content"])
        case "function_call":
            return f"{item['name']} {item['arguments']}"
        case "function_call_output":
            return text_of_content(item["output"])
        case _:
            return ""


def text_of_content(content: str | list[Json]) -> str:
    """Return the text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("text"))


def stored_item(item: InputItem) -> Json:
    """Return an input item as it is stored: with an id, a status, and content as a list of parts."""
    body: Json = item.model_dump(exclude_none=True)
    prefixes = {
        "message": "msg",
        "function_call": "fc",
        "function_call_output": "fco",
        "reasoning": "rs",
        "compaction": "cmp",
    }
    body["id"] = body.get("id") or new_id(prefixes.get(item.type or "", "item"))
    if isinstance(item, MessageIn):
        kind = "output_text" if item.role == "assistant" else "input_text"
        parts = [{"type": kind, "text": item.content}] if isinstance(item.content, str) else body["content"]
        body["content"] = [_PART_DEFAULTS.get(part["type"], {}) | part for part in parts]
    if item.type in {"message", "function_call", "function_call_output"}:
        body["status"] = body.get("status") or "completed"
    return body
