"""Tool calls that a model wrote as text, because its server did not recognise their form.

A call begins with a tag or special token that speaks of tools or has a declared tool's name, or is a whole message that
begins, in a code block or not, with that name as JSON, Python, Harmony or Gemma write it. In it are JSON objects that
name their tool, or a tool's name and behind it the arguments, as JSON or one by one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_OPENING: Final = (
    r"<(?P<tag>/?[\w:\uff5c]*?(?:(?i:tool|function|invoke)(?:s|calls?|use)?(?![a-z])[\w:]*|(?:{names})\b))"
    r"|<[|\uff5c][^<>\s]*?(?:(?i:tool|action)|python_tag)|<\|channel\|>commentary to=|\[[A-Z_]*TOOL[A-Z_]*\]"
)
"""The beginning of a call; ``<toolbar>`` is none. One with a tag extends to the end of that element, one with a token
to the message's end."""
_OPENS: Final = re.compile(r"(?:<\|channel\|>[\w ]*|<[/|\uff5c\u2581\w:]*|\[[A-Z_]*)$")
"""What may become the beginning of a call."""
_BARE: Final = (
    r"[\"'](?:\w*name|tool|function)[\"']\s*:\s*[\"'][\w.]*?(?:{names})[\"']|[\[{{]\s*[\"'](?:{names})[\"']\s*:"
    r"|(?<![\w-])(?:{names})\s*[({{\[]|to=\S*\b(?:{names})\b"
)
"""How a message without a tag calls a tool."""
_HEAD: Final = re.compile(r"(?:```\w*\s*)?(?:commentary )?(?:\S|(?<=[\[{(:,\"'])\s)*")
"""The beginning of a message in which it must call a tool: up to white space that no punctuation comes before."""
_HEAD_READ: Final = 200
_PART: Final = re.compile(
    r"<(?P<space>[\w:\uff5c]*)parameter(?:=| name=\")(?P<tag>[\w.-]+)[^<>]*>\n?(?P<tagged>.*?)\n?</(?P=space)parameter>"
    r"|<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
    r"|<(?P<field>\w+)>(?P<given>[^<>]*)</(?P=field)>"
    r"|\b(?P<keyword>\w+)\s*[=:]\s*(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'"
    r"|(?P<bare>[\w.+-](?:[\w.+ /%-]*[\w.+%-])?))(?=\s*(?:[,)}]|/?>|\w+=))"
    r"|(?P<token><[|\uff5c][^<>\s=]*>|</[\w:|\uff5c]+>|\[[A-Z_]+\])"
    r"|<(?P<element>[\w:|\uff5c]+)>"
    r"|(?P<json>[\[{](?=\s*[\[\]{}\"\d]))"
    r"|(?P<word>[\w.-]+)(?::\d+)?",
    re.DOTALL,
)
_QUOTES: Final = re.compile(r"<\|\"\|>|<escape>")
_FENCE: Final = re.compile(r"```\w*\s*")
_GIVEN: Final = ("tagged", "value", "given", "double", "single", "bare", "element", "word")
_NAMES: Final = ("name", "tool_name", "tool", "function")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_JSON: Final = json.JSONDecoder()


def declared_name(name: str, tools: Mapping[str, Any]) -> str:
    """Return the tool that ``name`` means, without the namespace or special tokens that some servers leave at it."""
    short = re.split(r"[.:/]", name.partition("<")[0])[-1]
    return short if short in tools and name not in tools else name


class WrittenCall(NamedTuple):
    """A call; ``arguments`` is JSON."""

    name: str
    arguments: str


class UnreadableCall(NamedTuple):
    """A call in no known form."""


Piece = str | WrittenCall | UnreadableCall


class WrittenCalls:
    """Separates the text of one message from the calls in it.

    Args:
        tools: The JSON schema of each declared tool's parameters, by the tool's name.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._tools = tools
        names = "|".join(map(re.escape, tools))
        self._opening = re.compile(_OPENING.format(names=names))
        self._calling = re.compile(_BARE.format(names=names))
        self._held = ""
        self._said = False
        """Whether text followed the beginning or the last call."""
        self._called = False

    def feed(self, text: str) -> list[Piece]:
        """Return the text and the calls that ``text`` completes; what may belong to a call is held back."""
        if self._said and not self._held and "<" not in text and "[" not in text:
            return [text]
        self._held += text
        return self._read(ended=False)

    def release(self) -> list[Piece]:
        """Return the held text when another message continues; nothing if the text has begun a call."""
        begun = self._opening.match(self._held) or (not self._said and self._calling.search(self._head()))
        return [] if begun else self.close()

    def close(self) -> list[Piece]:
        """Return what was held back, once the message has ended."""
        return self._read(ended=True) if self._held else []

    def _read(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while (found := self._next(pieces, ended=ended)) is not None:
            calls, self._held = found
            pieces += calls
            self._called, self._said = True, False
        if not ended and (self._opening.match(self._held) or not (self._said or self._is_text())):
            return pieces
        kept = 0 if ended else self._tail()
        text = self._held[: len(self._held) - kept]
        self._held = self._held[len(text) :]
        self._said = self._said or bool(text.strip())
        # White space around calls is no part of the answer.
        return [*pieces, text] if text and (self._said or not self._called) else pieces

    def _next(self, pieces: list[Piece], *, ended: bool) -> tuple[list[Piece], str] | None:
        """Return the calls in front and the text after them; None while there is none that is whole."""
        opening = self._opening.search(self._held)
        if opening is None:
            return None if self._said or self._is_text() else self._bare(ended=ended)
        if before := self._held[: opening.start()].rstrip():
            pieces.append(before)
        self._held = self._held[opening.start() :]
        tag = opening["tag"] or ""
        closing = re.search(rf"^<{tag}[^<>]*>" if tag.startswith("/") else rf"^<[^<>]*/>|</{tag}>", self._held)
        if closing is None and not ended:
            return None
        after = closing.end() if closing and tag else len(self._held)
        calls = [] if tag.startswith("/") else list(self._calls(self._held[:after]))
        return calls, self._held[after:]

    def _tail(self) -> int:
        """Return the length of the end that may be the beginning of a call."""
        opens = _OPENS.search(self._held)
        return len(opens[0]) if opens else 0

    def _head(self) -> str:
        return (_HEAD.match(self._held.lstrip()) or [""])[0][:_HEAD_READ]

    def _is_text(self) -> bool:
        """Return whether the beginning of the message cannot become a call without a tag."""
        head = self._head()
        whole = len(head) < min(_HEAD_READ, len(self._held.lstrip())) or len(head) == _HEAD_READ
        return whole and not self._calling.search(head)

    def _bare(self, *, ended: bool) -> tuple[list[Piece], str] | None:
        if not self._calling.search(self._head()):
            return None
        lead = self._held.lstrip()
        fence = _FENCE.match(lead)
        body = lead[fence.end() :] if fence else lead
        try:
            value, end = _JSON.raw_decode(body)
        except (ValueError, RecursionError):
            return (list(self._calls(body)), "") if ended else None
        rest = body[end:].lstrip()
        if fence and not ended and not rest.startswith("```"):
            return None
        return list(self._from_json(value)), rest.removeprefix("```") if fence else rest

    def _calls(self, written: str) -> Iterator[Piece]:
        """Yield the calls of a text with its tags."""
        written = _QUOTES.sub('"', written)
        name, at, found, arguments, more = "", 0, False, dict[str, Any](), False
        while (part := _PART.search(written, at)) is not None:
            at = part.end()
            key = (part["tag"] or part["key"] or part["field"] or part["keyword"] or "").strip()
            given = next(filter(None, map(part.group, _GIVEN)), "")
            if part["json"]:
                try:
                    value, at = _JSON.raw_decode(written, part.start())
                except (ValueError, RecursionError):
                    yield UnreadableCall()
                    return
                yield from [_call(name, value)] if name else self._from_json(value)
                name, found = "", True
            elif (not key or not name or key in _NAMES) and declared_name(given, self._tools) in self._tools:
                if name:
                    yield _written(name, arguments, more=more)
                name, found, arguments, more = declared_name(given, self._tools), True, {}, False
            elif part["word"]:
                more = True
            elif part["field"] and key not in self._properties(name):
                at = part.start("given")
            elif key:
                arguments[key] = self._typed(name, key, given)
        if name:
            yield _written(name, arguments, more=more)
        elif not found:
            yield UnreadableCall()

    def _properties(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._tools.get(name, {}).get("properties", {})
        return found

    def _typed(self, name: str, key: str, text: str) -> Any:
        kind = self._properties(name).get(key, {}).get("type", "string")
        return text if "string" in str(kind) else _value(text)

    def _from_json(self, value: Any) -> Iterator[WrittenCall | UnreadableCall]:
        """Yield the calls in a decoded JSON value."""
        for one in value if isinstance(value, list) else [value]:
            inner = one.get("function") if isinstance(one, dict) else None
            call = inner if isinstance(inner, dict) else one
            if not isinstance(call, dict):
                yield UnreadableCall()
                continue
            if len(call) == 1 and (name := next(iter(call))) in self._tools:
                yield _call(name, call[name])
                continue
            name = next((call[key] for key in _NAMES if isinstance(call.get(key), str)), None)
            given: Any = next((call[key] for key in _ARGUMENTS if key in call), {})
            yield _call(declared_name(name, self._tools), given) if name else UnreadableCall()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _written(name: str, arguments: dict[str, Any], *, more: bool) -> WrittenCall | UnreadableCall:
    """Return a call with arguments that were written one by one; ``more``: other words follow the name, too."""
    return UnreadableCall() if more and not arguments else WrittenCall(name, json.dumps(arguments))


def _call(name: str, arguments: Any) -> WrittenCall | UnreadableCall:
    decoded = _value(arguments) if isinstance(arguments, str) else arguments
    return WrittenCall(name, json.dumps(decoded)) if isinstance(decoded, dict) else UnreadableCall()
