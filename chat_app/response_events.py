"""The Responses API's stream as typed, validated models: one class for each event the app acts on.

``parse_event`` selects the class by ``type``. An unknown type becomes ``UnknownEvent`` with its raw body, so that
nothing is lost and it can be counted. Fields that some servers omit (``sequence_number``, ``output_index``,
``content_index``) are optional.

Source of the shapes: OpenAI's OpenAPI description of ``/v1/responses``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

from pydantic import AliasChoices, Field, ValidationError

from chat_app.errors import ProtocolViolation
from chat_app.response_objects import Annotation, Arguments, ContentPart, OutputItem, Response, Wire, written_text


class StreamEvent(Wire):
    """Base of all events; ``sequence_number`` is None on servers that do not number their events."""

    sequence_number: int | None = None


class PlacedEvent(StreamEvent):
    """An event about a part of an item."""

    item_id: str = ""
    output_index: int | None = None
    content_index: int | None = None


class ResponseLifecycleEvent(StreamEvent):
    type: Literal["response.created", "response.in_progress", "response.queued"]
    response: Response | None = None

    @property
    def response_id(self) -> str | None:
        """The response's id, where the server sends it."""
        return (self.response.id if self.response else None) or None


class ResponseTerminalEvent(StreamEvent):
    type: Literal["response.completed", "response.done", "response.failed", "response.incomplete", "response.cancelled"]
    response: Response = Field(default_factory=Response)


class OutputItemEvent(StreamEvent):
    type: Literal["response.output_item.added", "response.output_item.done"]
    item: OutputItem
    output_index: int | None = None


class ContentPartEvent(PlacedEvent):
    type: Literal["response.content_part.added", "response.content_part.done"]
    part: ContentPart


class _TextDelta(PlacedEvent):
    delta: str


class OutputTextDelta(NamedTuple):
    """The next characters of a message: the kind of most events, and a model takes several times as long to make."""

    sequence_number: int | None
    item_id: str
    output_index: int | None
    content_index: int | None
    delta: str
    body: Mapping[str, Any]


class OutputTextDone(PlacedEvent):
    type: Literal["response.output_text.done"]
    text: str


class AnnotationAdded(PlacedEvent):
    type: Literal["response.output_text.annotation.added"]
    annotation: Annotation


class RefusalDelta(PlacedEvent):
    type: Literal["response.refusal.delta"]
    delta: str


class RefusalDone(PlacedEvent):
    type: Literal["response.refusal.done"]
    refusal: str


class FunctionArgumentsDelta(PlacedEvent):
    type: Literal["response.function_call_arguments.delta", "response.custom_tool_call_input.delta"]
    delta: Arguments


class FunctionArgumentsDone(PlacedEvent):
    type: Literal["response.function_call_arguments.done", "response.custom_tool_call_input.done"]
    arguments: Arguments = Field(validation_alias=AliasChoices("arguments", "input"))


class FileSearchEvent(StreamEvent):
    type: Literal[
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
    ]
    item_id: str = ""


class ReasoningDelta(StreamEvent):
    type: Literal["response.reasoning_summary_text.delta", "response.reasoning_text.delta"]
    item_id: str = ""
    delta: str


class ReasoningDone(StreamEvent):
    type: Literal["response.reasoning_summary_text.done", "response.reasoning_text.done"]
    item_id: str = ""
    text: str


class ReasoningPart(StreamEvent):
    """The start or end of a part of the reasoning's summary. Its text has separate events."""

    type: Literal["response.reasoning_summary_part.added", "response.reasoning_summary_part.done"]


class ErrorEvent(StreamEvent):
    type: Literal["error"]
    code: str | None = None
    message: str = ""
    param: str | None = None


class UnknownEvent(StreamEvent):
    """An event of an unknown type; ``raw`` is its whole body."""

    type: str
    raw: dict[str, Any] = Field(default_factory=dict)


ModelEvent = (
    ResponseLifecycleEvent
    | ResponseTerminalEvent
    | OutputItemEvent
    | ContentPartEvent
    | OutputTextDone
    | AnnotationAdded
    | RefusalDelta
    | RefusalDone
    | FunctionArgumentsDelta
    | FunctionArgumentsDone
    | FileSearchEvent
    | ReasoningDelta
    | ReasoningDone
    | ReasoningPart
    | ErrorEvent
    | UnknownEvent
)
ResponseEvent = ModelEvent | OutputTextDelta
LAST: Final = (ResponseTerminalEvent, ErrorEvent)
"""The events that end a response."""
E = TypeVar("E", bound=StreamEvent)


_EVENTS: dict[str, type[ModelEvent]] = {
    kind: event for event in get_args(ModelEvent) for kind in get_args(event.model_fields["type"].annotation)
}
_NUMBERS = frozenset({int, type(None)})
_OTHER_TEXT_DELTAS: Final = frozenset({"response.content_part.delta", "response.text.delta"})
"""What OpenRouter's documentation and OpenAI's Realtime API call the next characters of a message."""
_DELTA_FIELDS: Final = ("sequence_number", "item_id", "output_index", "content_index", "delta")


_TEXTS: Final = frozenset({"delta", "text", "arguments", "refusal"})
"""Required strings; null for one of them means that nothing was added."""
_ABOUT: Final = frozenset({"item", "part", "annotation"})
"""What some events are about; without it they say nothing."""
_HOLDERS: Final = (ResponseLifecycleEvent, ResponseTerminalEvent)
_OWN: Final = frozenset({"output", "status"})
"""Fields of a response that its events lack."""
_NOTHING: Any = object()


def parse_event(body: object, line: bytes = b"") -> ResponseEvent:
    """Return the typed event for one decoded JSON body; ``line`` is its ``event:`` line.

    Nulls for fields that the protocol does not allow to be null count as missing, and so does what has another shape
    and holds no text, such as usage or a citation.

    Raises:
        ProtocolViolation: The body is no object, has no ``type``, or does not have the shape of its type. The message
            names the type and the fields, never their values.
    """
    if not isinstance(body, dict):
        if named(line) == "error":
            return ErrorEvent(type="error")
        if is_other(named(line)):
            return UnknownEvent(type=named(line))
        raise ProtocolViolation("The model server sent an event that is not a JSON object.")
    kind = body.get("type")
    if kind is None:
        kind = named(line) or _untyped(body)
        body = {**body, "type": kind}
    if not isinstance(kind, str):
        raise ProtocolViolation("The model server sent an event without a type.")
    if kind == "response.output_text.delta":
        return _text_delta(body, kind)
    model = _EVENTS.get(kind)
    if model is None:
        return _text_delta(body, kind) if kind in _OTHER_TEXT_DELTAS else _unknown(kind, body)
    if model in _HOLDERS and "response" not in body and _OWN & body.keys():
        # Some servers send the response itself, not in an event.
        body = {**body, "response": body}
    if model is ErrorEvent:
        body = {**body, **_error(body)}
    try:
        return model.model_validate(body)
    except ValidationError:
        return _fitted(model, kind, body) or _unknown(kind, body)


_ERROR_KEYS: Final = frozenset({"message", "detail"})
"""Keys of an error without a type; the latter is FastAPI's."""


def named(line: bytes) -> str:
    """Return the name in an ``event:`` line."""
    return line.removeprefix(b"event:").strip().decode(errors="replace")


def is_other(name: str) -> bool:
    """Return whether an ``event:`` line names an event of another protocol."""
    return name not in {"", "message"} and not name.startswith("response.")


def _untyped(body: Mapping[str, Any]) -> str:
    """Return the type that an event without one means: a response's end, an error, or nothing that is known."""
    if body.get("object") == "response" or body.keys() >= _OWN:
        return f"response.{body.get('status')}"
    told = (value and ("error" in key.lower() or key.lower() in _ERROR_KEYS) for key, value in body.items())
    return "error" if any(told) else ""


def _unknown(kind: str, body: dict[str, Any]) -> UnknownEvent:
    number = body.get("sequence_number")
    return UnknownEvent(type=kind, raw=body, sequence_number=number if isinstance(number, int) else None)


def _text_delta(body: dict[str, Any], kind: str) -> OutputTextDelta | UnknownEvent:
    number, item_id, at, part, text = map(body.get, _DELTA_FIELDS)
    if type(text) is str and type(item_id) is str and _NUMBERS.issuperset((type(number), type(at), type(part))):
        return OutputTextDelta(number, item_id, at, part, text, body)
    # Some servers send a text of digits as a number.
    said = str(text) if type(text) in {int, float} else written_text(text if "delta" in body else body)
    read = body if said is None else {**body, "delta": said}
    event = _fitted(_TextDelta, kind, read) if "delta" in read else None
    if event is None:
        return _unknown(kind, body)
    return OutputTextDelta(
        event.sequence_number, event.item_id, event.output_index, event.content_index, event.delta, body
    )


def _fitted(model: type[E], kind: str, body: Mapping[str, Any]) -> E | None:
    """Return the event without what has a wrong shape and holds no text; None if nothing is left that it is about."""
    about = _ABOUT & model.model_fields.keys()
    # A text that is missing adds nothing, as null does.
    body = {**dict.fromkeys(_TEXTS & model.model_fields.keys(), ""), **body}
    while about <= (kept := _without_nulls(body)).keys():
        try:
            return model.model_validate(kept)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False)
        body = kept
        for problem in found:
            holder, key = _place(kept, problem["loc"])
            if key == "" or key in _TEXTS or _holds_text(holder[key]):
                fields = ", ".join(sorted({".".join(map(str, one["loc"])) for one in found}))
                raise ProtocolViolation(f"The model server sent a malformed {kind} event (fields: {fields}).")
            holder[key] = None
    return None


def _place(body: Any, names: Sequence[int | str]) -> tuple[Any, int | str]:
    """Follow ``names`` into an event; return the last container that exists, and the key in it."""
    holder: Any = {"": body}
    key: int | str = ""
    for name in names:
        inner = holder[key]
        if not (isinstance(inner, dict) and name in inner) and not (isinstance(inner, list) and isinstance(name, int)):
            break
        holder, key = inner, name
    return holder, key


def _holds_text(value: object) -> bool:
    match value:
        case dict():
            return any((key in _TEXTS and bool(inner)) or _holds_text(inner) for key, inner in value.items())
        case list():
            return any(map(_holds_text, value))
        case _:
            return False


def _without_nulls(value: object, key: str = "") -> Any:
    """Return ``value`` without nulls; ``_NOTHING`` for a null."""
    match value:
        case None:
            return "" if key in _TEXTS else _NOTHING
        case dict():
            kept = ((name, _without_nulls(inner, name)) for name, inner in value.items())
            return {name: inner for name, inner in kept if inner is not _NOTHING}
        case list():
            return [inner for inner in map(_without_nulls, value) if inner is not _NOTHING]
        case _:
            return value


def _error(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an error event whose code and message are strings, also where they are in an ``error`` object."""
    inner = body.get("error")
    given = inner if isinstance(inner, dict) else body
    code, message = given.get("code"), given.get("message")
    known = {"code": None if code is None else str(code), "message": message if isinstance(message, str) else ""}
    return {"type": "error", **known}
