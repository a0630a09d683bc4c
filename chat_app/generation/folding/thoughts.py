"""Reasoning that a model wrote into its text, because its server did not recognise the tags around it."""

from typing import Final, NamedTuple

_OPENING: Final = "<think>"
_CLOSING: Final = "</think>"


class Spoken(NamedTuple):
    """What a piece of a message adds: its text, its reasoning, and whether the text before was reasoning as well."""

    text: str
    thought: str = ""
    only_thought: bool = False


class Thoughts:
    """Separates the text of one message from the reasoning before it, whose opening tag may be missing.

    Only the first closing tag ends reasoning; one in a code span or block is text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._begun = self._inside = self._stripping = self._over = False
        self._ticks = 0
        """Number of backticks in the text before the held part."""

    def feed(self, text: str, *, ended: bool = False) -> Spoken:
        """Return what ``text`` adds; what may be the beginning of a tag is held back until the message has ended."""
        if self._over:
            return Spoken(self._stripped(text))
        if self._begun and not (self._inside or self._held) and "<" not in text:
            self._ticks += text.count("`")
            return Spoken(text)
        text, self._held = self._held + text, ""
        if not self._begun:
            lead = text.lstrip()
            if _OPENING.startswith(lead) and not ended:
                self._held = text
                return Spoken("")
            self._begun, self._inside = True, lead.startswith(_OPENING)
            text = lead.removeprefix(_OPENING) if self._inside else text
        before, closing, after = text.partition(_CLOSING)
        if closing and (self._inside or (self._ticks + before.count("`")) % 2 == 0):
            self._over = self._stripping = True
            return Spoken(self._stripped(after), before, only_thought=not self._inside)
        after = "" if ended else _tail(text)
        self._held, text = after, text[: len(text) - len(after)]
        self._ticks += text.count("`")
        return Spoken("", text) if self._inside else Spoken(text)

    def _stripped(self, text: str) -> str:
        """Return ``text`` without the white space that follows the closing tag."""
        if self._stripping:
            text = text.lstrip()
            self._stripping = not text
        return text


def _tail(text: str) -> str:
    """Return the end of ``text`` that may be the beginning of a closing tag."""
    tail = text[text.rfind("<") :] if "<" in text[-len(_CLOSING) :] else ""
    return tail if _CLOSING.startswith(tail) else ""
