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
}
"""Tags by their opening ones, which may be in the prompt instead."""
_HARMONY: Final = {f"{start}<|channel|>analysis<|message|>": "<|end|>" for start in ("", "<|start|>assistant")}
_TAGS: Final = {**_UNOPENED, **_HARMONY}
_HEADERS: Final = (
    *("<|start|>assistant", "<|channel|>final<|message|>", "<|start|>assistant<|channel|>final<|message|>"),
    *("<|START_RESPONSE|>", "<|START_TEXT|>"),
)
"""Tokens between reasoning and text."""
_BEGINNINGS: Final = (*_TAGS, *_HEADERS)
_LONGEST: Final = max(map(len, _BEGINNINGS))
_OPENED_BY: Final = {closing: opening for opening, closing in _UNOPENED.items()}
_FIRST: Final = re.compile("|".join(map(re.escape, (*_UNOPENED, *_OPENED_BY))))
"""The tags of which the first that follows text tells whether it was reasoning."""
_ENDINGS: Final = (
    *("<|return|>", "<|end|>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|END_RESPONSE|>", "<|END_TEXT|>"),
    *("</s>", "<turn|>", "<end_of_turn>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
)
"""Tokens that end a message."""
_SIGNS: Final = frozenset("<[")
"""The characters with which tags and tokens begin."""


class Spoken(NamedTuple):
    """What a piece of a message adds: its text, its reasoning, and whether the text before was reasoning as well."""

    text: str
    thought: str = ""
    only_thought: bool = False


class Thoughts:
    """Separates the text of one message from the reasoning in it, and drops the token that ends it.

    Reasoning begins a message, where its opening tag may be missing, or follows text. Once there was some, only its own
    tag opens more. A tag in a code span or block is text, and so is one behind text that nothing closes.
    """

    def __init__(self) -> None:
        self._held = ""
        self._opening = self._closing = ""
        """The tag that opened the latest reasoning, and the one that ends it where it is open."""
        self._begins = True
        """Whether reasoning may begin here."""
        self._over = False
        """Whether reasoning or a header has ended, so that the text begins without white space."""
        self._unclosed = ""
        """What follows text and may be reasoning, from its opening tag on, until that is closed."""
        self._ticks = 0
        """Number of backticks in the text before the held part."""

    def feed(self, text: str, *, ended: bool = False) -> Spoken:
        """Return what ``text`` adds; what may be the beginning of a tag is held back until the message has ended."""
        if not (self._begins or self._closing or self._held) and _SIGNS.isdisjoint(text):
            self._ticks += text.count("`")
            return Spoken(text)
        rest, self._held = self._held + text, ""
        said, thought, only_thought = "", "", False
        while rest or ended:
            if self._begins:
                rest = self._begin(rest, ended=ended)
            elif self._closing:
                before, closing, after = rest.partition(self._closing)
                before = before if closing or ended else self._hold(before, [self._closing])
                rest = after
                if self._unclosed and not closing:
                    self._unclosed += before
                else:
                    thought += self._unclosed.removeprefix(self._opening) + before
                if not closing:
                    said += self._unclosed if ended else ""
                    break
                self._begins, self._over, self._closing, self._unclosed = True, True, "", ""
            else:
                before, tag, after = self._tag(rest)
                if not tag:
                    return Spoken(said + self._text(before, ended=ended), thought, only_thought)
                rest = after
                self._opening = _OPENED_BY.get(tag, tag)
                if tag in _TAGS:
                    said, self._closing, self._unclosed = said + before, _TAGS[tag], tag
                    self._ticks += before.count("`")
                else:
                    thought, only_thought, self._begins, self._over = before, True, True, True
        return Spoken(said, thought, only_thought)

    def _begin(self, text: str, *, ended: bool) -> str:
        """Return the text behind the tag or header that it begins with, or nothing while that may still arrive."""
        lead = text.lstrip()
        if not ended and any(one.startswith(lead) for one in _BEGINNINGS):
            self._held = text
            return ""
        found = max(filter(lead.startswith, _BEGINNINGS), key=len, default="")
        if not found:
            self._begins = False
            return lead if self._over else text
        self._closing = _TAGS.get(found, "")
        self._begins = not self._closing
        self._opening = found if self._closing else self._opening
        self._over = True
        return lead[len(found) :]

    def _tag(self, text: str) -> tuple[str, str, str]:
        """Return the text around the next tag outside of code; no tag where there is none."""
        tags = _FIRST if not self._over else re.compile(re.escape(self._opening)) if self._opening else None
        ticks, at = self._ticks, 0
        for tag in tags.finditer(text) if tags else ():
            ticks, at = ticks + text.count("`", at, tag.start()), tag.start()
            if ticks % 2 == 0:
                return text[: tag.start()], tag[0], text[tag.end() :]
        return text, "", ""

    def _text(self, text: str, *, ended: bool) -> str:
        """Return what of the last ``text`` is known to be text."""
        if ended:
            ending = next((one for one in _ENDINGS if text.rstrip().endswith(one)), "")
            return text.rstrip().removesuffix(ending) if ending else text
        tags = [self._opening] if self._over else [*_UNOPENED, *_OPENED_BY]
        text = self._hold(text, [*filter(None, tags), *_ENDINGS])
        self._ticks += text.count("`")
        return text

    def _hold(self, text: str, signs: Collection[str]) -> str:
        """Hold back the end of ``text`` that may be the beginning of one of ``signs``; return the text before."""
        firsts = {one[0] for one in signs}
        for at in range(max(0, len(text.rstrip()) - _LONGEST), len(text)):
            if text[at] in firsts and (text[at:].rstrip() in signs or any(one.startswith(text[at:]) for one in signs)):
                self._held = text[at:]
                return text[:at]
        return text
