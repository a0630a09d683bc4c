"""Writes the events of a running turn to its journal in Redis, before a reader sees them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from chat_app.errors import AsclepiusError, TurnTakenOver
from chat_app.events import AgentEvent, TurnEnded, event_json
from chat_app.interface.keeping.page_question import PageQuestion, TurnHeader
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import TurnLog
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.turn_journal import TurnJournal

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 5.0
"""Time until the next try after Redis failed."""


class TurnWriter:
    """Writes one turn's events to its journal. A Redis that is down delays nothing for long."""

    def __init__(
        self,
        turn: LiveTurn,
        header: Callable[[], TurnHeader],
        opened: Callable[[], RedisSessionStore | None],
        *,
        question: PageQuestion | None = None,
    ) -> None:
        self.question, self.header, self._turn, self._opened = question, header, turn, opened
        self.taken_over = False
        """Whether another process writes the turn now and will store it, because this one seemed dead."""
        self._waiting: list[AgentEvent] = []
        # A turn without a question has a journal already: it was begun by another process.
        self._begun = question is None
        self._ended = False
        self._not_before = 0.0

    async def write(self, events: Sequence[AgentEvent]) -> None:
        """Store ``events``; when Redis is down they wait for the next ones."""
        self._ended = self._ended or isinstance(events[-1], TurnEnded)
        self._waiting += events
        await self.keep()

    async def keep(self) -> None:
        """Write what waits; at first open the journal, by which others find the turn when this process dies."""
        clock = asyncio.get_running_loop()
        if self.taken_over or clock.time() < self._not_before:
            return
        try:
            await self._flush()
        except TurnTakenOver:
            # Readers here still get the answer to its end; the other process writes the same one.
            logger.warning("Another server goes on with an answer of this one, which paused for too long")
            self.taken_over = True
        except AsclepiusError as error:
            logger.warning("A running answer could not be kept in Redis: %s", type(error).__name__)
            self._not_before = clock.time() + _PAUSE_SECONDS

    async def release(self) -> bool:
        """Leave the ended turn to any process that can store it; return False when Redis is down, too."""
        return await self._finish(lambda journal: journal.release(self._turn.id, self._turn.thread_id))

    async def close(self) -> None:
        """End the journal: the history has the turn."""
        if self._begun:
            await self._finish(lambda journal: journal.close(self._turn.id))

    async def _finish(self, how: Callable[[TurnJournal], Awaitable[None]]) -> bool:
        """Write how the turn ended, unless the agent has said so, and end the journal."""
        if not self._ended:
            self._waiting += self._turn.ending
            self._ended = True
        with suppress(AsclepiusError):
            await self._flush()
            if (store := self._opened()) is not None:
                await how(store.journal)
                return True
        return False

    async def _flush(self) -> None:
        if (store := self._opened()) is None:
            # While the services start there are only notices, which wait.
            return
        if not self._begun:
            await self._begin(store.journal)
        if self._waiting and not await self._append(store.journal):
            # Redis lost its data: write the turn from its beginning. Events that waited have been shown.
            self._waiting = [*self._turn.log.events, *self._turn.in_writing]
            await self._begin(store.journal)
            await self._append(store.journal)
        self._waiting = []

    async def _append(self, journal: TurnJournal) -> bool:
        return await journal.append(self._turn.id, [event_json(event) for event in _joined(self._waiting)])

    async def _begin(self, journal: TurnJournal) -> None:
        turn, header = self._turn, self.header().model_dump_json()
        await journal.begin(turn.id, turn.thread_id, turn.question_id, header, owner=turn.owner)
        self._begun = True


def _joined(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    """Return ``events`` with runs of text as one delta."""
    log = TurnLog()
    for event in events:
        log.append(event)
    return log.events
