"""Compaction: a conversation as its users' messages and one sealed item, which holds what was said in it.

What was asked and what was answered is kept to the word; calls, their outputs, search results and reasoning are left
out. A conversation that begins with a compaction is read as if the messages stood in its place.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from typing import Any, Final

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from chat_app.offline.wire.errors import ApiError
from chat_app.offline.wire.objects import new_id, stored_item, text_of
from chat_app.offline.wire.wire_items import MessageIn

Json = dict[str, Any]
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of an opened compaction: a small string could otherwise unfold to any size."""
_SPOKEN: Final = frozenset({"user", "assistant"})


_MESSAGES: Final[TypeAdapter[list[MessageIn]]] = TypeAdapter(list[MessageIn])


class Compacted(BaseModel):
    """``output`` goes to the client; ``kept`` are the messages that it stands for."""

    output: list[Json]
    kept: list[Json]


def compacted(items: Sequence[Json]) -> Compacted:
    """The compaction of a conversation, oldest item first.

    Raises ``ApiError`` 400 when it holds an earlier one that cannot be read.
    """
    kept = [item for item in opened(items) if item["type"] == "message" and item["role"] in _SPOKEN]
    sealed = base64.b64encode(zlib.compress(orjson.dumps([_bare(item) for item in kept]))).decode()
    asked = [item for item in kept if item["role"] == "user"]
    item = {"type": "compaction", "id": new_id("cmp"), "encrypted_content": sealed}
    return Compacted(output=[*asked, item], kept=kept)


def _bare(item: Json) -> Json:
    return {"type": "message", "id": item["id"], "role": item["role"], "content": text_of(item)}


def opened(items: Sequence[Json]) -> list[Json]:
    """``items`` with the messages of the last compaction in the place of all that was said before it.

    Raises ``ApiError`` 400 for a compaction that this server did not make.
    """
    places = [place for place, item in enumerate(items) if item["type"] == "compaction"]
    if not places:
        return list(items)
    before, last, after = items[: places[-1]], items[places[-1]], items[places[-1] + 1 :]
    standing = [item for item in before if item["type"] == "message" and item["role"] not in _SPOKEN]
    return [*standing, *_unsealed(last["encrypted_content"]), *after]


def _unsealed(sealed: str) -> list[Json]:
    try:
        # What is longer than any compaction is cut, and then is no JSON.
        text = zlib.decompressobj().decompress(base64.b64decode(sealed, validate=True), _MOST_BYTES)
        messages = _MESSAGES.validate_python(orjson.loads(text))
    except (binascii.Error, zlib.error, ValueError, ValidationError):
        raise ApiError(
            400,
            "The compaction was not made by this server, or is damaged.",
            param="input",
            code="invalid_encrypted_content",
        ) from None
    return [stored_item(message) for message in messages]
