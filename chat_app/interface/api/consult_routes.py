"""The HTTP API of a consultation: the same events as the page's, as server-sent events or as one JSON answer.

A turn runs on its own: a client that loses its connection takes the stream up again where it left off, by sending the
last ``id`` it saw as ``Last-Event-ID`` to the turn's address. One that waits for the whole JSON answer and leaves has
no way back to it, so its turn is stopped.
"""

import asyncio
from collections.abc import Awaitable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Body, Header, Path, Request, Response
from pydantic import Field

from chat_app.events import Notice, Outcome, Reference, UnsupportedStatement
from chat_app.interface.api import api_docs
from chat_app.interface.api.dependencies import NO_STORE, ReaderLanguage, ServedRuntime, User
from chat_app.interface.api.question_start import ConsultBody, begin
from chat_app.interface.api.turn_stream import event_stream
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import NotOwner
from chat_app.interface.security.request_body import problem
from chat_app.interface.turns.asked_questions import AskedQuestion
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import Cursor
from chat_app.response_objects import Usage
from chat_app.turn_facts import TurnFacts
from tools.types import Frozen

T = TypeVar("T")
TurnId = Annotated[str, Path(max_length=64, description="The answer's `x-turn-id`, or a `turn_started`'s `turn_id`.")]


class PlacedCitation(Frozen):
    """A citation of the answer: the reference's number, and the place in the answer, in characters."""

    number: int
    at: int


class ConsultAnswer(Frozen):
    """A whole turn."""

    turn_id: str
    conversation_id: str
    model: str
    answer: str
    outcome: Outcome
    citations: tuple[PlacedCitation, ...] = ()
    references: tuple[Reference, ...] = ()
    unsupported: tuple[UnsupportedStatement, ...] = Field((), description="Statements not found in what they cite.")
    notices: tuple[Notice, ...] = ()
    usage: Usage | None = None


class ComparisonAnswer(Frozen):
    """The turns of several models, in the order in which they were named."""

    turn_id: str
    answers: tuple[ConsultAnswer, ...]


router = APIRouter(prefix="/api/v1", tags=["consult"])


@router.post("/consult", response_model=ConsultAnswer | ComparisonAnswer, responses=api_docs.CONSULT)
async def consult(
    runtime: ServedRuntime,
    request: Request,
    user: User,
    language: ReaderLanguage,
    body: Annotated[ConsultBody, Body(openapi_examples=api_docs.CONSULT_EXAMPLES)],
) -> Response:
    """Ask a question.

    With `stream` the answer is a `text/event-stream`: each event's `data` is one event of the turn as JSON, its
    `event` line that event's `type`. With `models` the `event` line is `model_event`, and the data
    `{"model": ..., "event": ...}`. The header `x-turn-id` names the turn, to resume or stop it.
    """
    question = await begin(runtime, body, user, language)
    if body.stream:
        return event_stream(question, dict.fromkeys(question.turns, Cursor()))
    reading = asyncio.gather(*(_answer(model, turn) for model, turn in question.turns.items()))
    answers = await unless_left(request, question, reading)
    whole = ComparisonAnswer(turn_id=question.id, answers=tuple(answers)) if question.compared else answers[0]
    headers = {**NO_STORE, "x-turn-id": question.id}
    return Response(whole.model_dump_json(), media_type="application/json", headers=headers)


@router.get("/turns/{turn_id}/events", responses=api_docs.EVENTS, response_class=Response)
async def resume(
    runtime: ServedRuntime,
    user: User,
    turn_id: TurnId,
    last_event_id: Annotated[str | None, Header(max_length=400, description="The last `id` that was read.")] = None,
) -> Response:
    """Resume a turn's events after `Last-Event-ID`, or read all; 204 when there are no more.

    Possible while the turn runs, and for five minutes after.
    """
    question = await _question_of(runtime, turn_id, user)
    cursors = question.cursors(last_event_id)
    if cursors is None:
        return problem(422, "Last-Event-ID is not one of this turn.")
    return event_stream(question, cursors) if question.has_more(cursors) else Response(status_code=204)


@router.delete("/turns/{turn_id}", status_code=204, response_class=Response, responses=api_docs.NOT_FOUND)
async def stop(runtime: ServedRuntime, user: User, turn_id: TurnId) -> None:
    """Stop a turn and keep the text received so far. Stopping twice changes nothing."""
    (await _question_of(runtime, turn_id, user)).stop()


async def _question_of(runtime: Runtime, question_id: str, user: str) -> AskedQuestion:
    """Return a question or turn of ``user`` that this process or another one answers.

    Raises ``NotOwner``, and ``AsclepiusError`` while it cannot be known what other processes answer.
    """
    try:
        return runtime.asked.get(question_id, user)
    except NotOwner:
        await runtime.ready()
        turns = await runtime.elsewhere.of_question(question_id, user)
        if not turns:
            raise
        by_model = {turn.header.model: turn for turn in turns}
        return AskedQuestion(user, by_model, compared=question_id != turns[0].id, id=question_id)


async def unless_left(request: Request, question: AskedQuestion, answer: Awaitable[T]) -> T:
    """Return ``answer``, which reads the turns to their end; stop them when the client disconnects before."""
    reading = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((reading, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            question.stop()
        return await reading
    finally:
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _answer(model: str, turn: LiveTurn) -> ConsultAnswer:
    facts, citations, length = TurnFacts(), list[PlacedCitation](), 0
    async for events in turn.events():
        for event in events:
            facts.collect(event)
    for part in facts.said:
        if isinstance(part, str):
            length += len(part)
        else:
            citations.append(PlacedCitation(number=part.number, at=length))
    return ConsultAnswer(
        turn_id=turn.id,
        conversation_id=facts.conversation_id,
        model=model,
        answer=facts.answer,
        outcome=facts.outcome,
        citations=tuple(citations),
        references=facts.references,
        unsupported=facts.unsupported,
        notices=tuple(facts.notices),
        usage=facts.usage,
    )
