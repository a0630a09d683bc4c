"""One step of a run: a response that streams, with the tools it calls running beside it.

A tool starts as soon as its call is complete. When the response breaks off, running tools are cancelled and reported as
such, because their outputs can no longer be sent. A tool that fails has an output like any other.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, assert_never

from chat_app.agent.event_channel import MAX_CHARS, EventChannel
from chat_app.agent.hosted_results import file_search_output
from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import RunnerEvent
from chat_app.errors import PreviousResponseNotFound, ProviderError
from chat_app.events import (
    LLMResponseItem,
    Notice,
    RawResponsesStreamEvent,
    ReasoningRunItem,
    RunItemStreamEvent,
    StepOutput,
    StepRunItem,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
)
from chat_app.generation.model_client import EventBatch
from chat_app.generation.output import GeneratorOutput, function_of
from chat_app.generation.updates import (
    CitationUpdate,
    FileSearchDone,
    FileSearchStarted,
    OtherUpdate,
    ReasoningUpdate,
    TextReplacement,
    TextUpdate,
    ToolCallReady,
    Update,
)
from chat_app.response_events import ResponseLifecycleEvent
from chat_app.response_objects import FILE_SEARCH
from tools.search_presentation import GUIDELINE_SEARCH
from tools.tool_manager import ToolManager
from tools.types import Function, FunctionOutput, StreamingFunctionOutput, ToolPresentation

logger = logging.getLogger(__name__)

_CANCELLED = "The call was cancelled because the response ended before it could be used."


@dataclass(slots=True)
class StreamManager:
    """Drives ONE response: folds its events, passes on what they make known, and runs its tool calls."""

    output: GeneratorOutput[Any]
    """The generation, not yet streamed."""
    state: RunState
    channel: EventChannel[RunnerEvent]
    tools: ToolManager | None
    """Runs the calls; None starts no tool."""
    _functions: list[Function] = field(default_factory=list[Function], init=False)
    _outputs: dict[str, FunctionOutput] = field(default_factory=dict[str, FunctionOutput], init=False)
    _repeated: list[ToolCallReady] = field(default_factory=list[ToolCallReady], init=False)
    """Calls of an earlier step, which some servers list again; a model may also mean one of them again."""
    _running: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]], init=False)
    _reasoning: list[str] = field(default_factory=list[str], init=False)
    """Reasoning that has not been passed on yet."""

    @property
    def functions(self) -> Sequence[Function]:
        """The calls of the response that are to be answered, in the order of their completion."""
        open_ids = {function.call_id for function in self.output.tool_use}
        return [function for function in self._functions if function.call_id in open_ids]

    async def run(self) -> list[FunctionOutput]:
        """Stream the response to its end and wait for its tools; return their outputs in call order.

        Raises ``PreviousResponseNotFound`` when the chain is gone; nothing of the answer has arrived then.
        """
        gone: PreviousResponseNotFound | None = None
        async with asyncio.TaskGroup() as group:
            try:
                await self._follow(group)
                if not (self._functions or self.output.fold.text):
                    for call in self._repeated:
                        await self._start(call, group)
            except PreviousResponseNotFound as error:
                gone = error
            else:
                await self._response_done()
        if gone is not None:
            # Raised here because the task group would wrap it.
            raise gone
        return await self._step_done()

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        failure: ProviderError | None = None
        try:
            async with aclosing(self.output.deliver()) as batches:
                async for batch in batches:
                    if isinstance(batch, Notice):
                        await self.channel.put(batch)
                    else:
                        await self._name(batch)
                        await self._take(batch, group)
        except ProviderError as error:
            failure = error
            if isinstance(error, PreviousResponseNotFound):
                raise
            logger.warning("A response ended early: %s", type(error).__name__)
            await self._tell(self.output.fold.abandon(), group)
        finally:
            self.output.settle(failure)
            if unknown := self.output.fold.unknown_events:
                logger.info("The model server sent %d events of unknown types.", unknown)

    async def _name(self, batch: EventBatch) -> None:
        """Tell the run's caller the id of the response."""
        if (tell := self.state.request.on_response) is not None:
            for event in batch:
                if isinstance(event, ResponseLifecycleEvent) and event.response_id:
                    await tell(event.response_id)

    async def _take(self, batch: EventBatch, group: asyncio.TaskGroup) -> None:
        """Pass on what the events of one read make known, their text as few deltas."""
        fold, include_raw = self.output.fold, self.state.request.include_raw
        for events in [[event] for event in batch] if include_raw else [batch]:
            updates = fold.apply_all(events)
            if include_raw:
                await self.channel.put(RawResponsesStreamEvent.of(events[0]))
            await self._tell(updates, group)

    async def _tell(self, updates: Sequence[Update], group: asyncio.TaskGroup) -> None:
        text: list[str] = []
        size = 0
        for update in updates:
            if self._reasoning and not isinstance(update, ReasoningUpdate):
                text = await self._flushed(text)
                await self._reasoned()
            if isinstance(update, TextUpdate):
                text.append(self.state.add_text(update.item_id, update.text))
                size += len(text[-1])
                if size >= MAX_CHARS:
                    # A compressed read may hold far more text than may wait for the reader.
                    text, size = await self._flushed(text), 0
            else:
                text = await self._flushed(text)
                await self._pass_on(update, group)
        await self._flushed(text)

    async def _flushed(self, text: Sequence[str]) -> list[str]:
        if text:
            await self.channel.put(TextDelta(text=text[0] if len(text) == 1 else "".join(text)))
        return []

    async def _reasoned(self) -> None:
        """Pass on the reasoning so far as one item."""
        item = ReasoningRunItem(text="".join(self._reasoning))
        self._reasoning.clear()
        if item.text.strip():
            await self.channel.put(RunItemStreamEvent(name="agent.reasoning", item=item))

    async def _pass_on(self, update: OtherUpdate, group: asyncio.TaskGroup) -> None:
        match update:
            case CitationUpdate():
                self.state.add_citation(update)
                await self.channel.put(update)
            case TextReplacement():
                for event in self.state.replace_text(update.item_id, update.text):
                    await self.channel.put(event)
            case ToolCallReady() if self.state.has_called(function_of(update.item)):
                self._repeated.append(update)
            case ToolCallReady():
                await self._start(update, group)
            case FileSearchStarted():
                await self._tool_start(Function(call_id=update.item_id, name=FILE_SEARCH), GUIDELINE_SEARCH)
            case FileSearchDone():
                await self._tool_output(file_search_output(update.item))
            case ReasoningUpdate():
                self._reasoning.append(update.text)
            case _:
                assert_never(update)

    async def _start(self, call: ToolCallReady, group: asyncio.TaskGroup) -> None:
        function = function_of(call.item)
        self._functions.append(function)
        if self.tools is not None:
            self._outputs[function.call_id] = FunctionOutput(name=function.name, input=function, error=_CANCELLED)
            await self._tool_start(function, self.tools.presentation(function.name))
            self._running.append(group.create_task(self._execute(function, self.tools), name=f"tool {function.name}"))

    async def _execute(self, function: Function, tools: ToolManager) -> None:
        """Run one call and pass on its progress and output."""
        request = self.state.request
        running = StreamingFunctionOutput(tools.stream(function, allowed=request.tools, given=request.given))
        async with aclosing(running.astream()) as items:
            async for item in items:
                progress = ToolProgressRunItem(progress=item)
                await self.channel.put(RunItemStreamEvent(name="agent.tool_call_progress", item=progress))
        self._outputs[function.call_id] = running.function_output
        await self._tool_output(running.function_output)

    async def _tool_start(self, function: Function, presentation: ToolPresentation) -> None:
        item = ToolCallRunItem(function=function, presentation=presentation)
        await self.channel.put(RunItemStreamEvent(name="agent.tool_call_start", item=item))

    async def _tool_output(self, output: FunctionOutput) -> None:
        item = ToolOutputRunItem(function_output=output)
        await self.channel.put(RunItemStreamEvent(name="agent.tool_call_complete", item=item))

    async def _response_done(self) -> None:
        """Report the end of the response; cancel and report calls that can no longer be answered."""
        fold = self.output.fold
        await self._reasoned()
        item = LLMResponseItem(
            step=len(self.state.steps) + 1,
            response_id=fold.response_id,
            text=fold.text,
            model=fold.response.model if fold.response else None,
            usage=fold.usage,
        )
        await self.channel.put(RunItemStreamEvent(name="agent.llm_response", item=item))
        if self.output.outcome.kind == "completed":
            return
        open_calls = [(f, t) for f, t in zip(self._functions, self._running, strict=False) if not t.done()]
        for function, task in open_calls:
            task.cancel()
            await self._tool_output(self._outputs[function.call_id])

    async def _step_done(self) -> list[FunctionOutput]:
        fold, state = self.output.fold, self.state
        outputs = [self._outputs[f.call_id] for f in self.functions if f.call_id in self._outputs]
        state.add_response(fold, final=self.output.data)
        step = StepOutput(
            step=len(state.steps) + 1,
            response_id=fold.response_id,
            text=fold.text,
            functions=tuple(self._functions),
            observations=tuple(outputs),
        )
        state.steps.append(step)
        item = StepRunItem(step_output=step)
        await self.channel.put(RunItemStreamEvent(name="agent.step_complete", item=item))
        return outputs
