"""Tool calls that a model wrote as text, because its server did not recognise their form.

A call begins with a special token or tag (those of Hermes, Qwen, Llama, GLM, Mistral, Kimi, DeepSeek, Harmony, MiniMax,
Granite), or is a whole message that begins with a JSON object which names a declared tool, in a code block or not, or
with a tool's name as Python and Harmony write it. In it are JSON objects that name their tool, or a tool's name and
behind it the arguments, as JSON or one by one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_STRAY: Final = "</tool_call>"
_TAGS: Final = {
    "<tool_call>": _STRAY,
    "<function=": "</function>",
    "<invoke name=": "</invoke>",
    "<minimax:tool_call>": "</minimax:tool_call>",
    "[TOOL_CALLS]": "",
    "<|tool_call": "",
    "<\uff5ctool\u2581call": "",
    "<|python_tag|>": "",
    "<|channel|>commentary to=": "",
    _STRAY: "",
}
"""The beginnings of calls, each with its end, or none where the message ends with them; the last is an end alone."""
_OPENING: Final = re.compile("|".join(map(re.escape, _TAGS)))
_PART: Final = re.compile(
    r"<parameter(?:=| name=\")(?P<tag>[\w.-]+)\"?>\n?(?P<tagged>.*?)\n?</parameter>"
    r"|<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
    r"|\b(?P<keyword>\w+)=(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[\w.+-]+))(?=\s*[,)])"
    r"|(?P<token><[|\uff5c][^<>]*>|</?[\w:]+>|\[[A-Z_]+\])"
    r"|(?P<json>[\[{](?=\s*[\[\]{}\"\d]))"
    r"|(?:functions\.)?(?P<word>[\w.-]+)(?::\d+)?",
    re.DOTALL,
)
_FENCE: Final = re.compile(r"```(?:json)?\s*")
_SPACE: Final = re.compile(r"\s+")
_HEADS: Final = ('{"name":"', '{"type":"function","name":"', '{"type":"function","function":{"name":"')
_HEADS_READ: Final = 200
_JSON: Final = json.JSONDecoder()


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
        self._spoken = [f"commentaryto=functions.{name}" for name in tools]
        self._spoken += [f"{opening}{name}(" for name in tools for opening in ("", "[")]
        self._heads = [f'{opening}{head}{name}"' for name in tools for head in _HEADS for opening in ("", "[")]
        self._heads += self._spoken
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

    def close(self) -> list[Piece]:
        """Return what was held back, once the message has ended."""
        return self._read(ended=True) if self._held else []

    def _read(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while (found := self._next(pieces, ended=ended)) is not None:
            calls, self._held = found
            pieces += calls
            self._called, self._said = True, False
        if not ended and (_OPENING.match(self._held) or not (self._said or self._is_text())):
            return pieces
        kept = 0 if ended else self._tail()
        text = self._held[: len(self._held) - kept]
        if not ended and not self._said and not text.strip():
            # A call may follow the white space.
            return pieces
        self._held = self._held[len(text) :]
        self._said = self._said or bool(text.strip())
        # White space around calls is no part of the answer.
        return [*pieces, text] if text and (self._said or not self._called) else pieces

    def _next(self, pieces: list[Piece], *, ended: bool) -> tuple[list[Piece], str] | None:
        """Return the calls in front and the text after them; None while there is none that is whole."""
        opening = _OPENING.search(self._held)
        if opening is None:
            return None if self._said or self._is_text() else self._bare(ended=ended)
        if before := self._held[: opening.start()].rstrip():
            pieces.append(before)
        self._held = self._held[opening.start() :]
        closing = _TAGS[opening[0]]
        end = self._held.find(closing) if closing else -1
        if end < 0 and not ended:
            return None
        after = end + len(closing) if end >= 0 else len(self._held)
        return list(self._calls(self._held[:after])), self._held[after:]

    def _tail(self) -> int:
        """Return the length of the end that may be the beginning of a tag."""
        sizes = range(min(max(map(len, _TAGS)) - 1, len(self._held)), 0, -1)
        return next((size for size in sizes if any(tag.startswith(self._held[-size:]) for tag in _TAGS)), 0)

    def _is_text(self) -> bool:
        """Return whether the beginning of the message cannot become a call in bare JSON."""
        lead = self._held.lstrip()
        if not lead or "```json".startswith(lead):
            return False
        compact = _compact(lead)
        return not any(compact.startswith(head) or head.startswith(compact) for head in self._heads)

    def _bare(self, *, ended: bool) -> tuple[list[Piece], str] | None:
        lead = self._held.lstrip()
        if _compact(lead).startswith(tuple(self._spoken)):
            return (list(self._calls(lead)), "") if ended else None
        fence = _FENCE.match(lead)
        body = lead[fence.end() :] if fence else lead
        try:
            value, end = _JSON.raw_decode(body)
        except (ValueError, RecursionError):
            begun = ended and any(_compact(lead).startswith(head) for head in self._heads)
            return ([UnreadableCall()], "") if begun else None
        rest = body[end:].lstrip()
        if fence and not ended and not rest.startswith("```"):
            return None
        return list(self._from_json(value)), rest.removeprefix("```") if fence else rest

    def _calls(self, written: str) -> Iterator[Piece]:
        """Yield the calls of a text with its tags."""
        if written == _STRAY:
            return
        name, at, found, arguments, more = "", 0, False, dict[str, Any](), False
        while (part := _PART.search(written, at)) is not None:
            at = part.end()
            if part["json"]:
                try:
                    value, at = _JSON.raw_decode(written, part.start())
                except (ValueError, RecursionError):
                    yield UnreadableCall()
                    return
                yield from [_call(name, value)] if name else self._from_json(value)
                name, found = "", True
            elif part["word"] in self._tools:
                if name:
                    yield _written(name, arguments, more=more)
                name, found, arguments, more = part["word"], True, {}, False
            elif part["word"]:
                more = True
            elif not part["token"]:
                key = (part["tag"] or part["key"] or part["keyword"]).strip()
                given = next(filter(None, map(part.group, ("tagged", "value", "double", "single", "bare"))), "")
                arguments[key] = self._typed(name, key, given)
        if name:
            yield _written(name, arguments, more=more)
        elif not found:
            yield UnreadableCall()

    def _typed(self, name: str, key: str, text: str) -> Any:
        properties = self._tools.get(name, {}).get("properties", {})
        return text if "string" in str(properties.get(key, {}).get("type", "string")) else _value(text)

    def _from_json(self, value: Any) -> Iterator[WrittenCall | UnreadableCall]:
        """Yield the calls in a decoded JSON value."""
        for one in value if isinstance(value, list) else [value]:
            inner = one.get("function") if isinstance(one, dict) else None
            call = inner if isinstance(inner, dict) else one
            name = call.get("name") if isinstance(call, dict) else None
            if isinstance(name, str):
                short = name.removeprefix("functions.")
                given = call.get("arguments", call.get("parameters", {}))
                yield _call(short if short in self._tools else name, given)
            else:
                yield UnreadableCall()


def _compact(lead: str) -> str:
    """Return the beginning of a message without white space and the opening of a code block."""
    return _SPACE.sub("", _FENCE.sub("", lead[:_HEADS_READ], count=1))


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
