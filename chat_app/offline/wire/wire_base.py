"""What all request models share: how strict they are, and a few field types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Json = dict[str, Any]
MetadataValue = Annotated[str, Field(max_length=512)]
Metadata = Annotated[dict[Annotated[str, Field(max_length=64)], MetadataValue], Field(max_length=16)]


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE: Final = BeforeValidator(_whole)
"""Reads a whole number as JSON has it: 3.0 is 3. It stands after the bounds, which else are left undescribed."""


def given(name: str) -> Json:
    """The JSON schema of an object that has ``name``, and not as null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


class Closed(BaseModel):
    """A request body: unknown fields are refused, as the real API does."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Open(BaseModel):
    """A part of a request that may carry fields this server has no use for."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def kind_of(value: object) -> str:
    """The ``type`` of a JSON object, or of a model; empty when it is no text."""
    kind = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return kind if isinstance(kind, str) else ""
