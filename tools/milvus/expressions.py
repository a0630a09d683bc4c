"""The one place where a value becomes part of a Milvus filter expression."""

from __future__ import annotations

import json
from collections.abc import Iterable


def quote(value: str) -> str:
    """Return ``value`` as a string literal of Milvus's filter language.

    Raises ``ValueError`` for control characters and lone surrogates, which no key or name of a record holds; the
    message does not repeat the value.
    """
    if any(ord(sign) < 32 or 127 <= ord(sign) < 160 or 0xD800 <= ord(sign) < 0xE000 for sign in value):
        raise ValueError("a filter value may not hold control characters")
    return json.dumps(value, ensure_ascii=False)


def one_of(field: str, values: Iterable[str]) -> str:
    """Return the filter expression for ``field`` being one of ``values``."""
    if not field.isidentifier():
        raise ValueError("a filter needs a plain field name")
    return f"{field} in [{', '.join(map(quote, values))}]"
