"""What came out of one generation, at three levels, and the processors that lead from one to the next.

``api_response`` is the server's response object, ``raw_response`` its text, ``data`` what the processors made of that
text. An error belongs to a stage; the levels before it are kept, so that a caller can fall back on them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from chat_app.errors import AsclepiusError
from chat_app.events import Notice, Outcome, RawResponsesStreamEvent
from chat_app.generation.outcomes import NO_TERMINAL_EVENT
from chat_app.generation.response_fold import ResponseFold
from chat_app.response_objects import Response, Usage
from tools.types import Frozen, Function

T = TypeVar("T")
Stage = Literal["api", "processing", "parsing"]


class GenerationError(Frozen):
    """Where a generation failed, and a sentence that says how."""

    stage: Stage
    message: str


class OutputProcessor(Protocol):
    """A step from text to data. Raises ``ValueError`` when the text does not fit."""

    def __call__(self, text: str, /) -> Any: ...


class PydanticProcessor(Generic[T]):
    """Parses JSON text into ``kind`` (a pydantic model or any type pydantic knows).

    ``text_format`` is what asks the server for that shape (structured outputs).
    """

    def __init__(self, kind: type[T], *, name: str | None = None) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)
        self._name = name or kind.__name__

    @property
    def text_format(self) -> dict[str, Any]:
        schema = self._adapter.json_schema()
        return {"format": {"type": "json_schema", "name": self._name, "schema": schema, "strict": False}}

    def __call__(self, text: str, /) -> T:
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, e["loc"])) or e["type"] for e in error.errors(include_input=False))
            raise ValueError(f"The model's output does not have the shape of {self._name} ({fields}).") from None


@dataclass(slots=True)
class GeneratorOutput(Generic[T]):
    """One generation. While it streams, iterate ``stream_events()``; the levels are filled in as they are reached."""

    id: str = field(default_factory=lambda: uuid4().hex)
    data: T | None = None
    raw_response: str | None = None
    api_response: Response | None = None
    thinking: str | None = None
    tool_use: tuple[Function, ...] = ()
    error: GenerationError | None = None
    usage: Usage | None = None
    outcome: Outcome = NO_TERMINAL_EVENT
    metadata: dict[str, object] = field(default_factory=dict)
    _events: AsyncGenerator[RawResponsesStreamEvent | Notice, None] | None = None
    _parse: Callable[[str], T] | None = None

    async def stream_events(self) -> AsyncGenerator[RawResponsesStreamEvent | Notice, None]:
        """The server's events as they come, and notices of waiting; ends with the response.

        Raises a ``ProviderError`` when the request or the stream fails. Can be iterated once.
        """
        if self._events is None:
            raise RuntimeError("This generation was streamed already.")
        events, self._events = self._events, None
        async with aclosing(events):
            async for event in events:
                yield event

    def settle(self, fold: ResponseFold, outcome: Outcome) -> None:
        """Fills in the levels from what was folded, and parses the text if it is whole."""
        self.api_response, self.usage, self.outcome = fold.response, fold.usage, outcome
        self.raw_response = fold.text or fold.refusal or (None if fold.response is None else "")
        self.thinking = fold.thinking or None
        self.tool_use = tuple(
            Function(call_id=c.call_id, name=c.name, arguments=c.arguments or "{}", item_id=c.id) for c in fold.calls
        )
        if outcome.kind == "failed" or (outcome.kind == "incomplete" and fold.response is None):
            self.error = GenerationError(stage="api", message=outcome.message)
        elif outcome.kind != "completed":
            self.error = GenerationError(stage="processing", message=outcome.message)
        elif self._parse is not None and fold.text:
            self._read(self._parse, fold.text)

    def _read(self, parse: Callable[[str], T], text: str) -> None:
        try:
            self.data = parse(text)
        except (ValueError, AsclepiusError) as error:
            self.error = GenerationError(stage="parsing", message=str(error))
