"""The API's OpenAPI document: how to sign in, what events look like, which problems an operation can answer with."""

from functools import cache
from itertools import chain
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.models import Example
from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import models_json_schema
from starlette.routing import compile_path

from chat_app import __version__
from chat_app.events import AgentEvent, ModelEvent, Outcome, TextDelta, TurnEnded, TurnStarted, agent_event_adapter

Responses = dict[int | str, dict[str, Any]]

DESCRIPTION: Final = """
Clinical questions, answered from the loaded guidelines and the drug database as the page answers them.

Every operation under `/api/v1` needs the login cookie `access_token`, the same as the page's. `POST /auth/header`
gives it to the demo user, and to users whom a trusted proxy names; `POST /login` (form fields `username` and
`password`) gives it to users with a password.

Errors are problem documents (RFC 9457). They never repeat the request. Another user's resources are answered like
missing ones: 404.
""".strip()

TAGS: Final[list[dict[str, Any]]] = [
    {"name": "consult", "description": "Ask, follow the answer, stop it."},
    {"name": "conversations", "description": "Questions and answers; kept for a while after their last use."},
    {"name": "sources", "description": "What answers come from."},
    {"name": "health", "description": "Whether the app runs, and its loaded content."},
]

_PROBLEMS: Final = {
    401: "Nobody is signed in.",
    404: "There is nothing here for you.",
    413: "The request is too large.",
    422: "The request is not valid; `errors` names the fields.",
    429: "Too many questions; `Retry-After` says how many seconds to wait.",
    503: "A part that is needed does not answer.",
}


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
CONSULT_EXAMPLES: Final[dict[str, Example]] = {
    "stream": {
        "summary": "A streamed answer",
        "value": {"message": "What are the contraindications for ACE inhibitors?"},
    },
    "follow_up": {
        "summary": "A follow-up, as one JSON answer",
        "value": {
            "message": "What about in patients with kidney disease?",
            "conversation_id": "session_" + "0" * 32,
            "stream": False,
        },
    },
    "comparison": {
        "summary": "Two models side by side",
        "value": {"message": "How is asthma diagnosed?", "models": ["small", "large"]},
    },
}


def document(app: FastAPI) -> None:
    """Give ``app`` its OpenAPI document."""
    app.title, app.version, app.description, app.openapi_tags = "Asclepius", __version__, DESCRIPTION, TAGS
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
