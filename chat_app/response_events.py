"""The Responses API's stream as typed, validated models: one class for each event the app acts on.

``parse_event`` picks the class by ``type``. A type that is not known here becomes ``UnknownEvent`` with its raw
body, so that nothing is lost and it can be counted. Fields that some servers leave out (``sequence_number``,
``output_index``, ``content_index``) are optional; state is keyed by ``item_id``.

Source of the shapes: OpenAI's OpenAPI description of ``/v1/responses``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chat_app.errors import ProtocolViolation


class Wire(BaseModel):
    """Base of wire models: immutable, and tolerant of fields added later."""

    model_config = ConfigDict(frozen=True, extra="allow")


class FileCitation(Wire):
    type: Literal["file_citation"] = "file_citation"
    file_id: str
    filename: str = ""
    index: int = 0


class OtherAnnotation(Wire):
    type: str


def _annotation(value: object) -> object:
    if isinstance(value, Mapping):
        known = value.get("type") == "file_citation"
        return FileCitation.model_validate(value) if known else OtherAnnotation.model_validate(value)
    return value


Annotation = Annotated[FileCitation | OtherAnnotation, BeforeValidator(_annotation)]


class OutputText(Wire):
    type: Literal["output_text"] = "output_text"
    text: str
    annotations: tuple[Annotation, ...] = ()


class Refusal(Wire):
    type: Literal["refusal"] = "refusal"
    refusal: str


class OtherPart(Wire):
    type: str


def _part(value: object) -> object:
    if isinstance(value, Mapping):
        return _PARTS.get(str(value.get("type")), OtherPart).model_validate(value)
    return value


_PARTS: dict[str, type[Wire]] = {"output_text": OutputText, "refusal": Refusal}

ContentPart = Annotated[OutputText | Refusal | OtherPart, BeforeValidator(_part)]


class MessageItem(Wire):
    type: Literal["message"] = "message"
    id: str = ""
    role: str = "assistant"
    status: str | None = None
    content: tuple[ContentPart, ...] = ()


class FunctionCallItem(Wire):
    type: Literal["function_call"] = "function_call"
    id: str | None = None
    call_id: str
    name: str
    arguments: str = ""
    status: str | None = None


class FileSearchResult(Wire):
    file_id: str = ""
    filename: str = ""
    score: float | None = None
    text: str = ""
    attributes: dict[str, Any] | None = None


class FileSearchCallItem(Wire):
    type: Literal["file_search_call"] = "file_search_call"
    id: str = ""
    status: str | None = None
    queries: tuple[str, ...] = ()
    results: tuple[FileSearchResult, ...] | None = None


class SummaryText(Wire):
    type: str = "summary_text"
    text: str = ""


class ReasoningItem(Wire):
    type: Literal["reasoning"] = "reasoning"
    id: str = ""
    summary: tuple[SummaryText, ...] = ()
    encrypted_content: str | None = None


class OtherItem(Wire):
    type: str
    id: str | None = None


def _item(value: object) -> object:
    if isinstance(value, Mapping):
        return _ITEMS.get(str(value.get("type")), OtherItem).model_validate(value)
    return value


_ITEMS: dict[str, type[Wire]] = {
    "message": MessageItem,
    "function_call": FunctionCallItem,
    "file_search_call": FileSearchCallItem,
    "reasoning": ReasoningItem,
}

OutputItem = Annotated[
    MessageItem | FunctionCallItem | FileSearchCallItem | ReasoningItem | OtherItem, BeforeValidator(_item)
]


class TokenDetails(Wire):
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class Usage(Wire):
    """Token counts of one response."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_details: TokenDetails | None = None
    output_tokens_details: TokenDetails | None = None


class ResponseError(Wire):
    code: str | None = None
    message: str = ""


class IncompleteDetails(Wire):
    reason: str | None = None


class Response(Wire):
    """A response object as it stands in the created and terminal events."""

    id: str
    status: str | None = None
    model: str | None = None
    output: tuple[OutputItem, ...] = ()
    usage: Usage | None = None
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    previous_response_id: str | None = None


class StreamEvent(Wire):
    """What all events share; ``sequence_number`` is None on servers that do not number their events."""

    sequence_number: int | None = None


class ResponseLifecycleEvent(StreamEvent):
    type: Literal["response.created", "response.in_progress", "response.queued"]
    response: Response


class ResponseTerminalEvent(StreamEvent):
    type: Literal["response.completed", "response.failed", "response.incomplete"]
    response: Response


class OutputItemEvent(StreamEvent):
    type: Literal["response.output_item.added", "response.output_item.done"]
    item: OutputItem
    output_index: int | None = None


class ContentPartEvent(StreamEvent):
    type: Literal["response.content_part.added", "response.content_part.done"]
    item_id: str = ""
    content_index: int | None = None
    part: ContentPart


class OutputTextDelta(StreamEvent):
    type: Literal["response.output_text.delta"]
    item_id: str = ""
    output_index: int | None = None
    content_index: int | None = None
    delta: str


class OutputTextDone(StreamEvent):
    type: Literal["response.output_text.done"]
    item_id: str = ""
    output_index: int | None = None
    content_index: int | None = None
    text: str


class AnnotationAdded(StreamEvent):
    type: Literal["response.output_text.annotation.added"]
    item_id: str = ""
    content_index: int | None = None
    annotation_index: int | None = None
    annotation: Annotation


class RefusalDelta(StreamEvent):
    type: Literal["response.refusal.delta"]
    item_id: str = ""
    content_index: int | None = None
    delta: str


class RefusalDone(StreamEvent):
    type: Literal["response.refusal.done"]
    item_id: str = ""
    content_index: int | None = None
    refusal: str


class FunctionArgumentsDelta(StreamEvent):
    type: Literal["response.function_call_arguments.delta"]
    item_id: str = ""
    delta: str


class FunctionArgumentsDone(StreamEvent):
    type: Literal["response.function_call_arguments.done"]
    item_id: str = ""
    arguments: str


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
    summary_index: int | None = None
    delta: str


class ReasoningDone(StreamEvent):
    type: Literal["response.reasoning_summary_text.done", "response.reasoning_text.done"]
    item_id: str = ""
    summary_index: int | None = None
    text: str


class ErrorEvent(StreamEvent):
    type: Literal["error"]
    code: str | None = None
    message: str = ""
    param: str | None = None


class UnknownEvent(StreamEvent):
    """An event of a type that is not acted on; ``raw`` is its whole body."""

    type: str
    raw: dict[str, Any] = Field(default_factory=dict)


ResponseEvent = (
    ResponseLifecycleEvent
    | ResponseTerminalEvent
    | OutputItemEvent
    | ContentPartEvent
    | OutputTextDelta
    | OutputTextDone
    | AnnotationAdded
    | RefusalDelta
    | RefusalDone
    | FunctionArgumentsDelta
    | FunctionArgumentsDone
    | FileSearchEvent
    | ReasoningDelta
    | ReasoningDone
    | ErrorEvent
    | UnknownEvent
)

_EVENTS: dict[str, type[ResponseEvent]] = {
    "response.created": ResponseLifecycleEvent,
    "response.in_progress": ResponseLifecycleEvent,
    "response.queued": ResponseLifecycleEvent,
    "response.completed": ResponseTerminalEvent,
    "response.failed": ResponseTerminalEvent,
    "response.incomplete": ResponseTerminalEvent,
    "response.output_item.added": OutputItemEvent,
    "response.output_item.done": OutputItemEvent,
    "response.content_part.added": ContentPartEvent,
    "response.content_part.done": ContentPartEvent,
    "response.output_text.delta": OutputTextDelta,
    "response.output_text.done": OutputTextDone,
    "response.output_text.annotation.added": AnnotationAdded,
    "response.refusal.delta": RefusalDelta,
    "response.refusal.done": RefusalDone,
    "response.function_call_arguments.delta": FunctionArgumentsDelta,
    "response.function_call_arguments.done": FunctionArgumentsDone,
    "response.file_search_call.in_progress": FileSearchEvent,
    "response.file_search_call.searching": FileSearchEvent,
    "response.file_search_call.completed": FileSearchEvent,
    "response.reasoning_summary_text.delta": ReasoningDelta,
    "response.reasoning_text.delta": ReasoningDelta,
    "response.reasoning_summary_text.done": ReasoningDone,
    "response.reasoning_text.done": ReasoningDone,
    "error": ErrorEvent,
}


def parse_event(body: object) -> ResponseEvent:
    """The typed event for one decoded JSON body.

    Raises ``ProtocolViolation`` when the body is no object, has no ``type``, or does not have the shape of its
    type; the message names the type and the fields, never their values.
    """
    if not isinstance(body, dict):
        raise ProtocolViolation("The model server sent an event that is not a JSON object.")
    kind = body.get("type")
    if not isinstance(kind, str):
        raise ProtocolViolation("The model server sent an event without a type.")
    model = _EVENTS.get(kind)
    if model is None:
        number = body.get("sequence_number")
        return UnknownEvent(type=kind, raw=body, sequence_number=number if isinstance(number, int) else None)
    try:
        return model.model_validate(body)
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(map(str, e["loc"])) for e in error.errors(include_input=False)}))
        raise ProtocolViolation(f"The model server sent a malformed {kind} event (fields: {fields}).") from None
