"""The registry: every call ends in one output, side by side up to each tool's own limit."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest

from tools.function_tool import FunctionTool
from tools.search_presentation import passage_count
from tools.tool_manager import ToolManager
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation, ToolResult


async def find(name: str) -> str:
    """Find."""
    return name


def call(name: str, arguments: str = "{}") -> Function:
    return Function(call_id="c1", name=name, arguments=arguments)


async def test_tools_are_registered_once_declared_by_name_and_executed() -> None:
    manager = ToolManager([FunctionTool(find)])
    manager.register_function_executor("other", find)
    with pytest.raises(ValueError, match="find"):
        manager.register(FunctionTool(find))
    assert manager.names() == ("find", "other")
    assert [d.name for d in manager.definitions()] == ["find", "other"]
    assert [d.name for d in manager.definitions(["other", "gone"])] == ["other"]
    assert (await manager.execute(call("other", '{"name": "a"}'))).output == "a"


@pytest.mark.parametrize(("allowed", "known"), [(None, "find"), (["find"], "find"), (["b", "a"], "a, b"), ([], "none")])
async def test_a_tool_that_is_not_there_is_an_output_that_says_which_are(allowed: list[str] | None, known: str) -> None:
    output = await ToolManager([FunctionTool(find)]).execute(call("gone"), allowed=allowed)
    assert output.error == f"There is no tool of that name here. Tools that can be called: {known}."


async def test_a_tool_runs_no_more_often_at_once_than_it_allows() -> None:
    running, most = 0, 0

    async def count() -> None:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    manager = ToolManager([FunctionTool(count, max_parallel=2), FunctionTool(find)])
    outputs = await asyncio.gather(
        *(manager.execute(call("count")) for _ in range(8)), manager.execute(call("find", '{"name": "a"}'))
    )
    assert most == 2
    assert all(isinstance(output, FunctionOutput) and output.error is None for output in outputs)


def test_limits_hold_in_every_event_loop() -> None:
    manager = ToolManager([FunctionTool(find, max_parallel=1)])

    async def both() -> list[object]:
        calls = [manager.execute(call("find", '{"name": "a"}')) for _ in range(3)]
        return [output.output for output in await asyncio.gather(*calls)]

    assert [asyncio.run(both()) for _ in range(2)] == [["a", "a", "a"]] * 2


def test_a_tool_says_how_it_is_shown_and_which_source_it_searches() -> None:
    shown = ToolPresentation(title="Finder", icon="search")
    manager = ToolManager([FunctionTool(find, presentation=shown, source="drugs"), FunctionTool(find, name="get_it")])
    assert manager.presentation("find") == shown
    assert (manager.presentation("get_it").title, manager.presentation("made_up").title) == ("Get it", "Made up")
    assert (manager.names("drugs"), manager.names("guidelines")) == (("find",), ())


async def test_a_phrase_is_told_in_english_and_kept_for_translation() -> None:
    found = Phrase(text="{count} beds in {ward} {x}", values={"count": 3, "ward": "{count}"})

    async def beds() -> ToolResult:
        """Beds."""
        return ToolResult(data=3, summary=found)

    output = await ToolManager([FunctionTool(beds)]).execute(call("beds"))
    assert (output.summary, output.summary_phrase) == ("3 beds in {count} {x}", found)


@pytest.mark.parametrize(
    ("count", "answerable", "said"),
    [(0, True, "no passage"), (1, False, "1 passage, no clear answer"), (7, True, "7 passages")],
)
def test_a_search_says_how_many_passages_it_found(count: int, answerable: bool, said: str) -> None:
    assert str(passage_count(count, answerable=answerable)) == said


@pytest.mark.parametrize("package", ["tools", "chat_app.agent", "chat_app.generation", "chat_app.tracing"])
def test_a_package_exports_its_public_names(package: str) -> None:
    module = import_module(package)
    for name in PUBLIC[package]:
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = module.nothing


PUBLIC = {
    "tools": ["FunctionTool", "ToolManager", "Function", "FunctionOutput", "StreamingFunctionOutput", "ToolResult"],
    "chat_app.agent": ["Runner", "RunnerResult", "RunRequest", "AsclepiusHealthcareAgent", "ConsultOptions"],
    "chat_app.generation": ["Generator", "GeneratorOutput", "Prompt", "PydanticProcessor", "ResponseAPIAdapter"],
    "chat_app.tracing": ["GeneratorCallLogger", "GeneratorStateLogger", "trace_generator_call"],
}
