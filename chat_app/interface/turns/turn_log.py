"""The log of one turn: its events, read from any point at any pace.

Waiting text is merged, never dropped, so a slow reader costs at most the length of the answer. Reading can resume after
any event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from chat_app.events import AgentEvent, CitationAdded, ReferencesReady, TextDelta, TextReplaced, TurnEnded, TurnStarted


class Cursor(NamedTuple):
    """A position in a log: an entry and, for text, how many of its characters were read."""

    entry: int = 0
    offset: int = 0


LoggedEvent = tuple[AgentEvent, Cursor]
"""An event and the point behind it."""


class TurnLog:
    """The events of a turn; runs of text are kept as one growing entry."""

    def __init__(self) -> None:
        self._entries: list[AgentEvent | list[str]] = []
        self._lengths: dict[int, int] = {}
        self._restart = 0
        """Where the answer begins: after the entry that replaced the text before it."""
        self.ended: TurnEnded | None = None
        self.observer: Callable[[AgentEvent], None] | None = None
        """Called with each event that is appended; must not raise."""
        self.watchers: list[Callable[[], object]] = []
        """Called after each event that is appended; must not raise."""

    def append(self, event: AgentEvent) -> None:
        if self.observer is not None:
            self.observer(event)
        if isinstance(event, TextDelta):
            if not event.text:
                return
            if not self._entries or not isinstance(self._entries[-1], list):
                self._entries.append([])
            last = len(self._entries) - 1
            cast("list[str]", self._entries[last]).append(event.text)
            self._lengths[last] = self._lengths.get(last, 0) + len(event.text)
        else:
            self._entries.append(event)
            if isinstance(event, TurnEnded):
                self.ended = event
            elif isinstance(event, TextReplaced):
                self._restart = len(self._entries)
        for notify in self.watchers:
            notify()

    def read(self, cursor: Cursor) -> tuple[list[AgentEvent], Cursor]:
        """Return the events after ``cursor``, with one delta per run of text, and the cursor after them."""
        found = self.read_each(cursor)
        return [event for event, _ in found], found[-1][1] if found else cursor

    def read_each(self, cursor: Cursor) -> list[LoggedEvent]:
        """Like ``read``, with the cursor after each event, so that a client can resume from it."""
        found: list[LoggedEvent] = []
        position, offset = cursor
        while position < len(self._entries):
            entry = self._entries[position]
            if not isinstance(entry, list):
                found.append((entry, Cursor(position + 1)))
            elif text := self._joined(position)[offset:]:
                found.append((TextDelta(text=text), Cursor(position, offset + len(text))))
            position, offset = position + 1, 0
        return found

    def holds(self, cursor: Cursor) -> bool:
        entry, offset = cursor
        if entry == len(self._entries):
            return offset == 0
        return entry < len(self._entries) and offset <= self._lengths.get(entry, 0)

    def has_more(self, cursor: Cursor) -> bool:
        if cursor.entry >= len(self._entries):
            return False
        last = cursor.entry == len(self._entries) - 1
        return not last or cursor.entry not in self._lengths or cursor.offset < self._lengths[cursor.entry]

    @property
    def events(self) -> list[AgentEvent]:
        return self.read(Cursor())[0]

    @property
    def answer(self) -> str:
        return "".join(self._joined(position) for position in self._lengths if position >= self._restart)

    @property
    def citations(self) -> list[CitationAdded]:
        return [entry for entry in self._entries[self._restart :] if isinstance(entry, CitationAdded)]

    @property
    def conversation_id(self) -> str | None:
        """The conversation of the turn; None until it has started."""
        return next((entry.conversation_id for entry in self._entries if isinstance(entry, TurnStarted)), None)

    @property
    def has_references(self) -> bool:
        return any(isinstance(entry, ReferencesReady) for entry in self._entries)

    def _joined(self, position: int) -> str:
        parts = cast("list[str]", self._entries[position])
        if len(parts) > 1:
            parts[:] = ["".join(parts)]
        return parts[0] if parts else ""
