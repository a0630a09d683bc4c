"""The routes of ``/v1``: a consultation as a model, for programs that speak OpenAI's API.

The messages before the question become a new conversation, so that what a client edits or cuts is what the model sees.
``previous_response_id`` continues the stored conversation instead. A client that disconnects stops its turn.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from chat_app.background import in_background
from chat_app.errors import AsclepiusError
from chat_app.interface.api.consult_routes import unless_left
from chat_app.interface.api.conversation_routes import erase_own
from chat_app.interface.api.dependencies import EVERY_METHOD, NO_STORE, ReaderLanguage, ServedRuntime, User, signed_in
from chat_app.interface.api.model_api.chat_frames import chunks, completion
from chat_app.interface.api.model_api.model_answer import ModelAnswer
from chat_app.interface.api.model_api.model_errors import ModelApiRoute, UnknownModel, UnknownResponse, error_response
from chat_app.interface.api.model_api.model_requests import (
    OWN_NAME,
    ChatRequest,
    ResponsesRequest,
    fitting,
    question_of,
)
from chat_app.interface.api.model_api.response_frames import ResponseFrames
from chat_app.interface.api.passages.passage_links import PassageLinks
from chat_app.interface.api.question_start import ConsultBody, begin
from chat_app.interface.api.turn_stream import KEEP_ALIVE_SECONDS, streamed
from chat_app.interface.turns.asked_questions import AskedQuestion
from chat_app.sessions.session_store import Message

_RESPONSE_ID: Final = re.compile(r"resp_([0-9a-f]{32})_([0-9a-f]{32})")


@dataclass
class ModelTurns:
    """The turns of one request, that of ``user``."""

    runtime: ServedRuntime
    request: Request
    user: User
    language: ReaderLanguage

    def names(self) -> list[str]:
        several = self.runtime.settings.models
        return [OWN_NAME, *(f"{OWN_NAME}/{name}" for name in several if len(several) > 1)]

    def answer(self, *, streamed: bool) -> ModelAnswer:
        """Return an answer that has seen nothing, whose links begin with the address that the client uses.

        All its links expire together, so that its text and its citations have the same ones.
        """
        base, now = self.runtime.identity.base_address(self.request), time.time()
        links = PassageLinks(self.runtime.identity.secret, clock=lambda: now)
        return ModelAnswer(self.language, lambda reference: links.of(reference, base), streamed)

    async def begin(self, body: ChatRequest | ResponsesRequest) -> AskedQuestion:
        """Start the turn of a request, whose id its question has, too."""
        runtime, app = self.runtime, await self.runtime.ready()
        text, earlier = question_of(body.messages)
        app.agent.check_message(text)
        model = body.named_model()
        if model is not None and not runtime.settings.may_ask(model):
            raise UnknownModel
        previous = body.previous_response_id if isinstance(body, ResponsesRequest) else None
        continued, before = await self._continued(previous)
        made = None
        if earlier or not continued:
            made = continued = await self._made((*before, *earlier))
        asked = ConsultBody.model_validate(
            {"message": text, "model": model, "length": body.length, "conversation_id": continued}
        )
        try:
            return await begin(runtime, asked, self.user, self.language)
        except Exception:
            if made:
                await app.sessions.delete(made, self.user)
            raise

    async def _continued(self, previous: str | None) -> tuple[str | None, Sequence[Message]]:
        """Return the conversation whose last answer ``previous`` is, or else the messages up to that answer."""
        if previous is None:
            return None, ()
        conversation, messages, end = await self.place_of(previous)
        return (conversation if end == len(messages) else None), messages[:end]

    async def place_of(self, response_id: str) -> tuple[str, Sequence[Message], int]:
        """Return a response's conversation, its messages, and how many end with the response.

        Raises ``UnknownResponse``.
        """
        named = _RESPONSE_ID.fullmatch(response_id)
        store = (await self.runtime.ready()).sessions
        session = await store.get(f"session_{named[1]}", self.user) if named else None
        if named is None or session is None:
            raise UnknownResponse
        turn, messages = str(UUID(named[2])), await store.messages(session.session_id)
        ends = [at for at, message in enumerate(messages, start=1) if message.turn_id == turn]
        if not ends:
            raise UnknownResponse
        return session.session_id, messages, ends[-1]

    async def keep(self, question: AskedQuestion, frames: ResponseFrames) -> None:
        """Store the response once its turn has ended. ``frames`` have seen nothing."""
        await _drained(question, frames.answer)
        with suppress(AsclepiusError):
            store = (await self.runtime.ready()).sessions
            body = frames.response().model_dump_json()
            await store.keep_response(frames.answer.conversation_id, question.id, body)

    async def stored(self, response_id: str) -> str:
        """Return the JSON of a stored response. Raises ``UnknownResponse``."""
        conversation, messages, end = await self.place_of(response_id)
        store = (await self.runtime.ready()).sessions
        body = await store.kept_response(conversation, str(messages[end - 1].turn_id))
        if body is None:
            raise UnknownResponse
        return body

    async def _made(self, messages: Sequence[Message]) -> str | None:
        """Return a new conversation of these messages; None for none, which needs no store."""
        if not messages:
            return None
        store = (await self.runtime.ready()).sessions
        session = await store.create(self.user)
        await store.append_messages(session.session_id, fitting(messages))
        return session.session_id


Turns = Annotated[ModelTurns, Depends()]

router = APIRouter(prefix="/v1", route_class=ModelApiRoute, dependencies=[Depends(signed_in)], include_in_schema=False)


@router.get("/models")
async def models(turns: Turns) -> Response:
    """List the models."""
    return JSONResponse({"object": "list", "data": [_model(name) for name in turns.names()]})


@router.get("/models/{name:path}")
async def model(turns: Turns, name: str) -> Response:
    """Return one model."""
    if name not in turns.names():
        raise UnknownModel
    return JSONResponse(_model(name))


@router.post("/chat/completions")
async def chat_completions(turns: Turns, request: Request, body: ChatRequest) -> Response:
    """Answer the last message."""
    question = await turns.begin(body)
    answer = turns.answer(streamed=bool(body.stream))
    if body.stream:
        usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        return streamed(chunks(question.id, body.model, answer, _pieces(question, answer), include_usage=usage))
    await unless_left(request, question, _drained(question, answer))
    return _whole(answer, completion(question.id, body.model, answer).model_dump(mode="json"))


@router.post("/responses")
async def responses(turns: Turns, request: Request, body: ResponsesRequest) -> Response:
    """Answer the last message, or the text."""
    question = await turns.begin(body)
    answer = turns.answer(streamed=bool(body.stream))
    frames = ResponseFrames(question.id, body.model, answer, body.previous_response_id, datetime.now(UTC))
    # Also stored when the client has left.
    kept = in_background(turns.keep(question, deepcopy(frames)))
    if body.stream:
        return streamed(frames.events(_pieces(question, answer, kept)))
    await unless_left(request, question, _drained(question, answer, kept))
    return _whole(answer, frames.response().model_dump(mode="json"))


@router.get("/responses/{response_id}")
async def stored(turns: Turns, response_id: str, stream: Literal["false"] | None = None) -> Response:
    """Return a response as its client first got it, not as a stream."""
    body = await turns.stored(response_id)
    return Response(body, media_type="application/json", headers=NO_STORE)


@router.delete("/responses/{response_id}")
async def erase(turns: Turns, response_id: str) -> Response:
    """Erase the conversation of a response."""
    conversation, _, _ = await turns.place_of(response_id)
    await erase_own(turns.runtime, conversation, turns.user)
    return JSONResponse({"id": response_id, "object": "response", "deleted": True})


@router.api_route("/{path:path}", methods=EVERY_METHOD)
async def nothing_else(path: str) -> Response:
    """Answer 404 for the rest of OpenAI's API."""
    return error_response(404, "There is nothing at this address.")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWN_NAME}


async def _pieces(
    question: AskedQuestion, answer: ModelAnswer, kept: asyncio.Future[None] | None = None
) -> AsyncGenerator[str | None, None]:
    """Yield the text as it arrives, and None in pauses; end once ``kept`` is done. Closing this stops the turn."""
    (turn,) = question.turns.values()
    try:
        async for batch in turn.events(silence=KEEP_ALIVE_SECONDS):
            yield "".join(map(answer.see, batch)) if batch else None
        if kept is not None:
            await asyncio.shield(kept)
    finally:
        question.stop()


async def _drained(question: AskedQuestion, answer: ModelAnswer, kept: asyncio.Future[None] | None = None) -> None:
    async with aclosing(_pieces(question, answer, kept)) as pieces:
        async for _ in pieces:
            pass


def _whole(answer: ModelAnswer, body: dict[str, Any]) -> Response:
    if answer.failed:
        # A retry would ask the question again, which the client's user decides.
        again = {"x-should-retry": "false"}
        return error_response(503, answer.error, code=answer.outcome.code, headers=again)
    return JSONResponse(body, headers=NO_STORE)
