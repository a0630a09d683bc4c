"""Responses over a WebSocket: ``response.create`` messages in, the events of each response out, one a message."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, WebSocket
from pydantic import ValidationError
from starlette.websockets import WebSocketDisconnect

from chat_app.offline import sse
from chat_app.offline.errors import ApiError, from_validation, invalid
from chat_app.offline.service import ResponseService
from chat_app.offline.wire import CreateResponse

Json = dict[str, Any]
router = APIRouter()
_IDLE = 3600.0
"""Seconds between two looks at a silent turn; a WebSocket has pings of its own, so nothing is sent."""


@router.websocket("/v1/responses")
async def responses(socket: WebSocket) -> None:
    """Answers one request after the other until the client leaves; what is being answered then is ended."""
    await socket.accept()
    service: ResponseService = socket.app.state.responses
    try:
        while True:
            message = await socket.receive_text()
            try:
                await _answer(socket, service, _request(message))
            except ApiError as error:
                await socket.send_text(orjson.dumps(_error_event(error)).decode())
    except WebSocketDisconnect:
        return


def _request(message: str) -> CreateResponse:
    try:
        body = orjson.loads(message)
    except orjson.JSONDecodeError:
        raise ApiError(400, "We could not parse the JSON of your message.") from None
    if not isinstance(body, dict) or body.get("type") != "response.create":
        raise invalid("This server takes messages of type 'response.create'.", "type")
    fields = {name: value for name, value in body.items() if name != "type"}
    try:
        return CreateResponse.model_validate({**fields, "stream": True})
    except ValidationError as error:
        raise from_validation(error.errors()) from None


async def _answer(socket: WebSocket, service: ResponseService, request: CreateResponse) -> None:
    turn = await service.start(request)
    try:
        async for frame in turn.frames(0, _IDLE):
            if frame != sse.KEEP_ALIVE:
                await socket.send_text(sse.data_of(frame).decode())
    finally:
        if not request.background and turn.task is not None:
            turn.task.cancel()


def _error_event(error: ApiError) -> Json:
    return {"type": "error", "status": error.status, "code": error.code, "message": str(error), "param": error.param,
            "sequence_number": 0, **error.body()}  # fmt: skip
