"""Base classes and field types of all request models."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MetadataValue = Annotated[str, Field(max_length=512)]
Metadata = Annotated[dict[Annotated[str, Field(max_length=64)], MetadataValue], Field(max_length=16)]
_MOST: Final = 2**53
"""Largest whole number up to which floats are exact."""


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _MOST else value


WHOLE: Final = BeforeValidator(_whole)
"""Accept whole numbers written as floats, unless they are too large: 3.0 is 3.

Place it after the bounds, so that the JSON schema has them.
"""


class Closed(BaseModel):
    """A request body. Unknown fields are rejected, as by the real API."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Open(BaseModel):
    """A part of a request that may contain fields this server does not use."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def kind_of(value: object) -> str:
    """Return the ``type`` of a JSON object or model; empty if it is not text."""
    kind = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return kind if isinstance(kind, str) else ""


def tag_by(kinds: Mapping[str, str], other: str) -> Callable[[object], str]:
    """Return the discriminator of a union: the tag of each ``type`` in ``kinds``, ``other`` for the rest."""
    return lambda value: kinds.get(kind_of(value), other)


def text_or_list(value: object) -> str:
    """Return the tag of the branch for ``value`` in a union of a text and a list."""
    return "~str" if isinstance(value, str) else "~items"
