"""Storage of turns: the question before its answer streams, each event before it is shown, the answer when it ended.

The journal in Redis holds a running turn. A turn whose process died, or whose answer the history could not take, is
finished from its journal by any process: at the next look at its conversation, or by ``run``. All ids derive from the
turn's, so storing a turn twice changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from chat_app.agent.chat_manager import title_of
from chat_app.audit import AuditAction, AuditLog
from chat_app.background import repeat
from chat_app.database.database_engine import DATABASE_ERRORS
from chat_app.errors import AsclepiusError, AuditUnavailable
from chat_app.events import AgentEvent, Outcome, event_json, events_of
from chat_app.interface.keeping.followed_turns import ELSEWHERE
from chat_app.interface.keeping.page_question import PageQuestion, TurnHeader
from chat_app.interface.keeping.take_over import remember, resumable_conversation, unseen
from chat_app.interface.keeping.turn_writer import TurnWriter
from chat_app.interface.rendering import turn_steps
from chat_app.interface.rendering.turn_steps import ElementDict, StepDict
from chat_app.interface.security.identity import NotOwner
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.turn_journal import OpenTurn, TurnJournal

if TYPE_CHECKING:
    from chat_app.interface.history.history_layer import History

logger = logging.getLogger(__name__)

STORE_SECONDS: Final = 5.0
Stored = Literal["stored", "later", "lost"]
Resume = Callable[[str, str], Awaitable[AsyncGenerator[AgentEvent, None] | None]]
_SERVICES_SECONDS: Final = 20.0
_RECOVERY_SECONDS: Final = 4.0
_REQUEST_SECONDS: Final = 0.5
INTERRUPTED = Outcome(
    kind="incomplete",
    reason="truncated",
    code="server_stopped",
    retryable=True,
    message="This answer ended early because the server stopped. Ask again.",
)


@dataclass(eq=False)
class TurnKeeper:
    """Stores the turns of all questions that this process answers, and those that dead processes left."""

    history: History
    turns: LiveTurns
    audit: AuditLog
    sessions: Callable[[], Awaitable[RedisSessionStore]]
    """Waits for the session store."""
    opened: Callable[[], RedisSessionStore | None]
    """Returns the session store, or None while the services start."""
    resume: Resume | None = None
    """Runs a turn again whose process died, by the agent's conversation and the turn; returns None when it cannot."""
    show_elsewhere: Callable[[Mapping[str, OpenTurn]], Awaitable[None]] | None = None
    """Shows the turns of other processes, by id; the page sets it."""
    taken_over: LiveTurns = field(init=False)
    """Turns of dead processes that this process continues; readers follow them through their journals."""
    _writers: dict[str, TurnWriter] = field(default_factory=dict[str, TurnWriter])

    def __post_init__(self) -> None:
        self.taken_over = LiveTurns(observer_of=self.turns.observer_of)

    @property
    def running(self) -> int:
        return self.turns.running + self.taken_over.running

    async def drain(self, seconds: float) -> None:
        await asyncio.gather(self.turns.drain(seconds), self.taken_over.drain(seconds))

    def question_of(self, turn: LiveTurn) -> PageQuestion | None:
        """Return the question of a turn that has not been stored yet."""
        writer = self._writers.get(turn.id)
        return writer.question if writer else None

    async def begin(self, question: PageQuestion, metadata: dict[str, Any] | None = None) -> None:
        """Store the question, with a mark that it has no answer yet; without the history it is stored with its answer.

        Raises ``NotOwner`` for another user's conversation.
        """
        steps: list[StepDict] = [question.step]
        elements: list[ElementDict] = []
        for turn in question.turns.values():
            header = question.header_of(turn)
            header_of = partial(question.header_of, turn)
            writer = self._writers[turn.id] = TurnWriter(turn, header_of, self.opened, question=question)
            # Before the history has the turn: one that it has unfinished is always found by its journal.
            await writer.keep()
            turn.write_ahead = writer.write
            empty = LiveTurn(question.owner, question.thread_id, question.message_id, id=turn.id)
            empty.stop(INTERRUPTED)
            rendered = rendered_turn(header, empty)
            steps += [turn_steps.run_step(header.ids, question.message_id), *map(turn_steps.unfinished, rendered[0])]
            elements += rendered[1]
        try:
            async with asyncio.timeout(STORE_SECONDS):
                name = title_of(question.text.strip() or ", ".join(upload.name for upload in question.uploads))
                await self.history.save_turn(
                    question.thread_id, steps, elements, metadata, owner=question.owner, name=name
                )
        except NotOwner:
            for turn in question.turns.values():
                await self._writers.pop(turn.id).close()
            raise
        except DATABASE_ERRORS as error:
            logger.warning("A question could not be written to the history yet: %s", type(error).__name__)

    async def record_question(self, question: PageQuestion, turn: LiveTurn) -> None:
        """Record in the audit log that the question is asked. Raises ``AuditUnavailable``."""
        await self._record("question", turn, model=question.model_of(turn), text=question.text)

    async def _record(self, action: AuditAction, turn: LiveTurn, **what: str) -> None:
        await self.audit.record(action, turn.owner, conversation=turn.thread_id, turn=turn.id, **what)

    async def answer(self, turn: LiveTurn, events: AsyncIterator[AgentEvent]) -> Stored:
        """Run ``turn`` to its end and store it; return whether the history has it, or will have it."""
        await turn.run(events)
        try:
            return await self._stored(turn, self._writers[turn.id])
        finally:
            # Not before: a page that opens meanwhile follows the turn, which the history does not have yet.
            del self._writers[turn.id]

    async def _stored(self, turn: LiveTurn, writer: TurnWriter) -> Stored:
        if writer.taken_over:
            return "stored"
        header = writer.header()
        if cited := sorted({citation.passage.id for citation in turn.log.citations}):
            # The answer has been shown: that this cannot be recorded is logged, and changes nothing.
            with suppress(AuditUnavailable):
                await self._record("sources", turn, model=header.model, detail=" ".join(cited))
        try:
            await self._store(header, turn)
        except DATABASE_ERRORS as error:
            logger.warning("An answer could not be written to the history yet: %s", type(error).__name__)
            return "later" if await writer.release() else "lost"
        await writer.close()
        return "stored"

    async def run(self) -> None:
        """Show that this process runs, finish what others left and follow their requests, until cancelled."""
        await asyncio.gather(
            repeat(self._look_after, _RECOVERY_SECONDS, quiet=(AsclepiusError,)),
            repeat(self._follow_requests, _REQUEST_SECONDS, quiet=(AsclepiusError,)),
        )

    async def _look_after(self) -> None:
        await (await self.sessions()).journal.keep_alive()
        await self.recover()

    async def _follow_requests(self) -> None:
        """Stop the turns that other processes ask to stop, and show theirs."""
        journal = (await self.sessions()).journal
        for turn_id in await journal.to_stop() if self.running else ():
            if turn := self.turns.get(turn_id) or self.taken_over.get(turn_id):
                turn.stop()
        if self.show_elsewhere is not None:
            await self.show_elsewhere(await journal.written_elsewhere())

    async def recover(self, thread_id: str | None = None) -> None:
        """Finish abandoned turns, of one conversation or of all. Raises ``AsclepiusError``."""
        sessions = await self.sessions()
        journal = sessions.journal
        for turn_id, opened in (await journal.open_turns()).items():
            wanted = thread_id in {None, opened.thread_id}
            if not (wanted and await journal.is_abandoned(opened) and await journal.claim(turn_id)):
                continue
            # Since the turns were read another process may have finished it, or gone on with it.
            if (await journal.open_turns()).get(turn_id) == opened:
                await self._finish(sessions, turn_id)
            else:
                await journal.unclaim(turn_id)

    async def up_to_date(self, thread: Any, reread: Callable[[], Awaitable[Any]]) -> Any:
        """Return a stored conversation with its unfinished turns; ``reread`` loads it again."""
        if all(map(self.turns.get, turn_steps.unfinished_turns(thread))):
            return self._without_live(thread)
        # What another version wrote stays as the history has it.
        with suppress(AsclepiusError, TimeoutError, ValidationError):
            async with asyncio.timeout(_SERVICES_SECONDS):
                await self.recover(thread["id"])
                thread = await reread() or thread
                for turn_id in turn_steps.unfinished_turns(thread):
                    if self.turns.get(turn_id) is None:
                        await self._complete(thread, turn_id)
        return self._without_live(thread)

    def _without_live(self, thread: Any) -> Any:
        """Return ``thread`` without the empty answers of turns that run here.

        The page follows the turns, and would show their tool calls below an answer that is there before them.
        """
        live = [turn_id for turn_id in turn_steps.unfinished_turns(thread) if self.turns.get(turn_id)]
        own = {step["id"] for step in thread["steps"] if turn_steps.turn_of(step) in live}
        thread["steps"] = [step for step in thread["steps"] if step["id"] not in own]
        thread["elements"] = [element for element in thread["elements"] if element.get("forId") not in own]
        return thread

    async def _complete(self, thread: Any, turn_id: str) -> None:
        """Put what another process has written of a running turn, or is taking over, into ``thread``."""
        journal = (await self.sessions()).journal
        opened = (await journal.open_turns()).get(turn_id)
        left = opened is None or await journal.is_abandoned(opened)
        found = await _restored(journal, turn_id)
        if found is None:
            # Nothing was shown before its process died: the history has all of it.
            thread["steps"] = [
                turn_steps.finished(step) if turn_steps.turn_of(step) == turn_id else step for step in thread["steps"]
            ]
            return
        found[1].stop(INTERRUPTED if left else ELSEWHERE)
        steps, elements = rendered_turn(*found)
        # In the order in which the history would return them: a tool's step comes before the answer.
        thread["steps"] = sorted(turn_steps.merged(thread["steps"], steps), key=lambda step: step["createdAt"] or "")
        thread["elements"] = turn_steps.merged(thread["elements"], elements)

    async def _finish(self, sessions: RedisSessionStore, turn_id: str) -> None:
        try:
            found = await _restored(sessions.journal, turn_id)
        except ValidationError:
            logger.warning("The journal of a turn could not be read; its answer stays as the history has it")
            found = None
        if found is not None:
            header, turn = found
            if turn.log.ended is None and await self._take_over(sessions.journal, header, turn):
                return
            turn.stop(INTERRUPTED)
            try:
                await self._store(header, turn)
            except DATABASE_ERRORS:
                await sessions.journal.unclaim(turn_id)
                return
            except NotOwner:
                logger.warning("A question that was not its user's to ask there is not stored")
            else:
                await remember(sessions, header, turn)
                if turn.ending:
                    await sessions.journal.append(turn_id, list(map(event_json, turn.ending)))
        await sessions.journal.close(turn_id)

    async def _take_over(self, journal: TurnJournal, header: TurnHeader, turn: LiveTurn) -> bool:
        """Go on with a claimed turn whose responses the model server has; return False when that is not possible."""
        conversation = resumable_conversation(turn.log)
        events = await self.resume(conversation, turn.id) if self.resume and conversation else None
        if events is None:
            return False
        writer = self._writers[turn.id] = TurnWriter(turn, lambda: header, self.opened)
        await journal.take_over(turn.id, turn.thread_id, turn.question_id, owner=turn.owner)
        turn.write_ahead, turn.unended = writer.write, INTERRUPTED
        self.taken_over.start(turn, self.answer(turn, unseen(events, turn.log)))
        return True

    async def _store(self, header: TurnHeader, turn: LiveTurn) -> None:
        steps, elements = rendered_turn(header, turn)
        steps = [header.question, turn_steps.finished_run(header.ids, header.question_id), *steps]
        async with asyncio.timeout(STORE_SECONDS):
            metadata = header.metadata(turn.log.conversation_id)
            name = title_of(header.ids.question)
            await self.history.save_turn(header.ids.thread_id, steps, elements, metadata, owner=header.owner, name=name)


def rendered_turn(header: TurnHeader, turn: LiveTurn) -> tuple[list[StepDict], list[ElementDict]]:
    """Return the steps and elements of a turn, as the history keeps them."""
    renderer = header.renderer()
    renderer.begin()
    renderer.render(turn.log.events)
    return list(renderer.steps.values()), list(renderer.elements.values())


async def _restored(journal: TurnJournal, turn_id: str) -> tuple[TurnHeader, LiveTurn] | None:
    if not (lines := await journal.read(turn_id)):
        return None
    header = TurnHeader.model_validate_json(lines[0])
    turn = LiveTurn(header.owner, header.ids.thread_id, header.question_id, id=turn_id)
    turn.show(events_of(lines[1:]))
    return header, turn
