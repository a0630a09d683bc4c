"""Responses over a WebSocket: requests in, answered one after the other, the events of each out, one a message.

A connection knows the conversations of its last responses itself, also of those that are not stored; one whose
continuation failed it forgets. A response that is being made can be steered (``response.steer``).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, WebSocket
from pydantic import Field, ValidationError
from starlette.websockets import WebSocketDisconnect

from chat_app.offline.api import event_encoding
from chat_app.offline.execution import steering
from chat_app.offline.execution.response_run import LiveTurn
from chat_app.offline.execution.response_service import ResponseService
from chat_app.offline.execution.steering import Steer, Steering
from chat_app.offline.wire.errors import ApiError, from_validation, invalid
from chat_app.offline.wire.requests import CreateResponse

Json = dict[str, Any]
router = APIRouter()
_IDLE: Final = 3600.0
"""Seconds between two looks at a silent turn; a WebSocket has pings of its own, so nothing is sent."""
_MOST_KNOWN: Final = 4
"""Responses whose conversations a connection keeps."""
_MOST_WAITING: Final = 32
"""Requests that wait on a connection; a client that sends more is read no further until one is answered."""


class CreateEvent(CreateResponse):
    """A ``response.create`` message. Without ``generate`` the request is only taken up, to be continued later."""

    generate: bool = True
    stream_id: Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9_.-]+$")] | None = None


@router.websocket("/v1/responses")
async def responses(socket: WebSocket) -> None:
    """Serves one client until it leaves; what is being answered then is ended."""
    await socket.accept()
    await Connection(socket, socket.app.state.responses).serve()


class Connection:
    """One client's socket and what is known of its responses."""

    def __init__(self, socket: WebSocket, service: ResponseService) -> None:
        self._socket = socket
        self._service = service
        self._requests: asyncio.Queue[CreateEvent | ApiError] = asyncio.Queue(_MOST_WAITING)
        self._known: OrderedDict[str, list[Json]] = OrderedDict()
        self._turns: OrderedDict[str, LiveTurn] = OrderedDict()
        self._steering = Steering()
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Returns when the client has left."""
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._work())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect):
                raise error

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                body = _body(message.get("text") or message.get("bytes") or "")
                if body["type"] == "response.steer":
                    await self._steer(body)
                else:
                    await self._requests.put(_request(body))
            except ApiError as error:
                # In line with the requests: a client knows by the order what failed.
                await self._requests.put(error)

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            if isinstance(request, ApiError):
                await self._send(_error_event(request))
            else:
                await self._answer(request)

    async def _answer(self, request: CreateEvent) -> None:
        added = self._steering.take(request.previous_response_id)
        given = steering.with_added(request, added) if added else request
        lane = request.stream_id
        try:
            turn = await self._respond(given, lane, silent=not request.generate)
        except ApiError as error:
            self._forget(request.previous_response_id)
            await self._give_back(added, lane)
            await self._send(_error_event(error), lane)
            return
        while added := self._steering.waiting(turn.response["id"]):
            calls = _calls(turn)
            if calls:
                for number, waiting in enumerate(added, start=turn.count):
                    await self._send(steering.pending_event(waiting, calls) | {"sequence_number": number}, lane)
                return
            self._steering.take(turn.response["id"])
            try:
                turn = await self._respond(steering.successor(given, turn.response["id"], added), lane)
            except ApiError:
                await self._give_back(added, lane)
                return

    async def _respond(self, request: CreateResponse, lane: str | None, *, silent: bool = False) -> LiveTurn:
        turn = await self._service.start(request, known=self._known, silent=silent)
        self._turns[turn.response["id"]] = turn
        try:
            async for frame in turn.frames(0, _IDLE):
                if frame != event_encoding.KEEP_ALIVE:
                    await self._send(event_encoding.data_of(frame), lane)
        finally:
            if not turn.response["background"] and turn.task is not None:
                turn.task.cancel()
        if turn.response["status"] == "failed":
            self._forget(request.previous_response_id)
        else:
            self._remember(turn)
        return turn

    def _remember(self, turn: LiveTurn) -> None:
        self._known[turn.response["id"]] = [*turn.read, *turn.response["output"]]
        for kept in (self._known, self._turns):
            while len(kept) > _MOST_KNOWN:
                kept.popitem(last=False)

    def _forget(self, response_id: str | None) -> None:
        self._known.pop(response_id or "", None)
        self._turns.pop(response_id or "", None)

    async def _steer(self, body: Json) -> None:
        try:
            steer = Steer.model_validate(body)
        except ValidationError as error:
            if not isinstance(body.get("previous_response_id"), str) or "input" not in body:
                raise from_validation(error.errors()) from None
            await self._send(steering.failed_event(body, "invalid_input") | {"sequence_number": 0})
            return
        turn = self._turns.get(steer.previous_response_id)
        found = self._steering.accept(steer, turn, waits_for_calls=turn is not None and bool(_calls(turn)))
        if not isinstance(found, str) and turn is not None and not turn.ended:
            turn.publish(steering.accepted_event(found))
            return
        event = steering.failed_event(body, found) if isinstance(found, str) else steering.accepted_event(found)
        await self._send(event | {"sequence_number": 0 if turn is None else turn.count})

    async def _give_back(self, added: list[steering.Accepted], lane: str | None) -> None:
        for accepted in added:
            body = accepted.steer.model_dump()
            event = steering.failed_event(body, "successor_creation_failed", accepted.id)
            await self._send(event | {"sequence_number": 0}, lane)

    async def _send(self, event: Json | bytes, lane: str | None = None) -> None:
        if lane is not None:
            event = (orjson.loads(event) if isinstance(event, bytes) else event) | {"stream_id": lane}
        text = event if isinstance(event, bytes) else orjson.dumps(event)
        async with self._sending:
            await self._socket.send_text(text.decode())


def _calls(turn: LiveTurn) -> list[Json]:
    return [item for item in turn.response["output"] if item["type"] == "function_call"]


def _body(message: str | bytes) -> Json:
    try:
        body = orjson.loads(message)
    except orjson.JSONDecodeError:
        raise ApiError(400, "We could not parse the JSON of your message.") from None
    if not isinstance(body, dict) or body.get("type") not in {"response.create", "response.steer"}:
        raise invalid("This server takes messages of type 'response.create' and 'response.steer'.", "type")
    return body


def _request(body: Json) -> CreateEvent:
    fields = {name: value for name, value in body.items() if name not in {"type", "stream_options"}}
    try:
        return CreateEvent.model_validate({**fields, "stream": True})
    except ValidationError as error:
        raise from_validation(error.errors()) from None


def _error_event(error: ApiError) -> Json:
    """An error as OpenAI sends it over a WebSocket: a status, and an ``error`` object that always has a code."""
    detail = error.body()["error"]
    code = error.code or error.kind
    return {
        "type": "error",
        "status": error.status,
        "code": code,
        "message": str(error),
        "param": error.param,
        "sequence_number": 0,
        "error": {**detail, "code": code},
    }
