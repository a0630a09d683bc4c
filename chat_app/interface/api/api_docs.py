"""The API's OpenAPI document: how to sign in, what events look like, which problems an operation can answer with."""

import tomllib
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.models import Example
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import models_json_schema
from starlette.routing import compile_path

from chat_app import __version__
from chat_app.events import AgentEvent, ModelEvent, Outcome, TextDelta, TurnEnded, TurnStarted, agent_event_adapter

Responses = dict[int | str, dict[str, Any]]

_TEXTS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("api_docs.toml").read_text("utf-8"))
_PROBLEMS: Final[dict[int, str]] = {int(status): said for status, said in _TEXTS["problems"].items()}
CONSULT_EXAMPLES: Final[dict[str, Example]] = _TEXTS["consult_examples"]


class ProblemDetails(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What happened and what to do, in one sentence.")
    errors: list[dict[str, str]] | None = Field(None, description="The fields that are not valid, and why.")


def problems(*statuses: int) -> Responses:
    """Return the documentation of these problem responses."""
    return {status: {"description": _PROBLEMS[status]} for status in statuses}


def _example() -> str:
    events: list[AgentEvent] = [
        TurnStarted(conversation_id="session_" + "0" * 32, turn_id="4f0c…", model="asclepius-extractive"),
        TextDelta(text="ACE inhibitors are contraindicated in pregnancy."),
        TurnEnded(outcome=Outcome(), answer="ACE inhibitors are contraindicated in pregnancy."),
    ]
    frames = (
        f"id: 4f0c….{number}.0\nevent: {event.type}\ndata: {agent_event_adapter.dump_json(event).decode()}\n\n"
        for number, event in enumerate(events, start=1)
    )
    return "".join(frames)


_STREAM: Final = {
    "text/event-stream": {
        "schema": {
            "type": "string",
            "description": "Frames whose `data` is an `AgentEvent`, or with `models` a `ModelEvent`.",
        },
        "example": _example(),
    }
}
EVENTS: Final[Responses] = {
    200: {"description": "The events.", "content": _STREAM},
    204: {"description": "The turn has ended and everything of it was read."},
    **problems(404),
}
CONSULT: Final[Responses] = {
    200: {
        "description": "The turn's events, or with `stream: false` the whole answer.",
        "content": _STREAM,
        "headers": {"x-turn-id": {"description": "Names the turn.", "schema": {"type": "string"}}},
    },
    **problems(413, 429),
}
NOT_FOUND: Final[Responses] = problems(404)


def document(app: FastAPI) -> None:
    """Give ``app`` its OpenAPI document."""
    app.title, app.version = "Asclepius", __version__
    app.description, app.openapi_tags = _TEXTS["description"], _TEXTS["tags"]
    app.license_info = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    app.openapi = cache(lambda: _completed(FastAPI.openapi(app)))  # type: ignore[method-assign]


def methods_of(app: FastAPI, path: str) -> list[str]:
    """Return the methods of the documented operations at ``path``."""
    here = [methods for template, methods in app.openapi()["paths"].items() if compile_path(template)[0].match(path)]
    return sorted({method.upper() for methods in here for method in methods})


def _completed(schema: dict[str, Any]) -> dict[str, Any]:
    components = schema.setdefault("components", {})
    models = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        models.pop(unused, None)
    for name, model in _schemas().items():
        models.setdefault(name, model)
    components["securitySchemes"] = {"login": {"type": "apiKey", "in": "cookie", "name": "access_token"}}
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    of_api = (methods for path, methods in schema["paths"].items() if path.startswith("/api/"))
    for operation in chain.from_iterable(methods.values() for methods in of_api):
        operation["security"] = [{"login": []}]
        responses = operation["responses"]
        for status, said in _PROBLEMS.items():
            if status in {401, 422, 503} or str(status) in responses:
                responses[str(status)] = {"description": said, "content": content}
    return schema


def _schemas() -> dict[str, Any]:
    """Return the schemas that no operation refers to: problems and events."""
    where = "#/components/schemas/{model}"
    _, of_models = models_json_schema(
        [(ProblemDetails, "serialization"), (ModelEvent, "serialization")], ref_template=where
    )
    events = TypeAdapter[Any](AgentEvent).json_schema(ref_template=where, mode="serialization")
    found: dict[str, Any] = {**of_models["$defs"], **events.pop("$defs")}
    return {**found, "AgentEvent": events}
