"""The messages of one response while they stream, the parts of their texts, and how texts and places compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from chat_app.generation.text_buffer import TextBuffer

PartKind = Literal["text", "refusal"]
_WORDS_OF_A_PIECE: Final = 2
_SURE_COPIES: Final = 3


def compact(text: str) -> str:
    """Return ``text`` without white space."""
    return "".join(text.split())


def is_broken(texts: Sequence[str], whole: str) -> bool:
    """Return whether ``whole`` is the ``texts`` joined, at least two of them without a line break."""
    if compact("".join(texts)) != compact(whole):
        return False
    rest = whole
    for text in texts[:-1]:
        for character in compact(text):
            rest = rest[rest.index(character) + 1 :]
        if "\n" not in rest[: len(rest) - len(rest.lstrip())]:
            return True
    return False


def agree(one: int | None, other: int | None) -> bool:
    """Return whether the indexes do not contradict each other."""
    return one is None or other is None or one == other


def same_index(one: int | None, other: int | None) -> bool:
    """Return whether both indexes are known and equal."""
    return one is not None and one == other


def is_last_piece(streamed: str, text: str) -> bool:
    """Return whether ``text`` is a word or two that ``streamed`` ends with, and not the latest of growing copies.

    Some servers build a finished text from the last piece alone.
    """
    piece, whole = text.strip(), streamed.strip()
    return whole.endswith(piece) and len(piece.split()) <= _WORDS_OF_A_PIECE and not whole.startswith(piece[:1])


def equal(one: str, other: str) -> bool:
    """Return whether the texts differ at most in the white space around them."""
    return one == other or one.strip() == other.strip()


class Place(NamedTuple):
    """Where an event says that it belongs."""

    item_id: str
    output_index: int | None = None
    content_index: int | None = None


class Change(NamedTuple):
    """New text of a message; ``replaces`` its whole text, or follows it."""

    message: StreamedMessage
    text: str
    replaces: bool = False


@dataclass(slots=True, eq=False)
class StreamedPart:
    """A text of a message."""

    kind: PartKind
    index: int
    streamed: TextBuffer = field(default_factory=TextBuffer)
    finished: bool = False
    early: int = 0
    """Characters until an end that more text followed."""
    repeat: str | None = None
    """The text since the part was finished, as long as it repeats the finished text."""
    copies: int = 0
    latest: str | None = ""
    """The number of deltas that each continue the one before, and the last of them; None once they are pieces."""

    def add(self, deltas: Iterable[str]) -> tuple[str, bool]:
        """Add deltas; return the new text, and whether it replaces all before it.

        It does where each delta turns out to be a copy of the whole text so far.
        """
        new, replaces = list[str](), False
        for text in filter(None, deltas):
            known, self.latest = self.latest, None
            sure = self.copies >= _SURE_COPIES
            new.append(text)
            if known is not None and text.startswith(known) and (sure or (text[0].isalpha() and text != known)):
                self.latest, self.copies = text, self.copies + 1
                if sure:
                    new[-1] = text[len(known) :]
                elif self.copies == _SURE_COPIES:
                    self.streamed, new, replaces = TextBuffer(), [text], True
        self.streamed.append(joined := "".join(new))
        return joined, replaces


@dataclass(slots=True, eq=False)
class StreamedMessage:
    """One message. ``key`` names it in updates; no other message of the response has that key."""

    key: str
    ids: set[str]
    index: int | None
    announced: bool
    open: bool = True
    again: bool = False
    """Whether it was announced again after its end: more text is that of another message, unless it repeats."""
    parts: list[StreamedPart] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of all its parts."""
        return "".join(str(part.streamed) for part in self.parts)

    def part(self, kind: PartKind, index: int) -> StreamedPart:
        """Return the part, empty when it is new."""
        for part in self.parts:
            if part.index == index and part.kind == kind:
                return part
        part = StreamedPart(kind, index)
        self.parts.append(part)
        return part

    def of_kind(self, kind: PartKind) -> list[StreamedPart]:
        """Return the parts that are text, or those that are a refusal."""
        return [part for part in self.parts if part.kind == kind]

    def holds(self, text: str) -> bool:
        """Return whether ``text`` is that of the message or of one of its parts."""
        return bool(text) and any(equal(one, text) for one in (self.text, *(str(part.streamed) for part in self.parts)))
