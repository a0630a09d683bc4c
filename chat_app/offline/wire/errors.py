"""Errors in the format of the Responses API: a status and an object with message, type, param and code.

No message repeats a value from the request, because requests contain patient text.
"""

from collections.abc import Sequence
from typing import Any, Final

from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

Json = dict[str, Any]
BRANCH: Final = "~"
"""First character of the tags of union branches, which pydantic adds to the location of errors. No field has it."""
_PLAIN_STRING = "str"
"""The step that pydantic adds to the location of an error in the text branch of a union of text and list."""


class ApiError(HTTPException):
    """An error response, with ``headers`` such as ``Retry-After``."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        kind: str = "invalid_request_error",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.body: Json = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def not_found(what: str, object_id: str) -> ApiError:
    """Return 404 for an object that does not exist or has expired."""
    return ApiError(404, f"{what} with id '{object_id[:80]}' not found.", param="id")


def invalid(message: str, param: str, code: str = "invalid_value") -> ApiError:
    """Return 400 for an invalid parameter."""
    return ApiError(400, message, param=param, code=code)


def from_validation(errors: Sequence[ErrorDetails]) -> ApiError:
    """Convert the first of pydantic's errors to OpenAI's format."""
    first = errors[0]
    param = _path(first["loc"])
    match first["type"]:
        case "missing":
            return invalid(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
        case "extra_forbidden":
            return invalid(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
        case "json_invalid":
            return ApiError(400, "We could not parse the JSON body of your request.")
        case "union_tag_invalid":
            # pydantic's message repeats the value.
            return invalid(f"Invalid value for '{param}': its 'type' is unknown.", param)
        case kind if kind.endswith("_type"):
            return invalid(f"Invalid type for '{param}': {first['msg']}.", param, "invalid_type")
        case _:
            return invalid(f"Invalid value for '{param}': {first['msg'].removeprefix('Value error, ')}.", param)


def _path(location: tuple[int | str, ...]) -> str:
    steps = location[1:] if location and location[0] in {"body", "query", "path", "header"} else location
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif not step.startswith(BRANCH) and step != _PLAIN_STRING:
            path += f".{step}" if path else step
    return path
