"""Refuses JSON schemas that are malformed, or that would take more time or memory to fill than an answer may.

A schema is checked as it would be filled: references are followed, and each part counts as often as its arrays' least
lengths demand. Patterns are matched by a linear-time engine, which has no look-around and no back-references.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator
from pydantic_core import SchemaError, SchemaValidator, core_schema

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
_COUNTS: Final = ("minItems", "maxItems", "minLength", "maxLength")


@lru_cache(maxsize=512)
def matcher(pattern: str) -> SchemaValidator:
    """Return a validator of strings that hold ``pattern``, in time linear in their length.

    Raises:
        ValueError: The engine does not take the pattern.
    """
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        raise ValueError("a pattern is too large, or uses look-around or back-references") from None


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
    left = MOST_PARTS
    waiting: list[tuple[Any, int, int, frozenset[str], frozenset[str]]] = [(root, 0, 1, frozenset(), frozenset())]
    while waiting:
        node, depth, times, inside, merged = waiting.pop()
        if isinstance(node, bool) and depth:
            node = {}
        if not isinstance(node, dict):
            raise ValueError("each part of a schema is an object")  # noqa: TRY004 - pydantic reports value errors
        _check_keywords(node)
        reference = node.get("$ref")
        left -= times * (1 + node.get("minItems", 0) + node.get("minLength", 0) // _CHARACTERS_A_PART)
        if left < 0 or depth > DEEPEST:
            raise ValueError("the schema is too large or too deep")
        if isinstance(reference, str) and reference.startswith("#"):
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
    wrong = [key for key in _MAPS if not isinstance(node.get(key, {}), dict)]
    wrong += [key for key in _LISTS if not isinstance(node.get(key, []), list)]
    wrong += [key for key in _NUMBERS if not _is_number(node.get(key, 0))]
    wrong += [key for key in _COUNTS if not _is_count(node.get(key, 0))]
    required = node.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        wrong.append("required")
    kinds = node.get("type", [])
    if not all(kind in _TYPES for kind in (kinds if isinstance(kinds, list) else [kinds])):
        wrong.append("type")
    if not isinstance(node.get("enum", []), list):
        wrong.append("enum")
    if wrong:
        raise ValueError(f"the keyword '{wrong[0]}' of the schema has a wrong value")
    if node.get("uniqueItems") and node.get("minItems", 0) > _UNIQUE:
        raise ValueError(f"more than {_UNIQUE} unique items cannot be made")
    pattern = node.get("pattern", "")
    if not isinstance(pattern, str):
        raise ValueError("the keyword 'pattern' of the schema has the wrong type")  # noqa: TRY004 - pydantic
    matcher(pattern)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


CheckedSchema = Annotated[Json, AfterValidator(check_schema)]
