"""The server's OpenAPI document: FastAPI's, with the errors that the API really returns."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

Json = dict[str, Any]


class ErrorDetail(BaseModel):
    """The ``error`` object of an error response."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """Body of every error response."""

    error: ErrorDetail


_STATUSES: Final[dict[int, str]] = {
    400: "The request is invalid, or conflicts with stored objects.",
    401: "The key is missing or wrong.",
    404: "The object does not exist or has expired.",
    405: "The URL does not support this method.",
    413: "The body is too large.",
    429: "The server is at its limit of concurrent requests.",
    500: "The server failed.",
}
_UPLOAD: Final = "Body_upload_v1_files_post"
ERRORS: Final[dict[int | str, Json]] = {
    status: {"model": ErrorBody, "description": text} for status, text in _STATUSES.items()
}
"""Errors that any route may return."""


def describe(app: FastAPI, *, asks_for_key: bool) -> Json:
    """Return the OpenAPI document of ``app``. Invalid requests return 400, so 422 is left out."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
                if asks_for_key:
                    operation["security"] = [{"bearer": []}]
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(name, None)
        # As OpenAI describes it: a file is bytes of any kind.
        schema["components"]["schemas"][_UPLOAD]["properties"]["file"] = {"type": "string", "format": "binary"}
        if asks_for_key:
            schema["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema
