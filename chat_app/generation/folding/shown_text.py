"""The text of a response's messages as the reader sees it, with its citations and without calls and reasoning in it."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_app.generation.folding.call_reading import Piece, WrittenCall
from chat_app.generation.folding.control_tokens import ControlTokens
from chat_app.generation.folding.harmony_words import HarmonyWords
from chat_app.generation.folding.streamed_calls import StreamedCalls
from chat_app.generation.folding.text_parts import Change, StreamedMessage
from chat_app.generation.folding.thoughts import Spoken, Thoughts
from chat_app.generation.folding.written_calls import WrittenCalls
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import (
    CitationUpdate,
    ReasoningUpdate,
    TextReplacement,
    TextUpdate,
    ToolCallReady,
    Update,
)
from chat_app.response_objects import FileCitation

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Shown:
    calls: WrittenCalls | None
    harmony: HarmonyWords = field(default_factory=HarmonyWords)
    thoughts: Thoughts = field(default_factory=Thoughts)
    tokens: ControlTokens = field(default_factory=ControlTokens)
    text: TextBuffer = field(default_factory=TextBuffer)


class ShownText:
    """Turns the changes of messages into updates.

    ``tools`` are the schemas of the declared functions' parameters; without any, text is never a call. Calls and
    reasoning that are written in the text are added to ``calls`` and ``thinking``.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, Any]], calls: StreamedCalls, thinking: list[str]) -> None:
        self._tools = tools
        self._calls = calls
        self._thinking = thinking
        self._latest: StreamedMessage | None = None
        self._order: list[str] = []
        """The keys of the messages with text that the reader sees, in their order."""
        self._shown: dict[str, _Shown] = {}
        self._citations: set[tuple[str, str, int]] = set()
        self.unreadable = False
        """Whether a call was written in no known form."""

    def text(self, messages: Iterable[StreamedMessage]) -> str:
        """Return the text of ``messages``, without refusals and written calls."""
        return "".join(
            "".join(str(part.streamed) for part in message.of_kind("text"))
            if message.of_kind("refusal")
            else str(self._shown[message.key].text)
            for message in messages
            if message.key in self._shown
        )

    def changed(self, changes: Sequence[Change]) -> list[Update]:
        """Return the updates for ``changes``."""
        updates: list[Update] = []
        for message, text, replaces in changes:
            shown = self._shown.get(message.key)
            if shown is None or replaces:
                shown = self._shown[message.key] = _Shown(WrittenCalls(self._tools) if self._tools else None)
            if self._latest is not message:
                updates += self._released()
                self._latest = message
            found = self._said(message, shown, shown.thoughts.feed(shown.harmony.feed(text)))
            updates += self._replaced(message, shown, found) if replaces else found
        return updates

    def flushed(self, message: StreamedMessage, *, broke_off: bool = False) -> list[Update]:
        """Return the text held back of an ended message, without a call that was cut off."""
        if (shown := self._shown.get(message.key)) is None:
            return []
        updates = self._said(message, shown, shown.thoughts.feed(shown.harmony.feed("", ended=True), ended=True))
        if shown.calls:
            pieces = shown.calls.abandon() if broke_off else shown.calls.close()
            updates += self._pieces(message, shown, pieces)
        return updates + self._added(message, shown, shown.tokens.close(shown.text))

    def thought_calls(self) -> list[Update]:
        """Return the calls in the reasoning, where some models write them before they have ended it."""
        if not self._tools:
            return []
        calls = WrittenCalls(self._tools)
        thought = HarmonyWords().feed("".join(self._thinking), ended=True)
        pieces = [*calls.feed(thought), *calls.close()]
        found = [call for piece in pieces if isinstance(piece, WrittenCall) for call in self._calls.written(piece)]
        return list(map(ToolCallReady, found))

    def citations(self, message: StreamedMessage, annotations: Iterable[object]) -> list[Update]:
        """Return the updates for annotations of ``message``, which servers send several times."""
        updates: list[Update] = []
        for cited in (one for one in annotations if isinstance(one, FileCitation)):
            if (key := (message.key, cited.file_id, cited.index)) not in self._citations:
                self._citations.add(key)
                text = message.text
                statement = text[: cited.index].rpartition("\n")[2] if 0 < cited.index < len(text) else ""
                updates.append(CitationUpdate(message.key, cited, statement))
        return updates

    def _replaced(self, message: StreamedMessage, shown: _Shown, found: Sequence[Update]) -> list[Update]:
        """Return the replacement of the text of ``message``, then the calls that were written in it."""
        logger.warning("The model server's finished text differs from the streamed text, and replaced it.")
        self._citations = {key for key in self._citations if key[0] != message.key}
        calls = [update for update in found if isinstance(update, ToolCallReady)]
        if not shown.text and message.key in self._order:
            self._order.remove(message.key)
        return [TextReplacement(message.key, str(shown.text)), *calls]

    def _released(self) -> list[Update]:
        """Return the text held back of the latest message, which another one follows."""
        message = self._latest
        shown = self._shown.get(message.key) if message else None
        return self._pieces(message, shown, shown.calls.release()) if message and shown and shown.calls else []

    def _said(self, message: StreamedMessage, shown: _Shown, spoken: Spoken) -> list[Update]:
        updates: list[Update] = []
        if thought := str(shown.text) + spoken.thought if spoken.only_thought else spoken.thought:
            self._thinking.append(thought)
            updates.append(ReasoningUpdate(thought))
        if spoken.only_thought:
            shown.calls = WrittenCalls(self._tools) if self._tools else None
            shown.text, shown.tokens = TextBuffer(), ControlTokens()
            updates += self._replaced(message, shown, [])
        if spoken.text:
            pieces = shown.calls.feed(spoken.text) if shown.calls else [spoken.text]
            updates += self._pieces(message, shown, pieces)
        return updates

    def _pieces(self, message: StreamedMessage, shown: _Shown, pieces: Sequence[Piece]) -> list[Update]:
        updates: list[Update] = []
        for piece in pieces:
            if isinstance(piece, str):
                updates += self._added(message, shown, shown.tokens.feed(piece, shown.text))
            elif isinstance(piece, WrittenCall):
                updates += map(ToolCallReady, self._calls.written(piece))
            else:
                self.unreadable = True
        return updates

    def _added(self, message: StreamedMessage, shown: _Shown, text: str) -> list[Update]:
        """Append ``text`` to the shown text of the message; return the updates."""
        if not text:
            return []
        shown.text.append(text)
        if message.key not in self._order:
            self._order.append(message.key)
        # Text of a message that others follow already has its place before them.
        last = self._order[-1] == message.key
        return [TextUpdate(message.key, text) if last else TextReplacement(message.key, str(shown.text))]
