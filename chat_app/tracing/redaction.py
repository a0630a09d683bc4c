"""Redact calls for traces and logs: keep facts about a call, and reduce its contents to their shape.

Kept are ids, names that the developer chose, types, flags, lengths, timings, token counts, and a keyed hash that shows
whether two texts are equal. Text and numbers that may come from the question, the answer, a tool or a source are kept
only with ``keep_text``. Keys of nested objects are redacted with their values, since a model chooses them.

The hash is keyed because an unkeyed hash of a short text (a name, a drug) can be found by trying. The key stays in the
trace directory, separate from the files that are handed on.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import traceback
from collections.abc import Collection, Mapping
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from chat_app.response_objects import FILE_SEARCH

MAX_KEPT_TEXT = 20_000
"""Limit in characters of a text that is kept on request; the rest is cut off and marked."""

# An id has a digit: a surname or a drug in the place of an id is not taken for one.
_ID = re.compile(r"(?=[^0-9]*[0-9])[A-Za-z0-9_.:-]{1,128}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,127}")


class Redactor:
    """Redacts values. ``key`` is the secret of the hashes, random when missing."""

    def __init__(self, *, key: bytes | None = None, keep_text: bool = False) -> None:
        self._key = key or secrets.token_bytes(16)
        self.keep_text = keep_text

    def without_text(self) -> Redactor:
        """Return a redactor with the same hashes that keeps no text."""
        return Redactor(key=self._key)

    def hash(self, text: str) -> str:
        """Return 16 hexadecimal digits, equal for equal texts under the same key."""
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=8).hexdigest()

    def value(self, value: object) -> JsonValue:
        """Return ``value`` itself where text is kept, else its shape; None and flags are always kept."""
        plain = _plain(value)
        if self.keep_text:
            return _cut(plain)
        match plain:
            case None | bool():
                return plain
            case str():
                return self._shape("text", len(plain), plain)
            case int() | float():
                return {"redacted": "number"}
            case list():
                return self._shape("list", len(plain), json.dumps(plain))
            case dict():
                return self._shape("object", len(plain), json.dumps(plain))

    def named(self, values: Mapping[str, object]) -> dict[str, JsonValue]:
        """Redact values under names that the developer chose; the names are kept."""
        return {str(name): self.value(value) for name, value in values.items()}

    def identifier(self, value: str | None) -> JsonValue:
        """Return ``value`` when it has the form of an id, else its shape."""
        return value if value is None or is_identifier(value) else self.value(value)

    def known(self, value: str, names: Collection[str]) -> JsonValue:
        """Return ``value`` when it is one of ``names``, else its shape, since a model may put anything there."""
        return value if value in names else self.value(value)

    def _shape(self, kind: str, length: int, text: str) -> JsonValue:
        return {"redacted": kind, "length": length, "hash": self.hash(text)}


def is_identifier(value: str) -> bool:
    """Return whether ``value`` has the form of an id: no spaces, a digit, at most 128 characters."""
    return _ID.fullmatch(value) is not None


def tool_name(name: str, known: Collection[str]) -> str:
    """Return ``name`` when such a tool exists, else ``unknown``: the model made it up, and it may contain anything."""
    return name if name == FILE_SEARCH or name in known else "unknown"


def model_name(value: str | None) -> str | None:
    """Return ``value`` when it has the form of a model's name, else None, since any user may choose it."""
    return value if value is not None and _MODEL.fullmatch(value) else None


def describe_error(error: BaseException) -> str:
    """Return the error's type and traceback for a log, without its message, which may quote its cause."""
    text = f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
    if isinstance(error, BaseExceptionGroup):
        text += "".join(describe_error(cast("BaseException", inner)) for inner in error.exceptions)
    return text


def _plain(value: object) -> JsonValue:
    return cast(
        "JsonValue", to_jsonable_python(value, inf_nan_mode="null", fallback=lambda unknown: type(unknown).__name__)
    )


def _cut(value: JsonValue) -> JsonValue:
    match value:
        case str() if len(value) > MAX_KEPT_TEXT:
            return f"{value[:MAX_KEPT_TEXT]}… [{len(value) - MAX_KEPT_TEXT} more characters]"
        case list():
            return [_cut(item) for item in value]
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case _:
            return value
