"""Fills a function's arguments, or any JSON schema, with words and numbers of a text."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final

from chat_app.offline.schema_filling.schemas import (
    FORMATS,
    default_number,
    default_text,
    fits_number,
    fits_text,
    part_of,
)
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.requests import FunctionToolIn
from chat_app.offline.wire.schema_limits import CHARACTERS_A_PART, MOST_PARTS, SchemaLimit
from tools.language.quotable_units import squeeze
from tools.language.terms import terms

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_PLACE: Final = re.compile(
    r"\b(?:in|at|near|around|for|to|from|of|and|or)\s+"
    r"((?:[A-Z][\w.'’-]*)(?:[ ,]+(?:[A-Z][\w.'’-]*|of|the|de|la))*)(?<![ ,.])"
)
_SMALL_PLACE: Final = re.compile(
    r"\b(?:in|at|near|around|for)\s+([a-z][\w' -]*?)(?=\s*(?:[?.!,]|$|\b(?:today|tomorrow|tonight|now|right|this)\b))"
)
_WHERE: Final = re.compile(r"location|city|place|country|address|town|region|where")
_QUOTED: Final = re.compile(r"[\"“'‘]([^\"”'’]{1,200})[\"”'’]")
_WHOLE: Final = frozenset({"question", "query", "q", "search_query", "search", "text", "topic", "prompt", "input"})
_CAPITAL: Final = re.compile(r"(?P<within>(?<=[a-z,;:]\s))?\b[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_NAMED: Final = re.compile(r"name|title|person|who|subject|location|city|place")
_ANSWER: Final = re.compile(r"answer|response|summary|explanation|message|content|result|text|reply", re.IGNORECASE)
_DEEPEST: Final = 12
_PATTERN_A_PART: Final = 20
"""Characters of a pattern: reading one takes longer than copying it."""
_OPTIONS_A_PART: Final = 10
_MOST_CANDIDATES: Final = 300
"""Words of the text that are tried for a field."""


@dataclass(frozen=True)
class FillSource:
    """What values are taken from: ``text``; and ``answer``, which goes whole into a field that is made for it."""

    text: str
    root: Json
    answer: str | None = None
    limit: SchemaLimit = field(default_factory=lambda: SchemaLimit(10 * MOST_PARTS))
    """Larger than that of the check, which fills from no text."""

    @cached_property
    def numbers(self) -> list[float]:
        """The numbers in the text."""
        return [float(match.group()) for match in islice(_NUMBER.finditer(self.text), _MOST_CANDIDATES)]

    @cached_property
    def words(self) -> list[str]:
        """The first words of the text, without punctuation."""
        return [word.strip(",.;:?!()") for word in islice(self.text.split(), _MOST_CANDIDATES)]

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of the text."""
        return frozenset(terms(self.text))

    @cached_property
    def line(self) -> str:
        """The text in one line."""
        return squeeze(self.text)

    @cached_property
    def names(self) -> dict[tuple[bool, bool], list[str]]:
        """What the text names, for fields that ask for a place, for a name, for both and for neither."""
        both = (False, True)
        return {(place, name): list(_named(self.text, place, name)) for place in both for name in both}


def check_fillable(schema: Json, limit: SchemaLimit) -> None:
    """Raise ``ValueError`` when filling ``schema`` takes more than ``limit``, which it shares with others."""
    fill_schema("", schema, FillSource("", schema, limit=limit), optional=False)


def fill(function: FunctionToolIn, text: str) -> Json:
    """Return the arguments of a call of ``function`` that ``text`` asks for; they fit the function's schema."""
    schema = function.parameters or {}
    value = fill_schema("", {**schema, "type": "object"}, FillSource(text, schema), optional=False)
    return value if isinstance(value, dict) else {}


def fill_each(function: FunctionToolIn, text: str) -> list[Json]:
    """Return the arguments of one call for each place that ``text`` names, when ``function`` takes one; else of one."""
    arguments = fill(function, text)
    places = list(dict.fromkeys(_PLACE.findall(text)))
    named = [name for name, value in arguments.items() if value in places]
    return [{**arguments, named[0]: place} for place in places] if len(named) == 1 else [arguments]


def fill_schema(
    name: str, schema: object, source: FillSource, *, optional: bool, trail: tuple[frozenset[str], ...] = ()
) -> Any:
    """Return a value for the field ``name``: from the source when it holds one, else a default, else None if allowed.

    ``trail`` are the references of the parts around it: what refers to itself is left empty where it may be.
    """
    source.limit.take()
    part = part_of(schema, source.root)
    if len(trail) > _DEEPEST or any(part.references & seen for seen in trail):
        return None
    found, optional = part.schema, optional or part.nullable
    fill_part = partial(fill_schema, source=source, trail=(*trail, part.references))
    if "const" in found:
        source.limit.take_value(found["const"])
        return found["const"]
    source.limit.take_value(found.get("default", ""))
    if isinstance(found.get("enum"), list):
        chosen = _chosen(found["enum"], source) or ([] if optional else found["enum"])
        source.limit.take_value(next(iter(chosen), None))
        return next(iter(chosen), None)
    match part.kind:
        case "integer" | "number" as kind:
            return _number(found, source, optional=optional, whole=kind == "integer")
        case "boolean":
            return None if optional else bool(found.get("default", False))
        case "array":
            return _array(name, found, source, fill_part, optional=optional)
        case "object":
            return _object(found, fill_part)
        case "null":
            return None
        case _:
            return _string(name, found, source, optional=optional)


def _chosen(options: list[Any], source: FillSource) -> list[Any]:
    written = [str(option) for option in options]
    source.limit.take(len(options) // _OPTIONS_A_PART + sum(map(len, written)) // CHARACTERS_A_PART)
    if not source.terms:
        return []
    named = ((option, terms(text.replace("_", " "))) for option, text in zip(options, written, strict=True))
    return [option for option, parts in named if parts and source.terms.issuperset(parts)]


def _number(schema: Json, source: FillSource, *, optional: bool, whole: bool) -> float | int | None:
    for value in source.numbers:
        if (not whole or value.is_integer()) and fits_number(value, schema):
            return int(value) if value.is_integer() else value
    return None if optional else default_number(schema, whole=whole)


def _array(
    name: str, schema: Json, source: FillSource, fill_part: Callable[..., Any], *, optional: bool
) -> list[Any] | None:
    first = [fill_part(name, part, optional=False) for part in schema.get("prefixItems", ())]
    least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
    items = schema.get("items", {})
    if items is False or len(first) >= most:
        return first
    options = part_of(items, source.root).schema.get("enum")
    found = _chosen(options, source) if isinstance(options, list) else []
    if not found:
        value = fill_part(name, items, optional=True)
        found = [] if value is None else [value]
    if not first and not found and optional:
        return None
    found = [*first, *found][:most]
    while len(found) < least:
        value = fill_part(name, items, optional=False)
        found.append(_another(value, found, options, source.limit) if schema.get("uniqueItems") else value)
    return found


def _another(value: Any, used: list[Any], options: object, limit: SchemaLimit) -> Any:
    """Return a value beside those that are ``used``, like ``value``."""
    if isinstance(options, list):
        limit.take(len(options) * len(used) // CHARACTERS_A_PART)
        return next((option for option in options if option not in used), value)
    while value in used and isinstance(value, int | float | str):
        limit.take(1 + len(used) // _OPTIONS_A_PART)
        value = f"{value} " if isinstance(value, str) else value + 1
    return value


def _object(schema: Json, fill_part: Callable[..., Any]) -> Json:
    properties: Json = schema.get("properties") or {}
    required: dict[str, None] = dict.fromkeys(schema.get("required") or ())
    others = schema.get("additionalProperties", {})
    names = dict.fromkeys([*properties, *required])
    values = {name: fill_part(name, properties.get(name, others), optional=name not in required) for name in names}
    return {name: value for name, value in values.items() if value is not None or name in required}


def _string(name: str, schema: Json, source: FillSource, *, optional: bool) -> str | None:
    source.limit.take(
        schema.get("minLength", 0) // CHARACTERS_A_PART + len(schema.get("pattern", "")) // _PATTERN_A_PART
    )
    for value in islice(_candidates(name, schema, source), _MOST_CANDIDATES):
        if fits_text(value, schema):
            return value
    if optional:
        return None
    said = source.line if source.answer is None else squeeze(source.answer)
    whole = said[: schema.get("maxLength")].ljust(schema.get("minLength", 0))
    if fits_text(whole, schema):
        return whole
    default = default_text(schema)
    source.limit.take_value(default)
    return default


def _candidates(name: str, schema: Json, source: FillSource) -> Iterator[str]:
    """Yield what the source holds for a text field, best first."""
    described = f"{name} {schema.get('description', '')}".lower()
    if source.answer is not None and _ANSWER.search(name):
        yield source.answer
    if name.lower() in _WHOLE:
        yield source.line
    meant = (word for word in ("date", "email") if word in described)
    known = FORMATS.get(str(schema.get("format") or next(meant, "")))
    if known is not None:
        yield from (match.group() for match in known[0].finditer(source.text))
    if schema.get("pattern"):
        yield from source.words
    elif not schema.get("format"):
        yield from source.names[_WHERE.search(described) is not None, _NAMED.search(described) is not None]


def _named(text: str, place: bool, name: bool) -> Iterator[str]:
    """Yield the places, quoted words and names in ``text`` that a field for a place or a name may mean."""
    capitals = [(match["within"] is None, match[0]) for match in _CAPITAL.finditer(text)]
    if place:
        yield from _PLACE.findall(text)
    if name:
        yield from (words for starts, words in capitals if not starts)
    yield from _QUOTED.findall(text)
    if place:
        yield from _SMALL_PLACE.findall(text)
    if name:
        # The capital at the beginning of a sentence may be that of a word which only asks.
        yield from filter(None, (" ".join(filter(terms, words.split())) for _, words in capitals))
