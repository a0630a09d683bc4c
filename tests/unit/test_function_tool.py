"""A function of any of the four kinds is called in one way and always ends in one output."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from tools.errors import ToolUnavailable
from tools.function_tool import FunctionTool
from tools.tool_manager import ToolManager
from tools.types import Function, FunctionOutput, Passage, StreamingFunctionOutput, ToolProgress, ToolResult

CANARY = "Mrs Quillfeather"


def plain(dose: int) -> dict[str, int]:
    """Doubles a dose."""
    return {"dose": dose * 2}


async def awaited(dose: int) -> dict[str, int]:
    """Doubles a dose."""
    return {"dose": dose * 2}


def steps(dose: int) -> Iterator[dict[str, int]]:
    """Doubles a dose in steps."""
    yield {"step": 1}
    yield {"step": 2}
    yield {"dose": dose * 2}


async def async_steps(dose: int) -> AsyncIterator[dict[str, int]]:
    """Doubles a dose in steps."""
    yield {"step": 1}
    yield {"step": 2}
    yield {"dose": dose * 2}


KINDS = [
    (plain, "sync", False),
    (awaited, "async", False),
    (steps, "sync_generator", True),
    (async_steps, "async_generator", True),
]


@pytest.mark.parametrize(("fn", "kind", "streams"), KINDS)
async def test_each_kind_of_function_gives_its_result(fn: Callable[..., Any], kind: str, streams: bool) -> None:
    tool = FunctionTool(fn)
    assert (tool.get_function_type(), tool.is_generator_function()) == (kind, streams)
    items = [item async for item in tool.astream(Function(call_id="c1", name=tool.name, arguments='{"dose": 21}'))]
    output = items[-1]
    assert isinstance(output, FunctionOutput)
    assert (output.output, output.error, output.is_streaming) == ({"dose": 42}, None, streams)
    assert output.input.call_id == "c1"
    assert output.duration_ms > 0
    progress = [item.item for item in items[:-1] if isinstance(item, ToolProgress)]
    assert progress == ([{"step": 1}, {"step": 2}] if streams else [])


@pytest.mark.parametrize(("fn", "kind", "streams"), KINDS)
def test_each_kind_can_be_called_without_an_event_loop(fn: Callable[..., Any], kind: str, streams: bool) -> None:
    tool = FunctionTool(fn)
    assert tool.call(dose=21).output == {"dose": 42}
    items = list(tool.stream(dose=21))
    assert len(items) == (3 if streams else 1)
    assert isinstance(items[-1], FunctionOutput)
    assert items[-1].output == {"dose": 42}
    assert kind


def of_ward(dose: int, wards: tuple[str, ...] = ()) -> dict[str, Any]:
    """Says which wards it was given.

    Args:
        dose: The dose.
    """
    return {"dose": dose, "wards": wards}


async def test_a_hidden_parameter_is_the_apps_to_set_and_the_model_neither_sees_nor_sets_it() -> None:
    tool = FunctionTool(of_ward, hidden=["wards"])
    assert list(tool.definition.parameters["properties"]) == ["dose"]
    call = Function(call_id="c1", name=tool.name, arguments='{"dose": 1}')
    manager = ToolManager([tool])
    for given, wards in ((None, []), ({"of_ward": {"wards": ("east",)}}, ["east"]), ({"other": {}}, [])):
        (output,) = [item async for item in manager.stream(call, given=given)]
        assert isinstance(output, FunctionOutput)
        assert output.output == {"dose": 1, "wards": wards}
    meddling = call.model_copy(update={"arguments": '{"dose": 1, "wards": ["west"]}'})
    refused = await manager.execute(meddling)
    assert refused.error is not None
    assert "no such argument" in refused.error


async def test_what_is_not_hidden_cannot_be_given() -> None:
    with pytest.raises(TypeError, match="only hidden parameters"):
        await anext(FunctionTool(of_ward).astream(None, {"wards": ("east",)}, dose=1))


def test_a_stream_that_is_left_early_closes_the_function() -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        """Endless."""
        try:
            while True:
                yield 1
        finally:
            closed.set()

    for _ in FunctionTool(endless).stream():
        break
    assert closed.wait(60)


async def test_direct_use_inside_an_event_loop_is_refused() -> None:
    with pytest.raises(RuntimeError):
        FunctionTool(plain).call(dose=1)
    with pytest.raises(RuntimeError):
        next(FunctionTool(plain).stream(dose=1))


async def test_progress_can_be_followed_and_the_output_read_afterwards() -> None:
    running = StreamingFunctionOutput(FunctionTool(async_steps).astream(dose=1))
    with pytest.raises(LookupError):
        _ = running.function_output
    assert [progress.item async for progress in running.astream()] == [{"step": 1}, {"step": 2}]
    assert running.function_output.output == {"dose": 2}


def test_progress_can_be_followed_without_an_event_loop() -> None:
    running = StreamingFunctionOutput(FunctionTool(steps).astream(dose=1))
    assert [progress.item for progress in running.stream()] == [{"step": 1}, {"step": 2}]
    assert running.function_output.output == {"dose": 2}


class Scale:
    """Scales doses."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def __call__(self, dose: int) -> dict[str, int]:
        return {"dose": dose * self._factor}


class SlowScale(Scale):
    """Scales doses in steps."""

    async def __call__(self, dose: int) -> AsyncIterator[dict[str, int]]:  # type: ignore[override]
        """Scale a dose."""
        yield {"step": 1}
        yield {"dose": dose * self._factor}


def scaled(factor: int, dose: int) -> dict[str, int]:
    """Scale a dose by a factor."""
    return {"dose": dose * factor}


@pytest.mark.parametrize(
    ("fn", "name", "description", "kind"),
    [
        (partial(scaled, 3), "scaled", "Scale a dose by a factor.", "sync"),
        (partial(partial(scaled), 3), "scaled", "Scale a dose by a factor.", "sync"),
        (Scale(3), "Scale", "Scales doses.", "sync"),
        (SlowScale(3), "SlowScale", "Scale a dose.", "async_generator"),
        (partial(SlowScale(3)), "SlowScale", "Scale a dose.", "async_generator"),
        (SlowScale(3).__call__, "__call__", "Scale a dose.", "async_generator"),
    ],
)
async def test_a_partial_and_a_callable_object_are_tools(
    fn: Callable[..., Any], name: str, description: str, kind: str
) -> None:
    tool = FunctionTool(fn)
    assert (tool.name, tool.definition.description, tool.get_function_type()) == (name, description, kind)
    assert list(tool.definition.parameters["properties"]) == ["dose"]
    assert (await tool.acall(dose=7)).output == {"dose": 21}


async def test_a_result_with_passages_keeps_them() -> None:
    found = Passage(id="p", kind="guideline", document_id="d", title="t", text="x")

    async def search() -> ToolResult:
        """Search."""
        return ToolResult(data={"cite": "p"}, passages=(found,), summary="1 passage")

    output = await FunctionTool(search).acall()
    assert (output.output, output.passages, output.summary) == ({"cite": "p"}, (found,), "1 passage")


async def test_models_and_odd_floats_become_json() -> None:
    class Dose(BaseModel):
        mg: float

    async def doses() -> list[object]:
        """Doses."""
        return [Dose(mg=1.5), float("nan"), {"a": (1, 2)}]

    assert (await FunctionTool(doses).acall()).output == [{"mg": 1.5}, None, {"a": [1, 2]}]


async def test_a_generator_without_items_has_no_result() -> None:
    async def nothing() -> AsyncIterator[int]:
        """Nothing."""
        for item in ():
            yield item

    assert [i async for i in FunctionTool(nothing).astream()][-1].output is None  # type: ignore[union-attr]


async def test_a_generator_may_give_exactly_as_many_items_as_allowed() -> None:
    assert (await FunctionTool(async_steps, max_items=3).acall(dose=1)).error is None
    assert "more than 2 items" in ((await FunctionTool(async_steps, max_items=2).acall(dose=1)).error or "")


@pytest.mark.parametrize("kind", ["sync", "async", "generator"])
async def test_what_a_function_raises_is_an_error_that_keeps_its_words_to_itself(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def sync_fail() -> None:
        """Fail."""
        raise KeyError(CANARY)

    async def async_fail() -> None:
        """Fail."""
        raise KeyError(CANARY)

    def generator_fail() -> Iterator[int]:
        """Fail."""
        yield 1
        raise KeyError(CANARY)

    fn: Callable[[], object] = {"sync": sync_fail, "async": async_fail, "generator": generator_fail}[kind]
    output = await FunctionTool(fn).acall()
    assert output.output is None
    assert "failed" in (output.error or "")
    assert CANARY not in (output.error or "") + caplog.text
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("error", [StopIteration, SystemExit])
async def test_errors_that_would_end_more_than_the_tool_do_not(error: type[BaseException]) -> None:
    def strange() -> None:
        """Strange."""
        raise error

    async with asyncio.timeout(60):
        assert "failed" in ((await FunctionTool(strange).acall()).error or "")


async def test_a_timeout_inside_the_function_is_not_taken_for_the_tools_own() -> None:
    async def impatient() -> None:
        """Impatient."""
        raise TimeoutError

    assert "failed" in ((await FunctionTool(impatient).acall()).error or "")


async def test_an_unavailable_tool_is_tried_again_only_if_it_says_it_is_idempotent() -> None:
    calls: list[str] = []

    async def flaky() -> str:
        """Flaky."""
        calls.append("called")
        if len(calls) % 2:
            raise ToolUnavailable("The database does not answer.")
        return "there"

    assert (await FunctionTool(flaky, idempotent=True).acall()).output == "there"
    assert len(calls) == 2
    assert (await FunctionTool(flaky).acall()).error == "The database does not answer."
    assert len(calls) == 3


async def test_a_tool_that_has_shown_progress_or_has_no_time_left_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    async def shows() -> AsyncIterator[int]:
        """Shows."""
        calls.append("called")
        yield 1
        yield 2
        raise ToolUnavailable("Gone.")

    assert (await FunctionTool(shows, idempotent=True).acall()).error == "Gone."
    assert len(calls) == 1

    async def away() -> None:
        """Away."""
        calls.append("called")
        raise ToolUnavailable("Gone.")

    with monkeypatch.context() as patched:
        patched.setattr("tools.function_tool._RETRY_PAUSE", 7_200.0)
        assert (await FunctionTool(away, idempotent=True, timeout=3_600).acall()).error == "Gone."
    assert len(calls) == 2
    assert (await FunctionTool(away, idempotent=True).acall()).error == "Gone."
    assert len(calls) == 4


async def test_a_sync_function_sees_the_callers_context() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    def ask() -> str:
        """Ask."""
        return who.get()

    def ask_in_steps() -> Iterator[str]:
        """Ask."""
        yield who.get()

    who.set("anna")
    assert (await FunctionTool(ask).acall()).output == "anna"
    assert (await FunctionTool(ask_in_steps).acall()).output == "anna"


async def test_leaving_closes_an_async_generator_at_once() -> None:
    closed: list[str] = []

    async def endless() -> AsyncIterator[int]:
        """Endless."""
        try:
            while True:
                yield 1
        finally:
            closed.append("closed")

    async with aclosing(FunctionTool(endless).astream()) as items:
        await anext(items)
    assert closed == ["closed"]


async def test_leaving_while_a_thread_works_closes_the_generator_when_it_returns() -> None:
    working, release, closed = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        """Slow."""
        try:
            working.set()
            release.wait(60)
            yield 1
        finally:
            closed.set()

    call = asyncio.create_task(FunctionTool(slow).acall())
    await asyncio.to_thread(working.wait, 5)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert not closed.is_set(), "stopping does not wait for the thread"
    release.set()
    assert await asyncio.to_thread(closed.wait, 30)


async def test_a_generator_that_refuses_to_close_is_only_noted(caplog: pytest.LogCaptureFixture) -> None:
    refused = threading.Event()

    def stubborn() -> Iterator[int]:
        """Stubborn."""
        try:
            while True:
                yield 1
        finally:
            refused.set()
            raise ValueError(CANARY)

    tool = FunctionTool(stubborn)
    with ThreadPoolExecutor(1) as threads:
        tool.use_executor(threads)
        async with aclosing(tool.astream()) as items:
            await anext(items)
    assert refused.is_set()
    assert "did not close cleanly" in caplog.text
    assert CANARY not in caplog.text


async def test_the_manager_brings_threads_and_an_executor_of_ones_own_is_kept() -> None:
    def where() -> str:
        """Where."""
        return threading.current_thread().name

    with ThreadPoolExecutor(1, thread_name_prefix="own") as own:
        kept, given = FunctionTool(where, name="kept"), FunctionTool(where, name="given")
        kept.use_executor(own)
        manager = ToolManager([kept, given])
        assert str((await kept.acall()).output).startswith("own")
        assert str((await given.acall()).output).startswith("tool")
        manager.close()


async def test_results_and_errors_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(name: str) -> str:
        """Echo."""
        return name

    await FunctionTool(echo).acall(name=CANARY)
    await FunctionTool(echo).acall(patient=CANARY)
    assert CANARY not in caplog.text
