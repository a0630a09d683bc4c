"""The interface between server and model: a prompt, and the steps of its answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.requests import (
    CreateResponse,
    FileSearchToolIn,
    FunctionToolIn,
    NamedToolChoice,
    named_tools,
)


@dataclass(frozen=True)
class Found:
    """One passage that hosted file search found."""

    file_id: str
    filename: str
    text: str
    score: float
    attributes: Json = field(default_factory=dict[str, Any])


FileSearch = Callable[[FileSearchToolIn, Sequence[str]], Awaitable[list[Found]]]
"""Search the stores of a file_search tool for each query; best first, without duplicates."""


@dataclass(frozen=True)
class ModelInput:
    """A request as the model sees it: the conversation, oldest first, and the tools it may call."""

    items: tuple[Json, ...]
    instructions: str = ""
    functions: tuple[FunctionToolIn, ...] = ()
    """The functions that it may call."""
    declared: tuple[FunctionToolIn, ...] = ()
    """All functions, also those that it may not call any more."""
    file_search: FileSearchToolIn | None = None
    forced: bool = False
    """Whether the model must call a tool (tool_choice ``required``, or a named tool)."""
    parallel: bool = True
    format: Json = field(default_factory=lambda: {"type": "text"})


@dataclass(frozen=True)
class Thought:
    """A step for the reasoning summary: what the model is doing."""

    text: str


@dataclass(frozen=True)
class Call:
    """A function that the client is asked to call."""

    name: str
    arguments: Json


@dataclass(frozen=True)
class Searching:
    """The start of a hosted file search."""

    queries: tuple[str, ...]


@dataclass(frozen=True)
class Searched:
    """The end of a hosted file search; follows its ``Searching``."""

    results: tuple[Found, ...]


@dataclass(frozen=True)
class FileMark:
    """A citation after the character at ``index`` of the answer."""

    index: int
    file_id: str
    filename: str


@dataclass(frozen=True)
class Answer:
    """The text of the answer and its citations."""

    text: str
    citations: tuple[FileMark, ...] = ()


ModelStep = Thought | Call | Searching | Searched | Answer


def prompt_of(request: CreateResponse, items: Sequence[Json]) -> ModelInput:
    """Return the prompt of a request whose conversation is ``items``."""
    choice = request.tool_choice or "auto"
    named = named_tools(choice)

    def allowed(kind: str, name: str = "") -> bool:
        return choice != "none" and (isinstance(choice, str) or (kind, name) in named)

    functions = [tool for tool in request.tools or () if isinstance(tool, FunctionToolIn)]
    searches = [tool for tool in request.tools or () if isinstance(tool, FileSearchToolIn)]
    text = request.text.model_dump(by_alias=True) if request.text else {"format": {"type": "text"}}
    return ModelInput(
        items=tuple(items),
        instructions=request.instructions or "",
        functions=tuple(tool for tool in functions if allowed("function", tool.name)),
        declared=tuple(functions),
        file_search=searches[0] if searches and allowed("file_search") else None,
        forced=choice == "required" or isinstance(choice, NamedToolChoice) or getattr(choice, "mode", "") == "required",
        parallel=request.parallel_tool_calls is not False,
        format=text["format"],
    )
