"""Turns output items into stream events, and events into bytes.

The events depend only on the items, so that a stored response is replayed with the same events and numbers.
"""

import re
from collections.abc import Iterator
from typing import Final

import orjson

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.objects import usage

KEEP_ALIVE: Final = b": keep-alive\n\n"
TERMINAL: Final = frozenset({"completed", "incomplete", "failed"})
_WORD = re.compile(r"\s*\S+(?:(?:\s*\[\d+\])+\s*)?|\s+$")
"""A word with the citations after it and the space that ends them, so that a stopped answer keeps its last citation."""


def encode(event: Json) -> bytes:
    """Encode one server-sent event."""
    kind: str = event["type"]
    return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(event) + b"\n\n"


def data_of(frame: bytes) -> bytes:
    """Return the JSON of an encoded event."""
    return frame.partition(b"\ndata: ")[2].rstrip(b"\n")


def words(text: str) -> list[str]:
    """Split ``text`` into words with the white space before them and the citations after them."""
    return _WORD.findall(text)


def opening(item: Json, index: int) -> list[Json]:
    """Return the events that announce an item whose content follows later (hosted search), or none."""
    if item["type"] != "file_search_call":
        return []
    where = {"item_id": item["id"], "output_index": index}
    started = {**item, "status": "in_progress", "results": None}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": started},
        {"type": "response.file_search_call.in_progress", **where},
        {"type": "response.file_search_call.searching", **where},
    ]


def contents(item: Json, index: int) -> Iterator[Json]:
    """Yield the remaining events of an item, from its first content to ``output_item.done``."""
    match item["type"]:
        case "message":
            yield from _message(item, index)
        case "function_call":
            yield from _function_call(item, index)
        case "reasoning":
            yield from _reasoning(item, index)
        case "file_search_call":
            yield {"type": "response.file_search_call.completed", "item_id": item["id"], "output_index": index}
        case kind:
            raise ValueError(f"an item of type {kind} is not one that this server makes")
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def replay(response: Json) -> Iterator[Json]:
    """Yield all events of a finished response with their original numbers."""
    for number, event in enumerate(_replayed(response)):
        yield {**event, "sequence_number": number}


def _replayed(response: Json) -> Iterator[Json]:
    started = {
        **response,
        "status": "in_progress",
        "output": [],
        "usage": usage(response["usage"]["input_tokens"], []),
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
    }
    if response["background"]:
        yield {"type": "response.queued", "response": {**started, "status": "queued"}}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, item in enumerate(response["output"]):
        yield from opening(item, index)
        yield from contents(item, index)
    if response["status"] in TERMINAL:
        yield {"type": f"response.{response['status']}", "response": response}


def _message(item: Json, index: int) -> Iterator[Json]:
    added = {**item, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    for place, part in enumerate(item["content"]):
        where = {"item_id": item["id"], "output_index": index, "content_index": place}
        text = part["text"]
        empty = {**part, "text": "", "annotations": []}
        yield {"type": "response.content_part.added", **where, "part": empty}
        waiting = list(enumerate(part["annotations"]))
        sent = 0
        for word in words(text):
            sent += len(word)
            yield {"type": "response.output_text.delta", **where, "delta": word, "logprobs": []}
            while waiting and waiting[0][1]["index"] <= sent:
                number, annotation = waiting.pop(0)
                yield {
                    "type": "response.output_text.annotation.added",
                    **where,
                    "annotation_index": number,
                    "annotation": annotation,
                }
        yield {"type": "response.output_text.done", **where, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **where, "part": part}


def _function_call(item: Json, index: int) -> Iterator[Json]:
    where = {"item_id": item["id"], "output_index": index}
    added = {**item, "status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    for piece in words(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
    yield {
        "type": "response.function_call_arguments.done",
        **where,
        "name": item["name"],
        "arguments": item["arguments"],
    }


def _reasoning(item: Json, index: int) -> Iterator[Json]:
    yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}}
    for place, part in enumerate(item["summary"]):
        where = {"item_id": item["id"], "output_index": index, "summary_index": place}
        yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
        for piece in words(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
