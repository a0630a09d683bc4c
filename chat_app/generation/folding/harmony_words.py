"""Harmony's headers (gpt-oss) in a text from which a server dropped the special tokens and kept the words.

``analysisThey ask.assistantfinalGive it.`` was ``<|channel|>analysis<|message|>They ask.<|end|>`` and so on. The tokens
are put back for those who read them. No sentence begins with ``analysis`` and a capital letter right behind it, or with
two of these words joined; behind prose only the header of a call is one.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_CHANNEL: Final = "<|channel|>"
_CALLS: Final = (
    *("assistantcommentary to=", f"assistant{_CHANNEL}commentary to=", "assistant to="),
    *("commentary to=", "to=functions."),
)
_LONGEST: Final = max(map(len, _CALLS))
_BEGUN: Final = frozenset(words[:end] for words in _CALLS for end in range(1, len(words) + 1))
_ENDS: Final = {sign: tuple(begun for begun in _BEGUN if begun[-1] == sign) for sign in set("".join(_CALLS))}
"""What a text ends with where a call's header may begin, by its last character."""


class _Form(NamedTuple):
    """The headers at one place, and what may become one."""

    header: re.Pattern[str]
    opens: re.Pattern[str]


def _begun(words: Iterable[str]) -> str:
    """Return a pattern for the beginnings of ``words``."""
    return "|".join("(?:".join(map(re.escape, one)) + ")?" * (len(one) - 1) for one in words)


_CALL: Final = "|".join(map(re.escape, _CALLS))
_ANY: Final = rf"{_CALL}|assistant(?:analysis|commentary|final)"
_WORDS: Final = (*_CALLS, "assistantanalysis", "assistantfinal")
_FIRST: Final = _Form(
    re.compile(rf"\A\s*(?:{_ANY}|(?:analysis|commentary)(?=[A-Z]))"),
    re.compile(rf"\A\s*(?:{_begun((*_WORDS, 'analysis'))})?\Z"),
)
_WITHIN: Final = _Form(re.compile(_ANY), re.compile(rf"(?:{_begun(_WORDS)})\Z"))
_BEHIND: Final = _Form(re.compile(rf"(?<!\w)(?:{_CALL})"), re.compile(rf"(?<!\w)(?:{_begun(_CALLS)})\Z"))


class HarmonyWords:
    """Puts the tokens back into the text of one message."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        """The end of the text before the held one."""
        self._ticks = 0
        """Number of backticks in the text before the held one."""
        self._form = _FIRST

    def feed(self, text: str, *, ended: bool = False) -> str:
        """Return what ``text`` adds; what may become a header is held back until the message has ended."""
        may_begin = text.endswith(_ENDS.get(text[-1:], ())) or "to=" in text
        if not (may_begin or self._held) and self._form is _BEHIND:
            self._ticks += text.count("`")
            self._before = text or self._before
            return text
        before, restored = self._before[-1:], ""
        text, begins = before + self._held + text, len(before)
        at = passed = begins
        while True:
            latest = 0 if self._form is _FIRST else max(passed, len(text) - _LONGEST)
            opens = None if ended else self._form.opens.search(text, latest)
            end = opens.start() if opens else len(text)
            found = self._form.header.search(text, passed)
            if found and opens and found.start() >= end:
                break
            if found and self._form is _BEHIND and (self._ticks + text.count("`", begins, found.start())) % 2:
                passed = found.end()
            elif found:
                restored += text[at : found.start()] + _tokens(found[0].strip(), first=self._form is _FIRST)
                at = passed = found.end()
                self._form = _WITHIN
            elif self._form is _FIRST and not opens:
                self._form = _BEHIND
            else:
                break
        self._ticks += text.count("`", begins, end)
        self._held, self._before = text[end:], text[:end]
        return restored + text[at:end]


def _tokens(header: str, *, first: bool) -> str:
    """Return a header with its tokens; the recipient of a call is part of it."""
    words, calls, _ = header.partition("to=")
    channel = words.strip().removeprefix("assistant").removeprefix(_CHANNEL)
    start = "<|start|>assistant" if first else "<|end|><|start|>assistant"
    return f"{start}{channel and _CHANNEL}{channel}" + (f" {header[len(words) :]}" if calls else "<|message|>")
