"""Tools that are called wrongly, fail, hang or never end: an output for the model each time, no other one lost."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from chat_app.events import RunItemStreamEvent, ToolOutputRunItem
from tests.support.engine import chained, drain, names, outputs_sent, runner
from tests.support.scripted_server import ScriptedServer, calls_reply, text_reply
from tools.errors import ToolUnavailable
from tools.function_tool import FunctionTool

CANARY = "Mrs Quillfeather"
DONE = chained(text_reply("Done.", response_id="resp_2"))


async def find(name: str, limit: int = 3) -> dict[str, object]:
    """Find something.

    Args:
        name: What to find.
        limit: How many.
    """
    return {"found": name, "limit": limit}


async def outputs(*calls: tuple[str, str, str], tools: list[FunctionTool] | None = None) -> dict[str, object]:
    """What the model is told about each call, in the order in which it is told."""
    async with ScriptedServer([calls_reply(*calls), DONE]) as server:
        _, result = await drain(runner(server, tools or [FunctionTool(find)]))
    assert result.outcome.kind == "completed"
    assert result.answer == "Done."
    return {call_id: json.loads(text) for call_id, text in outputs_sent(server.requests[1]).items()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('{"name": ', "not valid JSON"),
        ('{"name": NaN}', "not valid JSON"),
        ('{"name": "a", "limit": Infinity}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"name": ' * 100_000, "not valid JSON"),
        ("[" * 900 + "]" * 900, "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("null", "must be a JSON object"),
        (f'{{"nam": "{CANARY}"}}', "name: Field required"),
        (f'{{"name": "a", "limit": "{CANARY}"}}', "limit: Input should be a valid integer"),
        ('{"name": "a", "patient": 1}', "no such argument; known are name, limit"),
        ('{"name": "\\ud800"}', "not valid JSON"),
        ("", "name: Field required"),
    ],
)
async def test_arguments_that_do_not_fit_are_an_output_the_model_can_act_on(arguments: str, says: str) -> None:
    """Row 21."""
    told = await outputs(("c1", "find", arguments))
    assert isinstance(told["c1"], dict)
    assert says in told["c1"]["error"]
    assert CANARY not in told["c1"]["error"]


async def test_null_for_an_optional_argument_means_its_default() -> None:
    """Row 21: strict mode makes every argument required, so null is how a model leaves one out."""
    assert await outputs(("c1", "find", '{"name": "a", "limit": null}')) == {"c1": {"found": "a", "limit": 3}}


async def test_an_unknown_tool_is_refused_as_an_output() -> None:
    """Row 22."""
    told = await outputs(("c1", "rm_rf", "{}"), ("c2", "find", '{"name": "a"}'))
    assert told == {
        "c1": {"error": "There is no tool of that name here. Tools that can be called: find."},
        "c2": {"found": "a", "limit": 3},
    }


async def test_a_call_that_is_repeated_is_executed_once() -> None:
    """Row 22."""
    ran: list[str] = []

    async def note(text: str) -> str:
        """Note."""
        ran.append(text)
        return text

    call = ("c1", "note", '{"text": "once"}')
    assert await outputs(call, call, ("c2", "note", '{"text": "two"}'), tools=[FunctionTool(note)]) == {
        "c1": "once",
        "c2": "two",
    }
    assert ran == ["once", "two"]


async def test_beside_a_tool_that_fails_and_one_that_hangs_the_good_one_counts_and_order_is_kept() -> None:
    """Row 23."""

    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    async def fail() -> str:
        """Fail."""
        raise ValueError(CANARY)

    async def away() -> str:
        """Away."""
        raise ToolUnavailable("The drug database does not answer. Check MILVUS_URI.")

    tools = [FunctionTool(hang, timeout=0.2), FunctionTool(fail), FunctionTool(away), FunctionTool(find)]
    calls = [("c1", "hang", "{}"), ("c2", "fail", "{}"), ("c3", "find", '{"name": "a"}'), ("c4", "away", "{}")]
    told = await outputs(*calls, tools=tools)
    assert list(told.items()) == [
        ("c1", {"error": "The tool hang did not finish within 0.2 s."}),
        ("c2", {"error": "The tool fail failed. It may work with other arguments; do not rely on its result."}),
        ("c3", {"found": "a", "limit": 3}),
        ("c4", {"error": "The drug database does not answer. Check MILVUS_URI."}),
    ]


async def test_blocking_tools_run_in_threads_side_by_side_and_never_hold_the_loop() -> None:
    """Row 24: each waits for the other to have begun, and both for the loop; one that held it would wait in vain."""
    both, begun, released = threading.Barrier(2), threading.Event(), threading.Event()

    def block() -> str:
        """Block."""
        both.wait(timeout=60)
        begun.set()
        if not released.wait(timeout=60):
            raise TimeoutError
        return threading.current_thread().name

    async def release() -> None:
        await asyncio.to_thread(begun.wait, 60)
        released.set()

    releasing = asyncio.create_task(release())
    told = await outputs(("c1", "block", "{}"), ("c2", "block", "{}"), tools=[FunctionTool(block)])
    await releasing
    assert len(set(map(str, told.values()))) == 2
    assert not any("error" in str(output) for output in told.values())


async def test_a_blocking_tool_that_does_not_return_is_left_to_its_thread() -> None:
    """Row 24."""
    release = threading.Event()

    def block() -> str:
        """Block."""
        release.wait(60)
        return "late"

    told = await outputs(("c1", "block", "{}"), tools=[FunctionTool(block, timeout=0.2)])
    release.set()
    assert told == {"c1": {"error": "The tool block did not finish within 0.2 s."}}


async def test_an_endless_generator_is_ended_by_its_caps_and_closed() -> None:
    """Row 24."""
    closed: list[str] = []
    sync_closed = threading.Event()

    async def count() -> AsyncIterator[int]:
        """Count."""
        try:
            number = 0
            while True:
                number += 1
                yield number
        finally:
            closed.append("async")

    def slow() -> Iterator[int]:
        """Count slowly."""
        try:
            while True:
                time.sleep(0.05)
                yield 1
        finally:
            sync_closed.set()

    told = await outputs(
        ("c1", "count", "{}"),
        ("c2", "slow", "{}"),
        tools=[FunctionTool(count, max_items=20), FunctionTool(slow, timeout=0.3)],
    )
    assert told == {
        "c1": {"error": "The tool count gave more than 20 items; ask for less."},
        "c2": {"error": "The tool slow did not finish within 0.3 s."},
    }
    assert closed == ["async"]
    assert await asyncio.to_thread(sync_closed.wait, 60)


async def test_a_result_that_is_too_large_or_no_json_is_an_error() -> None:
    """Row 24."""

    async def large() -> str:
        """Large."""
        return "x" * 2_000

    async def steps() -> AsyncIterator[str]:
        """Large progress."""
        yield "x" * 2_000
        yield "end"

    async def strange() -> object:
        """Strange."""
        return object()

    told = await outputs(
        ("c1", "large", "{}"),
        ("c2", "steps", "{}"),
        ("c3", "strange", "{}"),
        tools=[
            FunctionTool(large, max_output_chars=1_000),
            FunctionTool(steps, max_output_chars=1_000),
            FunctionTool(strange),
        ],
    )
    assert told == {
        "c1": {"error": "The result of large is too large (2002 characters); ask for less."},
        "c2": {"error": "The result of steps is too large (2002 characters); ask for less."},
        "c3": {"error": "The tool gave a result that cannot be written as JSON."},
    }


async def test_every_call_starts_once_and_completes_once() -> None:
    """Row 22 and 23."""
    calls = [(f"c{number}", "find", '{"name": "a"}') for number in range(6)]
    async with ScriptedServer([calls_reply(*calls), DONE]) as server:
        events, result = await drain(runner(server, [FunctionTool(find, max_parallel=2)]))
    assert names(events).count("agent.tool_call_start") == names(events).count("agent.tool_call_complete") == 6
    completed = [
        event.item.function_output.input.call_id
        for event in events
        if isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolOutputRunItem)
    ]
    assert sorted(completed) == [call_id for call_id, _, _ in calls]
    assert [output.input.call_id for output in result.step_history[0].observations] == [c for c, _, _ in calls]
