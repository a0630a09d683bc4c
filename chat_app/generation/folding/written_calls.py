"""Tool calls that a model wrote as text, because its server did not recognise their form.

A call begins with a tag or special token that speaks of tools or has a declared tool's name, with a JSON object that
names such a tool, or with a line that begins, in a code block or not, with that name as Python, Harmony or Gemma write
it. In it are JSON objects that name their tool, or a tool's name and behind it the arguments, as JSON or one by one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_SPEAKS_OF_TOOLS: Final = r"""
    (?i:(?:(?:use|start|begin|end)[_\u2581-]?)?(?:tool|function|invoke)s?
    (?:[_\u2581-]?(?:calls?|use|code|requests?|sep|arguments?|section|prefix|suffix|start|begin|end))*)
"""
_TAG: Final = rf"""
    <[|\uff5c](?:{_SPEAKS_OF_TOOLS}|(?i:start_action|action_start)|python_tag)(?![\w-]) | <\|channel\|>commentary\ to=
    | \[{_SPEAKS_OF_TOOLS}\] | <(?P<tag>/?(?:\w*[:\uff5c])*(?:{_SPEAKS_OF_TOOLS}|NAMES)(?![\w-]))
"""
"""The beginning of a call; ``<toolbar>`` and ``<kidney_function>`` are none. One with a tag extends to the end of that
element, one with a token to the message's end."""
_NEW_LINE: Final = r"(?<!\s)[^\S\n]*+\n\s*+"
_FENCE: Final = r"```\w*\s*"
_NAME: Final = r"""["'][\w.:/-]*?(?:NAMES)["']"""
_OBJECT: Final = rf"""
    (?:{_NEW_LINE}[a-z]+(?=\[))? (?P<fence>{_FENCE})? (?P<body>(?:\[\s*)?\{{)\s* ["'] (?:
        (?:\w*name|tool|function|action) ["']\s*:\s* (?:{_NAME} | \{{)
        | (?:\w*calls?|\w*args|\w*arguments|\w*parameters|\w*input|type|id|index|NAMES) ["']\s*:
    )
"""
"""The beginning of a JSON object that may be a call."""
_LINE: Final = rf"""
    {_NEW_LINE} (?P<fence>{_FENCE})? (?P<body>(?:commentary\ )? (?:[!-~]|(?<=[\[{{(:,"'])\s)*?) (?:
        to=[!-~]*?\b(?:NAMES)\b
        | (?<![\w-])(?:NAMES)\s* (?:\(\s* (?:\)|\w+\s*=|["'{{\[]) | \{{ | \[[A-Z_{{\[])
    )
"""
"""The beginning of a line that calls a tool in another way."""
_OPENS: Final = re.compile(
    rf"""
    (?: (?:{_NEW_LINE}[a-z]*)? (?: <\|channel\|>[\w ]* | <[/|\uff5c\u2581\w:-]* | \[[A-Za-z_]* | `{{1,2}}
        | (?:{_FENCE})? (?:\[\s*)? (?:\{{\s* (?:["']\w* (?:["']\s* (?::\s*(?:["'][\w.:/-]*)?)?)?)?)? )
      | {_NEW_LINE} (?:{_FENCE})? (?a: commentary\ [!-~]* | [\[(]* [a-z_] (?:[\w.:=-]|[\[({{,"']\s*)* )
    )\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What may become the beginning of a call."""
_MOST_HELD: Final = 200
"""Characters that may wait for more to tell whether they begin a call."""
_ENDS: Final = frozenset("}>`]")
"""The characters with which a call may end before its message does."""
_LINE_ENDS: Final = re.compile(rf"{_NEW_LINE}\Z")
_BEGINS: Final = frozenset("<[{`\n")
"""The characters with which a call in the middle of a text begins."""
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
_GIVEN: Final = ("tagged", "value", "given", "double", "single", "bare", "element", "word")
_NAMES: Final = ("name", "tool_name", "tool", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input", "action_input")
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
        names = "|".join(map(re.escape, tools))
        self._tag, self._object, self._line, self._name = (
            re.compile(form.replace("NAMES", names), re.VERBOSE) for form in (_TAG, _OBJECT, _LINE, _NAME)
        )
        self._held = "\n"
        """What was held back, after a line feed of our own until text is shown."""
        self._said = False
        """Whether text followed the beginning or the last call."""
        self._begun = False
        """Whether a call begins where the held text does."""
        self._called = False

    def feed(self, text: str) -> list[Piece]:
        """Return the text and the calls that ``text`` completes; what may belong to a call is held back."""
        if self._said and not self._held and _BEGINS.isdisjoint(text):
            return [text]
        self._held += text
        return [] if self._begun and _ENDS.isdisjoint(text) else self._read(ended=False)

    def release(self) -> list[Piece]:
        """Return the held text when another message continues; nothing if the text has begun a call."""
        return [] if self._begun else self.close()

    def close(self) -> list[Piece]:
        """Return what was held back, once the message has ended."""
        return self._read(ended=True)

    def _read(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        passed = 0
        while (begins := self._beginning(passed)) is not None:
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
        self._begun = False
        opens = None if ended else _OPENS.search(self._held, max(passed, len(self._held) - _MOST_HELD))
        return [*pieces, *self._show(opens.start() if opens else len(self._held))]

    def _show(self, length: int) -> list[Piece]:
        """Let go of the first ``length`` characters; return those that are text."""
        shown, self._held = self._held[:length], self._held[length:]
        if shown and not self._said:
            shown = shown[1:]
            self._said = bool(shown.strip() if self._called else shown)
            self._held = self._held if self._said else "\n" + self._held
        return [shown] if self._said and shown else []

    def _beginning(self, at: int) -> re.Match[str] | None:
        """Return the first beginning of a call from ``at`` on."""
        found = filter(None, (form.search(self._held, at) for form in (self._tag, self._object, self._line)))
        return min(found, key=lambda match: match.start(), default=None)

    def _element(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls behind a tag or token; None while they are not whole."""
        tag = begins["tag"] or ""
        written = self._held[begins.start() :]
        closing = re.search(rf"^<{tag}[^<>]*>" if tag.startswith("/") else rf"^<[^<>]*/>|</{tag}>", written)
        if closing is None and not ended:
            return None
        length = closing.end() if closing and tag else len(written)
        calls = [] if tag.startswith("/") else list(self._calls(written[:length]))
        return _Found(calls, begins.start() + length)

    def _bare(self, begins: re.Match[str], ended: bool) -> _Found | None:
        """Return the calls that stand in no tag, unless they are only an object; None while they are not whole."""
        at, fence = begins.start("body"), begins["fence"]
        closing = self._held.find("```", at) if fence else -1
        end = closing + 3 if closing >= 0 else len(self._held)
        if fence and closing < 0 and not ended:
            return None
        written = self._held[at : closing if closing >= 0 else end]
        if begins.re is self._line:
            return _Found(list(self._calls(written)), end) if ended or fence else None
        try:
            value, length = _JSON.raw_decode(written)
        except (ValueError, RecursionError):
            if not (ended or fence):
                return None
            return _Found(list(self._calls(written)) if self._name.search(written) else None, end)
        if not any(declared_name(name or "", self._tools) in self._tools for name, _ in _objects(value, self._tools)):
            return _Found(None, at + length)
        return _Found(list(self._calls(written) if fence else self._from_json(value)), end if fence else at + length)

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
        for name, given in _objects(value, self._tools):
            yield _call(declared_name(name, self._tools), given) if name else UnreadableCall()


def _objects(value: Any, tools: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """Yield the name and the arguments of each call in a decoded JSON value, without a name where there is none."""
    if isinstance(value, dict):
        if len(value) == 1 and (only := next(iter(value))) in tools:
            yield only, value[only]
            return
        if name := next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None):
            yield name, next((value[key] for key in _ARGUMENTS if key in value), {})
            return
    inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    found = [call for one in inner if isinstance(one, dict | list) for call in _objects(one, tools)]
    yield from found or [(None, None)]


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
