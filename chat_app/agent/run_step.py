"""One step of a run: one response, with the tools it calls running beside it.

A tool starts as soon as its call is complete. When the response breaks off, running tools are cancelled and reported as
such: their outputs could no longer be sent. A tool's failure is an output like any other.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from hashlib import sha256
from typing import Any

import orjson

from chat_app.agent.event_channel import EventChannel
from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import OutputRenderer, RunnerEvent
from chat_app.agent.stream_manager import StreamManager
from chat_app.errors import PreviousResponseNotFound
from chat_app.events import (
    CitationReceived,
    LLMResponseItem,
    Notice,
    Outcome,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    StepOutput,
    StepRunItem,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
)
from chat_app.generation.generator import Generator
from chat_app.generation.outcomes import STEP_LIMIT
from chat_app.generation.updates import (
    CitationUpdate,
    FileSearchDone,
    FileSearchStarted,
    TextUpdate,
    ToolCallReady,
    Update,
)
from chat_app.response_objects import FileSearchCallItem
from tools.search_presentation import GUIDELINE_SEARCH, passage_count
from tools.tool_manager import ToolManager
from tools.types import Function, FunctionOutput, Passage, ToolPresentation

FILE_SEARCH = "file_search"
"""The name under which the server's own search appears among the tool calls."""
_CANCELLED = "The call was cancelled because the response ended before it could be used."


class StepRunner:
    """Runs steps; keeps nothing between them."""

    def __init__(self, generator: Generator[Any], tool_manager: ToolManager, render_output: OutputRenderer) -> None:
        self._generator = generator
        self._tools = tool_manager
        self._render = render_output

    async def run(self, state: RunState, channel: EventChannel[RunnerEvent], *, last: bool) -> Outcome | None:
        """One step. None when the run goes on with the tools' outputs, else how it ended.

        Raises ``PreviousResponseNotFound`` when the chain is gone and nothing was said yet.
        """
        step = _Step(self, state, channel)
        manager = StreamManager(self._generator.astream(**self._request(state, last=last)))
        gone: PreviousResponseNotFound | None = None
        async with asyncio.TaskGroup() as group:
            try:
                async with aclosing(manager.updates()) as updates:
                    async for update in updates:
                        await step.take(update, None if last else group)
            except PreviousResponseNotFound as error:
                gone = error
            else:
                await step.response_done(manager)
        if gone is not None:
            # Raised here because the task group would wrap it.
            raise gone
        return await self._finish(step, manager, last=last)

    async def _finish(self, step: _Step, manager: StreamManager, *, last: bool) -> Outcome | None:
        state, fold = step.state, manager.fold
        outputs = [step.outputs[f.call_id] for f in step.functions if f.call_id in step.outputs]
        state.add_response(fold, final=manager.output.data)
        state.steps.append(
            StepOutput(
                step=step.number,
                response_id=fold.response_id,
                text=fold.text,
                functions=tuple(step.functions),
                observations=tuple(outputs),
            )
        )
        item = StepRunItem(step_output=state.steps[-1])
        await step.channel.put(RunItemStreamEvent(name="agent.step_complete", item=item))
        if manager.outcome.kind != "completed" or not fold.calls:
            return manager.outcome
        if last:
            return STEP_LIMIT
        rendered = [await self._render(output) for output in outputs]
        state.add_outputs(
            [
                {"type": "function_call_output", "call_id": o.input.call_id, "output": text}
                for o, text in zip(outputs, rendered, strict=True)
            ]
        )
        return None

    def _request(self, state: RunState, *, last: bool) -> dict[str, Any]:
        request = state.request
        functions = [d.model_dump() for d in self._tools.definitions(request.tools)]
        declared = (*functions, *request.hosted_tools)
        # On the last step the tools stay declared, since the conversation holds calls to them, but none may be called.
        # Where it is the only one, the server's own tools may: their results are in the same response.
        only_hosted = bool(request.hosted_tools) and not state.steps
        choice = {"tool_choice": "none"} if last and declared and not only_hosted else {}
        return {
            **request.fields,
            **state.next_input(),
            **choice,
            "prompt_kwargs": request.prompt_kwargs,
            "tools": declared,
        }

    def presentation(self, name: str) -> ToolPresentation:
        return self._tools.presentation(name)

    async def execute(self, function: Function, step: _Step) -> None:
        """Runs one call, its progress and output going to the step's channel."""
        step.outputs[function.call_id] = FunctionOutput(name=function.name, input=function, error=_CANCELLED)
        request = step.state.request
        running = self._tools.stream(function, allowed=request.tools, given=request.given)
        async with aclosing(running) as items:
            async for item in items:
                if isinstance(item, FunctionOutput):
                    step.outputs[function.call_id] = item
                    await step.tool_output(item)
                else:
                    progress = ToolProgressRunItem(progress=item)
                    await step.channel.put(RunItemStreamEvent(name="agent.tool_call_progress", item=progress))


class _Step:
    """The state of one step while its response streams."""

    def __init__(self, runner: StepRunner, state: RunState, channel: EventChannel[RunnerEvent]) -> None:
        self._runner = runner
        self.state = state
        self.channel = channel
        self.number = len(state.steps) + 1
        self.functions: list[Function] = []
        self.outputs: dict[str, FunctionOutput] = {}
        self._running: list[asyncio.Task[None]] = []

    async def take(self, update: Update | RawResponsesStreamEvent | Notice, group: asyncio.TaskGroup | None) -> None:
        """Passes on one update. Without a ``group`` no tool is started."""
        match update:
            case RawResponsesStreamEvent():
                if self.state.request.include_raw:
                    await self.channel.put(update)
            case Notice():
                await self.channel.put(update)
            case TextUpdate():
                await self.channel.put(TextDelta(text=self.state.add_text(update.item_id, update.text)))
            case CitationUpdate():
                c = update.citation
                await self.channel.put(
                    CitationReceived(file_id=c.file_id, filename=c.filename, index=c.index, statement=update.statement)
                )
            case ToolCallReady():
                await self._start(update, group)
            case FileSearchStarted():
                await self._tool_start(Function(call_id=update.item_id, name=FILE_SEARCH), GUIDELINE_SEARCH)
            case FileSearchDone():
                await self.tool_output(_file_search_output(update.item))
            case _:
                # Reasoning reaches those who follow the raw events.
                return

    async def _start(self, call: ToolCallReady, group: asyncio.TaskGroup | None) -> None:
        item = call.item
        function = Function(call_id=item.call_id, name=item.name, arguments=item.arguments or "{}", item_id=item.id)
        self.functions.append(function)
        if group is not None:
            await self._tool_start(function, self._runner.presentation(item.name))
            self._running.append(group.create_task(self._runner.execute(function, self), name=f"tool {item.name}"))

    async def _tool_start(self, function: Function, presentation: ToolPresentation) -> None:
        item = ToolCallRunItem(function=function, presentation=presentation)
        await self.channel.put(RunItemStreamEvent(name="agent.tool_call_start", item=item))

    async def tool_output(self, output: FunctionOutput) -> None:
        item = ToolOutputRunItem(function_output=output)
        await self.channel.put(RunItemStreamEvent(name="agent.tool_call_complete", item=item))

    async def response_done(self, manager: StreamManager) -> None:
        """The response has ended; calls that can no longer be answered are cancelled and reported."""
        fold = manager.fold
        item = LLMResponseItem(step=self.number, response_id=fold.response_id, text=fold.text)
        await self.channel.put(RunItemStreamEvent(name="agent.llm_response", item=item))
        if manager.outcome.kind == "completed":
            return
        open_calls = [(f, t) for f, t in zip(self.functions, self._running, strict=False) if not t.done()]
        for function, task in open_calls:
            task.cancel()
            await self.tool_output(FunctionOutput(name=function.name, input=function, error=_CANCELLED))


def _file_search_output(item: FileSearchCallItem) -> FunctionOutput:
    """What the server's own file search found, in the shape of any tool's output."""
    results = item.results or ()
    passages = tuple(
        Passage(
            # Results carry no id of their own; the same words of the same file are the same passage.
            id=f"{result.file_id}:{sha256(result.text.encode()).hexdigest()[:16]}",
            kind="guideline",
            document_id=result.file_id,
            title=str((result.attributes or {}).get("title") or result.filename),
            text=result.text,
            score=result.score or 0.0,
        )
        for result in results
    )
    arguments = orjson.dumps({"queries": list(item.queries)}).decode()
    function = Function(call_id=item.id, name=FILE_SEARCH, arguments=arguments)
    found = passage_count(len(passages)) if item.results is not None else None
    return FunctionOutput(
        name=FILE_SEARCH,
        input=function,
        output={"results": [r.model_dump(mode="json", include={"file_id", "filename", "attributes"}) for r in results]},
        passages=passages,
        summary=str(found or ""),
        summary_phrase=found,
    )
