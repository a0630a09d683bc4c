"""One turn's events as a tree of spans, as ``turn_recorder`` describes it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chat_app.events import (
    FinalOutputItem,
    LLMResponseItem,
    Notice,
    Outcome,
    RunItemStreamEvent,
    StepRunItem,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    TurnEnded,
    TurnStarted,
)
from chat_app.response_objects import FILE_SEARCH, Usage
from chat_app.tracing.redaction import MAX_KEPT_TEXT, is_identifier, model_name, tool_name
from chat_app.tracing.span_kit import (
    AGENT,
    PROVIDER,
    SpanKit,
    error_type_of,
    finish_reason_of,
    mark_failed,
    nanoseconds,
    set_given,
    usage_attributes,
)
from chat_app.tracing.timings import TurnClock
from tools.types import Function, FunctionOutput

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span

_OF_THE_REQUEST = frozenset(
    {"answer_resumed", "transcript_always_replayed", "transcript_replayed", "waiting_for_provider"}
)


@dataclass(slots=True)
class _Chat:
    """The span of one response, open until its end is known."""

    span: Span
    began: int
    ended: int | None = None
    first_chunk: float | None = None
    finish_reason: str | None = None
    error_type: str | None = None


class TurnSpans:
    """Takes one turn's events in order, then ``end``. Times are in nanoseconds since the epoch."""

    def __init__(self, kit: SpanKit) -> None:
        from opentelemetry.trace import set_span_in_context

        self._kit = kit
        self._clock = TurnClock()
        self._model: str | None = None
        self._outcome: Outcome | None = None
        self._usage: Usage | None = None
        self._answer = ""
        self._chat: _Chat | None = None
        self._tools: dict[str, Span] = {}
        self._step_began, self._step_done, self._run_ended = time.time_ns(), False, False
        name, known = f"invoke_agent {AGENT}", {"gen_ai.agent.name": AGENT}
        self._root = self._begin(name, "invoke_agent", None, self._step_began, known)
        self._below = set_span_in_context(self._root)

    def see(self, event: object) -> None:
        """Add ``event`` to the spans."""
        self._clock.see(event)
        match event:
            case TurnStarted():
                self._model, self._step_began = model_name(event.model), time.time_ns()
                if is_identifier(event.conversation_id):
                    set_given(self._root, {"gen_ai.conversation.id": event.conversation_id})
            case Notice():
                about = self._chat_now().span if event.code in _OF_THE_REQUEST else self._root
                about.add_event("asclepius.notice", {"asclepius.notice.code": event.code})
            case TurnEnded():
                self._outcome, self._usage, self._answer = event.outcome, event.usage, event.answer
            case TextDelta():
                self._heard()
            case RunItemStreamEvent():
                self._item(event)
            case _:
                return

    def end(self, *, stopped: bool = False, error_type: str | None = None) -> None:
        """End all spans; ``stopped`` when the reader left, ``error_type`` when an exception ended the turn."""
        outcome = self._outcome or Outcome(kind="incomplete", reason="stopped" if stopped else "truncated")
        error_type = error_type or error_type_of(outcome)
        for tool in self._tools.values():
            mark_failed(tool, "cancelled")
            tool.end()
        self._tools.clear()
        if (chat := self._chat) is not None:
            chat.finish_reason = chat.finish_reason or finish_reason_of(outcome)
            chat.error_type = error_type
            self._finish(chat)
        timings = self._clock.timings()
        set_given(
            self._root,
            {
                "gen_ai.request.model": self._model,
                "asclepius.outcome.kind": outcome.kind,
                "asclepius.outcome.reason": outcome.reason,
                "asclepius.time_to_first_event": timings.first_event,
                "asclepius.time_to_first_text": timings.first_text,
                "asclepius.time_in_tools": timings.tools,
                "asclepius.duration": timings.total,
            },
        )
        if self._usage is not None:
            set_given(self._root, usage_attributes(self._usage))
            for direction, count in (("input", self._usage.input_tokens), ("output", self._usage.output_tokens)):
                self._record(self._kit.tokens, count, "invoke_agent", {"gen_ai.token.type": direction})
        if self._kit.keep_text and self._answer:
            part = {"type": "text", "content": self._answer[:MAX_KEPT_TEXT]}
            message = {"role": "assistant", "parts": [part], "finish_reason": finish_reason_of(outcome)}
            set_given(self._root, {"gen_ai.output.messages": json.dumps([message])})
        if error_type:
            mark_failed(self._root, error_type)
        agent = {"gen_ai.agent.name": AGENT}
        self._record(self._kit.turn_durations, timings.total, "invoke_agent", agent, error=error_type)
        self._root.end()

    def _item(self, event: RunItemStreamEvent) -> None:
        match event.item:
            case ToolCallRunItem():
                self._heard()
                self._tool_started(event.item.function, nanoseconds(event.item.timestamp))
            case ToolOutputRunItem():
                self._tool_ended(event.item.function_output, nanoseconds(event.item.timestamp))
            case LLMResponseItem(response_id=response_id, model=model, usage=usage, timestamp=timestamp):
                chat = self._chat_now()
                chat.ended = nanoseconds(timestamp)
                known = response_id if response_id is not None and is_identifier(response_id) else None
                named = {"gen_ai.response.id": known, "gen_ai.response.model": model_name(model)}
                set_given(chat.span, named | (usage_attributes(usage) if usage else {}))
            case StepRunItem():
                if self._chat is not None and event.item.step_output.functions:
                    self._chat.finish_reason = "tool_call"
                self._step_began, self._step_done = nanoseconds(event.item.timestamp), True
            case FinalOutputItem(runner_response=result):
                self._outcome, self._usage, self._answer = result.outcome, result.usage, result.answer
                self._run_ended = True
            case _:
                return

    def _chat_now(self) -> _Chat:
        """Return the response that is being received, a new one when the last has ended."""
        if self._chat is not None and self._chat.ended is not None:
            self._finish(self._chat)
        if self._chat is None:
            attributes: dict[str, Any] = {"gen_ai.request.model": self._model, "gen_ai.request.stream": True}
            name = f"chat {self._model}" if self._model else "chat"
            span = self._begin(name, "chat", self._below, self._step_began, attributes, client=True)
            self._chat, self._step_done = _Chat(span, self._step_began), False
        return self._chat

    def _heard(self) -> None:
        chat = self._chat
        if chat is not None and chat.ended is not None and (self._run_ended or not self._step_done):
            # Text that was held back until it was known to be no citation.
            return
        chat = self._chat_now()
        if chat.first_chunk is None:
            chat.first_chunk = max(0, time.time_ns() - chat.began) / 1e9
            set_given(chat.span, {"gen_ai.response.time_to_first_chunk": chat.first_chunk})

    def _finish(self, chat: _Chat) -> None:
        self._chat = None
        if chat.finish_reason:
            set_given(chat.span, {"gen_ai.response.finish_reasons": [chat.finish_reason]})
        if chat.error_type:
            mark_failed(chat.span, chat.error_type)
        ended = max(chat.began, chat.ended or time.time_ns())
        self._record(self._kit.durations, (ended - chat.began) / 1e9, "chat", error=chat.error_type)
        if chat.first_chunk is not None:
            self._record(self._kit.first_chunks, chat.first_chunk, "chat")
        chat.span.end(ended)

    def _tool_started(self, function: Function, began: int) -> None:
        name = tool_name(function.name, self._kit.tool_names)
        attributes = {
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "datastore" if name == FILE_SEARCH else "function",
            "gen_ai.tool.call.id": function.call_id if is_identifier(function.call_id) else None,
        }
        self._tools[function.call_id] = self._begin(
            f"execute_tool {name}", "execute_tool", self._below, began, attributes
        )

    def _tool_ended(self, output: FunctionOutput, ended: int) -> None:
        if output.input.call_id not in self._tools:
            self._tool_started(output.input, ended - round(output.duration_ms * 1e6))
        span = self._tools.pop(output.input.call_id)
        error = None if output.error is None else "tool_error"
        if error is not None:
            mark_failed(span, error)
        tool = {"gen_ai.tool.name": tool_name(output.name, self._kit.tool_names)}
        self._record(self._kit.tool_durations, output.duration_ms / 1000, "execute_tool", tool, error=error)
        if self._kit.keep_text:
            result = output.error if output.error is not None else json.dumps(output.output)
            set_given(
                span,
                {
                    "gen_ai.tool.call.arguments": output.input.arguments[:MAX_KEPT_TEXT],
                    "gen_ai.tool.call.result": result[:MAX_KEPT_TEXT],
                },
            )
        span.end(ended)

    def _begin(
        self, name: str, operation: str, context: Any, began: int, attributes: dict[str, Any], *, client: bool = False
    ) -> Span:
        from opentelemetry.trace import SpanKind

        known = {"gen_ai.operation.name": operation, "gen_ai.provider.name": PROVIDER, **attributes}
        return self._kit.tracer.start_span(
            name,
            context=context,
            kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
            start_time=began,
            attributes={key: value for key, value in known.items() if value is not None},
        )

    def _record(
        self,
        histogram: Histogram,
        value: float,
        operation: str,
        more: dict[str, str] | None = None,
        *,
        error: str | None = None,
    ) -> None:
        known = {"gen_ai.operation.name": operation, "gen_ai.provider.name": PROVIDER, **(more or {})}
        attributes = known | {"gen_ai.request.model": self._model, "error.type": error}
        histogram.record(value, {key: text for key, text in attributes.items() if text is not None})
