"""The library of servers' streams with other ids, numbers and pieces: each has the text and the calls that it had."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import RunRequest
from chat_app.generation.response_fold import ResponseFold
from chat_app.generation.sse import SSEDecoder
from chat_app.generation.updates import TextReplacement, TextUpdate, ToolCallReady
from chat_app.response_events import parse_event
from tests.support.scripted_server import Json

STREAMS = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "streams").glob("*.sse"))
TOOLS = {"search_drug_database": {"properties": {"drug_name": {"type": "string"}}}}
TERMINAL = {"response.completed", "response.incomplete", "response.failed"}
NAMED = {"message", "function_call", "reasoning", "file_search_call"}


def bodies_of(stream: Path) -> list[Json]:
    """Return the events that are JSON as others read it, each with its type."""
    decoder, found = SSEDecoder(), list[Json]()
    for data in decoder.feed(stream.read_bytes() + b"\n\n"):
        try:
            body = json.loads(data)
        except ValueError:
            continue
        if isinstance(body, dict):
            line = decoder.name.removeprefix(b"event:").strip().decode()
            inner = {"response": body} if "type" not in body and body.get("object") == "response" else body
            found.append({"type": line, **inner} if line else inner)
    return found


def answer_of(bodies: Sequence[Json]) -> tuple[str, list[tuple[str, str]], str]:
    """Return the answer that a run passes on, the names and arguments of its calls, and its outcome."""
    fold, state, calls = ResponseFold(TOOLS), RunState(RunRequest(items=())), list[tuple[str, str]]()
    for body in bodies:
        for update in fold.apply(parse_event(body)):
            if isinstance(update, TextUpdate):
                state.add_text(update.item_id, update.text)
            elif isinstance(update, TextReplacement):
                list(state.replace_text(update.item_id, update.text))
            elif isinstance(update, ToolCallReady):
                calls.append((update.item.name, update.item.arguments))
    return state.answer.strip(), sorted(calls), fold.outcome.kind if fold.outcome else ""


def renamed(value: Any, name: Callable[[str], str], own: str = "id", others: str = "item_id") -> Any:
    """Return an event with other item ids."""
    if isinstance(value, list):
        return [renamed(part, name, own, others) for part in value]
    if not isinstance(value, dict):
        return value
    ids = {others, own} if value.get("type") in NAMED else {others}
    return {
        key: name(inner) if key in ids and isinstance(inner, str) else renamed(inner, name, own, others)
        for key, inner in value.items()
    }


def others(bodies: list[Json]) -> list[Json]:
    return [renamed(body, lambda name: f"x_{name}") for body in bodies]


def one_for_each_event(bodies: list[Json]) -> list[Json]:
    numbers = itertools.count()
    return [renamed(body, lambda _: f"id_{next(numbers)}") for body in bodies]


def the_same(bodies: list[Json]) -> list[Json]:
    return [renamed(body, lambda _: "same") for body in bodies]


def other_call_ids(bodies: list[Json]) -> list[Json]:
    return [renamed(body, lambda name: f"x_{name}", "call_id", "call_id") for body in bodies]


def at_the_end(change: Callable[[list[Json]], list[Json]]) -> Callable[[list[Json]], list[Json]]:
    return lambda bodies: [change([body])[0] if body.get("type") in TERMINAL else body for body in bodies]


def without(*names: str) -> Callable[[list[Json]], list[Json]]:
    return lambda bodies: [{key: value for key, value in body.items() if key not in names} for body in bodies]


def repeated(bodies: list[Json]) -> list[Json]:
    return [body for body in bodies for _ in range(2 if "sequence_number" in body else 1)]


def by_character(bodies: list[Json]) -> list[Json]:
    def cut(body: Json) -> Iterator[Json]:
        cut_up = {"response.output_text.delta", "response.function_call_arguments.delta"}
        whole = body.get("delta") if body.get("type") in cut_up else None
        yield from ({**body, "delta": character} for character in str(whole)) if whole else [body]

    return [part for body in without("sequence_number")(bodies) for part in cut(body)]


CHANGES: dict[str, Callable[[list[Json]], list[Json]]] = {
    "other ids": others,
    "an id for each event": one_for_each_event,
    "one id": the_same,
    "other ids at the end": at_the_end(others),
    "one id at the end": at_the_end(the_same),
    "other call ids": other_call_ids,
    "other call ids at the end": at_the_end(other_call_ids),
    "no ids": without("item_id"),
    "no indexes": without("output_index", "content_index"),
    "no numbers": without("sequence_number"),
    "events twice": repeated,
    "a delta for each character": by_character,
}
LOST = {
    # The output index alone tells to which of two calls arguments belong, and the number alone that a delta is missing.
    ("parallel_calls_by_index", "no indexes"),
    ("proxy_lost_delta_numbered", "no numbers"),
    ("proxy_lost_delta_numbered", "a delta for each character"),
    # The pieces alone tell that each repeats the ones before it.
    ("nine_router_cumulative_arguments", "a delta for each character"),
    ("gemini_cumulative_deltas", "a delta for each character"),
    # The id alone tells that the answer goes on behind its end, and that there are two calls.
    ("omniroute_early_done_empty", "an id for each event"),
    ("omniroute_early_done_empty", "no ids"),
    ("two_equal_calls", "one id"),
}


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_other_ids_numbers_and_pieces_change_no_word_and_no_call(stream: Path) -> None:
    """Rows 8 and 54."""
    bodies = bodies_of(stream)
    expected = answer_of(bodies)
    for name, change in CHANGES.items():
        if (stream.stem, name) not in LOST:
            assert answer_of(change(bodies)) == expected, name
