"""Refuses JSON schemas that are malformed, or that would take more time or memory to fill than an answer may.

A schema is checked as it would be filled: references are followed, and each part counts as often as its arrays' least
lengths demand. Patterns are charged for their compiled size. The schemas of one request share one limit.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from chat_app.offline.wire.patterns import matcher, pattern_size

Json = dict[str, Any]
MOST_PARTS: Final = 10_000
DEEPEST: Final = 64
_UNIQUE: Final = 100
_CHARACTERS_A_PART: Final = 100
_SCHEMAS: Final = ("items", "additionalProperties", "not", "if", "then", "else")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_COUNTED: Final = ("Items", "Length", "Properties", "Contains")
_MOST_PATTERN_SIZE: Final = 200_000
"""The compiled size of all different patterns of a request: about 0.15 s and 20 MB."""


@dataclass(slots=True)
class _Left:
    """What the schemas of a request may still take."""

    parts: int = MOST_PARTS
    pattern_size: int = _MOST_PATTERN_SIZE
    patterns: set[str] = field(default_factory=set)

    def take_parts(self, number: int) -> None:
        self.parts -= number
        if self.parts < 0:
            raise ValueError("the schema is too large or too deep")

    def take_pattern(self, pattern: str) -> None:
        if pattern in self.patterns:
            return
        self.patterns.add(pattern)
        self.pattern_size -= pattern_size(pattern)
        if self.pattern_size < 0:
            raise ValueError("the patterns of the schema are too large")
        matcher(pattern)


_LEFT: ContextVar[_Left | None] = ContextVar("_LEFT", default=None)


@contextmanager
def one_limit() -> Generator[None]:
    """Let all schemas that are checked inside share one limit."""
    token = _LEFT.set(_Left())
    try:
        yield
    finally:
        _LEFT.reset(token)


def at_reference(root: Json, reference: str) -> Json:
    """Return the part of ``root`` that a reference such as ``#/$defs/name`` names; empty when there is none."""
    node: Any = root
    for step in filter(None, reference[1:].split("/")):
        node = node.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}


def check_schema(root: Json) -> Json:
    """Return ``root`` unchanged.

    Raises:
        ValueError: A keyword has the wrong type, or the schema takes too much to fill.
    """
    left = _LEFT.get() or _Left()
    waiting: list[tuple[Any, int, int, frozenset[str], frozenset[str]]] = [(root, 0, 1, frozenset(), frozenset())]
    while waiting:
        node, depth, times, inside, merged = waiting.pop()
        if isinstance(node, bool) and depth:
            node = {}
        if not isinstance(node, dict):
            raise ValueError("each part of a schema is an object")  # noqa: TRY004 - pydantic reports value errors
        _check_keywords(node)
        if "pattern" in node:
            left.take_pattern(node["pattern"])
        reference = node.get("$ref")
        least = sum(node.get(key, 0) for key in ("minItems", "minProperties", "minContains"))
        often = 1 + least + node.get("minLength", 0) // _CHARACTERS_A_PART
        left.take_parts(times * often + len(node.get("enum", ())) + len(node.get("required", ())))
        if depth > DEEPEST:
            raise ValueError("the schema is too large or too deep")
        if reference is not None:
            if reference in merged:
                raise ValueError("a part of the schema is itself")
            if reference not in inside:
                target = at_reference(root, reference)
                waiting.append((target, depth + 1, times, inside | {reference}, merged | {reference}))
        for key, part in _children(node):
            often = times * max(1, node.get("minItems", 0)) if key == "items" else times
            waiting.append((part, depth + 1, often, inside, merged if key == "allOf" else frozenset()))
    return root


def _children(node: Json) -> Iterator[tuple[str, Any]]:
    for key in _SCHEMAS:
        if key in node:
            yield key, node[key]
    for key in _LISTS:
        yield from ((key, part) for part in node.get(key, ()))
    for key in _MAPS:
        for part in node.get(key, {}).values():
            if isinstance(part, bool):
                raise ValueError(f"each of the '{key}' is an object")  # noqa: TRY004 - pydantic reports value errors
            yield key, part


def _check_keywords(node: Json) -> None:
    wrong = next((key for key, fits in _KEYWORDS.items() if key in node and not fits(node[key])), None)
    if wrong is not None:
        raise ValueError(f"the keyword '{wrong}' of the schema has a wrong value")
    for least, most in _BOUNDS:
        if least in node and most in node and node[least] > node[most]:
            raise ValueError(f"nothing fits both '{least}' and '{most}'")
    if node.get("uniqueItems") and node.get("minItems", 0) > _UNIQUE:
        raise ValueError(f"more than {_UNIQUE} unique items cannot be made")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_kinds(value: object) -> bool:
    return value in _TYPES if isinstance(value, str) else _is_list_of(value, _TYPES.__contains__) and bool(value)


def _is_list_of(value: object, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


_KEYWORDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(_MAPS, lambda value: isinstance(value, dict)),
    **dict.fromkeys(_LISTS, lambda value: isinstance(value, list)),
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys((f"{bound}{what}" for bound in ("min", "max") for what in _COUNTED), _is_count),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "type": _are_kinds,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "required": lambda value: _is_list_of(value, _is_text),
    "pattern": _is_text,
    "format": _is_text,
    "$ref": lambda value: _is_text(value) and value.startswith("#"),
}
"""Whether the value of a keyword has the right form."""
_BOUNDS: Final = (("minimum", "maximum"), *((f"min{what}", f"max{what}") for what in _COUNTED))


CheckedSchema = Annotated[Json, AfterValidator(check_schema)]
