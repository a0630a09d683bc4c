"""The text of a response's messages as it streams, part by part.

A part is keyed by message id and content index. ``delta`` and ``done`` return the text that is new for the reader: a
finished part that a server repeats shows nothing twice, and an end that arrives only with the finished text is added. A
finished text that differs from the streamed text is a ``ProtocolViolation``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from chat_app.errors import ProtocolViolation
from chat_app.generation.text_buffer import TextBuffer

PartKey = tuple[str, int]


class MessageIds:
    """Decides which message an event belongs to; some servers change the id between the events of a message."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._announced = False
        self.open: str | None = None
        """The message that was announced or begun and is not done."""

    def announce(self, item_id: str) -> None:
        """Open message ``item_id``, which the server announced."""
        self._open(item_id)
        self._announced = True

    def streaming(self, item_id: str) -> str:
        """Return the message of streamed text; an unknown id means the announced open message, or else a new one."""
        if item_id in self._known:
            return item_id
        if self.open is not None and self._announced:
            return self.open
        return self._open(item_id)

    def finished(self, item_id: str, text: str, streamed: str) -> str:
        """Return the message of a finished ``text``; under an unknown id it is the open one that it continues."""
        if item_id in self._known:
            return item_id
        if self.open is not None and text.startswith(streamed):
            return self.open
        return self._open(item_id)

    def close(self, item_id: str) -> None:
        """End message ``item_id``: text under unknown ids no longer belongs to it."""
        if self.open == item_id:
            self.open = None

    def _open(self, item_id: str) -> str:
        self._known.add(item_id)
        self.open, self._announced = item_id, False
        return item_id


@dataclass(slots=True)
class _Part:
    streamed: TextBuffer = field(default_factory=TextBuffer)
    finished: str | None = None
    repeat: str | None = None
    """The text since the part was finished, as long as it repeats the finished text."""

    def take(self, delta: str) -> str:
        if self.finished is None:
            self.streamed.append(delta)
            return delta
        self.repeat = (self.repeat or "") + delta
        if self.finished.startswith(self.repeat):
            return ""
        # Not a repeat: another text under the same id.
        fresh, self.repeat, self.finished = self.repeat, None, None
        self.streamed = TextBuffer(fresh)
        return fresh

    def finish(self, text: str) -> str:
        known, repeat, self.repeat = self.finished, self.repeat, None
        if known is None:
            return self._extend(str(self.streamed), text)
        if text == known:
            return ""
        # A second, shorter message under the same id looks like a repeat until its end arrives.
        return self._extend("" if repeat is not None and text.startswith(repeat) else known, text)

    def _extend(self, streamed: str, text: str) -> str:
        if not text.startswith(streamed):
            raise ProtocolViolation("The model server's finished text is not the text it streamed.")
        self.streamed, self.finished = TextBuffer(text), text
        return text[len(streamed) :]


class TextParts:
    """All text parts of one response, in order of first appearance."""

    def __init__(self) -> None:
        self._parts: dict[PartKey, _Part] = {}
        self._shown = TextBuffer()

    @property
    def text(self) -> str:
        """All text that was returned so far."""
        return str(self._shown)

    def delta(self, key: PartKey, delta: str) -> str:
        """Add streamed text; return the part of it that is new."""
        text = self._part(key).take(delta)
        self._shown.append(text)
        return text

    def done(self, key: PartKey, text: str) -> str:
        """Add a finished text; return the part of it that is new."""
        fresh = self._part(key).finish(text)
        self._shown.append(fresh)
        return fresh

    def streamed(self, key: PartKey) -> str:
        """Return the text of a part so far."""
        return str(self._parts[key].streamed) if key in self._parts else ""

    def knows(self, item_id: str) -> bool:
        """Return whether message ``item_id`` has any text."""
        return any(key[0] == item_id for key in self._parts)

    def messages(self) -> dict[str, str]:
        """Return the text of each message so far, by its id."""
        texts: dict[str, str] = {}
        for (item_id, _), part in self._parts.items():
            texts[item_id] = texts.get(item_id, "") + str(part.streamed)
        return texts

    def _part(self, key: PartKey) -> _Part:
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = _Part()
        return part
