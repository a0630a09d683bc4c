"""Turns that other processes run, followed by their journals: shown, resumed and stopped as if they ran here."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from chat_app.background import in_background
from chat_app.batches import Batches
from chat_app.errors import AsclepiusError
from chat_app.events import Outcome, events_of
from chat_app.interface.keeping.page_question import TurnHeader
from chat_app.interface.turns.live_turn import STOPPED, LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns, stop_and_save
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.turn_journal import OpenTurn, TurnJournal

logger = logging.getLogger(__name__)

ELSEWHERE: Final = Outcome(
    kind="incomplete",
    reason="other",
    code="answered_elsewhere",
    message="This answer is still being written by another server. Reload the page to see the rest.",
)
_POLL_SECONDS: Final = 0.15
_STORED_SECONDS: Final = 5.0
_UNREAD_SECONDS: Final = 30.0
"""Seconds for which a turn is followed without a reader."""


@dataclass(eq=False, kw_only=True)
class FollowedTurn(LiveTurn):
    """A turn of another process. Its log has the same entries as there, so that a reader can resume at either."""

    header: TurnHeader
    journal: TurnJournal
    _seen: int = 0
    _reading_on: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asking: asyncio.Task[None] | None = None

    def stop(self, outcome: Outcome = STOPPED) -> None:
        """Ask the process that runs the turn to stop it; that process says with which outcome."""
        if self.log.ended is None and self._asking is None:
            self._asking = asyncio.create_task(self._ask_to_stop())

    async def follow(self) -> None:
        """Read the journal until the turn ends or nobody reads it. A Redis that is down is tried again."""
        while self.log.ended is None and self.unread_for() < _UNREAD_SECONDS:
            with suppress(AsclepiusError):
                await self.read_on()
            await asyncio.sleep(_POLL_SECONDS)
        self.saved.set()

    async def read_on(self) -> None:
        """Read what the journal has by now. Raises ``AsclepiusError``."""
        async with self._reading_on:
            with suppress(ValidationError):
                if (lines := await self.journal.read_after(self.id, self._seen)) is not None:
                    self.show(events_of(lines))
                    self._seen += len(lines)
                    return
            self._end(ELSEWHERE)

    async def _ask_to_stop(self) -> None:
        try:
            await self.journal.ask_to_stop(self.id)
        except AsclepiusError as error:
            logger.warning("The server that writes an answer could not be asked to stop it: %s", type(error).__name__)
            self._asking = None


class FollowedTurns:
    """The turns of other processes read here. All calls but ``of_thread`` raise ``AsclepiusError`` without Redis.

    ``sessions`` returns the session store, or None while the services start: then no turn is found.
    """

    def __init__(self, sessions: Callable[[], RedisSessionStore | None], own: LiveTurns) -> None:
        self._sessions, self._own = sessions, own
        self._followed: dict[str, FollowedTurn] = {}
        self._opened: Batches[None, Mapping[str, OpenTurn]] = Batches(self._read_opened)

    async def of_thread(self, thread_id: str, owner: str) -> list[FollowedTurn]:
        """Return the turns of ``owner`` there that other processes write; none without Redis."""
        with suppress(AsclepiusError):
            opened = await self._opened.do(None)
            names = [name for name, turn in opened.items() if turn.thread_id == thread_id]
            if names and (sessions := self._sessions()) is not None:
                return await self._read(sessions.journal, names, owner)
        return []

    async def of_question(self, question_id: str, owner: str) -> list[FollowedTurn]:
        """Return the turns of that question, or the one with that id; also those that ended minutes ago."""
        if (sessions := self._sessions()) is None:
            return []
        names = await sessions.journal.turns_of(question_id)
        return await self._read(sessions.journal, names or [question_id], owner)

    async def running_of(self, owner: str) -> int:
        """Return how many answers other processes are writing for ``owner``."""
        return sum(turn.owner == owner for turn in (await self._opened.do(None)).values())

    async def _read_opened(self, askers: Sequence[None]) -> Sequence[Mapping[str, OpenTurn]]:
        """Return the turns that other processes write, the same for all who ask: there may be hundreds."""
        sessions = self._sessions()
        return [await sessions.journal.written_elsewhere() if sessions is not None else {}] * len(askers)

    async def about(self, conversation_id: str, owner: str) -> list[FollowedTurn]:
        """Return the turns of ``owner`` in that thread or conversation that run elsewhere; none without Redis."""
        with suppress(AsclepiusError):
            names = [name for name, turn in (await self._opened.do(None)).items() if turn.owner == owner]
            if names and (sessions := self._sessions()) is not None:
                found = await self._read(sessions.journal, names, owner)
                return [turn for turn in found if turn.is_about(conversation_id)]
        return []

    async def end_conversation(self, thread_id: str, owner: str) -> None:
        """Stop the turns of ``owner`` in that conversation that run elsewhere, and wait some seconds for their end.

        They have ended when the history has them: what is stored after a deletion would stay.
        """
        turns = await self.of_thread(thread_id, owner)
        await stop_and_save(turns)
        ended = {turn.id for turn in turns if turn.saved.is_set()}
        with suppress(AsclepiusError, TimeoutError):
            async with asyncio.timeout(_STORED_SECONDS):
                while ended:
                    ended &= (await self._opened.do(None)).keys()
                    await asyncio.sleep(_POLL_SECONDS if ended else 0)

    async def _read(self, journal: TurnJournal, names: list[str], owner: str) -> list[FollowedTurn]:
        found = [await self._turn(journal, name) for name in names if self._own.get(name) is None]
        owned = [turn for turn in found if turn is not None and turn.owner == owner]
        return sorted(owned, key=lambda turn: turn.header.ids.place)

    async def _turn(self, journal: TurnJournal, name: str) -> FollowedTurn | None:
        if (known := self._followed.get(name)) is not None:
            await known.read_on()
            return known
        if not (lines := await journal.read(name)):
            return None
        try:
            header = TurnHeader.model_validate_json(lines[0])
        except ValidationError:
            logger.warning("The journal of a turn was written by another version, and cannot be followed")
            return None
        place = header.owner, header.ids.thread_id, header.question_id, name
        turn = self._followed[name] = FollowedTurn(*place, header=header, journal=journal)
        await turn.read_on()
        in_background(turn.follow()).add_done_callback(lambda _: self._followed.pop(name, None))
        return turn
