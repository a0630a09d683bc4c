"""The output of one generation at three levels, and the processors that lead from one to the next.

``api_response`` is the server's response object, ``raw_response`` its text, and ``data`` what the processors return for
that text. An error belongs to a stage; the levels before it are kept, so that a caller can fall back on them.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from chat_app.errors import AsclepiusError, ProviderError
from chat_app.events import Notice, Outcome, RawResponsesStreamEvent
from chat_app.generation.delivery import Delivery
from chat_app.generation.model_client import EventBatch
from chat_app.generation.observers import GeneratorCall, GeneratorObserver, notify
from chat_app.generation.outcomes import NO_TERMINAL_EVENT, exception_outcome
from chat_app.generation.response_fold import ResponseFold
from chat_app.response_objects import FunctionCallItem, Response, Usage
from tools.types import Frozen, Function

T = TypeVar("T")
Stage = Literal["api", "processing", "parsing"]


def function_of(item: FunctionCallItem) -> Function:
    """Return the call of ``item``."""
    return Function(call_id=item.call_id, name=item.name, arguments=item.arguments or "{}", item_id=item.id)


class GenerationError(Frozen):
    """The stage at which a generation failed, and a sentence on the failure."""

    stage: Stage
    message: str


class OutputProcessor(Protocol):
    """A step from text to data. Whatever it raises becomes the output's ``error``."""

    def __call__(self, text: str, /) -> Any:
        """Return the data in ``text``."""


class PydanticProcessor(Generic[T]):
    """Parses JSON text into ``kind``, a pydantic model or any type that pydantic can validate."""

    def __init__(self, kind: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)
        self._name = kind.__name__

    @property
    def text_format(self) -> dict[str, Any]:
        """Return the request's ``text`` field that asks the server for this schema."""
        schema = self._adapter.json_schema()
        return {"format": {"type": "json_schema", "name": self._name, "schema": schema, "strict": False}}

    def __call__(self, text: str, /) -> T:
        """Return the value in ``text``; raise ``ValueError`` that names the fields which do not fit."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, e["loc"])) or e["type"] for e in error.errors(include_input=False))
            raise ValueError(f"The model's output does not have the shape of {self._name} ({fields}).") from None


@dataclass(slots=True)
class GeneratorOutput(Generic[T]):
    """One generation. Iterate ``stream_events()`` to its end, then read the levels and the outcome."""

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
    fold: ResponseFold = field(default_factory=ResponseFold)
    """What the events so far make known."""
    _delivery: Delivery | None = None
    _parse: Callable[[str], T] | None = None
    _call: GeneratorCall | None = None
    _observers: Sequence[GeneratorObserver] = ()

    async def stream_events(self) -> AsyncGenerator[RawResponsesStreamEvent | Notice, None]:
        """Yield the server's events as they arrive, and notices of waiting; can be iterated once.

        Nothing is raised for a response that fails or breaks off: ``error`` and ``outcome`` say so afterwards.
        """
        failure: ProviderError | None = None
        try:
            async with aclosing(self.deliver()) as batches:
                async for batch in batches:
                    if isinstance(batch, Notice):
                        yield batch
                        continue
                    for event in batch:
                        self.fold.apply(event)
                        yield RawResponsesStreamEvent.of(event)
        except ProviderError as error:
            failure = error
        finally:
            self.settle(failure)

    def deliver(self) -> AsyncGenerator[EventBatch | Notice, None]:
        """Return the events before they are folded, for a caller that folds and settles them itself."""
        if self._delivery is None:
            raise RuntimeError("This generation was streamed already.")
        delivery, self._delivery = self._delivery, None
        return delivery.events()

    def settle(self, failure: ProviderError | None = None) -> None:
        """Fill in the levels from ``fold``, and parse the text if it is whole; ``failure`` ended the response."""
        fold = self.fold
        self.outcome = exception_outcome(failure, any_text=bool(fold.text)) if failure else fold.outcome
        self.api_response, self.usage = fold.response, fold.usage
        self.raw_response = fold.text or fold.refusal or (None if fold.response is None else "")
        self.thinking = fold.thinking or None
        self.tool_use = tuple(map(function_of, fold.calls))
        kind = self.outcome.kind
        if kind == "failed" or (kind == "incomplete" and fold.response is None):
            self.error = GenerationError(stage="api", message=self.outcome.message)
        elif kind != "completed":
            self.error = GenerationError(stage="processing", message=self.outcome.message)
        elif self._parse is not None and fold.text:
            self._read(self._parse, fold.text)
        if (call := self._call) is not None:
            call.seconds = call.elapsed()
            call.error_type = type(failure).__name__ if failure else None
            call.stopped = failure is None and not fold.ended
            notify(self._observers, lambda observer: observer.call_ended(call, self))

    def _read(self, parse: Callable[[str], T], text: str) -> None:
        try:
            self.data = parse(text)
        except (ValueError, AsclepiusError) as error:
            self.error = GenerationError(stage="parsing", message=str(error))
        except Exception as error:  # noqa: BLE001 - the boundary to code that is not ours
            self.error = GenerationError(stage="parsing", message=f"{type(error).__name__}: {error}")
