"""Tool calls that a model wrote as text, because its server did not recognise their form.

A call is one of these, with the name of a declared tool:

- A tag or special token that speaks of tools or has that name. The calls follow it as JSON, elements or code.
- A JSON object, bare or in a code block, that names the tool.
- A line of code, as Python or Gemma write it.

Tags, tokens and JSON objects are written for machines, so they are calls wherever they are, unless in a code span. Code
may also be an example in an answer. It is a call only if it makes up its line: only other calls or a comment may follow
it there, and only code or a label such as ``Action:`` may precede it. A line with prose is text.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from chat_app.generation.folding.call_reading import CallReader, Piece, decode, end_of_call, end_outside_strings

_SPEAKS_OF_TOOLS: Final = r"""
    (?i:(?:(?:use|start|begin|end)[_\u2581-]?)?(?:tool|function|invoke)s?
    (?:[_\u2581-]?(?:calls?|use|code|requests?|sep|arguments?|section|prefix|suffix|start|begin|end))+
    |(?:use|call|run)_(?:[a-z]+_)?(?:tool|function)s?)
"""
_NAMES_TOOLS: Final = r"(?i:tool|function|invoke)s?"
_TAG: Final = rf"""
    (?<!`) (?: <[|\uff5c](?:{_SPEAKS_OF_TOOLS}|{_NAMES_TOOLS}|(?i:start_action|action_start)|python_(?:tag|start))
      (?![\w-])
    | (?:<\|start\|>assistant)?<\|channel\|>commentary\ to= | <\|start\|>assistant\ to=
    | <\|message_sep\|>\s*function\ call
    | \[(?i:called\ function|tool\ call:)\ "?(?:NAMES)\b
    | \[(?:[A-Z]+_)?TOOLS?_(?:CALLS?|REQUESTS?|USE|CODE)\]
    | <(?P<tag>/?(?:\w*[:\uff5c])*(?:(?:[a-z]+_)?{_SPEAKS_OF_TOOLS}|NAMES)(?![\w-]))
    | <(?P<named>(?:\w*[:\uff5c])*{_NAMES_TOOLS})(?:=|\s+name=|>\s*(?:[{{\[<]|(?:NAMES)\b))
    | <(?P<end>/{_NAMES_TOOLS})> )
"""
"""The beginning of a call; ``<toolbar>``, ``<kidney_function>`` and a ``<function>`` by itself are none. One with a
tag extends to the end of that element, one with a token to the message's end."""
_NEW_LINE: Final = r"(?<!\s)[^\S\n]*+\n\s*+"
_FENCE: Final = r"(?:```|~~~)\w*\s*"
_NAME: Final = r"""["'][\w.:/-]*?(?:NAMES)["']"""
_OBJECT: Final = rf"""
    (?<!`) (?:{_NEW_LINE}[a-z]+(?=\[))? (?P<fence>{_FENCE})? (?P<object>(?:\[\s*)?\{{)\s* ["'] (?:
        (?:\w*name|tool|function|action) ["']\s*:\s* (?:{_NAME} | \{{)
        | (?:\w*calls?|\w*uses|\w*args|\w*arguments|\w*parameters|\w*input|type|id|index|role
           |thought\w*|reasoning|NAMES) ["']\s*:
    )
"""
"""The beginning of a JSON object that may be a call."""
_ASSIGNED: Final = r"(?a:[a-z_]\w*)[^\S\n]*"
_CALLED: Final = rf"""
    (?: {_ASSIGNED}=\s* | (?:{_SPEAKS_OF_TOOLS}|{_NAMES_TOOLS}|(?i:action|call)):\s* )?
    (?:[!-;=-_a-~]|(?<=[\[{{(=,"'])\s){{0,100}}?
"""
"""The code or the label before the name of a tool that is called."""
_CODE: Final = rf"""
    {_CALLED} (?:
        (?<![\w-])(?:NAMES)(?:\.\w+(?=\())?\s*
          (?= \(\s* (?:\)|\w+\s*=|["'{{\[]) | \{{ | \[[A-Z_{{\[] | \n\s*(?:Action\ )?Input: )
    )
"""
_LINE: Final = rf"{_NEW_LINE} (?P<block>{_FENCE})? (?P<code>{_CODE})"
"""The beginning of a line of code that calls a tool, up to the brackets of the arguments."""
_FURTHER: Final = rf"[\s,;]* {_CODE}"
"""The beginning of a call right behind another."""
_PROSE: Final = re.compile(r"[^\s#]*[^\S\n][^\n#]*\w")
"""Words on the rest of a line, except those of a comment."""
_OPENS: Final = rf"""
    (?: (?:{_NEW_LINE}[a-z]*)? (?: (?:<\|start\|>assistant)?<\|channel\|>[\w ]* | <\|start\|>assistant\ t?o?
          | (?:<\|start\|>assistant|`)?<[/|\uff5c\u2581\w:-]*(?:\s+n?a?m?e?|>\s*(?:function\ )?\w*)?
          | \[(?:(?:called|tool)\ [a-z]*:?\ ?"?[\w.-]*|[A-Z_]*) | \]<?\]?m?i?n?i?m?a?x?\[?>? | [`~]+
        | (?:`*{_FENCE}|`)? (?:\[\s*)? (?:\{{\s* (?:["']\w* (?:["']\s* (?::\s*(?:["'][\w.:/-]*)?)?)?)?)? )
      | {_NEW_LINE} (?:{_FENCE})? (?: (?-i:{_ASSIGNED}) | {_CALLED} (?: (?<![\w-])(?:NAMES)
          (?: (?:\.\w+)?\s*\(\s*\w*\s* | \s*\[? | \s*\n\s*A?c?t?i?o?n?\ ?I?n?p?u?t? ) )? )
    )\Z
"""
"""What may become the beginning of a call."""
_MOST_HELD: Final = 200
"""Characters that may wait for more to tell whether they begin a call."""
_ENDS: Final = frozenset("}>`~]")
"""The characters with which a call may end before its message does."""
_LINE_ENDS: Final = re.compile(rf"{_NEW_LINE}\Z")
_BEGINS: Final = frozenset("<[]{`~\n")
"""The characters with which a call in the middle of a text begins."""
_MARKER: Final = "]<]minimax[>["
"""MiniMax's token before each tag of a call."""
_JSON: Final = json.JSONDecoder()


class _Found(NamedTuple):
    """What the beginning of a call turned out to be; ``calls`` is None where it is text, up to ``end``."""

    calls: list[Piece] | None
    end: int


def _is_tag(begins: re.Match[str]) -> bool:
    return begins["object"] is None and begins["code"] is None


class WrittenCalls:
    """Separates the text of one message from the calls in it; ``tools`` are the schemas of the declared parameters."""

    def __init__(self, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._tools = tools
        self._reader = CallReader(tools)
        names = "|".join(map(re.escape, tools))
        self._begins, self._further, self._name = (
            re.compile(form.replace("NAMES", names), re.VERBOSE)
            for form in (f"{_TAG} | {_OBJECT} | {_LINE}", _FURTHER, _NAME)
        )
        self._opens = re.compile(_OPENS.replace("NAMES", names), re.VERBOSE | re.IGNORECASE)
        self._held = "\n"
        """The text that is held back; until text is shown, it begins with a line feed of our own."""
        self._said = False
        """Whether text followed the beginning or the last call."""
        self._begun = False
        """Whether a call begins where the held text does."""
        self._end: str | None = None
        """The text that ends such a call; empty where any closing sign may, None where only the message's end does."""
        self._called = False

    def feed(self, text: str) -> list[Piece]:
        """Return the text and the calls that ``text`` completes; what may belong to a call is held back."""
        if self._said and not self._held and _BEGINS.isdisjoint(text):
            return [text]
        self._held += text
        return [] if self._begun and not self._may_end(text) else self._read(ended=False)

    def _may_end(self, text: str) -> bool:
        """Return whether ``text``, the newest part of the call that has begun, may end it."""
        end = self._end
        return end is not None and not _ENDS.isdisjoint(text) and end in self._held[-len(text) - len(end) :]

    def release(self) -> list[Piece]:
        """Return the held text when another message continues; nothing if the text has begun a call."""
        return [] if self._begun else self.close()

    def abandon(self) -> list[Piece]:
        """Return the held text of a message that broke off, unless it is the beginning of a call."""
        begins = self._begins.search(self._held) if self._begun else None
        call = begins and (_is_tag(begins) or any(name in self._held for name in self._tools))
        return [] if call else self._show(len(self._held))

    def close(self) -> list[Piece]:
        """Return what was held back, once the message has ended."""
        return self._read(ended=True)

    def _read(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        passed = 0
        self._held = self._held.replace(_MARKER, "")
        while (begins := self._begins.search(self._held, passed)) is not None:
            found = self._element(begins, ended) if _is_tag(begins) else self._bare(begins, ended)
            self._begun = found is None
            if found is not None and found.calls is None:
                passed = found.end
                continue
            after = self._held[found.end :] if found else ""
            pieces += self._show(self._end_of_text(begins.start()))
            if found is None:
                return pieces
            pieces += found.calls or ()
            self._held = "\n" + after
            self._called, self._said, passed = True, False, 0
        self._begun = False
        opens = None if ended else self._opens.search(self._held, max(passed, len(self._held) - _MOST_HELD))
        return [*pieces, *self._show(opens.start() if opens else len(self._held))]

    def _end_of_text(self, begins: int) -> int:
        """Return where the text ends before the call at ``begins``; empty lines around calls are no part of it."""
        line_ends = _LINE_ENDS.search(self._held, 0, begins)
        end = line_ends.start() if line_ends else begins
        return self._held.index("\n", end) if self._held[end].isspace() else end

    def _show(self, length: int) -> list[Piece]:
        """Release the first ``length`` held characters; return those that are text."""
        shown, self._held = self._held[:length], self._held[length:]
        if shown and not self._said:
            shown = shown[1:]
            self._said = bool(shown.strip() if self._called else shown)
            self._held = self._held if self._said else "\n" + self._held
        return [shown] if self._said and shown else []

    def _element(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls behind a tag or token; None while they are incomplete."""
        tag, at = begins["tag"] or begins["named"] or begins["end"] or "", begins.start()
        element = re.compile(rf"<{tag}[^<>]*>" if tag.startswith("/") else r"<[^<>]*/>").match(self._held, at)
        end = element.end() if element else end_outside_strings(self._held, f"</{tag}>", at) if tag else -1
        if end < 0 and not ended:
            self._end = (f"</{tag}>" if ">" in self._held[at:] else "") if tag else None
            return None
        if tag.startswith("/"):
            return _Found([], end if end >= 0 else len(self._held))
        calls, length = self._reader.calls(self._held[at : end if end >= 0 else len(self._held)])
        return _Found(calls, end if end >= 0 else at + length)

    def _bare(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls outside of tags; None while they are incomplete. An object that calls no tool is text."""
        is_code = begins["code"] is not None
        at, fence = begins.start("code" if is_code else "object"), (begins["fence"] or begins["block"] or "")[:3]
        closes = end_outside_strings(self._held, fence, at) if fence else -1
        end = closes if closes >= 0 else len(self._held)
        waits = not ended and closes < 0
        if waits and (fence or is_code):
            self._end = fence or None
            return None
        written = self._held[at : end - 3 if closes >= 0 else end]
        if is_code:
            return self._code(begins, written, end if closes >= 0 else 0)
        try:
            value, length = _JSON.raw_decode(written) if waits else decode(written)
        except (ValueError, RecursionError):
            if waits:
                self._end = ""
                return None
            return _Found(self._reader.calls(written)[0] if self._name.search(written) else None, end)
        if not self._reader.names_tool(value):
            return _Found(None, at + length)
        if fence:
            return _Found(self._reader.calls(written)[0], end)
        return _Found(list(self._reader.from_json(value)), at + length)

    def _code(self, begins: re.Match[str], written: str, block_end: int) -> _Found:
        """Return the calls of the code block that ends at ``block_end``, or else of the lines without prose."""
        at, end = begins.start("code"), 0
        closing = end_of_call(written, begins.end() - at)
        while closing >= 0:
            further = self._further.match(written, closing)
            if further is None and _PROSE.match(written, closing):
                break
            end, closing = closing, end_of_call(written, further.end()) if further else -1
        if closing >= 0 and not end:
            return _Found(None, at + closing)
        calls, length = self._reader.calls(written[:end] if end and not block_end else written)
        return _Found(calls, block_end or at + length)
