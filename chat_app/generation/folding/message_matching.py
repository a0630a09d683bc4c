"""The messages of one response while they stream: which message an event belongs to, and the text that is new.

Some servers change, repeat or omit ids. Streamed text belongs to the open message of its id and output index, or of its
index, or of its id, or else to the last open one; a finished text also to the message that holds it. A finished text
that equals the streamed text adds nothing, nor does one that is only its last piece; one that continues it adds the
rest, and a different one replaces it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from chat_app.generation.folding.text_parts import (
    Change,
    PartKind,
    Place,
    StreamedMessage,
    StreamedPart,
    agree,
    compact,
    equal,
    is_broken,
    is_last_piece,
    same_index,
)
from chat_app.generation.text_buffer import TextBuffer

M = TypeVar("M")
_KINDS: Final[tuple[PartKind, ...]] = ("text", "refusal")


class StreamedMessages:
    """All messages of one response, in order of first appearance."""

    def __init__(self) -> None:
        self._messages: list[StreamedMessage] = []
        self._last: StreamedMessage | None = None

    def __iter__(self) -> Iterator[StreamedMessage]:
        return iter(self._messages)

    @property
    def unconfirmed(self) -> bool:
        """Whether any streamed text, other than white space, was never repeated as a finished text."""
        parts = [part for message in self._messages for part in message.parts]
        return any(not part.finished and str(part.streamed).strip() for part in parts)

    def announce(self, place: Place) -> None:
        """Open the message that the server announced, unless it is known."""
        for message in self._messages:
            named = place.item_id in message.ids and agree(message.index, place.output_index)
            unnamed = not place.item_id and message.open and same_index(message.index, place.output_index)
            if named or unnamed:
                message.again = not message.open
                self._learn(message, place).announced = True
                return
        self._begin(place, announced=True)

    def delta(self, place: Place, kind: PartKind, *deltas: str) -> list[Change]:
        """Add streamed text; a text that repeats a finished one is not new."""
        message = self.streaming(place)
        part = message.part(kind, place.content_index or 0)
        if part.finished:
            repeat = "".join((part.repeat or "", *deltas))
            if str(part.streamed).startswith(repeat):
                part.repeat = repeat
                return []
            part.repeat, deltas = None, (repeat,)
            if message.again or place.item_id not in message.ids:
                message = self._begin(place)
                part = message.part(kind, place.content_index or 0)
            else:
                # The server has ended it too early, and may repeat it from its beginning.
                part.finished, part.early = False, len(str(part.streamed))
                deltas = (repeat.removeprefix(str(part.streamed)),)
        if part.latest is None and len(deltas) == 1:
            part.streamed.append(deltas[0])
            return [Change(message, deltas[0])] if deltas[0] else []
        text, replaces = part.add(deltas)
        return [Change(message, message.text if replaces else text, replaces)] if text else []

    def announce_text(self, place: Place, kind: PartKind, text: str) -> list[Change]:
        """Add the text that a part begins with; some servers send it in no other event, most send it again."""
        if not text or self.streaming(place).part(kind, place.content_index or 0).streamed:
            return []
        return self.finish_part(place, kind, text)

    def streaming(self, place: Place) -> StreamedMessage:
        """Return the message that streamed text or an annotation belongs to."""
        last = self._last
        if last is not None and last.open and place.item_id in last.ids and agree(last.index, place.output_index):
            return last
        opened = [message for message in self._messages if message.open]
        found = (
            _last(opened, lambda m: place.item_id in m.ids and agree(m.index, place.output_index))
            or _last(opened, lambda m: same_index(m.index, place.output_index))
            or _last(opened, lambda m: place.item_id in m.ids)
            or _last(opened[-1:], lambda m: self._takes(m, place))
            or (None if opened else _last(self._messages, lambda m: place.item_id in m.ids))
        )
        return self._learn(found, place) if found is not None else self._begin(place)

    def finish_part(self, place: Place, kind: PartKind, text: str) -> list[Change]:
        """Compare the finished text of a part with its streamed text."""
        merged = self.merged(text)
        message = self._finished(place, text)
        parts = message.of_kind(kind)
        part = _last(parts, lambda p: p.index == place.content_index)
        part = part or _last(parts, lambda p: equal(str(p.streamed), text))
        part = part or message.part(kind, place.content_index or 0)
        streamed, repeat, part.repeat = str(part.streamed), part.repeat, None
        if part.finished and repeat is not None and not equal(text, streamed) and text.startswith(repeat):
            # A second message under the same id looks like a repeat until its end arrives.
            message = self._begin(place)
            part, streamed = message.part(kind, part.index), ""
        return [*merged, *self._settle(message, [part], streamed, text)]

    def merged(self, text: str) -> list[Change]:
        """Join all messages if they are one line of a finished ``text``: the server has named its pieces apart."""
        said = [message for message in self._messages if message.text]
        if len(said) < 2 or not is_broken([message.text for message in said], text):
            return []
        first, *others = said
        self._messages = [message for message in self._messages if message not in others]
        self._last = first
        first.ids.update(*(message.ids for message in others))
        first.parts = [StreamedPart("text", 0, TextBuffer(text))]
        return [*(Change(message, "", replaces=True) for message in others), Change(first, text, replaces=True)]

    def repeats(self) -> list[Change]:
        """Drop the messages whose text is that of an earlier one."""
        first = {message.text.strip(): message for message in reversed(self._messages)}
        return self._drop([m for m in self._messages if m.text and first[m.text.strip()] is not m])

    def thought(self, places: Sequence[Place], reasoning: str, *, listed: bool) -> list[Change]:
        """Drop text at the ``places`` of reasoning items in the compact ``reasoning``, or not in a list of messages."""
        said = [message for message in self._messages if message.text.strip()]
        here = [m for m in said if any(at.item_id in m.ids and agree(at.output_index, m.index) for at in places)]
        out = [
            m for m in here if compact(m.text) in reasoning or (listed and not any(part.finished for part in m.parts))
        ]
        # Without any other text it may be the answer.
        return self._drop(out) if len(out) < len(said) else []

    def finished(self, place: Place, text: str) -> StreamedMessage:
        """Return the message that ends with ``text``; it takes no more streamed text under other ids."""
        message = self._finished(place, text)
        message.open = False
        return message

    def finish(self, message: StreamedMessage, texts: Sequence[tuple[PartKind, str]]) -> list[Change]:
        """Compare the finished texts of a whole message with its streamed texts."""
        changes: list[Change] = []
        for kind in _KINDS:
            text = "".join(text for of_kind, text in texts if of_kind == kind)
            parts = message.of_kind(kind) or ([message.part(kind, 0)] if text else [])
            changes += self._settle(message, parts, "".join(str(part.streamed) for part in parts), text)
        return changes

    def void(self) -> list[Change]:
        """Drop the messages without an end: the response that they belong to has broken off."""
        cut = [m for m in self._messages if any(not part.finished and part.streamed for part in m.parts)]
        self._last = None
        return self._drop(cut)

    def only_finished(self, place: Place, text: str) -> StreamedMessage:
        """Return the message of a finished text that no event announced; one that was shown is not shown again."""
        message = _last(self._messages, lambda m: m.holds(text)) or self._begin(place)
        message.open = False
        return message

    def matched(self, messages: Sequence[tuple[str, str]]) -> list[StreamedMessage | None]:
        """Return the streamed message for each ``(id, text)`` of the terminal event; None for a new one."""
        streamed = "".join(m.text for m in self._messages)
        if len(messages) == 1 and len(self._messages) > 1 and compact(messages[0][1]) == compact(streamed):
            # Some servers join the messages of a response in the terminal event.
            return [self._joined(messages[0][1])]
        free = list(self._messages)
        found: list[StreamedMessage | None] = [None] * len(messages)
        for way in _WAYS:
            for number, (item_id, text) in enumerate(messages):
                if found[number] is None:
                    at = self._messages[number] if number < len(self._messages) else None
                    match = next((m for m in free if way(m, item_id, text, m is at)), None)
                    if match is not None:
                        free.remove(match)
                        found[number] = match
        return found

    def _drop(self, dropped: Sequence[StreamedMessage]) -> list[Change]:
        self._messages = [message for message in self._messages if message not in dropped]
        return [Change(message, "", replaces=True) for message in dropped]

    def _joined(self, text: str) -> StreamedMessage:
        """Return ``text``, which holds that of all messages, as one message, and confirm theirs."""
        for message in self._messages:
            for part in message.parts:
                part.finished = True
        whole = StreamedPart("text", 0, TextBuffer(text), finished=True)
        return StreamedMessage(self._messages[-1].key, set(), None, announced=False, open=False, parts=[whole])

    def _settle(self, message: StreamedMessage, parts: list[StreamedPart], streamed: str, text: str) -> list[Change]:
        """Mark ``parts`` as finished with ``text`` and return what that changes."""
        if not text.strip() or not parts:
            # Some servers finish a part with an empty text: the streamed one stays.
            return []
        for part in parts:
            part.finished = True
        if text.startswith(streamed):
            rest = text[len(streamed) :]
            parts[-1].streamed.append(rest)
            return [Change(message, rest)] if rest else []
        if equal(streamed, text) or (parts[-1].early and equal(str(parts[-1].streamed)[parts[-1].early :], text)):
            # The latter is the end of another message, which the server did not tell from the first.
            return []
        if is_last_piece(streamed, text):
            return []
        for part in parts:
            part.streamed = TextBuffer()
        parts[0].streamed = TextBuffer(text)
        return [Change(message, message.text, replaces=True)]

    def _finished(self, place: Place, text: str) -> StreamedMessage:
        """Return the message of a finished text, by id, content, output index and order of opening."""

        def named(m: StreamedMessage) -> bool:
            return place.item_id in m.ids and agree(m.index, place.output_index)

        def fits(m: StreamedMessage) -> bool:
            streamed = m.text
            return bool(streamed) and (text.startswith(streamed) or m.holds(text))

        opened = [message for message in self._messages if message.open]
        done = [message for message in self._messages if not message.open]
        found = (
            _last(opened, lambda m: named(m) and (not m.text or fits(m)))
            or _last(opened, fits)
            or _last(opened, lambda m: same_index(m.index, place.output_index))
            or _last(done, lambda m: m.holds(text))
            or _last(opened, named)
            or _last(done, named)
            or _last(opened[-1:], lambda m: place.item_id in m.ids or agree(m.index, place.output_index))
        )
        return self._learn(found, place) if found is not None else self._begin(place)

    def _takes(self, message: StreamedMessage, place: Place) -> bool:
        """Return whether the open ``message`` takes text under an id that names no open message."""
        if not place.item_id or not message.text:
            return True
        known = any(place.item_id in other.ids for other in self._messages)
        return (message.announced or known) and agree(message.index, place.output_index)

    def _learn(self, message: StreamedMessage, place: Place) -> StreamedMessage:
        if place.item_id:
            message.ids.add(place.item_id)
        if message.index is None:
            message.index = place.output_index
        self._last = message
        return message

    def _begin(self, place: Place, *, announced: bool = False) -> StreamedMessage:
        name = place.item_id or "message"
        keys = {message.key for message in self._messages}
        number = 2
        key = name
        while key in keys:
            key, number = f"{name}#{number}", number + 1
        message = StreamedMessage(key, {place.item_id} if place.item_id else set(), place.output_index, announced)
        self._messages.append(message)
        self._last = message
        return message


def _last(items: Sequence[M], fits: Callable[[M], bool]) -> M | None:
    return next((item for item in reversed(items) if fits(item)), None)


_WAYS: Final[tuple[Callable[[StreamedMessage, str, str, bool], bool], ...]] = (
    lambda m, _, text, __: equal(m.text, text),
    lambda m, item_id, _, __: item_id in m.ids,
    lambda _, __, text, same_place: bool(text) and same_place,
)
"""How a message of the terminal event is found among those that were streamed, the surest way first."""
