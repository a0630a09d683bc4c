"""Errors of ``/v1`` in the shape that OpenAI's clients read. They never repeat the request."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from chat_app.errors import AsclepiusError
from chat_app.interface.api.problems import body_fault, explained, field_of, retry_header
from chat_app.interface.security.identity import Unauthenticated

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
                if (known := _known(request, error)) is None:
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


def _known(request: Request, error: Exception) -> JSONResponse | None:
    if isinstance(error, RequestValidationError):
        return _invalid(request, error)
    if isinstance(error, UnknownModel):
        text = "There is no such model here. GET /v1/models lists them."
        return error_response(404, text, param="model", code="model_not_found")
    if isinstance(error, Unauthenticated):
        text = "Send a key of `asclepius keys create` as `Authorization: Bearer ask_...`."
        return error_response(401, text)
    if isinstance(error, UnknownResponse) and request.method != "POST":
        return error_response(404, "The response has expired or is not known here.", param="response_id")
    if isinstance(error, UnknownResponse):
        text = "The previous response has expired or is not known here. Send the conversation as `input` instead."
        return error_response(404, text, param="previous_response_id", code="previous_response_not_found")
    if (known := explained(error)) is None:
        return None
    status, text = known
    code = error.code if isinstance(error, AsclepiusError) and status not in _CODES else None
    return error_response(400 if status == 422 else status, text, code=code, headers=retry_header(error))


def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    if (fault := body_fault(request, error.errors())) is not None:
        return error_response(400, fault, code="invalid_request")
    places = list(dict.fromkeys(field_of(one).removeprefix("body.") for one in error.errors()))
    # An invalid part is also reported as an error of the object that contains it.
    innermost = [place for place in places if not any(other.startswith(f"{place}.") for other in places)][:_MOST_PLACES]
    text = f"Not valid, or not supported here: {', '.join(innermost)}. Answers are text, and tools run at the server."
    return error_response(400, text, param=innermost[0], code="invalid_request")
