"""Validated input items of a request."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.wire_base import Open, kind_of, text_or_list

ItemStatus = Literal["in_progress", "completed", "incomplete"]
_SPOKEN = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_DATA_URL = re.compile(r"data:[^,]*;base64,(.*)", re.DOTALL)


class Part(Open):
    """A part of a message's content. Only text is read; images are accepted, files and audio are rejected."""

    type: Literal[
        "input_text",
        "output_text",
        "text",
        "input_image",
        "input_file",
        "input_audio",
        "refusal",
        "summary_text",
        "reasoning_text",
    ]
    text: str | None = None
    image_url: str | None = None
    file_id: str | None = None

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if self.type in _SPOKEN and self.text is None:
            raise ValueError("'text' is missing")
        if self.type in {"input_file", "input_audio"}:
            raise ValueError("this server does not read it: add files to a vector store and declare 'file_search'")
        if self.type == "input_image" and self.image_url is None and self.file_id is None:
            raise ValueError("'image_url' is missing")
        if encoded := _DATA_URL.fullmatch(self.image_url or ""):
            try:
                base64.b64decode(encoded[1], validate=True)
            except binascii.Error:
                raise ValueError("the base64 of 'image_url' is invalid") from None
        return self


class MessageIn(Open):
    """A message of any role."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part]
    id: str | None = None
    status: ItemStatus | None = None


class FunctionCallIn(Open):
    """A function call that the model made."""

    type: Literal["function_call"]
    call_id: Annotated[str, Field(min_length=1, max_length=64)]
    name: Annotated[str, Field(min_length=1, max_length=128)]
    arguments: str
    id: str | None = None
    status: ItemStatus | None = None


class FunctionCallOutputIn(Open):
    """The output of a function call."""

    type: Literal["function_call_output"]
    call_id: Annotated[str, Field(min_length=1, max_length=64)]
    output: str | list[Part]
    id: str | None = None
    status: ItemStatus | None = None


class ReasoningIn(Open):
    """Reasoning of an earlier response."""

    type: Literal["reasoning"]
    id: str | None = None
    summary: list[Part] = Field(default_factory=list[Part])


class FileSearchCallIn(Open):
    """A hosted file search of an earlier response."""

    type: Literal["file_search_call"]
    id: str
    queries: list[str] = Field(default_factory=list)
    status: str = "completed"
    results: list[Json] | None = None


class CompactionIn(Open):
    """A compacted conversation."""

    type: Literal["compaction"]
    encrypted_content: str
    id: str | None = None


class ItemReference(Open):
    """A reference to a stored item."""

    type: Literal["item_reference"] | None = None
    id: str


class OtherItemIn(Open):
    """An item that this model does not read, such as a call of another tool. It stays in the history."""

    type: Annotated[str, Field(pattern=r"^[a-z]\w*_(?:call(?:_output)?|list_tools|approval_re(?:quest|sponse))$")]


def _item_tag(value: object) -> str:
    kind = kind_of(value)
    if kind or not isinstance(value, Mapping):
        return f"~{kind}" if f"~{kind}" in _TAGS else "~other" if kind else "~message"
    return "~message" if "role" in value else "~item_reference"


InputItem = Annotated[
    Annotated[MessageIn, Tag("~message")]
    | Annotated[FunctionCallIn, Tag("~function_call")]
    | Annotated[FunctionCallOutputIn, Tag("~function_call_output")]
    | Annotated[ReasoningIn, Tag("~reasoning")]
    | Annotated[FileSearchCallIn, Tag("~file_search_call")]
    | Annotated[CompactionIn, Tag("~compaction")]
    | Annotated[ItemReference, Tag("~item_reference")]
    | Annotated[OtherItemIn, Tag("~other")],
    Discriminator(_item_tag),
]
_TAGS = frozenset(branch.__metadata__[0].tag for branch in get_args(get_args(InputItem)[0]))
Items = Annotated[list[InputItem], Field(max_length=10_000)]
Input = Annotated[Annotated[str, Tag("~str")] | Annotated[Items, Tag("~items")], Discriminator(text_or_list)]
