"""Errors of ``/v1`` in the shape that OpenAI's clients read. They never repeat the request."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from chat_app.errors import AsclepiusError
from chat_app.interface.api.problems import explained, retry_header

_CODES: Final = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
_MOST_PLACES: Final = 3


class UnknownModel(Exception):
    """The request names a model that is not offered."""


class UnknownResponse(Exception):
    """The previous response is unknown, has expired or belongs to another user."""


class ModelApiRoute(APIRoute):
    """A route whose errors have OpenAI's shape."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                if (known := _known(error)) is None:
                    raise
                return known

        return answer


def error_response(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error response."""
    return JSONResponse(error_body(status, message, code=code, param=param), status, headers)


def error_body(status: int, message: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return the JSON of an error."""
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code or _CODES.get(status)}}


def frame(body: Mapping[str, Any], event: str = "") -> bytes:
    """Return a server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def _known(error: Exception) -> JSONResponse | None:
    if isinstance(error, RequestValidationError):
        places = list(dict.fromkeys(_place(one) for one in error.errors()))[:_MOST_PLACES]
        text = f"Not valid, or not supported here: {', '.join(places)}. Answers are text, and tools run at the server."
        return error_response(400, text, param=places[0] if places else None, code="invalid_request")
    if isinstance(error, UnknownModel):
        text = "There is no such model here. GET /v1/models lists them."
        return error_response(404, text, param="model", code="model_not_found")
    if isinstance(error, UnknownResponse):
        text = "The previous response has expired or is not known here. Send the conversation as `input` instead."
        return error_response(404, text, param="previous_response_id", code="previous_response_not_found")
    if (known := explained(error)) is None:
        return None
    status, text = known
    code = error.code if isinstance(error, AsclepiusError) and status not in _CODES else None
    return error_response(400 if status == 422 else status, text, code=code, headers=retry_header(error))


def _place(error: Mapping[str, Any]) -> str:
    """Return the field of an error, such as ``messages.0.content``, without the value that was sent."""
    return ".".join(str(part) for part in error["loc"][1:4]) or "the body"
