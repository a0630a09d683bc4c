"""The request of a run, the events of its stream, and the hook that renders tool outputs for the model."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from pydantic import Field

from chat_app.events import Notice, RawResponsesStreamEvent, RunItemStreamEvent, TextDelta, TextReplaced
from chat_app.generation.updates import CitationUpdate
from tools.types import Frozen, FunctionOutput

RunnerEvent = RawResponsesStreamEvent | RunItemStreamEvent | TextDelta | TextReplaced | CitationUpdate | Notice

OutputRenderer = Callable[[FunctionOutput], Awaitable[str]]
"""Turns a tool's output into the text that goes back to the model."""


class RunRequest(Frozen):
    """One question to the runner.

    ``items`` are new. The server stores the rest of the conversation under ``previous_response_id``; ``transcript`` is
    that rest, and is sent where the server does not store it.
    """

    items: tuple[dict[str, Any], ...]
    previous_response_id: str | None = None
    transcript: tuple[dict[str, Any], ...] = ()
    unchained: tuple[dict[str, Any], ...] = ()
    """The end of the transcript that the chain lacks, from turns that were stopped or broke off."""
    chaining: bool = True
    """False sends the whole conversation with every request."""
    prompt_kwargs: dict[str, Any] = Field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    """Names of the function tools the model may call; None for all."""
    given: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Hidden parameters of function tools, by tool and name, which the app sets and the model does not see."""
    hosted_tools: tuple[dict[str, Any], ...] = ()
    """Tools that the server runs itself, such as ``file_search``."""
    fields: dict[str, Any] = Field(default_factory=dict)
    """Further fields of ``ResponseRequest`` for every step."""
    resumed: tuple[str, ...] = ()
    """Background responses of the first steps, which another process began and the server still has."""
    on_response: Callable[[str], Awaitable[None]] | None = None
    """Called with the id of each response as soon as the server has named it; may be called twice."""
    include_raw: bool = True
    """Also yield the server's events unchanged."""


async def render_json(output: FunctionOutput) -> str:
    """Render the output, or its error, as JSON; the default renderer."""
    body = {"error": output.error} if output.error is not None else output.output
    return orjson.dumps(body).decode()
