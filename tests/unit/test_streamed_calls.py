"""Function calls are run once each, whatever ids and shapes their server gives them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from chat_app.generation.response_fold import ResponseFold
from chat_app.response_events import parse_event
from tests.support.scripted_server import Json, response_body

TOOLS = {"f": {"properties": {"a": {"type": "string"}}}, "g": {}}
ONE, TWO = '{"a": "1"}', '{"a": "2"}'


def calls(*bodies: Json, output: tuple[Json, ...] = ()) -> list[tuple[str, str]]:
    """Return the calls of a response in their order; their call ids must differ."""
    fold = ResponseFold(TOOLS)
    ended = {"type": "response.completed", "response": response_body("r", "completed", output)}
    for body in (*bodies, ended):
        fold.apply(parse_event(body))
    assert len({call.call_id for call in fold.calls}) == len(fold.calls)
    return [(call.name, call.arguments) for call in fold.calls]


def item(arguments: str, name: str = "f", **fields: Any) -> Json:
    return {"type": "function_call", "id": "fc", "call_id": "c", "name": name, "arguments": arguments, **fields}


def event(kind: str, one: Json, index: int | None = None) -> Json:
    return {"type": f"response.output_item.{kind}", "item": one} | ({} if index is None else {"output_index": index})


def piece(text: str, index: int | None = None, item_id: str = "fc") -> Json:
    return {"type": "response.function_call_arguments.delta", "item_id": item_id, "output_index": index, "delta": text}


@pytest.mark.parametrize("other", [item(TWO), item(TWO, name="g"), item(TWO, id="fc_2")], ids=["args", "name", "id"])
@pytest.mark.parametrize("ends", [True, False], ids=["ends", "no ends"])
@pytest.mark.parametrize("arguments", [True, False], ids=["whole", "empty"])
def test_two_calls_with_one_id_are_both_run(other: Json, ends: bool, arguments: bool) -> None:
    pair = [item(ONE), other]
    opened = [
        part
        for at, one in enumerate(pair)
        for part in (event("added", {**one, "arguments": ""}, at), piece(one["arguments"], at, one["id"]))
    ]
    closed = [event("done", one if arguments else {**one, "arguments": ""}, at) for at, one in enumerate(pair)]
    meant = [("f", ONE), (other["name"], TWO)]
    assert calls(*opened, *(closed if ends else [])) == meant
    inner = itertools.chain.from_iterable(zip((opened[:2], opened[2:]), ([one] for one in closed), strict=True))
    assert calls(*itertools.chain.from_iterable(inner)) == meant
    assert calls(*(event("done", one) for one in pair)) == meant
    assert calls(output=tuple(pair)) == meant


def test_one_call_that_is_sent_again_is_run_once() -> None:
    whole = [event("added", item(""), 0), piece(ONE, 0), event("done", item(ONE), 0)]
    assert calls(*whole, *whole, output=(item('{"a":"1"}'),)) == [("f", ONE)]
    assert calls(*whole, event("added", item(""), 0), output=(item(ONE), item(ONE))) == [("f", ONE)]
    assert calls(*whole, output=(item('{"a": 1, "b": null}'),)) == [("f", ONE)]


@pytest.mark.parametrize(
    "one",
    [
        {"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "f", "input": ONE},
        {"type": "tool_use", "id": "x", "name": "f", "input": {"a": "1"}},
        {"type": "function", "id": "x", "function": {"name": "f", "arguments": ONE}},
        {"type": "function_call", "id": "x", "function": {"name": "f", "arguments": {"a": "1"}}},
        {"type": "tool_call", "id": "x", "name": "f", "parameters": {"a": "1"}},
        {"id": "x", "name": "f", "arguments": ONE},
        {"type": "message", "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {"a": "1"}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": ONE}}],
        },
    ],
)
def test_calls_in_the_shapes_of_other_protocols_are_run(one: Json) -> None:
    meant = [("f", {"a": "1"})]
    for found in (calls(output=(one,)), calls(event("done", one)), calls(event("added", one), event("done", one))):
        assert [(name, json.loads(arguments)) for name, arguments in found] == meant


def test_a_tool_of_the_server_is_none_of_ours() -> None:
    search = {"type": "custom_tool_call", "id": "s", "call_id": "s", "name": "x_search", "input": ""}
    typed = {"type": "response.custom_tool_call_input.delta", "item_id": "s", "delta": '{"query": "a"}'}
    assert calls(event("added", item("")), event("added", search), typed, piece(ONE), event("done", search)) == [
        ("f", ONE)
    ]
