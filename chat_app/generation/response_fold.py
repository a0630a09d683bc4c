"""One response's events, folded into text, tool calls, citations, usage and one outcome.

``ResponseFold`` is pure: it takes events and returns the updates they cause, in order. Its guarantees:

* The text is exactly what the server sent, once: every delta counts, repeats of a finished message are not shown again,
  and text that arrives only in a later event is added. Where the server contradicts itself (the finished text differs
  from the streamed text, the numbering has a gap) it raises ``ProtocolViolation``; nothing is lost silently.
* State is keyed by ``item_id``. Text under an id that no item announced belongs to the open message, because some
servers
  change the id between the events of a message. ``output_index`` is never used, because it collides on some servers.
* A function call is ready when its item is done, once for each ``call_id``. A call of the terminal event with another
id
  but the same name and arguments is the same call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from chat_app.errors import ProtocolViolation
from chat_app.events import Outcome
from chat_app.generation.outcomes import NO_TERMINAL_EVENT, error_outcome, terminal_outcome
from chat_app.generation.text_parts import MessageIds, PartKey, TextParts
from chat_app.generation.updates import (
    CitationUpdate,
    FileSearchDone,
    FileSearchStarted,
    ReasoningUpdate,
    TextUpdate,
    ToolCallReady,
    Update,
)
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
    FileCitation,
    FileSearchCallItem,
    FunctionCallItem,
    MessageItem,
    OutputItem,
    OutputText,
    ReasoningItem,
    Refusal,
    Response,
    Usage,
)


@dataclass(slots=True)
class ResponseFold:
    """The state of one response; the module describes its guarantees."""

    response_id: str | None = None
    outcome: Outcome = NO_TERMINAL_EVENT
    usage: Usage | None = None
    response: Response | None = None
    """The whole response, from the terminal event."""
    calls: list[FunctionCallItem] = field(default_factory=list)
    items: list[OutputItem] = field(default_factory=list)
    """Items that are done, in the order of their events."""
    unknown_events: int = 0
    ended: bool = False
    _texts: TextParts = field(default_factory=TextParts)
    _ids: MessageIds = field(default_factory=MessageIds)
    _refusals: TextParts = field(default_factory=TextParts)
    _thinking: list[str] = field(default_factory=list)
    _arguments: dict[str, list[str]] = field(default_factory=dict)
    _open_calls: dict[str, FunctionCallItem] = field(default_factory=dict)
    _citations: set[tuple[str, str, int]] = field(default_factory=set)
    _searches: set[tuple[str, bool]] = field(default_factory=set)
    _last_number: int | None = None
    _last_event: ResponseEvent | None = None
    _numbered: bool = True

    @property
    def text(self) -> str:
        """The text of all messages so far."""
        return self._texts.text

    @property
    def refusal(self) -> str:
        """The text of the refusal so far."""
        return self._refusals.text

    @property
    def thinking(self) -> str:
        """The reasoning so far."""
        return "".join(self._thinking)

    @property
    def is_complete(self) -> bool:
        """Whether the server declared the response complete."""
        return self.ended and self.outcome.kind in {"completed", "refused"}

    def apply(self, event: ResponseEvent) -> list[Update]:  # noqa: C901, PLR0912 - one arm for each event
        """Return the updates that ``event`` causes; raises ``ProtocolViolation``, which leaves the fold unchanged."""
        if self.ended or self._is_duplicate(event):
            return []
        match event:
            case OutputTextDelta():
                message = self._ids.streaming(event.item_id)
                text = self._texts.delta((message, event.content_index or 0), event.delta)
                return [TextUpdate(message, text)] if text else []
            case OutputTextDone():
                key = self._done_key(event, self._texts, event.text)
                return self._text(key[0], self._texts.done(key, event.text))
            case AnnotationAdded():
                return self._citation(self._ids.streaming(event.item_id), event.annotation)
            case OutputItemEvent():
                return self._item_done(event.item) if event.type.endswith("done") else self._item_added(event.item)
            case ContentPartEvent():
                return self._part_done(event) if event.type.endswith("done") else []
            case FunctionArgumentsDelta():
                self._arguments.setdefault(event.item_id, []).append(event.delta)
            case FunctionArgumentsDone():
                self._arguments[event.item_id] = [event.arguments]
            case FileSearchEvent():
                return self._search_started(event.item_id)
            case RefusalDelta():
                message = self._ids.streaming(event.item_id)
                return self._text(message, self._refusals.delta((message, event.content_index or 0), event.delta))
            case RefusalDone():
                key = self._done_key(event, self._refusals, event.refusal)
                return self._text(key[0], self._refusals.done(key, event.refusal))
            case ReasoningDelta():
                self._thinking.append(event.delta)
                return [ReasoningUpdate(event.delta)]
            case ReasoningDone():
                return self._reasoning_done(event.text)
            case ReasoningPart():
                pass
            case ResponseLifecycleEvent():
                self.response_id = event.response.id
            case ResponseTerminalEvent():
                return self._terminal(event)
            case ErrorEvent():
                self.ended = True
                self.outcome = error_outcome(event.code)
            case UnknownEvent():
                self.unknown_events += 1
            case _:
                assert_never(event)
        return []

    def _is_duplicate(self, event: ResponseEvent) -> bool:
        """Return whether the event was delivered twice; raise on a gap where the server numbers its events."""
        number, last = event.sequence_number, self._last_number
        previous, self._last_event = self._last_event, event
        if isinstance(event, ResponseLifecycleEvent) and self.response_id not in {None, event.response.id}:
            # A response that broke off before its first word was requested again: its numbers restart.
            last = None
        if number is None:
            # Some servers number only a few of their events, which makes the numbers useless.
            self._numbered = False
        if number is None or not self._numbered:
            return False
        self._last_number = number
        if last is None or number == last + 1:
            return False
        if number > last:
            raise ProtocolViolation("Part of the answer was lost on the way from the model server.")
        if number == last and event == previous:
            return True
        # Numbers that repeat or decrease are useless; the finished texts still show whether text is lost.
        self._numbered = False
        return False

    def _done_key(self, event: OutputTextDone | RefusalDone | ContentPartEvent, parts: TextParts, text: str) -> PartKey:
        index = event.content_index or 0
        return self._ids.finished(event.item_id, text, parts.streamed((self._ids.open or "", index))), index

    def _text(self, item_id: str, text: str) -> list[Update]:
        return [TextUpdate(item_id, text)] if text else []

    def _citation(self, item_id: str, annotation: object) -> list[Update]:
        if not isinstance(annotation, FileCitation):
            return []
        key = (item_id, annotation.file_id, annotation.index)
        if key in self._citations:
            return []
        self._citations.add(key)
        text = self._texts.messages().get(item_id, "")
        statement = text[: annotation.index].rpartition("\n")[2] if 0 < annotation.index < len(text) else ""
        return [CitationUpdate(item_id, annotation, statement)]

    def _part_done(self, event: ContentPartEvent) -> list[Update]:
        part = event.part
        if isinstance(part, OutputText):
            key = self._done_key(event, self._texts, part.text)
            updates = self._text(key[0], self._texts.done(key, part.text))
            for annotation in part.annotations:
                updates += self._citation(key[0], annotation)
            return updates
        if isinstance(part, Refusal):
            key = self._done_key(event, self._refusals, part.refusal)
            return self._text(key[0], self._refusals.done(key, part.refusal))
        return []

    def _item_added(self, item: OutputItem) -> list[Update]:
        if isinstance(item, FunctionCallItem):
            self._open_calls[item.id or item.call_id] = item
        if isinstance(item, MessageItem):
            self._ids.announce(item.id)
        if isinstance(item, FileSearchCallItem):
            return self._search_started(item.id)
        return []

    def _item_done(self, item: OutputItem) -> list[Update]:
        self.items.append(item)
        match item:
            case MessageItem():
                message = self._finished_message(item)
                updates = self._message_done(item, message)
                self._ids.close(message)
                return updates
            case FunctionCallItem():
                return self._call_done(item)
            case FileSearchCallItem():
                return [*self._search_started(item.id), *self._search_done(item)]
            case ReasoningItem() if not self._thinking:
                return self._reasoning_done("\n\n".join(part.text for part in item.summary))
            case _:
                return []

    def _message_done(self, item: MessageItem, item_id: str) -> list[Update]:
        updates: list[Update] = []
        for index, part in enumerate(item.content):
            if isinstance(part, OutputText):
                updates += self._text(item_id, self._texts.done((item_id, index), part.text))
                for annotation in part.annotations:
                    updates += self._citation(item_id, annotation)
            elif isinstance(part, Refusal):
                updates += self._text(item_id, self._refusals.done((item_id, index), part.refusal))
        return updates

    def _call_done(self, item: FunctionCallItem) -> list[Update]:
        self._open_calls.pop(item.id or item.call_id, None)
        if any(call.call_id == item.call_id for call in self.calls):
            return []
        if not item.arguments:
            item = item.model_copy(update={"arguments": "".join(self._arguments.get(item.id or "", []))})
        self.calls.append(item)
        return [ToolCallReady(item)]

    def _search_started(self, item_id: str) -> list[Update]:
        if (item_id, False) in self._searches:
            return []
        self._searches.add((item_id, False))
        return [FileSearchStarted(item_id)]

    def _search_done(self, item: FileSearchCallItem) -> list[Update]:
        if (item.id, True) in self._searches:
            return []
        self._searches.add((item.id, True))
        return [FileSearchDone(item)]

    def _reasoning_done(self, text: str) -> list[Update]:
        if not text or text in self.thinking:
            return []
        self._thinking.append(text)
        return [ReasoningUpdate(text)]

    def _terminal(self, event: ResponseTerminalEvent) -> list[Update]:
        response = event.response
        self.response, self.response_id, self.usage = response, response.id, response.usage
        updates: list[Update] = []
        done = {_identity(item) for item in self.items}
        repeated = [call for call in self.calls if _identity(call) not in map(_identity, response.output)]
        # Items that only the terminal event contains; on some servers its output is empty.
        for item in response.output:
            if isinstance(item, MessageItem):
                updates += self._terminal_message(item)
            elif isinstance(item, FunctionCallItem) and (same := _same_call(item, repeated)) is not None:
                repeated.remove(same)
            elif _identity(item) not in done:
                updates += self._item_done(item)
        if event.type == "response.completed":
            # Calls without an end of their own are complete in a completed response.
            for call in list(self._open_calls.values()):
                updates += self._item_done(call)
        self.ended = True
        self.outcome = terminal_outcome(event, refused=bool(self.refusal))
        return updates

    def _terminal_message(self, item: MessageItem) -> list[Update]:
        parts = [part for part in item.content if isinstance(part, OutputText)]
        text = "".join(part.text for part in parts).strip()
        if text and not self._texts.knows(item.id):
            # The same message under another id: some servers rename it in the terminal event.
            for known_id, known in self._texts.messages().items():
                if known.strip() == text:
                    return [u for part in parts for a in part.annotations for u in self._citation(known_id, a)]
        self.items.append(item)
        return self._message_done(item, self._finished_message(item))

    def _finished_message(self, item: MessageItem) -> str:
        text = "".join(part.text for part in item.content if isinstance(part, OutputText))
        return self._ids.finished(item.id, text, self._texts.messages().get(self._ids.open or "", ""))


def _same_call(item: FunctionCallItem, calls: Sequence[FunctionCallItem]) -> FunctionCallItem | None:
    asked = (item.name, item.arguments or "{}")
    return next((call for call in calls if (call.name, call.arguments or "{}") == asked), None)


def _identity(item: OutputItem) -> tuple[str, Any]:
    return item.type, item.call_id if isinstance(item, FunctionCallItem) else item.id
