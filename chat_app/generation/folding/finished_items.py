"""The finished items of one response: what their ends, and the terminal event, add to the streamed parts."""

from collections.abc import Sequence
from typing import Final

from chat_app.generation.folding.message_matching import StreamedMessages
from chat_app.generation.folding.shown_text import ShownText
from chat_app.generation.folding.streamed_calls import StreamedCalls
from chat_app.generation.folding.text_parts import PartKind, Place, StreamedMessage, compact
from chat_app.generation.updates import FileSearchDone, FileSearchStarted, ReasoningUpdate, ToolCallReady, Update
from chat_app.response_objects import (
    FileSearchCallItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    MessageItem,
    OutputItem,
    OutputText,
    ReasoningItem,
    Refusal,
    Response,
)

_ASKED: Final = frozenset({"user", "system", "developer", "tool"})
"""Roles of the question's messages, which some servers list beside the answer."""


class FinishedItems:
    """Collects the items that are done; each method returns the updates that its argument causes."""

    def __init__(self, messages: StreamedMessages, calls: StreamedCalls, shown: ShownText, thinking: list[str]) -> None:
        self._done: set[tuple[str, str | None]] = set()
        self._messages = messages
        self._calls = calls
        self._shown = shown
        self._thinking = thinking
        self._searches: set[tuple[str, bool]] = set()
        self._reasoning: list[Place] = []

    def announce(self, item: OutputItem, index: int | None) -> list[Update]:
        """Open an item that the server announced, with the text that it may have already."""
        match item:
            case FunctionCallItem():
                self._calls.added(item, index)
            case MessageItem():
                self._messages.announce(Place(item.id, index))
                said = enumerate([] if item.role in _ASKED else _texts(item))
                texts = [self._messages.announce_text(Place(item.id, index, at), *text) for at, text in said]
                return self._shown.changed([change for changes in texts for change in changes])
            case FileSearchCallItem():
                return self.search_started(item.id)
            case _:
                pass
        return []

    def add(self, item: OutputItem, index: int | None) -> list[Update]:
        """Add an item that ended while the response streams."""
        self._done.add((item.type, item.id))
        match item:
            case MessageItem(role=role) if role in _ASKED:
                return []
            case MessageItem():
                message = self._messages.finished(Place(item.id, index), _joined(item))
                calls = [ready for call in _calls_in([item]) for ready in self._calls.done(call)]
                return [*self._message_done(item, message), *map(ToolCallReady, calls)]
            case FunctionCallItem():
                return list(map(ToolCallReady, self._calls.done(item, index)))
            case _:
                return self._other_done(item, index)

    def add_rest(self, response: Response) -> list[Update]:
        """Add the items that only the terminal event contains, except calls; on some servers its output is empty."""
        updates: list[Update] = []
        for item in response.output:
            if not isinstance(item, MessageItem | FunctionCallItem) and (item.type, item.id) not in self._done:
                updates += self._other_done(item)
        messages = [item for item in response.output if isinstance(item, MessageItem) and item.role not in _ASKED]
        if response.output_text and not messages:
            messages = [MessageItem(content=(OutputText(text=response.output_text),))]
        updates += self._terminal_messages(messages)
        thinking = compact("".join(self._thinking))
        return updates + self._shown.changed(self._messages.thought(self._reasoning, thinking, listed=bool(messages)))

    def add_calls(self, response: Response) -> list[Update]:
        """Add the calls of a completed response, also those whose end was not sent."""
        return list(map(ToolCallReady, [*self._calls.terminal(_calls_in(response.output)), *self._calls.close()]))

    def search_started(self, item_id: str) -> list[Update]:
        """Begin the server's own file search, which several events announce."""
        return self._searched(FileSearchStarted(item_id), (item_id, False))

    def reasoning_done(self, text: str) -> list[Update]:
        """Add finished reasoning that was not streamed."""
        if not text or text in "".join(self._thinking):
            return []
        self._thinking.append(text)
        return [ReasoningUpdate(text)]

    def _message_done(self, item: MessageItem, message: StreamedMessage) -> list[Update]:
        updates = self._shown.changed(self._messages.finish(message, _texts(item)))
        cited = [one for part in item.content if isinstance(part, OutputText) for one in part.annotations]
        return updates + self._shown.citations(message, cited) + self._shown.flushed(message)

    def _other_done(self, item: OutputItem, index: int | None = None) -> list[Update]:
        match item:
            case FunctionCallOutputItem():
                self._calls.answered(item.call_id)
                return []
            case FileSearchCallItem():
                return [*self.search_started(item.id), *self._searched(FileSearchDone(item), (item.id, True))]
            case ReasoningItem():
                self._reasoning.append(Place(item.id, index))
                text = "\n\n".join(part.text for part in item.summary or item.content)
                return [] if self._thinking else self.reasoning_done(text)
            case _:
                return []

    def _searched(self, update: Update, event: tuple[str, bool]) -> list[Update]:
        is_new = event not in self._searches
        self._searches.add(event)
        return [update] if is_new else []

    def _terminal_messages(self, items: Sequence[MessageItem]) -> list[Update]:
        texts = [(item.id, _joined(item)) for item in items]
        updates = self._shown.changed(self._messages.merged(texts[0][1])) if len(texts) == 1 else []
        matched = self._messages.matched(texts)
        for item, known in zip(items, matched, strict=True):
            message = known or self._messages.only_finished(Place(item.id), _joined(item))
            updates += self._message_done(item, message)
        return updates + self._shown.changed(self._messages.repeats())


def _calls_in(items: Sequence[OutputItem]) -> list[FunctionCallItem]:
    """Return the calls among ``items``, and those that some servers put into a message."""
    inner = [[*item.content, *item.tool_calls] if isinstance(item, MessageItem) else [item] for item in items]
    return [part for parts in inner for part in parts if isinstance(part, FunctionCallItem)]


def _texts(item: MessageItem) -> list[tuple[PartKind, str]]:
    texts: list[tuple[PartKind, str]] = []
    for part in item.content:
        if isinstance(part, OutputText):
            texts.append(("text", part.text))
        elif isinstance(part, Refusal):
            texts.append(("refusal", part.refusal))
    return texts


def _joined(item: MessageItem) -> str:
    return "".join(text for _, text in _texts(item))
