"""What of a call may stand in a trace or a log, and what only its shape.

Kept: ids, names that the developer chose, types, flags, lengths, timings, token counts, and a keyed hash by which two
equal texts can be told to be equal. Not kept, unless ``keep_text`` asks for it: any text or number that may come from
the question, the answer, a tool or a source. Keys of nested objects go with their values, since a model chooses them.

The hash is keyed because a bare hash of a short text (a name, a drug) is found by trying; without the key it says
nothing. The key stays in the trace directory, apart from the files that one would hand on.
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

MAX_KEPT_TEXT = 20_000
"""Longest text in characters that is kept where text is asked for; the rest is cut off and marked."""

# An id has a digit: a surname or a drug in the place of an id is not taken for one.
_ID = re.compile(r"(?=[^0-9]*[0-9])[A-Za-z0-9_.:-]{1,128}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,127}")
_CODE = re.compile(r"[a-z0-9_.-]{1,64}")


class Redactor:
    """Turns values into what may be written. ``key``: secret of the hashes; a random one when None."""

    def __init__(self, *, key: bytes | None = None, keep_text: bool = False) -> None:
        self._key = key or secrets.token_bytes(16)
        self.keep_text = keep_text

    def without_text(self) -> Redactor:
        """One that keeps no text, with the same hashes."""
        return Redactor(key=self._key)

    def hash(self, text: str) -> str:
        """16 hex digits; equal for equal texts under the same key."""
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=8).hexdigest()

    def value(self, value: object) -> JsonValue:
        """``value`` itself where text is kept, else its shape. None and flags always stand as they are."""
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
        """Values under names that the developer chose; the names are kept."""
        return {str(name): self.value(value) for name, value in values.items()}

    def identifier(self, value: str | None) -> JsonValue:
        """``value`` when it has the form of an id, else its shape."""
        return value if value is None or is_identifier(value) else self.value(value)

    def known(self, value: str, names: Collection[str]) -> JsonValue:
        """``value`` when it is one of ``names``, else its shape: a model can put anything in the place of a name."""
        return value if value in names else self.value(value)

    def _shape(self, kind: str, length: int, text: str) -> JsonValue:
        return {"redacted": kind, "length": length, "hash": self.hash(text)}


def is_identifier(value: str) -> bool:
    """True for what servers and this app use as ids: no spaces, a digit, at most 128 characters."""
    return _ID.fullmatch(value) is not None


def model_name(value: str | None) -> str | None:
    """A model's name; None for anything that has not the form of one, since whoever asks may choose it."""
    return value if value is not None and _MODEL.fullmatch(value) else None


def error_code(value: str | None) -> str | None:
    """A server's error code; None when it is prose."""
    return value if value is not None and _CODE.fullmatch(value) else None


def describe_error(error: BaseException) -> str:
    """The error's type and where it happened, for a log: never its message, which may quote what it choked on."""
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
