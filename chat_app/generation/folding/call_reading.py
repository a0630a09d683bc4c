"""Reads the calls in a text that a model wrote: JSON objects, tags, tokens, and calls as Python or Gemma write them."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_PART: Final = re.compile(
    r"<(?P<space>[\w:\uff5c]*)parameter(?:=| name=\")(?P<tag>[\w.-]+)[^<>]*>\n?(?P<tagged>.*?)\n?</(?P=space)parameter>"
    r"|<(?P<own>\w*)arg_key>(?P<key>.*?)</(?P=own)arg_key>\s*<(?P=own)arg_value>(?P<value>.*?)</(?P=own)arg_value>"
    r"|<(?P<field>\w+)>(?P<given>[^<>]*)</(?P=field)>"
    r"|\b(?P<keyword>\w+)\s*[=:]\s*(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'"
    r"|(?P<bare>[\w.+-](?:[\w.+ /%-]*[\w.+%-])?))(?=\s*(?:[,)}]|/?>|\w+=))"
    r"|(?P<token><[|\uff5c][^<>\s=]*>|<\w+[|\uff5c]>|</[\w:|\uff5c]+>|\[[A-Z_]+\])"
    r"|<(?P<element>[\w:|\uff5c]+)>"
    r"|(?P<json>[\[{](?=\s*[\[\]{}\"'\d]))"
    r"|(?P<word>[\w.-]+)(?::\d+)?",
    re.DOTALL,
)
_BRACKETS: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|'(?:[^'\\]|\\.)*+(?:'|\Z)|[()\[\]{}]", re.DOTALL)
"""Strings, or brackets outside of them."""
_OPENING: Final = re.compile(r"[\w.]*(?=[(\[{])")
_TAIL: Final = re.compile(r"(?:\s*(?:[)\]}]|<[/|\uff5c][^<>\s=]*>))*+")
"""What closes a call: the brackets around it, and tags or special tokens."""
_STRING: Final = r"""[\[{(:,=]\s*+(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
"""A string in JSON or Python; one that nothing closes ends with its line."""
_CLOSERS: Final = re.compile(r"(?:\s*[)\]}]+)*")
_QUOTES: Final = re.compile(r"<\|\"\|>|<escape>")
_GIVEN: Final = ("tagged", "value", "given", "double", "single", "bare", "element", "word")
_NAMES: Final = ("name", "tool_name", "function_name", "recipient_name", "tool", "function", "action")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "tool_args")
_DECLARING: Final = frozenset({"description", "inputSchema", "input_schema"})
"""Keys of a tool that is only declared."""
_JSON_WORDS: Final = {"true": True, "false": False, "null": None}
_JSON: Final = json.JSONDecoder()


def declared_name(name: str, tools: Mapping[str, Any]) -> str:
    """Return the tool that ``name`` means, without a namespace before it, or a method, token or header after it.

    Some bridges send a name twice, as if it were streamed.
    """
    parts = [] if name in tools else re.split(r"[.:/]", name.partition("<")[0].strip())
    half = name[: len(name) // 2]
    bare = [re.sub(r"(?:commentary|json|code)+\Z", "", part) for part in parts]
    meant = (*reversed(parts), *reversed(bare), *([half] if half * 2 == name else ()))
    return next((part for part in meant if part in tools), name)


def end_outside_strings(text: str, sign: str, at: int) -> int:
    """Return the end of the first ``sign`` from ``at`` on outside of strings of JSON or Python; -1 if there is none."""
    found = re.compile(rf"{_STRING}|({re.escape(sign)})").finditer(text, at)
    return next((one.end() for one in found if one[1]), -1)


def end_of_call(text: str, at: int) -> int:
    """Return the end of the brackets that follow one another at ``at``, and of those around them; -1 if none close."""
    end = -1
    while (opening := _OPENING.match(text, at)) is not None and (at := _closing(text, opening.end())) >= 0:
        end = at
    tail = _TAIL.match(text, end) if end >= 0 else None
    return tail.end() if tail else end


def decode(text: str, at: int = 0) -> tuple[Any, int]:
    """Return the object or list at ``at``, as JSON or Python writes it, and its end. Raises ``ValueError``."""
    try:
        return _JSON.raw_decode(text, at)
    except (ValueError, RecursionError):
        if (end := _closing(text, at)) < 0:
            raise ValueError(text) from None
        return _python(f"({text[at:end]})")[0][0], end


class WrittenCall(NamedTuple):
    """A call; ``arguments`` is JSON."""

    name: str
    arguments: str


class UnreadableCall(NamedTuple):
    """A call in no known form."""


Piece = str | WrittenCall | UnreadableCall


class CallReader:
    """Reads calls of the declared ``tools``, each with the JSON schema of its parameters."""

    def __init__(self, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._tools = tools

    def calls(self, text: str) -> tuple[list[Piece], int]:
        """Return the calls of a text with its tags, and where the last of them ends."""
        written = _QUOTES.sub('"', text)
        pieces, name, found, arguments, more = list[Piece](), "", False, dict[str, Any](), False
        at = end = 0
        while (part := _PART.search(written, at)) is not None:
            at = part.end()
            key = (part["tag"] or part["key"] or part["field"] or part["keyword"] or "").strip()
            given = next(filter(None, map(part.group, _GIVEN)), "")
            if part["json"]:
                try:
                    value, at = decode(written, part.start())
                except ValueError:
                    return [*pieces, UnreadableCall()], len(text)
                pieces += [_call(name, value)] if name else self.from_json(value)
                name, found, end = "", True, at
            elif (not key or not name or key in _NAMES) and declared_name(given, self._tools) in self._tools:
                pieces += _written(name, arguments, more=more)
                name, found, arguments, more, end = declared_name(given, self._tools), True, {}, False, at
                if (python := _python_arguments(written, at, self._properties(name))) is not None:
                    arguments, at = python
                    end = at
            elif part["word"]:
                more = True
            elif part["field"] and key not in self._properties(name):
                at = part.start("given")
            elif key:
                arguments[key] = self._typed(name, key, given)
                end = at
            elif part["token"] and found:
                end = at
        pieces += _written(name, arguments, more=more)
        if not found:
            return [*pieces, UnreadableCall()], len(text)
        closers = _CLOSERS.match(written, end)
        return pieces, len(text) if written != text or closers is None else closers.end()

    def _properties(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._tools.get(name, {}).get("properties", {})
        return found

    def _typed(self, name: str, key: str, text: str) -> Any:
        """Return the value of a parameter: the text itself, or its JSON where the schema takes other types."""
        kinds = _kinds(self._properties(name).get(key, {}), self._tools.get(name, {}))
        value = text if kinds <= {"string"} else _value(text)
        if isinstance(value, str) or (value is None and "null" not in kinds):
            return text
        return text if "string" in kinds and isinstance(value, int | float) else value

    def from_json(self, value: Any) -> Iterator[WrittenCall | UnreadableCall]:
        """Yield the calls in a decoded JSON value."""
        for name, given in self._objects(value):
            yield _call(declared_name(name, self._tools), given) if name else UnreadableCall()

    def names_tool(self, value: Any) -> bool:
        """Return whether a decoded JSON value calls a declared tool."""
        return any(declared_name(name or "", self._tools) in self._tools for name, _ in self._objects(value))

    def _objects(self, value: Any) -> Iterator[tuple[str | None, Any]]:
        """Yield the name and the arguments of each call in a JSON value, without a name where there is none."""
        if isinstance(value, dict):
            if len(value) == 1 and (only := next(iter(value))) in self._tools:
                yield only, value[only]
                return
            named = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
            if named is not None and not _DECLARING & value.keys():
                given = next((value[key] for key in _ARGUMENTS if key in value), None)
                own = self._properties(declared_name(value[named], self._tools))
                flat = {key: one for key, one in value.items() if key in own and key != named}
                yield value[named], flat if given is None else given
                return
        inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        found = [call for one in inner if isinstance(one, dict | list) for call in self._objects(one)]
        yield from found or [(None, None)]


def _kinds(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a parameter takes, through choices and references."""
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type", [])
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        found |= _kinds(part, root)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found |= _kinds(root.get("$defs", {}).get(reference.rpartition("/")[2], {"type": "object"}), {})
    return found


def _closing(text: str, at: int) -> int:
    """Return the end of what the bracket at ``at`` encloses; -1 if nothing closes it."""
    depth = 0
    for sign in _BRACKETS.finditer(text, at):
        depth += (sign[0] in "([{") - (sign[0] in ")]}")
        if depth == 0:
            return sign.end()
    return -1


def _python_arguments(text: str, at: int, names: Mapping[str, Any]) -> tuple[dict[str, Any], int] | None:
    """Return the arguments in the parentheses at ``at``, by keyword or in the order of ``names``, and their end."""
    end = _closing(text, at) if text.startswith("(", at) else -1
    if end < 0:
        return None
    try:
        values, named = _python(text[at:end])
    except ValueError:
        return None
    only: Any = values[0] if len(values) == 1 and not named else None
    if not values and len(named) == 1 and named.keys() <= set(_ARGUMENTS) - names.keys():
        only = next(iter(named.values()))
    whole = isinstance(only, dict) and only.keys() <= names.keys()
    given: dict[str, Any] = only if whole else dict(zip(names, values, strict=False)) | named
    return given, end


def _python(arguments: str) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments in parentheses, by order and by name. Raises ``ValueError`` if JSON cannot express them."""
    try:
        call: Any = ast.parse(f"f{arguments}".replace("\n", " "), mode="eval").body
        values = [_literal(one) for one in call.args]
        named = {word.arg: _literal(word.value) for word in call.keywords if word.arg}
        json.dumps([values, named])
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise ValueError(arguments) from error
    return values, named


def _literal(node: ast.expr) -> Any:
    """Return a value as Python or JSON writes it."""
    if isinstance(node, ast.Name) and node.id in _JSON_WORDS:
        return _JSON_WORDS[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {ast.literal_eval(key): _literal(one) for key, one in pairs if key is not None}
    return ast.literal_eval(node)


def _value(text: str) -> Any:
    """Return what ``text`` is as JSON, or as Python writes it; the text itself where it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(text, text)


def _written(name: str, arguments: dict[str, Any], *, more: bool) -> list[Piece]:
    """Return a call with arguments that were written one by one; ``more``: other words follow the name, too."""
    if not name:
        return []
    return [UnreadableCall() if more and not arguments else WrittenCall(name, json.dumps(arguments))]


def _call(name: str, arguments: Any) -> WrittenCall | UnreadableCall:
    decoded = _value(arguments or "{}") if isinstance(arguments, str | None) else arguments
    return WrittenCall(name, json.dumps(decoded)) if isinstance(decoded, dict) else UnreadableCall()
