"""The function calls of one response while they stream: each is ready once, whatever its ids."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import orjson

from chat_app.generation.folding.call_reading import WrittenCall, declared_name
from chat_app.generation.folding.text_parts import agree, same_index
from chat_app.generation.text_buffer import TextBuffer
from chat_app.response_objects import FunctionCallItem

_FENCED: Final = re.compile(r"\A```(?:json)?\s*(\{.*\})\s*```\Z", re.DOTALL)
_LAST_COMMA: Final = re.compile(r",\s*\}\Z")
_LEFT_OVER: Final = re.compile(r"(?:\s|\}|</?\w+>|<\|\w+\|>)+")


@dataclass(slots=True, eq=False)
class _Call:
    item: FunctionCallItem
    ids: set[str]
    """Item ids and call ids that named the call; servers confuse the two."""
    index: int | None
    arguments: TextBuffer = field(default_factory=TextBuffer)
    done: bool = False
    given_id: str | None = None
    """The call id that the server gave to a call that is done."""
    unknown: bool = False
    """Whether the server knows no call of this id: the model wrote it as text, or the server began again after it."""
    sent: bool = False
    """Whether the server sent the unknown call as a call too."""

    def is_named(self, item: FunctionCallItem, index: int | None) -> bool:
        """Return whether ``item`` has an id of this call and is not another call at another index."""
        other_call = bool(item.call_id and self.item.call_id) and item.call_id != self.item.call_id
        return bool(_names(item) & self.ids) and (not other_call or agree(index, self.index))

    def announces(self, item: FunctionCallItem, index: int | None) -> bool:
        """Return whether ``item`` is this open call, announced again."""
        same_name = item.name == self.item.name or not (item.name and self.item.name)
        return not self.done and same_name and agree(index, self.index) and self.is_named(item, index)


class StreamedCalls:
    """All calls of one response; ``tools`` are the declared ones by name."""

    def __init__(self, tools: Mapping[str, Any] | None = None) -> None:
        self._tools = tools or {}
        self._calls: list[_Call] = []
        self._answered: set[str] = set()
        self._foreign: set[str] = set()
        """Ids of calls to the server's own tools."""
        self.ready: list[FunctionCallItem] = []
        """Complete calls that the server has not answered itself, in the order of their completion."""

    @property
    def any_unknown(self) -> bool:
        """Whether the server knows no call of the id of one."""
        return any(call.unknown for call in self._calls)

    def added(self, item: FunctionCallItem, index: int | None) -> None:
        """Open the call that the server announced, unless it is open; one announced again may be another."""
        item = self._declared(item)
        if self._is_foreign(item):
            self._foreign |= _names(item)
        elif not any(call.announces(item, index) for call in self._calls):
            self._calls.append(_Call(item, _names(item), index))

    def delta(self, item_id: str, index: int | None, text: str) -> None:
        """Add streamed arguments; those of no function call (some servers send them for searches) are dropped."""
        if (call := self._open(item_id, index)) is not None:
            if text.startswith("{") and text.startswith(str(call.arguments)):
                # The server sends all arguments so far each time.
                call.arguments = TextBuffer()
            call.arguments.append(text)

    def arguments_done(self, item_id: str, index: int | None, arguments: str) -> None:
        """Set the whole arguments of an open call; an empty end leaves the streamed ones."""
        if (call := self._open(item_id, index)) is not None and _says(arguments):
            call.arguments = TextBuffer(arguments)

    def done(self, item: FunctionCallItem, index: int | None = None, *, final: bool = False) -> list[FunctionCallItem]:
        """Return the call if it is ready for the first time; ``final`` arguments may be a call's in another form."""
        names = _names(item)
        item = self._declared(item)
        if self._is_foreign(item):
            return []
        call = self._known(item, index)
        if call is not None and call.done:
            if _repeats(item, call) or not _says(item.arguments) or (final and item.id == call.item.id):
                return []
            call = None
        if call is None:
            call = _Call(item, names, index)
            self._calls.append(call)
        call.ids |= names
        return self._complete(call, item)

    def written(self, found: WrittenCall) -> list[FunctionCallItem]:
        """Return a call that the model wrote as text, unless the server has sent it as a call too."""
        item = FunctionCallItem(call_id=_new_id(), name=found.name, arguments=found.arguments)
        if any(_meant(call.item) == _meant(item) for call in self._calls if call.done):
            return []
        call = _Call(item, {item.call_id}, None, done=True, unknown=True)
        self._calls.append(call)
        return self._ready(call)

    def terminal(self, items: Sequence[FunctionCallItem]) -> list[FunctionCallItem]:
        """Return the calls that only the terminal event contains; equal ones under other ids are the same call."""
        ready: list[FunctionCallItem] = []
        named = {name for item in items for name in _names(item)}
        renamed = [call for call in self._calls if call.done and not call.ids & named]
        ids = Counter(name for item in items for name in _names(item))
        for item in map(self._declared, items):
            same = next((call for call in renamed if _repeats(item, call)), None)
            if same is None:
                ready += self.done(item, final=all(ids[name] == 1 for name in _names(item)))
            else:
                renamed.remove(same)
        return ready

    def close(self) -> list[FunctionCallItem]:
        """Return the calls without an end of their own, which a completed response completes."""
        opened = [call for call in self._calls if not call.done]
        return [ready for call in opened for ready in self._complete(call, call.item)]

    def answered(self, call_id: str) -> None:
        """Leave out a call that the server has run itself: it sends the output, too."""
        self._answered.add(call_id)
        self.ready = [item for item in self.ready if item.call_id != call_id]

    def void(self) -> None:
        """Drop the open calls: their response has broken off; one that is done is the same as an equal new one."""
        self._calls = [call for call in self._calls if call.done]
        for call in self._calls:
            call.ids, call.index, call.unknown = set(), None, True

    def _declared(self, item: FunctionCallItem) -> FunctionCallItem:
        return item.model_copy(update={"name": declared_name(item.name, self._tools)})

    def _is_foreign(self, item: FunctionCallItem) -> bool:
        """Return whether ``item`` calls a tool of the server, which some name like calls of ours."""
        return item.type != "function_call" and item.name not in self._tools

    def _known(self, item: FunctionCallItem, index: int | None) -> _Call | None:
        """Return the call that ``item`` ends or repeats: by its call id, then as an open call, then by its ids."""
        named = [call for call in self._calls if call.is_named(item, index)]

        def likeness(call: _Call) -> tuple[bool, ...]:
            equal = _request(_filled(call.item, call)) == _request(item)
            return equal, not call.done, same_index(call.index, index), call.item.call_id == item.call_id

        if same := [call for call in named if item.call_id in call.ids]:
            return max(same, key=likeness)
        opened = next((call for call in named if not call.done), None)
        opened = opened or self._nearest([c for c in self._calls if not c.done and c.item.name == item.name], index)
        return opened or next((call for call in named if _repeats(item, call)), None)

    def _complete(self, call: _Call, item: FunctionCallItem) -> list[FunctionCallItem]:
        """End ``call`` with ``item``; return it unless it repeats another of the same id."""
        call.done, call.item = True, _filled(item, call)
        call.given_id = call.item.call_id
        others = [one for one in self._calls if one is not call and one.given_id == call.given_id]
        if any(_repeats(call.item, one) for one in others):
            self._calls.remove(call)
            return []
        if others:
            # Two calls share one id. The server gets the output of each only with the whole conversation.
            call.item = call.item.model_copy(update={"call_id": _new_id()})
            call.unknown = call.sent = True
        return self._ready(call)

    def _ready(self, call: _Call) -> list[FunctionCallItem]:
        meant = _meant(call.item)
        unsent = (one for one in self._calls if one is not call and one.unknown and not one.sent)
        twin = next((one for one in unsent if _meant(one.item) == meant), None)
        if twin is not None:
            twin.sent = True
            return []
        if call.item.call_id in self._answered:
            return []
        self.ready.append(call.item)
        return [call.item]

    def _open(self, item_id: str, index: int | None) -> _Call | None:
        opened = [call for call in self._calls if not call.done and item_id not in self._foreign]
        return self._nearest([call for call in opened if item_id in call.ids] or opened, index)

    def _nearest(self, calls: Sequence[_Call], index: int | None) -> _Call | None:
        """Return the call at ``index``, or else the last one."""
        last = calls[-1] if calls else None
        return next((call for call in reversed(calls) if index is not None and call.index == index), last)


def _filled(item: FunctionCallItem, call: _Call) -> FunctionCallItem:
    """Return ``item`` with the fields that its end left out."""
    arguments = (item.arguments, str(call.arguments), call.item.arguments)
    given = {
        "call_id": item.call_id or call.item.call_id or item.id or call.item.id or _new_id(),
        "name": item.name or call.item.name,
        "arguments": _single(next(filter(_says, arguments), item.arguments)),
    }
    return item.model_copy(update=given)


def _says(arguments: str) -> bool:
    return arguments.strip() not in {"", "{}"}


def _single(arguments: str) -> str:
    """Return the JSON object that ``arguments`` repeat or quote, or that follows empty ones, as some bridges send.

    Closing brackets, tags and special tokens behind it are what a parser left, and so are Gemma's quotes. Some models
    write it in a code block, or a comma behind its last value.
    """
    found, rest = list[str](), arguments.replace('<|\\"|>', "").strip()
    while rest:
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            if found and _LEFT_OVER.fullmatch(rest):
                break
            mended = rest if found else _LAST_COMMA.sub("}", _FENCED.sub(r"\1", rest))
            return arguments if mended == rest else _single(mended)
        if isinstance(value, str) and value.startswith("{"):
            return _single(value)
        if value and rest[:end] not in found:
            found.append(rest[:end])
        rest = rest[end:].lstrip()
    return found[0] if len(found) == 1 else arguments


def _new_id() -> str:
    return f"call_{uuid4().hex[:24]}"


def _names(item: FunctionCallItem) -> set[str]:
    return {name for name in (item.id, item.call_id) if name}


def _meant(item: FunctionCallItem) -> tuple[str, object]:
    """Return the request, regardless of what a parser changes in arguments: types, outer white space, nulls."""
    name, given = _request(item)
    if not isinstance(given, dict):
        return name, given
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    return name, {key: text.strip() for key, text in texts.items() if text != "null"}


def _repeats(item: FunctionCallItem, call: _Call) -> bool:
    """Return whether ``item`` is ``call`` again; some servers leave the arguments out at its end."""
    return _request(item) == _request(call.item) or (item.name == call.item.name and not _says(item.arguments))


def _request(item: FunctionCallItem) -> tuple[str, object]:
    return item.name, _normal(item.arguments)


def _normal(arguments: str) -> object:
    try:
        return orjson.loads(_single(arguments) or "{}")
    except orjson.JSONDecodeError:
        return arguments
