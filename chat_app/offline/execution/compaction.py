"""Compaction: a conversation reduced to its user messages and one encoded item with what was said.

Questions and answers are kept verbatim. Calls, their outputs, search results and reasoning are dropped. A later request
expands the item to the messages it contains.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Final

import orjson
from pydantic import TypeAdapter

from chat_app.offline.wire.errors import Json, invalid
from chat_app.offline.wire.objects import new_id, stored_item, text_of
from chat_app.offline.wire.wire_items import MessageIn

_MOST_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of an expanded compaction: a small string could otherwise expand to any size."""
_SPOKEN: Final = frozenset({"user", "assistant"})
_MESSAGES: Final[TypeAdapter[list[MessageIn]]] = TypeAdapter(list[MessageIn])


def compacted(items: Sequence[Json]) -> tuple[list[Json], list[Json]]:
    """Compact a conversation, given oldest item first, and return the client's items and the messages kept in them.

    Raises ``ApiError`` 400 when it contains an earlier compaction that cannot be read.
    """
    kept = [item for item in opened(items) if item["type"] == "message" and item["role"] in _SPOKEN]
    bare = [{"type": "message", "id": item["id"], "role": item["role"], "content": text_of(item)} for item in kept]
    sealed = base64.b64encode(zlib.compress(orjson.dumps(bare))).decode()
    asked = [item for item in kept if item["role"] == "user"]
    item = {"type": "compaction", "id": new_id("cmp"), "encrypted_content": sealed}
    return [*asked, item], kept


def opened(items: Sequence[Json]) -> list[Json]:
    """Expand the last compaction in ``items`` to its messages, and drop what they replace.

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
        # Text beyond the limit is cut, so that it is no longer valid JSON.
        text = zlib.decompressobj().decompress(base64.b64decode(sealed, validate=True), _MOST_BYTES)
        messages = _MESSAGES.validate_python(orjson.loads(text))
    except (zlib.error, ValueError):
        message = "The compaction was not made by this server, or is damaged."
        raise invalid(message, "input", "invalid_encrypted_content") from None
    return [stored_item(message) for message in messages]
