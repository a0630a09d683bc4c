"""The items that a request is answered from: resolve references, pair calls, fit the window."""

from collections.abc import Awaitable, Callable

from chat_app.offline.wire.errors import ApiError, Json, invalid
from chat_app.offline.wire.objects import count_tokens, stored_item, text_of
from chat_app.offline.wire.wire_items import Input, ItemReference, MessageIn

FindItem = Callable[[str], Awaitable[Json | None]]


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
    return _without_orphans(items[first:])


def _without_orphans(items: list[Json]) -> list[Json]:
    calls = {item["call_id"] for item in items if item["type"] == "function_call"}
    return [item for item in items if item["type"] != "function_call_output" or item["call_id"] in calls]
