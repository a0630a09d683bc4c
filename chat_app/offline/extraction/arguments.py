"""Fills a function's arguments, or any JSON schema, with words and numbers of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from chat_app.offline.extraction.text import STOP, squeeze, stem, words
from chat_app.offline.wire import FunctionToolIn

Json = dict[str, Any]
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_PLACE: Final = re.compile(
    r"\b(?:in|at|near|around|for|to|from|of)\s+((?:[A-Z][\w.'’-]*)(?:[ ,]+(?:[A-Z][\w.'’-]*|of|the|de|la))*)"
)
_PROPER: Final = re.compile(r"(?<=[a-z,;:]\s)([A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)")
_QUOTED: Final = re.compile(r"[\"“'‘]([^\"”'’]{1,200})[\"”'’]")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_EMAIL: Final = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+\b")
_WHOLE: Final = frozenset({"question", "query", "q", "search_query", "search", "text", "topic", "prompt", "input"})
_CAPITAL: Final = re.compile(r"\b[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_NAMED: Final = re.compile(r"name|title|person|who|subject|location|city|place")
_ANSWER: Final = re.compile(r"answer|response|summary|explanation|message|content|result|text|reply", re.IGNORECASE)
_DEEPEST: Final = 12


@dataclass(frozen=True)
class Source:
    """What values are taken from: ``text``; and ``answer``, which goes whole into a field that is made for it."""

    text: str
    root: Json
    answer: str | None = None


def fill(function: FunctionToolIn, text: str) -> Json:
    """The arguments of a call of ``function`` that ``text`` asks for; they fit the function's schema."""
    schema = function.parameters or {}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    required = set(schema.get("required") or ())
    arguments: Json = {}
    source = Source(text, schema)
    for name, part in properties.items():
        optional = name not in required or is_nullable(part)
        value = fill_schema(name, part, source, optional=optional)
        if value is not None or name in required:
            arguments[name] = value
    return arguments


def fill_schema(name: str, schema: Json, source: Source, *, optional: bool, depth: int = 0) -> Any:
    """A value for the field ``name``: from the source when it holds one, else a default, else None if allowed."""
    schema = _resolve(schema, source.root)
    if depth > _DEEPEST:
        return None
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list):
        return _choose(schema["enum"], source.text, optional=optional)
    if _is_only_null(schema):
        return None
    branch = _branch(schema)
    if branch is not None:
        return fill_schema(name, branch, source, optional=optional or is_nullable(schema), depth=depth + 1)
    kind = _kind(schema)
    match kind:
        case "integer" | "number":
            return _number(schema, source.text, optional=optional, whole=kind == "integer")
        case "boolean":
            return None if optional else False
        case "array":
            return _array(name, schema, source, optional=optional, depth=depth)
        case "object":
            return _object(schema, source, depth=depth)
        case "null":
            return None
        case _:
            return _string(name, schema, source, optional=optional)


def _resolve(schema: Json, root: Json) -> Json:
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        node: Any = root
        for step in reference[2:].split("/"):
            node = node.get(step, {}) if isinstance(node, dict) else {}
        schema = node if isinstance(node, dict) else {}
    return schema


def _kind(schema: Json) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((part for part in kind if part != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "string"


def is_nullable(schema: Json) -> bool:
    """True when the schema takes null."""
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return any(isinstance(part, dict) and is_nullable(part) for part in schema.get("anyOf", ()))


def _is_only_null(schema: Json) -> bool:
    branches = [part for part in schema.get("anyOf", ()) if isinstance(part, dict)]
    return schema.get("type") == "null" or (bool(branches) and all(map(_is_only_null, branches)))


def _branch(schema: Json) -> Json | None:
    for key in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(key, ()):
            if isinstance(part, dict) and not _is_only_null(part):
                return part
    return None


def _choose(options: list[Any], text: str, *, optional: bool) -> Any:
    asked = {stem(word) for word in words(text)}
    for option in options:
        parts = [stem(word) for word in words(str(option).replace("_", " "))]
        if parts and all(part in asked for part in parts):
            return option
    if optional:
        return None
    return options[0] if options else None


def _number(schema: Json, text: str, *, optional: bool, whole: bool) -> float | int | None:
    for match in _NUMBER.finditer(text):
        value = float(match.group())
        if (not whole or value.is_integer()) and _in_range(value, schema):
            return int(value) if value.is_integer() else value
    if optional:
        return None
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    value = schema.get("default", max(0, low))
    return int(value) if whole else value


def _in_range(value: float, schema: Json) -> bool:
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _array(name: str, schema: Json, source: Source, *, optional: bool, depth: int) -> list[Any] | None:
    items = schema.get("items")
    part = items if isinstance(items, dict) else {}
    value = fill_schema(name, part, source, optional=True, depth=depth + 1)
    if value is None and optional:
        return None
    found = [] if value is None else [value]
    while len(found) < schema.get("minItems", 0):
        found.append(fill_schema(name, part, source, optional=False, depth=depth + 1))
    return found


def _object(schema: Json, source: Source, *, depth: int) -> Json:
    required = set(schema.get("required") or ())
    found: Json = {}
    for name, part in (schema.get("properties") or {}).items():
        optional = name not in required or is_nullable(_resolve(part, source.root))
        value = fill_schema(name, part, source, optional=optional, depth=depth + 1)
        if value is not None or name in required:
            found[name] = value
    return found


def _string(name: str, schema: Json, source: Source, *, optional: bool) -> str | None:
    described = f"{name} {schema.get('description', '')}".lower()
    if source.answer is not None and _ANSWER.search(name):
        value: str | None = source.answer
    else:
        value = _find_string(name, described, schema, source.text)
    if value is None:
        value = None if optional else squeeze(source.answer or source.text)
    if value is None:
        return None
    longest = schema.get("maxLength")
    return value[:longest] if isinstance(longest, int) else value


def _find_string(name: str, described: str, schema: Json, text: str) -> str | None:
    if name.lower() in _WHOLE:
        return squeeze(text)
    patterns: list[re.Pattern[str]] = []
    if schema.get("format") == "date" or "date" in described:
        patterns.append(_DATE)
    if schema.get("format") == "email" or "email" in described:
        patterns.append(_EMAIL)
    if re.search(r"location|city|place|country|address|town|region|where", described):
        patterns.append(_PLACE)
    if _NAMED.search(described):
        patterns.append(_PROPER)
    patterns.append(_QUOTED)
    for pattern in patterns:
        match = pattern.search(text)
        if match:
            return match.group(match.lastindex or 0).strip(" ,.?!")
    return _first_name(text) if _NAMED.search(described) else None


def _first_name(text: str) -> str | None:
    """The first capitalised words that do not just begin a sentence."""
    for match in _CAPITAL.finditer(text):
        kept = [word for word in match.group().split() if word.lower() not in STOP]
        if kept:
            return " ".join(kept)
    return None
