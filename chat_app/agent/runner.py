"""The only multi-step loop: ask, run the tools that the response calls, ask again with their outputs, until an answer.

``astream`` is the loop; ``acall`` and ``call`` drain it. A tool starts at its ``output_item.done``, while text still
streams, and runs beside the others; the outputs go back in call order in one request. The last allowed step asks for
no more tools. Whatever happens, a run ends in one ``RunnerResult`` with one outcome, and its ``response_id`` is one
that the next question can chain to: complete, with no call left open.

A ``Runner`` keeps no state of a run: any number of runs may go on at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from chat_app.agent.event_channel import ChannelClosed, EventChannel
from chat_app.agent.run_state import RunState
from chat_app.agent.run_step import StepRunner
from chat_app.agent.run_types import OutputRenderer, RunnerEvent, RunRequest, render_json
from chat_app.errors import PreviousResponseNotFound
from chat_app.events import FinalOutputItem, Notice, Outcome, RunItemName, RunItemStreamEvent, RunnerResult
from chat_app.generation.generator import Generator
from chat_app.generation.outcomes import NO_ANSWER, STEP_LIMIT, STOPPED
from tools.sync_calls import run_sync
from tools.tool_manager import ToolManager

REPLAYED = Notice(
    code="transcript_replayed",
    message="The model server no longer had the earlier part of this conversation; it was sent again.",
)
REPLAYING = Notice(
    code="transcript_always_replayed",
    message="The model server keeps no conversations; the earlier part is sent again with every question.",
)


class RunnerStreamingResult:
    """A run as a stream: iterate ``stream_events()`` once; then ``result`` is set.

    Leaving the iteration early stops the run: the connection to the model server is closed, tools are cancelled, and
    ``result`` tells what was read until then.
    """

    def __init__(self, runner: Runner, request: RunRequest) -> None:
        self._runner = runner
        self._request = request
        self._state = RunState(request)
        self._result: RunnerResult | None = None

    @property
    def result(self) -> RunnerResult:
        """The run's result; before its end, what there is so far, as stopped."""
        return self._result or self._state.result(STOPPED)

    async def stream_events(self) -> AsyncGenerator[RunnerEvent, None]:
        """The run's events, ending with ``agent.execution_complete``."""
        channel: EventChannel[RunnerEvent] = EventChannel()
        producer = asyncio.create_task(self._produce(channel), name="run")
        try:
            with suppress(ChannelClosed):
                while True:
                    yield await channel.get()
            await producer
        finally:
            producer.cancel()
            channel.end()
            with suppress(asyncio.CancelledError):
                await producer

    async def _produce(self, channel: EventChannel[RunnerEvent]) -> None:
        try:
            self._result = await self._runner.run(self._state, channel)
            await _close(channel, self._result)
        finally:
            channel.end()


class Runner:
    """Runs questions with ``generator`` and the tools of ``tool_manager``, at most ``max_steps`` responses each."""

    def __init__(
        self,
        generator: Generator[Any],
        tool_manager: ToolManager,
        *,
        max_steps: int = 5,
        render_output: OutputRenderer = render_json,
    ) -> None:
        self._generator = generator
        self._steps = StepRunner(generator, tool_manager, render_output)
        self._max_steps = max_steps

    def astream(self, request: RunRequest) -> RunnerStreamingResult:
        """Begins a run: nothing is sent until its events are iterated."""
        return RunnerStreamingResult(self, request)

    async def acall(self, request: RunRequest) -> RunnerResult:
        """A run to its end."""
        running = self.astream(request)
        async for _ in running.stream_events():
            pass
        return running.result

    def call(self, request: RunRequest) -> RunnerResult:
        """``acall`` for code without an event loop; raises ``RuntimeError`` inside one."""

        async def once() -> RunnerResult:
            try:
                return await self.acall(request)
            finally:
                await self._generator.model_client.aclose()

        return run_sync(once)

    async def run(self, state: RunState, channel: EventChannel[RunnerEvent]) -> RunnerResult:
        """The loop. Events go to ``channel``; the result is returned, whatever the server did."""
        if self._generator.chaining.works is False:
            state.replay()
        outcome: Outcome | None = None
        while outcome is None:
            outcome = await self._step(state, channel, last=len(state.steps) + 1 >= self._max_steps)
        return state.result(outcome)

    async def _step(self, state: RunState, channel: EventChannel[RunnerEvent], *, last: bool) -> Outcome | None:
        """One step; None when its tools' outputs have to go back. Asks once more when the chain is gone."""
        try:
            outcome = await self._steps.run(state, channel, last=last)
        except PreviousResponseNotFound as gone:
            if state.steps or not gone.supported:
                # A response of this very run is unknown to the server that gave it.
                self._generator.chaining.works = False
            state.replay()
            await channel.put(REPLAYED if gone.supported else REPLAYING)
            outcome = await self._steps.run(state, channel, last=last)
        if outcome is None or outcome.kind != "completed":
            return outcome
        if last and len(state.steps) > 1:
            return STEP_LIMIT
        return outcome if state.answer.strip() else NO_ANSWER


async def _close(channel: EventChannel[RunnerEvent], result: RunnerResult) -> None:
    item = FinalOutputItem(runner_response=result, final_output=result.final_output)
    names: tuple[RunItemName, ...] = ("agent.final_output", "agent.execution_complete")
    for name in names:
        await channel.put(RunItemStreamEvent(name=name, item=item))
