"""The only multi-step loop: ask, run the tools that the response calls, ask again with their outputs, until an answer.

``astream`` starts a run; ``acall`` and ``call`` drain it. A tool starts at its ``output_item.done``, while text still
streams, and runs beside the others; the outputs go back in call order in one request. The last allowed step permits no
tool. Every run ends in one ``RunnerResult`` with one outcome, and the next question can chain to its ``response_id``:
that response is complete, with no call left open.

A ``Runner`` keeps no state of a run, so any number of runs may go on at once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from chat_app.agent.event_channel import EventChannel
from chat_app.agent.run_state import RunState
from chat_app.agent.run_types import OutputRenderer, RunnerEvent, RunRequest, render_json
from chat_app.agent.stream_manager import StreamManager
from chat_app.errors import PreviousResponseNotFound
from chat_app.events import FinalOutputItem, Notice, Outcome, RunItemName, RunItemStreamEvent, RunnerResult
from chat_app.generation.generator import Generator, input_message
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
    """One run: iterate ``stream_events()`` once; then ``result`` is set.

    Leaving the iteration early stops the run: the connection to the model server is closed, tools are cancelled, and
    ``result`` holds what was read until then.
    """

    def __init__(self, runner: "Runner", request: RunRequest) -> None:
        self._runner, self._request = runner, request
        self._state = RunState(request)
        self._chaining = runner.generator.chaining(request.fields.get("model"))
        self._channel: EventChannel[RunnerEvent] = EventChannel()
        self._result: RunnerResult | None = None

    @property
    def result(self) -> RunnerResult:
        """The run's result; before its end, what there is so far, as stopped."""
        return self._result or self._state.result(STOPPED)

    async def stream_events(self) -> AsyncGenerator[RunnerEvent, None]:
        """Yield the run's events, the last one ``agent.execution_complete``."""
        async with self.started() as events:
            async for event in events:
                yield event

    @asynccontextmanager
    async def started(self) -> AsyncGenerator[AsyncIterator[RunnerEvent], None]:
        """Run while the block reads the events; leaving the block early stops the run."""
        producer = asyncio.create_task(self._produce(), name="run")
        try:
            yield self._channel
            if producer.done():
                # Raises what broke the run.
                producer.result()
        finally:
            producer.cancel()
            self._channel.end()
            with suppress(asyncio.CancelledError):
                await producer

    async def _produce(self) -> None:
        state = self._state
        try:
            if self._chaining.works is False:
                state.replay()
            outcome: Outcome | None = None
            while outcome is None:
                outcome = await self._step(last=len(state.steps) + 1 >= self._runner.max_steps)
            self._result = state.result(outcome)
            await self._close(self._result)
        finally:
            self._channel.end()

    async def _step(self, *, last: bool) -> Outcome | None:
        """Run one step; return None when its tools' outputs have to go back. Ask once more when the chain is gone."""
        state = self._state
        try:
            outcome = await self._respond(last=last)
        except PreviousResponseNotFound as gone:
            if state.steps or not gone.supported:
                # The server that gave a response of this very run does not know it.
                self._chaining.works = False
            state.replay()
            await self._channel.put(REPLAYED if gone.supported else REPLAYING)
            outcome = await self._respond(last=last)
        if outcome is None or outcome.kind != "completed":
            return outcome
        if last and len(state.steps) > 1:
            return STEP_LIMIT
        return outcome if state.answer.strip() else NO_ANSWER

    async def _respond(self, *, last: bool) -> Outcome | None:
        runner = self._runner
        output = runner.generator.astream(**self._fields(last=last))
        manager = StreamManager(output, self._state, self._channel, None if last else runner.tool_manager)
        observations = await manager.run()
        if output.outcome.kind != "completed" or not manager.functions:
            return output.outcome
        if last:
            return STEP_LIMIT
        rendered = [await runner.render_output(observation) for observation in observations]
        self._state.add_outputs(
            [
                {"type": "function_call_output", "call_id": o.input.call_id, "output": text}
                for o, text in zip(observations, rendered, strict=True)
            ]
        )
        return None

    def _fields(self, *, last: bool) -> dict[str, Any]:
        request, state = self._request, self._state
        functions = [d.model_dump() for d in self._runner.tool_manager.definitions(request.tools)]
        declared = (*functions, *request.hosted_tools)
        # On the last step the tools stay declared, since the conversation holds calls to them, but none may be called.
        # Where it is the only one, the server's own tools may: their results are in the same response.
        only_hosted = bool(request.hosted_tools) and not state.steps
        choice = {"tool_choice": "none"} if last and declared and not only_hosted else {}
        resumed = {"resumes": request.resumed[len(state.steps)]} if len(state.steps) < len(request.resumed) else {}
        return {
            **request.fields,
            **state.next_input(),
            **choice,
            **resumed,
            "prompt_kwargs": request.prompt_kwargs,
            "tools": declared,
        }

    async def _close(self, result: RunnerResult) -> None:
        item = FinalOutputItem(runner_response=result, final_output=result.final_output)
        names: tuple[RunItemName, ...] = ("agent.final_output", "agent.execution_complete")
        for name in names:
            await self._channel.put(RunItemStreamEvent(name=name, item=item))


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs questions, each in at most ``max_steps`` responses."""

    generator: Generator[Any]
    tool_manager: ToolManager = field(default_factory=ToolManager)
    max_steps: int = field(default=5, kw_only=True)
    """Most responses of a run; the last one may not call tools."""
    render_output: OutputRenderer = field(default=render_json, kw_only=True)

    def astream(
        self,
        request: RunRequest | Mapping[str, Any] | None = None,
        *,
        prompt: str | None = None,
        prompt_kwargs: Mapping[str, Any] | None = None,
    ) -> RunnerStreamingResult:
        """Start a run; nothing is sent until its events are iterated.

        Args:
            request: The whole request; a mapping is taken as ``prompt_kwargs``.
            prompt: The user's message.
            prompt_kwargs: Values for the generator's prompt, which is the user's message where ``prompt`` is missing.
        """
        if not isinstance(request, RunRequest):
            request = self._request(prompt, {**(request or {}), **(prompt_kwargs or {})})
        return RunnerStreamingResult(self, request)

    async def acall(
        self,
        request: RunRequest | Mapping[str, Any] | None = None,
        *,
        prompt: str | None = None,
        prompt_kwargs: Mapping[str, Any] | None = None,
    ) -> RunnerResult:
        """Return the result of a whole run; takes what ``astream`` takes."""
        running = self.astream(request, prompt=prompt, prompt_kwargs=prompt_kwargs)
        async for _ in running.stream_events():
            pass
        return running.result

    def call(
        self,
        request: RunRequest | Mapping[str, Any] | None = None,
        *,
        prompt: str | None = None,
        prompt_kwargs: Mapping[str, Any] | None = None,
    ) -> RunnerResult:
        """Like ``acall``, without an event loop; raises ``RuntimeError`` inside one."""

        async def once() -> RunnerResult:
            try:
                return await self.acall(request, prompt=prompt, prompt_kwargs=prompt_kwargs)
            finally:
                await self.generator.model_client.aclose()

        return run_sync(once)

    def _request(self, prompt: str | None, prompt_kwargs: dict[str, Any]) -> RunRequest:
        if prompt is not None:
            return RunRequest(items=(input_message("user", prompt),), prompt_kwargs=prompt_kwargs)
        rendered = self.generator.prompt.render(**prompt_kwargs)
        return RunRequest(
            items=(input_message("user", rendered),), prompt_kwargs=prompt_kwargs, fields={"instructions": None}
        )
