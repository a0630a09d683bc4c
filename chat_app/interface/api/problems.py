"""Errors of the HTTP API as ``application/problem+json`` (RFC 9457). They never repeat the request."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

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

_SCHEMA_ONLY: Final = frozenset(
    {
        "missing",
        "extra_forbidden",
        "string_type",
        "string_too_long",
        "string_too_short",
        "string_pattern_mismatch",
        "bool_type",
        "bool_parsing",
        "int_type",
        "int_parsing",
        "int_from_float",
        "float_type",
        "float_parsing",
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "literal_error",
        "enum",
        "none_required",
        "too_long",
        "too_short",
        "list_type",
        "tuple_type",
        "dict_type",
        "model_type",
        "model_attributes_type",
        "not_iso_8601",
        "no_criteria",
    }
)
"""Kinds of errors whose message comes from the schema alone. Others can repeat a part of the request."""


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

    async def invalid(request: Request, error: Exception) -> Response:
        found: list[dict[str, Any]] = getattr(error, "errors", list)()[:_MOST_ERRORS]
        listed: list[dict[str, str]] = []
        for one in found:
            expected = str(one["msg"]) if one["type"] in _SCHEMA_ONLY else ""
            listed.append({"field": field_of(one), "problem": str(one["type"]), "expected": expected})
        described = (f"{one['field']} ({one['expected']})" if one["expected"] else one["field"] for one in listed)
        places = ", ".join(dict.fromkeys(described))
        said = body_fault(request, found) or f"The request is not valid: {places}."
        return problem(422, said, errors=listed)

    async def http(_request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        detail = str(getattr(error, "detail", "")) if status != 404 else NOTHING_HERE
        return problem(status, detail, headers=getattr(error, "headers", None))

    for kind in (NotOwner, NotAllowed, Unauthenticated, AsclepiusError, ToolError, Exception):
        app.add_exception_handler(kind, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def body_fault(request: Request, errors: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why the body as a whole cannot be read; None when fields of it, or of the address, are wrong."""
    for error in errors:
        if error["type"] == "json_invalid":
            return f"The body is not valid JSON from character {int(error['loc'][-1]) + 1} on."
        if tuple(error["loc"]) == ("body",):
            media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if error["type"] != "missing" and media_type != "application/json":
                return "Send the body with the header `content-type: application/json`."
            return "The body must be a JSON object."
    return None


def field_of(error: Mapping[str, Any]) -> str:
    """Return the field of the request, such as ``body.messages.0.role``; an unknown field's name is not repeated."""
    place = [str(part) for part in error["loc"] if not _is_branch(part)]
    if error["type"] == "extra_forbidden":
        place[-1] = "(unknown field)"
    return ".".join(place)


def _is_branch(part: str | int) -> bool:
    """Return whether ``part`` is the type that a union was tried with, which is no part of the request."""
    return isinstance(part, str) and (part == "str" or "[" in part)
