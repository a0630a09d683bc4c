"""Validated request bodies of ``/v1/responses``.

The fields are those of OpenAI's description. Parameters that an extractive model cannot use (temperature, top_p) are
validated and echoed. Unknown parameters are rejected.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.schema_limits import is_nested_deeper
from chat_app.offline.wire.wire_base import WHOLE, Closed, Metadata, Open, kind_of, tag_by
from chat_app.offline.wire.wire_items import Input

_DEEPEST: Final = 150
"""Maximum number of levels of a request; ``orjson`` writes no more than 254."""


class FunctionToolIn(Open):
    """A function that the client can call."""

    type: Literal["function"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class RankingOptions(Open):
    """Ranking of file search results."""

    ranker: str = "auto"
    score_threshold: float = Field(0.0, ge=0, le=1)


class ComparisonFilter(Closed):
    """A comparison of one file attribute with a value."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: str
    value: str | float | bool | list[str | float]


class CompoundFilter(Closed):
    """Filters joined by ``and`` or ``or``."""

    type: Literal["and", "or"]
    filters: list[Filter]


Filter = Annotated[
    Annotated[ComparisonFilter, Tag("~comparison")] | Annotated[CompoundFilter, Tag("~compound")],
    Discriminator(tag_by({"and": "~compound", "or": "~compound"}, "~comparison")),
]
CompoundFilter.model_rebuild()


class FileSearchToolIn(Open):
    """Hosted file search over vector stores."""

    type: Literal["file_search"]
    vector_store_ids: Annotated[list[str], Field(min_length=1, max_length=8)]
    max_num_results: Annotated[int, Field(ge=1, le=50), WHOLE] | None = None
    ranking_options: RankingOptions | None = None
    filters: Filter | None = None


class OtherTool(Open):
    """A hosted tool that this server does not have. It is accepted and echoed, but never used."""

    type: Literal[
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "code_interpreter",
        "image_generation",
        "mcp",
        "local_shell",
        "shell",
        "custom",
        "apply_patch",
        "computer_use_preview",
        "computer",
    ]


Tool = Annotated[
    Annotated[FunctionToolIn, Tag("~function")]
    | Annotated[FileSearchToolIn, Tag("~file_search")]
    | Annotated[OtherTool, Tag("~other")],
    Discriminator(tag_by({"function": "~function", "file_search": "~file_search"}, "~other")),
]


class NamedToolChoice(Open):
    """A tool that the model must call, one of those that the request declares."""

    type: str
    name: str | None = None


class AllowedTools(Open):
    """The tools that the model may or must call."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[Json], Field(min_length=1)]


def _choice_tag(value: object) -> str:
    if isinstance(value, str):
        return "~options"
    return "~allowed_tools" if kind_of(value) == "allowed_tools" else "~function"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("~options")]
    | Annotated[NamedToolChoice, Tag("~function")]
    | Annotated[AllowedTools, Tag("~allowed_tools")],
    Discriminator(_choice_tag),
]


def named_tools(choice: ToolChoice | None) -> set[tuple[str, str]]:
    """Return the type and the name, which may be empty, of each tool that ``choice`` names."""
    named = choice.tools if isinstance(choice, AllowedTools) else []
    if isinstance(choice, NamedToolChoice):
        named = [choice.model_dump()]
    return {(str(tool.get("type")), str(tool.get("name") or "")) for tool in named}


class PlainFormat(Closed):
    """Text, or any JSON object."""

    type: Literal["text", "json_object"] = "text"


class SchemaFormat(Open):
    """Structured output: the answer is JSON that fits ``schema``."""

    type: Literal["json_schema"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    schema_: Json = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class TextOptions(Open):
    """Format and verbosity of the answer."""

    format: Annotated[
        Annotated[PlainFormat, Tag("~text")] | Annotated[SchemaFormat, Tag("~json_schema")],
        Discriminator(tag_by({"json_schema": "~json_schema"}, "~text")),
    ] = Field(default_factory=PlainFormat)
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningOptions(Open):
    """Effort and summary of reasoning."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class StreamOptions(Open):
    """Options of a streamed answer."""

    include_obfuscation: bool | None = None


Include = Literal[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]
ServiceTier = Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]


class Retrieve(BaseModel, frozen=True):
    """Query of ``GET /v1/responses/{id}``."""

    stream: bool = False
    starting_after: int | None = Field(None, ge=0)
    include: list[Include] | None = None
    include_obfuscation: bool = False


class _Continuation(Closed):
    """A body with new input, a response to continue, or both."""

    input: Input | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    prompt_cache_options: Json | None = None
    service_tier: ServiceTier | None = None


class CreateResponse(_Continuation):
    """Body of ``POST /v1/responses``."""

    model: Annotated[str, Field(min_length=1)]
    tools: Annotated[list[Tool], Field(max_length=128)] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    background: bool | None = None
    store: bool | None = None
    metadata: Metadata | None = None
    max_output_tokens: Annotated[int, Field(ge=16), WHOLE] | None = None
    max_tool_calls: Annotated[int, Field(ge=1), WHOLE] | None = None
    include: list[Include] | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    top_logprobs: Annotated[int, Field(ge=0, le=20), WHOLE] | None = None
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    user: str | None = None
    safety_identifier: str | None = Field(None, max_length=64)
    prompt_cache_key: str | None = None
    prompt: None = None
    """Prompt templates are not stored here: clients send the input itself."""
    conversation: None = None
    """Conversation objects are not stored here: clients chain by ``previous_response_id``."""
    moderation: Json | None = None
    context_management: list[Json] | None = None

    @model_validator(mode="before")
    @classmethod
    def _limit_depth(cls, body: object) -> object:
        if is_nested_deeper(body, _DEEPEST):
            raise ValueError(f"lists and objects are more than {_DEEPEST} deep")
        return body


class Compact(_Continuation):
    """Body of ``POST /v1/responses/compact``; the model is required, as at OpenAI."""

    model: str
    prompt_cache_key: Annotated[str, Field(max_length=64)] | None = None
    image: Json | None = None
