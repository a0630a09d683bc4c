"""Tool calls that a model wrote as text, because its server did not recognise their form.

A call begins with a tag or special token that speaks of tools or has a declared tool's name, with a JSON object that
names such a tool, or with a line that begins, in a code block or not, with that name as Python, Harmony or Gemma write
it. In it are JSON objects that name their tool, or a tool's name and behind it the arguments, as JSON or one by one.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from chat_app.generation.folding.call_reading import CallReader, Piece

_SPEAKS_OF_TOOLS: Final = r"""
    (?i:(?:(?:use|start|begin|end)[_\u2581-]?)?(?:tool|function|invoke)s?
    (?:[_\u2581-]?(?:calls?|use|code|requests?|sep|arguments?|section|prefix|suffix|start|begin|end))+)
"""
_NAMES_TOOLS: Final = r"(?i:tool|function|invoke)s?"
_TAG: Final = rf"""
    (?<!`) (?: <[|\uff5c](?:{_SPEAKS_OF_TOOLS}|{_NAMES_TOOLS}|(?i:start_action|action_start)|python_tag)(?![\w-])
    | <\|channel\|>commentary\ to=
    | \[(?:[A-Z]+_)?TOOLS?_(?:CALLS?|REQUESTS?|USE|CODE)\]
    | <(?P<tag>/?(?:\w*[:\uff5c])*(?:{_SPEAKS_OF_TOOLS}|NAMES)(?![\w-]))
    | <(?P<named>(?:\w*[:\uff5c])*{_NAMES_TOOLS})(?:=|\s+name=|>\s*(?:[{{\[<]|(?:NAMES)\b))
    | <(?P<end>/{_NAMES_TOOLS})> )
"""
"""The beginning of a call; ``<toolbar>``, ``<kidney_function>`` and a ``<function>`` by itself are none. One with a
tag extends to the end of that element, one with a token to the message's end."""
_NEW_LINE: Final = r"(?<!\s)[^\S\n]*+\n\s*+"
_FENCE: Final = r"(?:```|~~~)\w*\s*"
_NAME: Final = r"""["'][\w.:/-]*?(?:NAMES)["']"""
_OBJECT: Final = rf"""
    (?<!`) (?:{_NEW_LINE}[a-z]+(?=\[))? (?P<fence>{_FENCE})? (?P<body>(?:\[\s*)?\{{)\s* ["'] (?:
        (?:\w*name|tool|function|action) ["']\s*:\s* (?:{_NAME} | \{{)
        | (?:\w*calls?|\w*uses|\w*args|\w*arguments|\w*parameters|\w*input|type|id|index|role
           |thought\w*|reasoning|NAMES) ["']\s*:
    )
"""
"""The beginning of a JSON object that may be a call."""
_LINE: Final = rf"""
    {_NEW_LINE} (?P<fence>{_FENCE})? (?P<body>(?:commentary\ |\w+\s*=\s*)? (?:[!-~]|(?<=[\[{{(:=,"'])\s){{0,200}}?) (?:
        to=[!-~]{{0,100}}?\b(?:NAMES)\b
        | (?<![\w-])(?:NAMES)\s* (?:\(\s* (?:\)|\w+\s*=|["'{{\[]) | \{{ | \[[A-Z_{{\[] | \n\s*(?:Action\ )?Input:)
    )
"""
"""The beginning of a line that calls a tool in another way."""
_OPENS: Final = rf"""
    (?: (?:{_NEW_LINE}[a-z]*)? (?: <\|channel\|>[\w ]* | `?<[/|\uff5c\u2581\w:-]*(?:\s+n?a?m?e?|>\s*\w*)?
          | \[[A-Za-z_]* | [`~]{{1,2}}
        | (?:{_FENCE}|`)? (?:\[\s*)? (?:\{{\s* (?:["']\w* (?:["']\s* (?::\s*(?:["'][\w.:/-]*)?)?)?)?)? )
      | {_NEW_LINE} (?:{_FENCE})? (?a: commentary\ [!-~]* | [\[(]* [a-z_] (?:[\w.-]|\s*=\s*|[\[({{,"':]\s*)*
          | (?:[!-~]|(?<=[:=])\s){{0,200}}?(?<![\w-])(?:NAMES)\s*(?:\n\s*(?:A?c?t?i?o?n?\ ?I?n?p?u?t?)?)? )?
    )\Z
"""
"""What may become the beginning of a call."""
_MOST_HELD: Final = 200
"""Characters that may wait for more to tell whether they begin a call."""
_ENDS: Final = frozenset("}>`~]")
"""The characters with which a call may end before its message does."""
_LINE_ENDS: Final = re.compile(rf"{_NEW_LINE}\Z")
_BEGINS: Final = frozenset("<[{`~\n")
"""The characters with which a call in the middle of a text begins."""
_JSON: Final = json.JSONDecoder()


class _Found(NamedTuple):
    """What the beginning of a call turned out to be; ``calls`` is None where it is text, up to ``end``."""

    calls: list[Piece] | None
    end: int


class WrittenCalls:
    """Separates the text of one message from the calls in it.

    Args:
        tools: The JSON schema of each declared tool's parameters, by the tool's name.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._tools = tools
        self._reader = CallReader(tools)
        names = "|".join(map(re.escape, tools))
        self._tag, self._object, self._line, self._name = (
            re.compile(form.replace("NAMES", names), re.VERBOSE) for form in (_TAG, _OBJECT, _LINE, _NAME)
        )
        self._opens = re.compile(_OPENS.replace("NAMES", names), re.VERBOSE | re.IGNORECASE)
        self._held = "\n"
        """The text that is held back; until text is shown, it begins with a line feed of our own."""
        self._said = False
        """Whether text followed the beginning or the last call."""
        self._begun = False
        """Whether a call begins where the held text does."""
        self._end = ""
        """The text that ends such a call; empty where it is not known."""
        self._called = False

    def feed(self, text: str) -> list[Piece]:
        """Return the text and the calls that ``text`` completes; what may belong to a call is held back."""
        if self._said and not self._held and _BEGINS.isdisjoint(text):
            return [text]
        self._held += text
        return [] if self._begun and not self._may_end(text) else self._read(ended=False)

    def _may_end(self, text: str) -> bool:
        """Return whether ``text``, the newest part of the call that has begun, may end it."""
        return not _ENDS.isdisjoint(text) and self._end in self._held[-len(text) - len(self._end) :]

    def release(self) -> list[Piece]:
        """Return the held text when another message continues; nothing if the text has begun a call."""
        return [] if self._begun else self.close()

    def abandon(self) -> list[Piece]:
        """Return the held text of a message that broke off, unless it is the beginning of a call."""
        call = self._begun and (self._tag.search(self._held) or any(name in self._held for name in self._tools))
        return [] if call else self._show(len(self._held))

    def close(self) -> list[Piece]:
        """Return what was held back, once the message has ended."""
        return self._read(ended=True)

    def _read(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        passed, known = 0, dict[re.Pattern[str], re.Match[str] | None]()
        while (begins := self._beginning(passed, known)) is not None:
            found = self._element(begins, ended) if begins.re is self._tag else self._bare(begins, ended)
            if found is not None and found.calls is None:
                passed = found.end
                continue
            # Empty lines around calls are no part of the answer.
            line_ends = _LINE_ENDS.search(self._held, 0, begins.start())
            after = self._held[found.end :] if found else ""
            pieces += self._show(line_ends.start() if line_ends else begins.start())
            self._begun = found is None
            if found is None:
                return pieces
            pieces += found.calls or ()
            self._held = "\n" + after
            self._called, self._said, passed = True, False, 0
            known.clear()
        self._begun = False
        opens = None if ended else self._opens.search(self._held, max(passed, len(self._held) - _MOST_HELD))
        return [*pieces, *self._show(opens.start() if opens else len(self._held))]

    def _show(self, length: int) -> list[Piece]:
        """Release the first ``length`` held characters; return those that are text."""
        shown, self._held = self._held[:length], self._held[length:]
        if shown and not self._said:
            shown = shown[1:]
            self._said = bool(shown.strip() if self._called else shown)
            self._held = self._held if self._said else "\n" + self._held
        return [shown] if self._said and shown else []

    def _beginning(self, at: int, known: dict[re.Pattern[str], re.Match[str] | None]) -> re.Match[str] | None:
        """Return the first beginning of a call from ``at`` on; ``known`` caches the match of each form."""
        for form in (self._tag, self._object, self._line):
            if form not in known or ((last := known[form]) is not None and last.start() < at):
                known[form] = form.search(self._held, at)
        return min(filter(None, known.values()), key=lambda match: match.start(), default=None)

    def _element(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls behind a tag or token; None while they are incomplete."""
        tag = begins["tag"] or begins["named"] or begins["end"] or ""
        written = self._held[begins.start() :]
        closing = re.search(rf"^<{tag}[^<>]*>" if tag.startswith("/") else rf"^<[^<>]*/>|</{tag}>", written)
        if closing is None and not ended:
            self._end = f"</{tag}>" if tag and ">" in written else ""
            return None
        if tag.startswith("/"):
            return _Found([], begins.start() + (closing.end() if closing else len(written)))
        whole = closing is not None and bool(tag)
        length = closing.end() if closing and tag else len(written)
        calls, end = self._reader.calls(written[:length])
        return _Found(calls, begins.start() + (length if whole else end))

    def _bare(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls outside of tags; None while they are incomplete. An object that calls no tool is text."""
        at, fence = begins.start("body"), (begins["fence"] or "")[:3]
        closing = self._held.find(fence, at) if fence else -1
        end = closing + 3 if closing >= 0 else len(self._held)
        self._end = fence
        if fence and closing < 0 and not ended:
            return None
        written = self._held[at : closing if closing >= 0 else end]
        if begins.re is self._line:
            if not (ended or fence):
                return None
            calls, length = self._reader.calls(written)
            return _Found(calls, end if closing >= 0 else at + length)
        try:
            value, length = _JSON.raw_decode(written)
        except (ValueError, RecursionError):
            if not (ended or fence):
                return None
            return _Found(self._reader.calls(written)[0] if self._name.search(written) else None, end)
        if not self._reader.names_tool(value):
            return _Found(None, at + length)
        if fence:
            return _Found(self._reader.calls(written)[0], end)
        return _Found(list(self._reader.from_json(value)), at + length)
