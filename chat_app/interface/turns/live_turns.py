"""The turns that run in this process, detached from the browsers that asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from chat_app.background import in_background
from chat_app.events import AgentEvent, Outcome
from chat_app.interface.turns.live_turn import ABANDONED, SHUT_DOWN, STOPPED, LiveTurn
from chat_app.observability.log_ids import LogIds, ids_of_turn, log_ids

logger = logging.getLogger(__name__)

_LOOK_AGAIN: Final = 0.05
"""Seconds until the next look whether turns still run while the server drains."""
_SAVED_SECONDS: Final = 5.0


async def stop_and_save(turns: Sequence[LiveTurn], outcome: Outcome = STOPPED) -> None:
    """Stop ``turns`` and wait some seconds until they are saved."""
    for turn in turns:
        turn.stop(outcome)
    with suppress(TimeoutError):
        async with asyncio.timeout(_SAVED_SECONDS):
            await asyncio.gather(*(turn.saved.wait() for turn in turns))


@dataclass(eq=False, kw_only=True)
class LiveTurns:
    """All turns that run in this process: one per conversation, or one for each model that is compared in it."""

    abandon_after: float = 600.0
    check_every: float = 5.0
    observer_of: Callable[[LogIds], Callable[[AgentEvent], None]] | None = None
    draining: bool = False
    """Whether the server stops, and takes no new question."""
    _turns: dict[str, LiveTurn] = field(default_factory=dict[str, LiveTurn])
    _watch: asyncio.Task[None] | None = None
    _ended: bool = False
    _expected: int = 0

    def start(self, turn: LiveTurn, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` detached from its caller: it runs ``turn`` to its end and saves the answer."""
        self._turns[turn.id] = turn
        ids = ids_of_turn(turn.id)
        turn.log.observer = self.observer_of(ids) if self.observer_of else None
        if self._ended:
            turn.stop(SHUT_DOWN)
        in_background(self._run(turn, work, ids))
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._end_abandoned())

    def of_thread(self, thread_id: str, owner: str) -> list[LiveTurn]:
        """Return the turns of ``owner`` in that conversation that have not been saved yet."""
        return [t for t in self._turns.values() if t.thread_id == thread_id and t.owner == owner]

    def of_owner(self, owner: str) -> list[LiveTurn]:
        return [turn for turn in self._turns.values() if turn.owner == owner]

    @property
    def running(self) -> int:
        return sum(turn.log.ended is None for turn in self._turns.values())

    def get(self, turn_id: str) -> LiveTurn | None:
        return self._turns.get(turn_id)

    async def end_conversation(self, conversation_id: str, owner: str) -> None:
        turns = [turn for turn in self.of_owner(owner) if turn.is_about(conversation_id)]
        await stop_and_save(turns)

    async def save_ended(self, thread_id: str, owner: str) -> None:
        """Wait some seconds until the turns that ended in the conversation are saved: readers have seen their end."""
        await stop_and_save([turn for turn in self.of_thread(thread_id, owner) if turn.log.ended])

    @contextmanager
    def expected(self) -> Generator[None]:
        """Let ``drain`` wait for the turns that the block starts: their question has been taken."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1

    async def drain(self, seconds: float) -> None:
        """Wait up to ``seconds`` until all turns, also those of questions just taken, have ended and are saved."""
        self.draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._turns or self._expected:
                    await asyncio.gather(*(turn.saved.wait() for turn in self._turns.values()))
                    await asyncio.sleep(_LOOK_AGAIN)

    async def end_all(self) -> None:
        """End every turn because the server stops, and wait until they are saved."""
        self.draining = self._ended = True
        await stop_and_save(list(self._turns.values()), SHUT_DOWN)
        if self._watch is not None:
            self._watch.cancel()

    async def _run(self, turn: LiveTurn, work: Coroutine[Any, Any, object], ids: LogIds) -> None:
        log_ids.set(ids)
        try:
            await work
        except Exception:  # the boundary: an answer that cannot be saved has still been given
            logger.exception("An answer could not be written to the history")
        finally:
            turn.saved.set()
            self._turns.pop(turn.id, None)

    async def _end_abandoned(self) -> None:
        while self._turns:
            for turn in list(self._turns.values()):
                if turn.unread_for() > self.abandon_after:
                    turn.stop(ABANDONED)
            await asyncio.sleep(self.check_every)
