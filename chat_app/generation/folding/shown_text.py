"""The text of a response's messages as the reader sees it, with its citations and without the calls written in it."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_app.generation.folding.streamed_calls import StreamedCalls
from chat_app.generation.folding.text_parts import Change, StreamedMessage
from chat_app.generation.folding.written_calls import Piece, WrittenCall, WrittenCalls
from chat_app.generation.text_buffer import TextBuffer
from chat_app.generation.updates import CitationUpdate, TextReplacement, TextUpdate, ToolCallReady, Update
from chat_app.response_objects import FileCitation

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Shown:
    text: TextBuffer = field(default_factory=TextBuffer)
    calls: WrittenCalls | None = None


class ShownText:
    """Turns the changes of messages into updates.

    Args:
        tools: The parameters' JSON schema of each declared function; without any, text is never a call.
        calls: The response's calls, to which those written in its text are added.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, Any]], calls: StreamedCalls) -> None:
        self._tools = tools
        self._calls = calls
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
                shown = self._shown[message.key] = _Shown(calls=WrittenCalls(self._tools) if self._tools else None)
            found = self._pieces(message, shown, shown.calls.feed(text) if shown.calls else [text])
            updates += self._replaced(message, shown, found) if replaces else found
        return updates

    def flushed(self, message: StreamedMessage) -> list[Update]:
        """Return what was held back of a message that has ended."""
        shown = self._shown.get(message.key)
        return self._pieces(message, shown, shown.calls.close()) if shown and shown.calls else []

    def citation(self, message: StreamedMessage, annotation: object) -> list[Update]:
        """Return the update for an annotation of ``message``, which servers send several times."""
        if not isinstance(annotation, FileCitation):
            return []
        key = (message.key, annotation.file_id, annotation.index)
        if key in self._citations:
            return []
        self._citations.add(key)
        text = message.text
        statement = text[: annotation.index].rpartition("\n")[2] if 0 < annotation.index < len(text) else ""
        return [CitationUpdate(message.key, annotation, statement)]

    def _replaced(self, message: StreamedMessage, shown: _Shown, found: Sequence[Update]) -> list[Update]:
        """Return the replacement of the text of ``message``, then the calls that were written in it."""
        logger.warning("The model server's finished text differs from the streamed text, and replaced it.")
        self._citations = {key for key in self._citations if key[0] != message.key}
        calls = [update for update in [*found, *self.flushed(message)] if not isinstance(update, TextUpdate)]
        return [TextReplacement(message.key, str(shown.text)), *calls]

    def _pieces(self, message: StreamedMessage, shown: _Shown, pieces: Sequence[Piece]) -> list[Update]:
        updates: list[Update] = []
        for piece in pieces:
            if isinstance(piece, str):
                shown.text.append(piece)
                updates.append(TextUpdate(message.key, piece))
            elif isinstance(piece, WrittenCall):
                updates += map(ToolCallReady, self._calls.written(piece))
            else:
                self.unreadable = True
        return updates
