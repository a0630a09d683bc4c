"""Harmony's headers (gpt-oss) in a text from which a server dropped the special tokens and kept the words.

``analysisThey ask.assistantfinalGive it.`` was ``<|channel|>analysis<|message|>They ask.<|end|>`` and so on. The tokens
are put back for those who read them. No sentence begins with ``analysis`` and a capital letter right behind it, or with
two of these words joined; behind prose only the header of a call is one.
"""

import re
from functools import lru_cache
from typing import Final

_CALLS: Final = ("assistantcommentary to=", "assistant to=", "commentary to=", "to=functions.")
_BEGUN: Final = frozenset(words[:end] for words in _CALLS for end in range(1, len(words) + 1))
_ENDS: Final = tuple(_BEGUN)


def _begun(*words: str) -> str:
    """Return a pattern for the beginnings of ``words``."""
    return "|".join("(?:".join(map(re.escape, one)) + ")?" * (len(one) - 1) for one in words)


_CALL: Final = "|".join(map(re.escape, _CALLS))
_ANY: Final = rf"{_CALL}|assistant(?:analysis|commentary|final)"
_WORDS: Final = (*_CALLS, "assistantanalysis", "assistantfinal")
_FIRST: Final = re.compile(rf"\A\s*(?:{_ANY}|(?:analysis|commentary)(?=[A-Z]))|(?<!\w)(?:{_CALL})")
_FIRST_OPENS: Final = re.compile(rf"(?:\A\s*(?:{_begun(*_WORDS, 'analysis')})?|(?<!\w)(?:{_begun(*_CALLS)}))\Z")
_FURTHER: Final = re.compile(_ANY)
_FURTHER_OPENS: Final = re.compile(rf"(?:{_begun(*_WORDS)})\Z")


class HarmonyWords:
    """Puts the tokens back into the text of one message."""

    def __init__(self) -> None:
        self._held = self._before = ""
        self._ticks = 0
        """What may become a header, the end of the text before it, and the number of backticks in that text."""
        self._begun = self._plain = False
        """Whether a header was found (others need no sign before them), and whether the text has none so far."""

    def feed(self, text: str, *, ended: bool = False) -> str:
        """Return what ``text`` adds; what may become a header is held back until the message has ended."""
        if self._plain and (ticks := _ticks_of_plain(text)) is not None:
            self._ticks += ticks
            self._before = text
            return text
        at = passed = begins = len(self._before[-1:])
        text, restored = self._before[-1:] + self._held + text, ""
        while True:
            header, may_open = (_FURTHER, _FURTHER_OPENS) if self._begun else (_FIRST, _FIRST_OPENS)
            opens = None if ended else may_open.search(text, passed)
            end = opens.start() if opens else len(text)
            found = header.search(text, passed)
            if found is None or found.start() >= end:
                break
            passed = found.end()
            if self._begun or (self._ticks + text.count("`", begins, found.start())) % 2 == 0:
                restored += text[at : found.start()] + _tokens(found[0].strip(), first=found.start() == 0)
                at, self._begun = passed, True
        self._ticks += text.count("`", begins, end)
        self._held, self._before = text[end:], text[:end]
        self._plain = bool(self._before) and not (self._held or self._begun)
        return restored + text[at:end]


@lru_cache(maxsize=1_024)
def _ticks_of_plain(text: str) -> int | None:
    """Return the number of backticks in the next words of a text; None if a header may begin in them."""
    last = text[text.rfind(" ") + 1 :]
    may_begin = not text or "to=" in text or (last in _BEGUN if last.isalnum() else text.endswith(_ENDS))
    return None if may_begin else text.count("`")


def _tokens(header: str, *, first: bool) -> str:
    """Return a header with its tokens; the recipient of a call is part of it."""
    words, calls, _ = header.partition("to=")
    channel = words.strip().removeprefix("assistant")
    start = "<|start|>assistant" if first else "<|end|><|start|>assistant"
    named = f"{start}<|channel|>{channel}" if channel else start
    return f"{named} {header[len(words) :]}" if calls else f"{named}<|message|>"
