"""A turn that keeps running whatever happens to the browser that asked.

A ``LiveTurn`` reads the agent's events into a ``TurnLog``. Readers follow the log from any point at their own pace:
waiting text is merged, never dropped, so a slow reader costs at most the length of the answer. A reload or a second tab
reads from the beginning. Every turn ends with exactly one ``TurnEnded``: the agent's, or one made here when it was
stopped or abandoned or the agent broke off.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

from chat_app.errors import AsclepiusError
from chat_app.events import (
    AgentEvent,
    Outcome,
    OutcomeCode,
    Reference,
    ReferencesReady,
    TurnEnded,
)
from chat_app.generation.outcomes import failed
from chat_app.interface.turns.turn_log import Cursor, TurnLog
from chat_app.tracing.redaction import describe_error

logger = logging.getLogger(__name__)

_SILENCE = 3_600.0


def _stopped(code: OutcomeCode, message: str) -> Outcome:
    return Outcome(kind="incomplete", reason="stopped", code=code, message=message, retryable=True)


STOPPED = _stopped("stopped", "You stopped this answer.")
ABANDONED = _stopped("abandoned", "This answer ended early because nobody was reading it any more.")
SHUT_DOWN = _stopped("server_stopped", "This answer ended early because the server was stopped. Ask again.")
BROKEN = Outcome(
    kind="failed",
    code="internal",
    message="Something unexpected went wrong, and the answer ended early. Ask again; if it happens again, tell whoever "
    "runs this server.",
    retryable=True,
)

UNENDED = BROKEN.model_copy(update={"kind": "incomplete", "reason": "truncated"})


@dataclass(eq=False)
class LiveTurn:
    """One question being answered. ``owner`` alone may read or stop it."""

    owner: str
    thread_id: str
    question_id: str
    """The message that asks; what the page hangs the answer under."""
    id: str = field(default_factory=lambda: str(uuid4()))
    asked_at: float = field(default_factory=time.time)
    log: TurnLog = field(default_factory=TurnLog)
    saved: asyncio.Event = field(default_factory=asyncio.Event)
    continues: str = ""
    """The agent's conversation that the question was asked to continue."""
    ending: Sequence[AgentEvent] = ()
    """How the turn ended, unless the agent has said so."""
    unended: Outcome = UNENDED
    """How the turn ends when its events end without saying so."""
    write_ahead: Callable[[Sequence[AgentEvent]], Awaitable[None]] | None = None
    """Stores events before any reader gets them; must not raise."""
    in_writing: Sequence[AgentEvent] = ()
    """Events that ``write_ahead`` is storing, which are not in the log yet."""
    _unwritten: list[AgentEvent] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    unread_since: float | None = None
    _reading: asyncio.Task[None] | None = None

    def is_about(self, conversation_id: str) -> bool:
        """Return whether the turn belongs to that conversation or was asked to continue it."""
        return conversation_id in {self.thread_id, self.continues or None, self.log.conversation_id}

    def stop(self, outcome: Outcome = STOPPED) -> None:
        """End the turn at once and keep its events so far. A turn that has ended stays as it is."""
        # Other processes already read the events that are being stored, so they must be part of the answer here.
        self.show(self.in_writing)
        self.in_writing = ()
        if self.log.ended is None:
            self._end(outcome)
            if self._reading is not None:
                self._reading.cancel()

    async def events(
        self, *, silence: float = _SILENCE, ready: Callable[[], Awaitable[None]] | None = None
    ) -> AsyncIterator[list[AgentEvent]]:
        """Yield the turn's events in batches, maybe empty; ``ready`` waits until the reader takes the next one."""
        at = [Cursor()]
        async with aclosing(news_of((self,), lambda: self.has_more(at[0]), silence)) as news:
            async for _ in news:
                if ready is not None:
                    await ready()
                batch, at[0] = self.log.read(at[0])
                yield batch

    def has_more(self, cursor: Cursor) -> bool:
        """Return whether events follow or may still follow ``cursor``."""
        return self.log.ended is None or self.log.has_more(cursor)

    def unread_for(self) -> float:
        """Return the seconds since the last reader left; 0 while there is one."""
        if self.log.watchers:
            return 0.0
        now = asyncio.get_running_loop().time()
        if self.unread_since is None:
            self.unread_since = now
        return now - self.unread_since

    async def run(self, events: AsyncIterator[AgentEvent]) -> None:
        """Read ``events`` to their end. Never raises; the log always gets its ``TurnEnded``."""
        self._reading = asyncio.create_task(self._read(events))
        if self.log.ended is not None:
            self._reading.cancel()
        await self._write_until(self._reading)
        if self.log.ended is not None:
            return
        error = None if self._reading.cancelled() else self._reading.exception()
        if isinstance(error, AsclepiusError):
            self._end(failed(error))
        elif error is not None:
            logger.error("A turn broke off with %s", describe_error(error))
            self._end(BROKEN)
        else:
            self._end(self.unended)

    async def _read(self, events: AsyncIterator[AgentEvent]) -> None:
        async with aclosing(cast("AsyncGenerator[AgentEvent, None]", events)) as stream:
            async for event in stream:
                self._unwritten.append(event)
                self._arrived.set()

    async def _write_until(self, reading: asyncio.Task[None]) -> None:
        """Show what is read, each batch once it is stored; return when ``reading`` has ended and all is shown."""
        reading.add_done_callback(lambda _: self._arrived.set())
        while self._unwritten or not reading.done():
            await self._arrived.wait()
            self._arrived.clear()
            batch, self._unwritten = self._unwritten, []
            if batch and self.write_ahead is not None and self.log.ended is None:
                self.in_writing = batch
                await self.write_ahead(batch)
                self.in_writing = ()
            self.show(batch)

    def show(self, events: Sequence[AgentEvent]) -> None:
        """Put ``events``, as far as the turn has not ended, into the log."""
        for event in events:
            if self.log.ended is None:
                self.log.append(event)

    def _end(self, outcome: Outcome) -> None:
        ended = TurnEnded(outcome=outcome, answer=self.log.answer)
        if not self.log.has_references and (cited := self.log.citations):
            passages = {citation.number: citation.passage for citation in cited}
            references = tuple(Reference(number=n, passage=passages[n]) for n in sorted(passages))
            self.ending = (ReferencesReady(references=references), ended)
        else:
            self.ending = (ended,)
        for event in self.ending:
            self.log.append(event)


async def news_of(
    turns: Sequence[LiveTurn], more: Callable[[], bool], silence: float = _SILENCE
) -> AsyncGenerator[None, None]:
    """Yield at first, with new events and after ``silence`` seconds, until ``more`` says that no more follow."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    for turn in turns:
        turn.log.watchers.append(news.set)
    try:
        while more():
            news.clear()
            yield
            if more() and not news.is_set():
                alarm = loop.call_later(silence, news.set)
                await news.wait()
                alarm.cancel()
    finally:
        for turn in turns:
            turn.log.watchers.remove(news.set)
            turn.unread_since = None
