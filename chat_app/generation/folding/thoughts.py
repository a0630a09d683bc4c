"""Reasoning that a model wrote into its text, because its server did not recognise the tags around it."""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

_NAMES: Final = ("think", "thinking", "thought", "reasoning", "seed:think", "mm:think")
_UNOPENED: Final = {
    **{f"<{name}>": f"</{name}>" for name in _NAMES},
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
}
"""Tags by their opening ones, which may be in the prompt instead."""
_HARMONY: Final = {f"{start}<|channel|>analysis<|message|>": "<|end|>" for start in ("", "<|start|>assistant")}
_TAGS: Final = {**_UNOPENED, **_HARMONY}
_LONGEST: Final = max(map(len, _TAGS))
_OPENED: Final = {closing: opening for opening, closing in _UNOPENED.items()}
_TAG: Final = re.compile("|".join(map(re.escape, (*_TAGS, *_OPENED))))
_SIGNS: Final = frozenset("<[\u25c1")
"""The characters with which tags begin."""


class Spoken(NamedTuple):
    """What a piece of a message adds: its text, its reasoning, and whether the text before was reasoning as well."""

    text: str
    thought: str = ""
    only_thought: bool = False


class Thoughts:
    """Separates the text of one message from the reasoning in it.

    Reasoning begins a message, where its opening tag may be missing, or follows other reasoning or text. Behind text it
    needs both tags, and after other reasoning only the tag that opened that opens more. A tag in code is text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._opening = self._closing = ""
        """The tag that opened the latest reasoning, and the one that ends it where it is open."""
        self._begins = True
        """Whether reasoning may begin here."""
        self._strips = False
        """Whether text that follows reasoning begins without its white space: none is needed there."""
        self._ticks = 0
        """Number of backticks in the text before the held part."""
        self._latest = ""
        """The end of that text."""

    def feed(self, text: str, *, ended: bool = False) -> Spoken:
        """Return what ``text`` adds; what may be the beginning of a tag is held back until the message has ended."""
        if not (self._begins or self._closing or self._held) and _SIGNS.isdisjoint(text):
            self._ticks += text.count("`")
            self._latest = text
            return Spoken(text)
        rest, self._held = self._held + text, ""
        said, thought, only_thought = "", "", False
        while rest or ended:
            if self._begins:
                rest = self._begin(rest, ended=ended)
            elif self._closing:
                before, closing, after = rest.partition(self._closing)
                before = before if closing or ended else self._hold(before, [self._closing])
                thought, rest = thought + before, after
                if not closing:
                    break
                self._begins, self._closing = True, ""
            else:
                before, tag, after = self._tag(rest, ended=ended)
                if not tag:
                    self._held = after
                    return Spoken(said + self._text(before, ended=ended or bool(after)), thought, only_thought)
                rest = after
                if tag in _TAGS:
                    said, self._opening, self._closing = said + before, tag, _TAGS[tag]
                    self._strips = (before or self._latest)[-1:].isspace()
                    self._ticks += before.count("`")
                else:
                    thought, only_thought, self._opening = before, True, _OPENED[tag]
                    self._begins = self._strips = True
        return Spoken(said, thought, only_thought)

    def _begin(self, text: str, *, ended: bool) -> str:
        """Return the text behind the tag that it begins with, or nothing while that may still arrive."""
        lead = text.lstrip()
        if not ended and any(one.startswith(lead) for one in _TAGS):
            self._held = text
            return ""
        found = max(filter(lead.startswith, _TAGS), key=len, default="")
        if not found:
            self._begins = False
            return lead if self._strips else text
        self._strips |= not self._opening
        self._begins, self._opening, self._closing = False, found, _TAGS[found]
        return lead[len(found) :]

    def _tag(self, text: str, *, ended: bool) -> tuple[str, str, str]:
        """Return the text around the next tag outside of code; without a tag, the text and what may be reasoning."""
        ticks, at = self._ticks, 0
        for tag in (re.compile(re.escape(self._opening)) if self._opening else _TAG).finditer(text):
            ticks, at = ticks + text.count("`", at, tag.start()), tag.start()
            if ticks % 2:
                continue
            if self._opening or tag[0] in _OPENED or text.find(_TAGS[tag[0]], tag.end()) >= 0:
                return text[:at], tag[0], text[tag.end() :]
            if not ended:
                return text[:at], "", text[at:]
        return text, "", ""

    def _text(self, text: str, *, ended: bool) -> str:
        """Return what of the last ``text`` is known to be text."""
        if not ended:
            text = self._hold(text, [self._opening] if self._opening else _TAGS | _OPENED)
        self._ticks += text.count("`")
        self._latest = text or self._latest
        return text

    def _hold(self, text: str, signs: Collection[str]) -> str:
        """Hold back the end of ``text`` that may be the beginning of one of ``signs``; return the text before."""
        firsts = {one[0] for one in signs}
        for at in range(max(0, len(text) - _LONGEST), len(text)):
            if text[at] in firsts and any(one.startswith(text[at:]) for one in signs):
                self._held = text[at:]
                return text[:at]
        return text
