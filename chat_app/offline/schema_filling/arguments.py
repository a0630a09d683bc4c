"""Fills a function's arguments, or any JSON schema, with words and numbers of a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from chat_app.offline.schema_filling.schemas import (
    FORMATS,
    branch,
    default_number,
    default_text,
    fits_number,
    fits_text,
    is_nullable,
    kind_of_schema,
    pattern_of,
    resolve,
)
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.quotable_units import squeeze
from tools.language.terms import terms

Json = dict[str, Any]
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_PLACE: Final = re.compile(
    r"\b(?:in|at|near|around|for|to|from|of)\s+((?:[A-Z][\w.'’-]*)(?:[ ,]+(?:[A-Z][\w.'’-]*|of|the|de|la))*)"
)
_AND: Final = re.compile(r"\s*(?:and|or|&)\s+(?:in |at |for )?([A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)")
_SMALL_PLACE: Final = re.compile(
    r"\b(?:in|at|near|around|for)\s+([a-z][\w' -]*?)(?=\s*(?:[?.!,]|$|\b(?:today|tomorrow|tonight|now|right|this)\b))"
)
_WHERE: Final = re.compile(r"location|city|place|country|address|town|region|where")
_PROPER: Final = re.compile(r"(?<=[a-z,;:]\s)([A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)")
_QUOTED: Final = re.compile(r"[\"“'‘]([^\"”'’]{1,200})[\"”'’]")
_WHOLE: Final = frozenset({"question", "query", "q", "search_query", "search", "text", "topic", "prompt", "input"})
_CAPITAL: Final = re.compile(r"\b[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_NAMED: Final = re.compile(r"name|title|person|who|subject|location|city|place")
_ANSWER: Final = re.compile(r"answer|response|summary|explanation|message|content|result|text|reply", re.IGNORECASE)
_DEEPEST: Final = 12


@dataclass(frozen=True)
class FillSource:
    """What values are taken from: ``text``; and ``answer``, which goes whole into a field that is made for it."""

    text: str
    root: Json
    answer: str | None = None


def fill(function: FunctionToolIn, text: str) -> Json:
    """The arguments of a call of ``function`` that ``text`` asks for; they fit the function's schema."""
    schema = function.parameters or {}
    source = FillSource(text, schema)
    resolved = resolve(schema, schema)
    return _object(resolve(branch(resolved, schema) or resolved, schema), source, depth=0, inside=())


def fill_each(function: FunctionToolIn, text: str) -> list[Json]:
    """The arguments of one call for each place that ``text`` names, when ``function`` takes a place; else of one."""
    arguments = fill(function, text)
    properties: Json = (function.parameters or {}).get("properties") or {}
    named = [name for name, value in arguments.items() if isinstance(value, str) and _takes_place(name, properties)]
    places = _places(text)
    if len(named) != 1 or arguments[named[0]] not in places:
        return [arguments]
    return [{**arguments, named[0]: place} for place in places]


def _takes_place(name: str, properties: Json) -> bool:
    part = properties.get(name)
    described = part.get("description", "") if isinstance(part, dict) else ""
    return _WHERE.search(f"{name} {described}".lower()) is not None


def _places(text: str) -> list[str]:
    found: list[str] = []
    for match in _PLACE.finditer(text):
        found.append(match.group(1).strip(" ,.?!"))
        end = match.end()
        while (more := _AND.match(text, end)) is not None:
            found.append(more.group(1))
            end = more.end()
    return list(dict.fromkeys(found))


def fill_schema(
    name: str, schema: object, source: FillSource, *, optional: bool, depth: int = 0, inside: tuple[object, ...] = ()
) -> Any:
    """A value for the field ``name``: from the source when it holds one, else a default, else None if allowed.

    ``inside`` are the references that are being filled: what refers to itself is left empty where it may be.
    """
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if (optional and depth > _DEEPEST) or (reference is not None and reference in inside):
        return None
    inside = inside if reference is None else (*inside, reference)
    found = resolve(schema, source.root)
    if depth > _DEEPEST:
        return None
    if "const" in found:
        return found["const"]
    if isinstance(found.get("enum"), list):
        return _choose(found["enum"], source.text, optional=optional)
    part = branch(found, source.root)
    if part is not None:
        optional = optional or is_nullable(found)
        return fill_schema(name, part, source, optional=optional, depth=depth + 1, inside=inside)
    match kind_of_schema(found):
        case "integer" | "number" as kind:
            return _number(found, source.text, optional=optional, whole=kind == "integer")
        case "boolean":
            return None if optional else bool(found.get("default", False))
        case "array":
            return _array(name, found, source, optional=optional, depth=depth, inside=inside)
        case "object":
            return _object(found, source, depth=depth, inside=inside)
        case "null":
            return None
        case _:
            return _string(name, found, source, optional=optional)


def _choose(options: list[Any], text: str, *, optional: bool) -> Any:
    chosen = _chosen(options, text)
    if chosen:
        return chosen[0]
    if optional:
        return None
    return options[0] if options else None


def _chosen(options: list[Any], text: str) -> list[Any]:
    """The options that ``text`` names."""
    asked = set(terms(text))
    named = ((option, terms(str(option).replace("_", " "))) for option in options)
    return [option for option, parts in named if parts and asked.issuperset(parts)]


def _number(schema: Json, text: str, *, optional: bool, whole: bool) -> float | int | None:
    for match in _NUMBER.finditer(text):
        value = float(match.group())
        if (not whole or value.is_integer()) and fits_number(value, schema):
            return int(value) if value.is_integer() else value
    return None if optional else default_number(schema, whole=whole)


def _array(
    name: str, schema: Json, source: FillSource, *, optional: bool, depth: int, inside: tuple[object, ...]
) -> list[Any] | None:
    first = [
        fill_schema(name, part, source, optional=False, depth=depth + 1, inside=inside)
        for part in schema.get("prefixItems", ())
    ]
    least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
    items = schema.get("items", {})
    if items is False or len(first) >= most:
        return first
    options = resolve(items, source.root).get("enum")
    found = _chosen(options, source.text) if isinstance(options, list) else []
    if not found:
        value = fill_schema(name, items, source, optional=True, depth=depth + 1, inside=inside)
        found = [] if value is None else [value]
    if not first and not found and optional:
        return None
    found = [*first, *found][:most]
    while len(found) < least:
        value = fill_schema(name, items, source, optional=False, depth=depth + 1, inside=inside)
        found.append(_another(value, found, options) if schema.get("uniqueItems") else value)
    return found


def _another(value: Any, used: list[Any], options: object) -> Any:
    """A value beside those that are ``used``, like ``value``."""
    if isinstance(options, list):
        return next((option for option in options if option not in used), value)
    while value in used:
        if not isinstance(value, int | float | str):
            return value
        value = f"{value} " if isinstance(value, str) else value + 1
    return value


def _object(schema: Json, source: FillSource, *, depth: int, inside: tuple[object, ...]) -> Json:
    properties: Json = schema.get("properties") or {}
    required: list[str] = list(schema.get("required") or ())
    others = schema.get("additionalProperties", {})
    found: Json = {}
    for name in [*properties, *(name for name in required if name not in properties)]:
        part = properties.get(name, others)
        optional = name not in required or is_nullable(resolve(part, source.root))
        value = fill_schema(name, part, source, optional=optional, depth=depth + 1, inside=inside)
        if value is not None or name in required:
            found[name] = value
    return found


def _string(name: str, schema: Json, source: FillSource, *, optional: bool) -> str | None:
    described = f"{name} {schema.get('description', '')}".lower()
    for value in _candidates(name, described, schema, source):
        if fits_text(value, schema):
            return value
    if optional:
        return None
    whole = squeeze(source.answer or source.text)[: schema.get("maxLength")].ljust(schema.get("minLength", 0))
    return whole if fits_text(whole, schema) else default_text(schema)


def _candidates(name: str, described: str, schema: Json, source: FillSource) -> Iterator[str]:
    """What the source holds for a text field, best first."""
    if source.answer is not None and _ANSWER.search(name):
        yield source.answer
    if name.lower() in _WHOLE:
        yield squeeze(source.text)
    known = FORMATS.get(str(schema.get("format")))
    if known is None and "date" in described:
        known = FORMATS["date"]
    if known is None and "email" in described:
        known = FORMATS["email"]
    if known is not None:
        yield from (match.group() for match in known[0].finditer(source.text))
    pattern = pattern_of(schema)
    if pattern is not None:
        yield from (word.strip(",.;:?!()") for word in source.text.split())
    if pattern is None and not schema.get("format"):
        yield from _named(described, source.text)


def _named(described: str, text: str) -> Iterator[str]:
    patterns = [_PLACE] if _WHERE.search(described) else []
    patterns += [_PROPER] if _NAMED.search(described) else []
    patterns += [_QUOTED]
    patterns += [_SMALL_PLACE] if _WHERE.search(described) else []
    for pattern in patterns:
        for match in pattern.finditer(text):
            yield match.group(match.lastindex or 0).strip(" ,.?!")
    if _NAMED.search(described):
        yield from filter(None, [_first_name(text)])


def _first_name(text: str) -> str | None:
    """The first capitalised words that do not just begin a sentence."""
    for match in _CAPITAL.finditer(text):
        kept = [word for word in match.group().split() if terms(word)]
        if kept:
            return " ".join(kept)
    return None
