"""The Responses API's objects as validated models: a response, its usage, its output items and their contents.

An item, part or annotation of an unknown type becomes ``Other`` with its raw body, so that nothing is lost.

Source of the shapes: OpenAI's OpenAPI description of ``/v1/responses``.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

FILE_SEARCH: Final = "file_search"
"""The name of the server's own search among the tools and their calls."""


_CODE: Final = re.compile(r"[a-z0-9_.-]{1,64}")


def error_code(value: str | None) -> str | None:
    """Return a server's error code, or None when it is prose."""
    return value if value is not None and _CODE.fullmatch(value) else None


class Wire(BaseModel):
    """Base of wire models: immutable, and tolerant of fields added later."""

    model_config = ConfigDict(frozen=True, extra="allow")


class FileCitation(Wire):
    type: Literal["file_citation"] = "file_citation"
    file_id: str
    filename: str = ""
    index: int = 0


class Other(Wire):
    """An object of a type that is not known here."""

    type: str


class OtherItem(Other):
    id: str | None = None


_UNTYPED: Final = {"arguments": "function_call", "function": "function_call", "role": "message", "text": "text"}
"""Types of objects that do not name theirs, by what they have."""


def _by_type(other: type[Other] = Other, /, **models: type[Wire]) -> BeforeValidator:
    """Return a validator that takes the model of an object's type, or ``other``."""

    def validated(value: object) -> object:
        if isinstance(value, Mapping):
            kind = str(value.get("type") or next((_UNTYPED[key] for key in _UNTYPED if key in value), ""))
            return models.get(kind, other).model_validate({**value, "type": kind} if kind in models else value)
        return value

    return BeforeValidator(validated)


def written_text(value: object) -> str | None:
    """Return a text, also one that some servers send as a content part or a list of them; None for any other."""
    match value:
        case str():
            return value
        case {"text": text} | {"content": text} | {"value": text}:
            return written_text(text)
        case [_, *_]:
            texts = [written_text(one) for one in value]
            return None if None in texts else "".join(filter(None, texts))
        case _:
            return None


Annotation = Annotated[FileCitation | Other, _by_type(file_citation=FileCitation)]


class OutputText(Wire):
    type: str = "output_text"
    text: Annotated[str, BeforeValidator(written_text)] = Field(validation_alias=AliasChoices("text", "content"))
    annotations: tuple[Annotation, ...] = ()


class Refusal(Wire):
    type: Literal["refusal"] = "refusal"
    refusal: str = Field(validation_alias=AliasChoices("refusal", "text"))


def _json_text(value: object) -> object:
    try:
        return orjson.dumps(value).decode() if isinstance(value, dict) else value
    except TypeError as error:
        # Nested too deeply, or a number of more than 64 bits.
        raise ValueError(str(error)) from None


Arguments = Annotated[str, BeforeValidator(_json_text)]
"""JSON text, which some servers send as an object."""


class FunctionCallItem(Wire):
    type: str = "function_call"
    id: str | None = None
    call_id: str = ""
    name: str = Field("", validation_alias=AliasChoices("name", AliasPath("function", "name")))
    arguments: Arguments = Field(
        "", validation_alias=AliasChoices("arguments", "input", "parameters", AliasPath("function", "arguments"))
    )
    status: str | None = None


_CALLS: Final = dict.fromkeys(
    ("function_call", "custom_tool_call", "function", "function_tool_call", "tool_call", "tool_use"), FunctionCallItem
)
"""Types of calls; those of other protocols are calls of declared tools only."""
_TEXTS: Final = dict.fromkeys(("output_text", "text", "output", "input_text"), OutputText)
ContentPart = Annotated[OutputText | Refusal | FunctionCallItem | Other, _by_type(refusal=Refusal, **_TEXTS, **_CALLS)]


def _listed(key: str, **more: str) -> BeforeValidator:
    """Return a validator that takes one object or text for a list, and a text as an object with that ``key``."""

    def listed(value: object) -> object:
        given = [value] if isinstance(value, str | Mapping) else value
        texts = given if isinstance(given, list) else []
        return [{key: one, **more} if isinstance(one, str) else one for one in texts] or given

    return BeforeValidator(listed)


class MessageItem(Wire):
    type: str = "message"
    id: str = ""
    role: str = "assistant"
    status: str | None = None
    content: Annotated[tuple[ContentPart, ...], _listed("text")] = Field(
        default=(), validation_alias=AliasChoices("content", "text")
    )
    """Its parts; some servers send plain text, or one part in place of the message."""
    tool_calls: tuple[FunctionCallItem, ...] = ()


class FunctionCallOutputItem(Wire):
    """The output of a call that the server has run itself."""

    type: Literal["function_call_output"] = "function_call_output"
    id: str | None = None
    call_id: str = ""


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
    content: tuple[SummaryText, ...] = ()
    """The reasoning itself, which open models show."""
    encrypted_content: str | None = None


OutputItem = Annotated[
    MessageItem | FunctionCallItem | FunctionCallOutputItem | FileSearchCallItem | ReasoningItem | OtherItem,
    _by_type(
        OtherItem,
        **dict.fromkeys(("message", "agent_message", "output_text", "text"), MessageItem),
        **_CALLS,
        function_call_output=FunctionCallOutputItem,
        file_search_call=FileSearchCallItem,
        reasoning=ReasoningItem,
    ),
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


def _worded(key: str) -> BeforeValidator:
    """Return a validator that takes a plain text, which some servers send, as the object with that ``key``."""
    return BeforeValidator(lambda value: ({key: value} if value else None) if isinstance(value, str) else value)


class Response(Wire):
    """A response object, as in the created and terminal events."""

    id: str = ""
    status: str | None = None
    model: str | None = None
    output: Annotated[tuple[OutputItem, ...], _listed("content", role="assistant")] = ()
    output_text: str = ""
    """The whole text, which some bridges send in place of its items."""
    usage: Usage | None = None
    error: Annotated[ResponseError | None, _worded("message")] = None
    incomplete_details: Annotated[IncompleteDetails | None, _worded("reason")] = None
    stop_reason: str | None = Field(default=None, validation_alias=AliasChoices("stop_reason", "finish_reason"))
    """Why the model stopped, which some gateways send in place of ``incomplete_details``."""
    previous_response_id: str | None = None
