"""The HTTP API of a consultation: the same events as the page's, as server-sent events or as one JSON answer.

A turn runs on its own: a client that loses its connection takes the stream up again where it left off, by sending the
last ``id`` it saw as ``Last-Event-ID`` to the turn's address. Turns that have ended can be read for a few minutes.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from chat_app.agent.asclepius_agent import AnswerLength
from chat_app.events import AgentEvent, Notice, Outcome, Reference, ReferencesReady, TurnEnded, TurnStarted
from chat_app.events import agent_event_adapter as adapter
from chat_app.interface.identity import require_owner
from chat_app.interface.live_turns import Cursor, LiveTurn
from chat_app.interface.problems import problem
from chat_app.interface.runtime import Runtime
from tools.types import Frozen

KEPT_TURNS = 500
KEPT_SECONDS = 300.0
KEEP_ALIVE_SECONDS = 15.0
_SSE = {"cache-control": "no-store", "x-accel-buffering": "no"}


class ConsultBody(Frozen):
    """A question, and what may help to answer it."""

    message: str = Field(examples=["What are the contraindications for ACE inhibitors?"])
    conversation_id: str | None = Field(None, max_length=100, description="Go on with this conversation.")
    use_clinical_guidelines: bool = True
    use_drug_database: bool = True
    enable_tool_execution: bool = True
    model: str | None = Field(None, max_length=200, pattern=r"^[\w./:@+-]+$", description="Ask this model.")
    length: AnswerLength = "standard"
    stream: bool = Field(True, description="Server-sent events; false: one JSON answer at the end.")


class ConsultAnswer(Frozen):
    """A whole turn."""

    turn_id: str
    conversation_id: str
    answer: str
    outcome: Outcome
    references: tuple[Reference, ...] = ()
    notices: tuple[Notice, ...] = ()


class RecentTurns:
    """Turns begun over the API, kept for a while after their end so that a client can read the rest."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, tuple[float, LiveTurn]] = OrderedDict()

    def add(self, turn: LiveTurn) -> None:
        self._turns[turn.id] = (time.monotonic(), turn)
        while len(self._turns) > KEPT_TURNS:
            self._turns.popitem(last=False)

    def get(self, turn_id: str, owner: str) -> LiveTurn:
        """Raises ``NotOwner`` when there is no such turn of ``owner``."""
        begun, turn = self._turns.get(turn_id, (0.0, None))
        gone = turn is not None and turn.log.ended is not None and time.monotonic() - begun > KEPT_SECONDS
        require_owner(owner, None if turn is None or gone else turn.owner)
        assert turn is not None  # noqa: S101 - require_owner has raised otherwise
        return turn


def consult_router(runtime: Runtime) -> APIRouter:
    """Consult, take a stream up again, stop a turn."""
    router = APIRouter(tags=["consult"])
    recent = RecentTurns()

    def asker(request: Request) -> str:
        return runtime.identity.from_cookies(request.cookies)

    @router.post("/consult", response_model=ConsultAnswer)
    async def consult(request: Request, body: ConsultBody) -> Response | ConsultAnswer:
        """Ask a question. With ``stream`` the answer is a ``text/event-stream`` of the turn's events."""
        user = asker(request)
        app = await runtime.ready()
        app.agent.check_message(body.message)
        options = body.model_dump(exclude={"message", "stream"})
        turn = LiveTurn(owner=user, thread_id=body.conversation_id or "", question_id="")
        recent.add(turn)
        runtime.turns.start(turn, app.agent.consult(body.message, user_id=user, **options))
        if body.stream:
            return _stream(turn, Cursor())
        return await _whole(turn)

    @router.get("/turns/{turn_id}/events")
    async def resume(
        request: Request, turn_id: str, last_event_id: Annotated[str | None, Header(max_length=200)] = None
    ) -> Response:
        """The turn's events after ``Last-Event-ID``, or all of them."""
        turn = recent.get(turn_id, asker(request))
        cursor = _cursor(turn, last_event_id)
        return problem(422, "Last-Event-ID is not one of this turn.") if cursor is None else _stream(turn, cursor)

    @router.delete("/turns/{turn_id}", status_code=204)
    async def stop(request: Request, turn_id: str) -> Response:
        """Stop a turn; what was read stays. Stopping twice changes nothing."""
        recent.get(turn_id, asker(request)).stop()
        return Response(status_code=204)

    return router


def _stream(turn: LiveTurn, cursor: Cursor) -> StreamingResponse:
    headers = {**_SSE, "x-turn-id": turn.id}
    return StreamingResponse(_frames(turn, cursor), media_type="text/event-stream", headers=headers)


async def _frames(turn: LiveTurn, cursor: Cursor) -> AsyncIterator[bytes]:
    batches = turn.events(cursor)
    waiting: asyncio.Task[tuple[list[AgentEvent], Cursor]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(_next(batches))
            done, _ = await asyncio.wait({waiting}, timeout=KEEP_ALIVE_SECONDS)
            if not done:
                yield b": still working\n\n"
                continue
            try:
                events, cursor = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            for event in events[:-1]:
                yield _frame(event)
            yield _frame(events[-1], f"{turn.id}.{cursor.entry}.{cursor.offset}")
    finally:
        if waiting is not None:
            waiting.cancel()


async def _next(batches: AsyncIterator[tuple[list[AgentEvent], Cursor]]) -> tuple[list[AgentEvent], Cursor]:
    return await anext(batches)


def _frame(event: AgentEvent, event_id: str | None = None) -> bytes:
    # Only the last event of a batch carries an id: reading can be taken up again behind it and nowhere before.
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {event.type}\ndata: ".encode() + adapter.dump_json(event) + b"\n\n"


def _cursor(turn: LiveTurn, event_id: str | None) -> Cursor | None:
    """The point behind ``event_id``; None when it is not one of this turn."""
    if event_id is None:
        return Cursor()
    turn_id, _, place = event_id.partition(".")
    entry, _, offset = place.partition(".")
    if turn_id != turn.id or not (entry.isdecimal() and offset.isdecimal()):
        return None
    return Cursor(int(entry[:9]), int(offset[:9]))


async def _whole(turn: LiveTurn) -> ConsultAnswer:
    conversation_id = ""
    references: tuple[Reference, ...] = ()
    notices: list[Notice] = []
    async for events, _ in turn.events():
        for event in events:
            match event:
                case TurnStarted():
                    conversation_id = event.conversation_id
                case ReferencesReady():
                    references = event.references
                case Notice():
                    notices.append(event)
                case TurnEnded():
                    return ConsultAnswer(
                        turn_id=turn.id,
                        conversation_id=conversation_id,
                        answer=event.answer,
                        outcome=event.outcome,
                        references=references,
                        notices=tuple(notices),
                    )
                case _:
                    continue
    raise AssertionError("a turn always ends with TurnEnded")
