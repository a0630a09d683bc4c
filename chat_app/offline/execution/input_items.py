"""Prepares the items of a request: resolves references, expands compactions, pairs calls, fits the context window.

A compaction replaces a conversation by its user messages and one encoded item. Questions and answers are kept verbatim;
calls, their outputs, search results and reasoning are dropped.
"""

import base64
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson
from pydantic import TypeAdapter

from chat_app.offline.wire.errors import ApiError, Json, invalid
from chat_app.offline.wire.objects import count_tokens, new_id, stored_item, text_of
from chat_app.offline.wire.wire_items import Input, ItemReference, MessageIn

FindItem = Callable[[str], Awaitable[Json | None]]
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of an expanded compaction; a small string could otherwise expand to any size."""
_SPOKEN: Final = frozenset({"user", "assistant"})
_MESSAGES: Final[TypeAdapter[list[MessageIn]]] = TypeAdapter(list[MessageIn])


async def resolve_references(given: Input | None, history: list[Json], find: FindItem) -> list[Json]:
    """Return the new items of a request as they are stored.

    ``find`` returns an item that the history does not contain. A reference to an item of the history adds nothing.
    Raises ``ApiError`` 404 for an unknown item.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [stored_item(MessageIn(role="user", content=given))]
    known = {item["id"] for item in history}
    items: list[Json] = []
    for item in given:
        if not isinstance(item, ItemReference):
            items.append(stored_item(item))
        elif item.id not in known:
            found = await find(item.id)
            if found is None:
                raise ApiError(404, f"Item with id '{item.id[:80]}' not found.", param="input", code="item_not_found")
            items.append(found)
    return items


def check_calls(items: list[Json]) -> list[Json]:
    """Return ``items``. Raises ``ApiError`` 400 for a function call without an output, or an output without a call."""
    calls = {item["call_id"] for item in items if item["type"] == "function_call"}
    outputs = {item["call_id"] for item in items if item["type"] == "function_call_output"}
    for call_id in sorted(calls - outputs):
        raise ApiError(400, f"No tool output found for function call {call_id}.", param="input")
    for call_id in sorted(outputs - calls):
        raise ApiError(400, f"No tool call found for function call output with call_id {call_id}.", param="input")
    return items


def fit_window(items: list[Json], window: int, *, truncate: bool) -> list[Json]:
    """Return the items that fit into ``window`` tokens; drop the oldest if ``truncate`` allows it.

    Raises ``ApiError`` 400 ``context_length_exceeded`` if they do not fit.
    """
    sizes = [count_tokens(text_of(item)) for item in items]
    total = sum(sizes)
    if total <= window:
        return items
    if not truncate:
        message = f"Your input exceeds the context window of this model ({window} tokens)."
        raise invalid(message, "input", "context_length_exceeded")
    first = 0
    while total > window and first < len(items) - 1:
        total -= sizes[first]
        first += 1
    kept = items[first:]
    calls = {item["call_id"] for item in kept if item["type"] == "function_call"}
    return [item for item in kept if item["type"] != "function_call_output" or item["call_id"] in calls]


def compacted(items: Sequence[Json]) -> tuple[list[Json], list[Json]]:
    """Compact a conversation, given oldest item first, and return the client's items and the messages kept in them."""
    kept = [item for item in items if item["type"] == "message" and item["role"] in _SPOKEN]
    bare = [{"type": "message", "id": item["id"], "role": item["role"], "content": text_of(item)} for item in kept]
    sealed = base64.b64encode(zlib.compress(orjson.dumps(bare))).decode()
    asked = [item for item in kept if item["role"] == "user"]
    item = {"type": "compaction", "id": new_id("cmp"), "encrypted_content": sealed}
    return [*asked, item], kept


def opened(items: Sequence[Json]) -> list[Json]:
    """Expand the last compaction in ``items`` to its messages, and drop the items that they replace.

    Raises ``ApiError`` 400 for a compaction that this server did not make.
    """
    places = [place for place, item in enumerate(items) if item["type"] == "compaction"]
    if not places:
        return list(items)
    before, last, after = items[: places[-1]], items[places[-1]], items[places[-1] + 1 :]
    instructions = [item for item in before if item["type"] == "message" and item["role"] not in _SPOKEN]
    return [*instructions, *_unsealed(last["encrypted_content"]), *after]


def _unsealed(sealed: str) -> list[Json]:
    try:
        # Text beyond the limit is cut, so that it is no longer valid JSON.
        text = zlib.decompressobj().decompress(base64.b64decode(sealed, validate=True), _MOST_BYTES)
        messages = _MESSAGES.validate_python(orjson.loads(text))
    except (zlib.error, ValueError):
        message = "The compaction was not made by this server, or is damaged."
        raise invalid(message, "input", "invalid_encrypted_content") from None
    return [stored_item(message) for message in messages]
