"""One response's events, folded into text, tool calls, citations, usage and one outcome.

``ResponseFold`` is pure: it takes events and returns the updates they cause, in order. Its guarantees:

* The text is exactly what the server sent, once: every delta counts, repeats of a finished message are not shown
  again, and text that arrives only in a later event is added. A different finished text replaces the streamed one.
* Ids, indexes and numbers may be wrong or missing (``message_matching``, ``streamed_calls``). A gap in the numbering is
  logged; where no finished text shows that nothing was lost, the response is incomplete.
* A function call is ready when its item is done, once whatever its ids. A call that the model wrote as text is a call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from chat_app.errors import ProtocolViolation
from chat_app.events import Outcome
from chat_app.generation.folding.event_numbers import EventNumbers
from chat_app.generation.folding.finished_items import FinishedItems
from chat_app.generation.folding.message_matching import StreamedMessages
from chat_app.generation.folding.shown_text import ShownText
from chat_app.generation.folding.streamed_calls import StreamedCalls
from chat_app.generation.folding.text_parts import Place
from chat_app.generation.outcomes import (
    NO_TERMINAL_EVENT,
    UNREADABLE_CALL,
    error_outcome,
    exception_outcome,
    terminal_outcome,
)
from chat_app.generation.updates import ReasoningUpdate, Update
from chat_app.response_events import (
    AnnotationAdded,
    ContentPartEvent,
    ErrorEvent,
    FileSearchEvent,
    FunctionArgumentsDelta,
    FunctionArgumentsDone,
    OutputItemEvent,
    OutputTextDelta,
    OutputTextDone,
    PlacedEvent,
    ReasoningDelta,
    ReasoningDone,
    ReasoningPart,
    RefusalDelta,
    RefusalDone,
    ResponseEvent,
    ResponseLifecycleEvent,
    ResponseTerminalEvent,
    UnknownEvent,
)
from chat_app.response_objects import (
    FunctionCallItem,
    OutputText,
    Refusal,
    Response,
    Usage,
)

_JOINED = 512
"""Characters from which on a delta begins another update."""


@dataclass(slots=True)
class ResponseFold:
    """The state of one response; the module describes its guarantees."""

    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The parameters' JSON schema of each function that the model may call; without any, text is never a call."""
    response_id: str | None = None
    outcome: Outcome = NO_TERMINAL_EVENT
    usage: Usage | None = None
    response: Response | None = None
    """The whole response, from the terminal event."""
    unknown_events: int = 0
    ended: bool = False
    _messages: StreamedMessages = field(default_factory=StreamedMessages)
    _calls: StreamedCalls = field(init=False)
    _shown: ShownText = field(init=False)
    _finished: FinishedItems = field(init=False)
    _thinking: list[str] = field(default_factory=list)
    _numbers: EventNumbers = field(default_factory=EventNumbers)
    _lost: bool = False
    """Whether a delta came without its text, or the end without the response."""

    def __post_init__(self) -> None:
        self._calls = StreamedCalls(self.tools)
        self._shown = ShownText(self.tools, self._calls, self._thinking)
        self._finished = FinishedItems(self._messages, self._calls, self._shown, self._thinking)

    @property
    def text(self) -> str:
        """The text of all messages so far, without refusals and written calls."""
        return self._shown.text(self._messages)

    @property
    def refusal(self) -> str:
        """The text of the refusal so far."""
        return "".join(str(part.streamed) for message in self._messages for part in message.of_kind("refusal"))

    @property
    def thinking(self) -> str:
        """The reasoning so far."""
        return "".join(self._thinking)

    @property
    def calls(self) -> list[FunctionCallItem]:
        """Complete calls, in the order of their completion."""
        return self._calls.ready

    @property
    def unknown_calls(self) -> bool:
        """Whether the server knows no call of the id of one, for example because it was only written as text."""
        return self._calls.any_unknown

    @property
    def is_complete(self) -> bool:
        """Whether the server declared the response complete."""
        return self.ended and self.outcome.kind in {"completed", "refused"}

    def apply_all(self, events: Sequence[ResponseEvent]) -> list[Update]:
        """Return the updates that ``events`` cause; the text that follows in one message is one of them."""
        if len(events) == 1:
            return self.apply(events[0])
        updates: list[Update] = []
        at, text, size = Place(""), list[str](), 0
        for event in events:
            if self.ended or not isinstance(event, OutputTextDelta):
                updates += self._streamed(at, text)
                updates += self.apply(event)
                continue
            if event[1:4] != at or size >= _JOINED:
                updates += self._streamed(at, text)
                at, size = _place(event), 0
            if not self._numbers.repeats(event, self.response_id):
                text.append(event.delta)
                size += len(event.delta)
        return updates + self._streamed(at, text)

    def apply(self, event: ResponseEvent) -> list[Update]:  # noqa: C901, PLR0912 - one arm for each event
        """Return the updates that ``event`` causes."""
        if self.ended or self._numbers.repeats(event, self.response_id):
            return []
        match event:
            case OutputTextDelta():
                return self._shown.changed(self._messages.delta(_place(event), "text", event.delta))
            case OutputTextDone():
                return self._shown.changed(self._messages.finish_part(_place(event), "text", event.text))
            case AnnotationAdded():
                return self._shown.citations(self._messages.streaming(_place(event)), [event.annotation])
            case OutputItemEvent():
                if event.type.endswith("done"):
                    return self._finished.add(event.item, event.output_index)
                return self._finished.announce(event.item, event.output_index)
            case ContentPartEvent():
                return self._part(event)
            case FunctionArgumentsDelta():
                self._calls.delta(event.item_id, event.output_index, event.delta)
            case FunctionArgumentsDone():
                self._calls.arguments_done(event.item_id, event.output_index, event.arguments)
            case FileSearchEvent():
                return self._finished.search_started(event.item_id)
            case RefusalDelta():
                return self._shown.changed(self._messages.delta(_place(event), "refusal", event.delta))
            case RefusalDone():
                return self._shown.changed(self._messages.finish_part(_place(event), "refusal", event.refusal))
            case ReasoningDelta():
                self._thinking.append(event.delta)
                return [ReasoningUpdate(event.delta)]
            case ReasoningDone():
                return self._finished.reasoning_done(event.text)
            case ReasoningPart():
                pass
            case ResponseLifecycleEvent():
                return self._lifecycle(event)
            case ResponseTerminalEvent():
                return self._terminal(event)
            case ErrorEvent():
                self.ended = True
                self.outcome = error_outcome(event.code)
                return self.abandon()
            case UnknownEvent():
                self.unknown_events += 1
                self._lost = self._lost or event.type == "response.output_text.delta"
            case _:
                assert_never(event)
        return []

    def abandon(self) -> list[Update]:
        """Return the text that was held back when the response broke off."""
        return [update for message in self._messages for update in self._shown.flushed(message, broke_off=True)]

    def _lifecycle(self, event: ResponseLifecycleEvent) -> list[Update]:
        known, self.response_id = self.response_id, event.response_id or self.response_id
        begun_again = event.type == "response.created" and known not in {None, self.response_id}
        if not begun_again:
            return []
        self._calls.void()
        return self._shown.changed(self._messages.void())

    def _streamed(self, place: Place, text: list[str]) -> list[Update]:
        """Return the updates for the deltas in ``text``, and empty it."""
        changes = self._messages.delta(place, "text", *text) if text else []
        text.clear()
        return self._shown.changed(changes)

    def _part(self, event: ContentPartEvent) -> list[Update]:
        add = self._messages.finish_part if event.type.endswith("done") else self._messages.announce_text
        part = event.part
        if isinstance(part, OutputText):
            updates = self._shown.changed(add(_place(event), "text", part.text))
            if part.annotations:
                updates += self._shown.citations(self._messages.streaming(_place(event)), part.annotations)
            return updates
        return self._shown.changed(add(_place(event), "refusal", part.refusal)) if isinstance(part, Refusal) else []

    def _terminal(self, event: ResponseTerminalEvent) -> list[Update]:
        response = event.response
        self.response, self.response_id, self.usage = response, response.id or self.response_id, response.usage
        self._lost = self._lost or "response" not in event.model_fields_set
        updates = self._finished.add_rest(response)
        for message in self._messages:
            updates += self._shown.flushed(message)
        self.outcome = terminal_outcome(event, refused=bool(self.refusal))
        if self.outcome.kind == "completed":
            updates += self._finished.add_calls(response)
            if not (self.calls or self.text.strip()):
                updates += self._shown.thought_calls()
        self.ended = True
        if self.outcome.kind == "completed" and self._shown.unreadable:
            self.outcome = UNREADABLE_CALL
        elif self.outcome.kind == "completed" and (self._numbers.gap or self._lost) and self._messages.unconfirmed:
            lost = ProtocolViolation("Part of the answer was lost on the way from the model server.")
            self.outcome = exception_outcome(lost, any_text=True)
        return updates


def _place(event: PlacedEvent | OutputTextDelta) -> Place:
    return Place(event.item_id, event.output_index, event.content_index)
