"""The Responses API over a WebSocket: requests are answered in order, one event per message.

A connection keeps the conversations of its last responses, including those that are not stored. It forgets a
response whose continuation failed.
"""

import asyncio
from collections import OrderedDict
from contextlib import aclosing
from typing import Final

import orjson
from fastapi import APIRouter, WebSocket
from pydantic import ValidationError
from starlette.websockets import WebSocketDisconnect

from chat_app.offline.execution.response_run import ResponseTurn
from chat_app.offline.execution.response_service import ResponseService
from chat_app.offline.wire import event_encoding
from chat_app.offline.wire.errors import ApiError, Json, from_validation, invalid
from chat_app.offline.wire.requests import CreateResponse

router = APIRouter()
_MAX_KNOWN: Final = 4
"""Responses whose conversations a connection keeps."""
_MAX_WAITING: Final = 32
"""Requests that wait on a connection. The server reads no more of them until one is answered."""


@router.websocket("/v1/responses")
async def responses(socket: WebSocket) -> None:
    """Serve one client until it disconnects, then end the response that is in progress."""
    await socket.accept()
    await Connection(socket, socket.app.state.responses).serve()


class Connection:
    """One client's socket and the conversations of its last responses."""

    def __init__(self, socket: WebSocket, service: ResponseService) -> None:
        self._socket = socket
        self._service = service
        self._requests: asyncio.Queue[CreateResponse | ApiError] = asyncio.Queue(_MAX_WAITING)
        self._known: OrderedDict[str, list[Json]] = OrderedDict()

    async def serve(self) -> None:
        """Answer requests until the client disconnects."""
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(self._work())
                await self._read()
                work.cancel()
        except* WebSocketDisconnect:
            pass

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                await self._requests.put(_request(message.get("text") or message.get("bytes") or ""))
            except ApiError as error:
                # Errors queue behind earlier requests, so that the order tells the client which message failed.
                await self._requests.put(error)

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            if isinstance(request, ApiError):
                await self._send(_error_event(request))
                continue
            try:
                await self._respond(request)
            except ApiError as error:
                self._known.pop(request.previous_response_id or "", None)
                await self._send(_error_event(error))

    async def _respond(self, request: CreateResponse) -> None:
        turn = await self._service.start(request, known=self._known)
        # WebSocket pings keep the connection open.
        async with aclosing(turn.frames_of_client(keep_alive=None)) as frames:
            async for frame in frames:
                await self._send(event_encoding.data_of(frame))
        if turn.response["status"] == "failed":
            self._known.pop(request.previous_response_id or "", None)
        else:
            self._remember(turn)

    def _remember(self, turn: ResponseTurn) -> None:
        self._known[turn.response["id"]] = [*turn.read, *turn.response["output"]]
        while len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)

    async def _send(self, event: bytes) -> None:
        await self._socket.send_text(event.decode())


def _request(message: str | bytes) -> CreateResponse:
    try:
        body = orjson.loads(message)
    except orjson.JSONDecodeError:
        raise ApiError(400, "We could not parse the JSON of your message.") from None
    if not isinstance(body, dict) or body.get("type") != "response.create":
        raise invalid("This server accepts messages of type 'response.create'.", "type")
    fields = {name: value for name, value in body.items() if name not in {"type", "stream_options"}}
    try:
        return CreateResponse.model_validate({**fields, "stream": True})
    except ValidationError as error:
        raise from_validation(error.errors()) from None


def _error_event(error: ApiError) -> bytes:
    """Encode an error as OpenAI sends it over a WebSocket: a status and an ``error`` object that always has a code."""
    detail = error.body["error"]
    detail = {**detail, "code": detail["code"] or detail["type"]}
    shown = {name: detail[name] for name in ("code", "message", "param")}
    return orjson.dumps({**shown, "type": "error", "status": error.status_code, "sequence_number": 0, "error": detail})
