"""Turns on the page: who sees a turn, how its events reach each browser, and what is written to the history.

A question starts a turn that runs on its own. Every socket of that conversation follows it with a painter of its own:
the first text goes out at once, then in windows that a browser can keep up with. A socket that comes back, or a second
tab, starts from the beginning of the log and so catches up without a gap.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from chainlit.config import config
from chainlit.message import Message
from chainlit.server import sio
from chainlit.session import WebsocketSession, ws_sessions_id
from sqlalchemy.exc import SQLAlchemyError

from chat_app.events import Outcome, TextDelta, TurnStarted
from chat_app.interface.asking import question_events
from chat_app.interface.chainlit_renderer import Emission, TurnPainter
from chat_app.interface.identity import Unauthenticated
from chat_app.interface.live_turns import LiveTurn
from chat_app.interface.runtime import Runtime
from chat_app.interface.turn_log import Cursor
from chat_app.interface.turn_steps import ElementDict, StepDict, TurnIds, phase_id, run_step
from chat_app.interface.uploads import Upload

logger = logging.getLogger(__name__)

# One message per token makes the page lag seconds behind; these windows keep it within a fifth of a second.
WINDOW = 0.045
LONG_WINDOW = 0.1
LONGEST_WINDOW = 1.0
LONG_ANSWER = 8_000
_MOST_WAITING = 64
_BACKLOG_PAUSE = 0.05
_CHECKPOINT = 3.0
UNSAVED = "This answer could not be saved to the history: it will be gone after a reload."
SIGNED_OUT = "Your login has ended. Reload the page to sign in again; your text is still in the box."
INTERRUPTED = Outcome(kind="incomplete", reason="truncated", retryable=True,
                      message="This answer ended early because the server stopped. Ask again.")


class Page:
    """Shows turns to the browsers of a conversation."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._ids: dict[str, TurnIds] = {}
        self._viewers: dict[tuple[str, str], asyncio.Task[None]] = {}

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    def sessions_of(self, thread_id: str, owner: str) -> list[WebsocketSession]:
        """The sockets that have that conversation open, all of ``owner``."""
        return [s for s in list(ws_sessions_id.values()) if s.thread_id == thread_id and owner_of(s) == owner]

    def follow(self, turn: LiveTurn, session: WebsocketSession) -> asyncio.Task[None]:
        """Starts showing ``turn`` on ``session`` from its beginning; what showed it there before is ended."""
        key = (turn.id, session.id)
        if (before := self._viewers.pop(key, None)) is not None:
            before.cancel()
        task = asyncio.create_task(self._show(turn, session))
        self._viewers[key] = task
        task.add_done_callback(lambda done: self._viewers.pop(key) if self._viewers.get(key) is done else None)
        return task

    async def reattach(self, session: WebsocketSession) -> None:
        """A socket has come (back): it sees what it missed, and an answer that is being given, whole and live."""
        owner = owner_of(session)
        if owner is None:
            return
        turn = self.runtime.turns.of_thread(session.thread_id, owner)
        if session.restored and session.has_first_interaction:
            await self._repeat(session, owner)
        if turn is not None:
            self.follow(turn, session)

    async def _repeat(self, session: WebsocketSession, owner: str) -> None:
        """Shows the stored conversation again: what is there already stays as it is."""
        thread = await self.runtime.history.get_thread(session.thread_id)
        if thread is None or thread.get("userIdentifier") != owner:
            return
        for step in thread["steps"] or []:
            await emit(session, "new_message", step)
            if turn_id := (step.get("metadata") or {}).get("turn"):
                await emit(session, "delete_message", {"id": phase_id(turn_id)})
        for element in thread["elements"] or []:
            await emit(session, "element", element)

    async def _show(self, turn: LiveTurn, session: WebsocketSession) -> None:
        painter = TurnPainter(self._ids[turn.id], extracts=self.runtime.settings.uses_offline_model)
        socket = session.socket_id
        await emit(session, "task_start", {})
        clock = asyncio.get_running_loop()
        async for batch, _ in turn.events():
            if session.socket_id != socket or session.id not in ws_sessions_id:
                return
            began = clock.time()
            first = not painter.written
            await send(session, painter.paint(batch))
            if painter.written and not (first and _is_text(batch)):
                await self._pace(session, painter.written, clock.time() - began)
        await emit(session, "task_end", {})

    async def _pace(self, session: WebsocketSession, written: int, spent: float) -> None:
        # Each message makes the browser read the whole answer again: the longer it is, the rarer they come.
        window = min(LONGEST_WINDOW, LONG_WINDOW * written / LONG_ANSWER) if written > LONG_ANSWER else WINDOW
        await asyncio.sleep(max(0.0, window - spent))
        while _waiting(session) > _MOST_WAITING:  # noqa: ASYNC110 - the socket's queue tells nobody that it shrank
            await asyncio.sleep(_BACKLOG_PAUSE)

    # -- asking --------------------------------------------------------------------------------------------------

    async def ask(self, session: WebsocketSession, message: Message, run_id: str) -> None:
        """Answers ``message`` of ``session``; returns when the answer has ended."""
        owner = self._who(session)
        if owner is None:
            await emit(session, "toast", {"message": SIGNED_OUT, "type": "error"})
            return
        turn = LiveTurn(owner=owner, thread_id=session.thread_id, question_id=message.id)
        self._ids[turn.id] = TurnIds(turn.id, turn.thread_id, run_id, turn.started_at, config.ui.name, message.content)
        uploads = [Upload(e.name, Path(e.path)) for e in message.elements or [] if e.path]
        events = question_events(self.runtime, turn, message.content, session.chat_settings, uploads)
        self.runtime.turns.start(turn, events, save=self.save)
        keeping = asyncio.create_task(self.keep_checkpoints(turn))
        for other in self.sessions_of(turn.thread_id, owner):
            if other.id != session.id:
                await emit(other, "new_message", cast("Mapping[str, Any]", message.to_dict()))
                await emit(other, "new_message", run_step(self._ids[turn.id], turn.question_id))
                self.follow(turn, other)
        await asyncio.wait({self.follow(turn, session)})
        await turn.saved.wait()
        keeping.cancel()

    def _who(self, session: WebsocketSession) -> str | None:
        """Checked on each question: a login can end while its page stays open."""
        try:
            name = self.runtime.identity.from_token(session.token)
        except Unauthenticated:
            return None
        return name if name == owner_of(session) else None

    # -- history -------------------------------------------------------------------------------------------------

    async def save(self, turn: LiveTurn) -> None:
        """Writes the ended turn; its readers are told when that fails."""
        ids = self._ids.pop(turn.id)
        painter = TurnPainter(ids, extracts=self.runtime.settings.uses_offline_model)
        events, _ = turn.log.read(Cursor())
        painter.paint(events)
        try:
            await self._write(turn, painter.steps.values(), painter.elements.values(), _conversation(turn))
        except (SQLAlchemyError, OSError) as error:
            logger.warning("An answer could not be written to the history: %s", type(error).__name__)
            await self.tell(turn, UNSAVED)

    async def keep_checkpoints(self, turn: LiveTurn) -> None:
        """Writes what there is of a running turn now and then, marked as interrupted, against the server's end."""
        painter = TurnPainter(self._ids[turn.id], extracts=self.runtime.settings.uses_offline_model)
        cursor, written = Cursor(), 0
        while turn.log.ended is None:
            await asyncio.sleep(_CHECKPOINT)
            events, cursor = turn.log.read(cursor)
            painter.paint(events)
            if painter.written > written and turn.log.ended is None:
                written = painter.written
                with suppress(SQLAlchemyError, OSError):
                    await self._write(turn, painter.interrupted(INTERRUPTED), (), _conversation(turn))

    async def _write(
        self, turn: LiveTurn, steps: Iterable[StepDict], elements: Iterable[ElementDict], metadata: dict[str, Any]
    ) -> None:
        await self.runtime.history.save_turn(turn.thread_id, list(steps), list(elements), metadata)

    async def tell(self, turn: LiveTurn, message: str) -> None:
        """Shows a short message to everybody who has the conversation open."""
        for session in self.sessions_of(turn.thread_id, turn.owner):
            await emit(session, "toast", {"message": message, "type": "warning"})


def owner_of(session: WebsocketSession) -> str | None:
    return session.user.identifier if session.user else None


async def emit(session: WebsocketSession, event: str, payload: Mapping[str, Any]) -> None:
    """One message to one browser. Chainlit's annotation says this returns nothing; it returns an awaitable."""
    sending: Any = session.emit
    await sending(event, payload)


async def send(session: WebsocketSession, emissions: Iterable[Emission]) -> None:
    for emission in emissions:
        await emit(session, emission.event, emission.payload)


def _is_text(batch: Iterable[object]) -> bool:
    return any(isinstance(event, TextDelta) for event in batch)


def _conversation(turn: LiveTurn) -> dict[str, Any]:
    events, _ = turn.log.read(Cursor())
    started = next((event for event in events if isinstance(event, TurnStarted)), None)
    return {"conversation_id": started.conversation_id} if started else {}


def _waiting(session: WebsocketSession) -> int:
    """Messages that this browser has not taken yet; 0 when its socket is gone."""
    manager: Any = sio.manager
    engine_id = manager.eio_sid_from_sid(session.socket_id, "/")
    socket = sio.eio.sockets.get(engine_id) if engine_id else None
    return socket.queue.qsize() if socket is not None else 0
