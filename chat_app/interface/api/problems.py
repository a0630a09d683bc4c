"""Errors of the HTTP API as ``application/problem+json`` (RFC 9457). They never repeat the request."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from chat_app.errors import AsclepiusError, InputRejected, SessionBusy
from chat_app.interface.security.identity import NotAllowed, NotOwner, Unauthenticated
from chat_app.interface.security.request_body import problem
from chat_app.interface.security.user_limits import TooManyQuestions
from tools.errors import SourceRejected, ToolError

_MOST_ERRORS = 20
NOTHING_HERE = "There is nothing here for you."
_STATUS: tuple[tuple[type[Exception], int, str], ...] = (
    (NotOwner, 404, NOTHING_HERE),
    (Unauthenticated, 401, "Sign in first."),
    (NotAllowed, 403, "Your role does not include this."),
    (TooManyQuestions, 429, ""),
    (InputRejected, 422, ""),
    (SessionBusy, 409, ""),
    (SourceRejected, 404, ""),
    (ToolError, 503, ""),
    (AsclepiusError, 503, ""),
)
"""Each kind of error with its status and sentence; without one its own message is shown."""


def explained(error: Exception) -> tuple[int, str] | None:
    """Return the status and the sentence of an error that the app raises on purpose, else None."""
    return next(((status, said or str(error)) for kind, status, said in _STATUS if isinstance(error, kind)), None)


def retry_header(error: Exception) -> dict[str, str] | None:
    """Return the header that says when to try again, if there is such a time."""
    return {"Retry-After": str(error.retry_after)} if isinstance(error, TooManyQuestions) else None


def install(app: FastAPI) -> None:
    """Make ``app`` answer every error with a problem document."""

    async def known(_request: Request, error: Exception) -> Response:
        status, said = explained(error) or (500, "Something unexpected went wrong. The server's log says where.")
        return problem(status, said, headers=retry_header(error))

    async def invalid(_request: Request, error: Exception) -> Response:
        found: list[dict[str, Any]] = getattr(error, "errors", list)()[:_MOST_ERRORS]
        listed = [{"field": _place(e), "problem": str(e["type"])} for e in found]
        places = ", ".join(dict.fromkeys(entry["field"] for entry in listed))
        return problem(422, f"The request is not valid: {places}.", errors=listed)

    async def http(_request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        detail = str(getattr(error, "detail", "")) if status != 404 else NOTHING_HERE
        return problem(status, detail, headers=getattr(error, "headers", None))

    for kind in (NotOwner, NotAllowed, Unauthenticated, AsclepiusError, ToolError, Exception):
        app.add_exception_handler(kind, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def _place(error: Mapping[str, Any]) -> str:
    """Return the field of the request that ``error`` is about; an unknown field's name is not repeated."""
    place = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        place[-1] = "(unknown field)"
    return ".".join(place)
