"""Rejects JSON schemas that are malformed or too large, or that have such patterns.

The schemas of one request share one limit. ``schema_filling`` checks whether a schema can be filled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from annotated_types import Predicate
from pydantic import ConfigDict, Field, TypeAdapter

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.patterns import matcher, pattern_size

MOST_PARTS: Final = 10_000
CHARACTERS_A_PART: Final = 100
"""A long value counts as several parts."""
TOO_LARGE: Final = "the schema is too large or too deep"
DEEPEST: Final = 64
_UNIQUE: Final = 100
_LONGEST_LIST: Final = 10_000
_LONGEST_REFERENCE: Final = 1_000
_MOST_MERGED: Final = 1_000
_SCHEMAS: Final = ("items", "additionalProperties", "not", "if", "then", "else")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTED: Final = ("Items", "Length", "Properties", "Contains")
_MOST_PATTERN_SIZE: Final = 200_000
"""Maximum compiled size of all different patterns of a request: about 0.15 s and 20 MB."""


@dataclass(slots=True)
class SchemaLimit:
    """What the schemas of one request may still use; every method raises ``ValueError`` when it is used up."""

    parts: int = MOST_PARTS
    pattern_size: int = _MOST_PATTERN_SIZE
    patterns: set[str] = field(default_factory=set)

    def take(self, parts: int = 1) -> None:
        """Count ``parts``."""
        self.parts -= parts
        if self.parts < 0:
            raise ValueError(TOO_LARGE)

    def take_value(self, value: object) -> None:
        """Count a value that is copied."""
        self.take(len(str(value)) // CHARACTERS_A_PART)

    def take_pattern(self, pattern: str) -> None:
        """Count ``pattern``, unless it was counted before."""
        if pattern in self.patterns:
            return
        self.patterns.add(pattern)
        self.pattern_size -= pattern_size(pattern)
        if self.pattern_size < 0:
            raise ValueError("the patterns of the schema are too large")
        matcher(pattern)


def at_reference(root: Json, reference: str) -> Json:
    """Return the part of ``root`` that a reference such as ``#/$defs/name`` names; empty if there is none."""
    node: Any = root
    for step in filter(None, reference[1:].split("/")):
        node = node.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}


def check_schema(root: Json, limit: SchemaLimit) -> None:
    """Raise ``ValueError`` if a keyword of ``root`` has the wrong type, or the schema takes more than ``limit``."""
    references: set[str] = set()
    checked: set[int] = set()
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if (isinstance(node, bool) and depth) or id(node) in checked:
            continue
        checked.add(id(node))
        if not isinstance(node, dict):
            raise ValueError("each part of a schema is an object")  # noqa: TRY004 - as for any other fault of the schema
        _check_keywords(node)
        limit.take()
        if depth > DEEPEST:
            raise ValueError(TOO_LARGE)
        if "pattern" in node:
            limit.take_pattern(node["pattern"])
        if "$ref" in node and node["$ref"] not in references:
            references.add(node["$ref"])
            # The reference may name a part outside of all keywords.
            waiting.insert(0, (at_reference(root, node["$ref"]), 1))
        waiting += ((part, depth + 1) for part in children_of(node))
    merged: dict[str, int] = {}
    try:
        for reference in references:
            _merged_parts(root, {"$ref": reference}, merged, ())
    except RecursionError:
        raise ValueError(TOO_LARGE) from None


def _merged_parts(root: Json, node: Json, known: dict[str, int], inside: tuple[str, ...]) -> int:
    """Return the number of parts from which ``node`` is merged by ``$ref`` and ``allOf``."""
    parts = 1 + sum(
        _merged_parts(root, part, known, inside) for part in node.get("allOf", ()) if isinstance(part, dict)
    )
    if (reference := node.get("$ref")) is not None:
        if reference in inside or len(inside) > DEEPEST:
            raise ValueError("a part of the schema is itself")
        if reference not in known:
            known[reference] = _merged_parts(root, at_reference(root, reference), known, (*inside, reference))
        parts += known[reference]
    if parts > _MOST_MERGED:
        raise ValueError(TOO_LARGE)
    return parts


def children_of(node: Json) -> Iterator[Any]:
    """Yield the schemas directly within a schema."""
    yield from (node[key] for key in _SCHEMAS if key in node)
    for key in _LISTS:
        yield from node.get(key, ())
    for key in _MAPS:
        for part in node.get(key, {}).values():
            if isinstance(part, bool):
                raise ValueError(f"each of the '{key}' is an object")  # noqa: TRY004 - as above
            yield part


def _check_keywords(node: Json) -> None:
    forms = _KEYWORDS.items()
    wrong = next((key for key, form in forms if key in node and not form.validator.isinstance_python(node[key])), None)
    if wrong is not None:
        raise ValueError(f"the keyword '{wrong}' of the schema has a wrong value")
    for least, most in _BOUNDS:
        if least in node and most in node and node[least] > node[most]:
            raise ValueError(f"nothing fits both '{least}' and '{most}'")
    if max(node.get("minProperties", 0), node.get("minContains", 0)) > MOST_PARTS:
        raise ValueError(TOO_LARGE)
    if node.get("uniqueItems") and node.get("minItems", 0) > _UNIQUE:
        raise ValueError(f"more than {_UNIQUE} unique items cannot be made")


_Type = Literal["string", "number", "integer", "boolean", "object", "array", "null"]
_Count = Annotated[float, Field(ge=0), Predicate(float.is_integer)]
_FORMS: Final[dict[str, Any]] = {
    **dict.fromkeys(_MAPS, dict[str, Any]),
    **dict.fromkeys(_LISTS, list[Any]),
    **dict.fromkeys(_NUMBERS, float),
    **dict.fromkeys((f"{bound}{what}" for bound in ("min", "max") for what in _COUNTED), _Count),
    "multipleOf": Annotated[float, Field(gt=0)],
    "type": _Type | Annotated[list[_Type], Field(min_length=1)],
    "enum": Annotated[list[Any], Field(min_length=1)],
    "required": Annotated[list[str], Field(max_length=_LONGEST_LIST)],
    "pattern": str,
    "format": str,
    "$ref": Annotated[str, Field(pattern="^#", max_length=_LONGEST_REFERENCE)],
}
_KEYWORDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    key: TypeAdapter(form, config=ConfigDict(strict=True)) for key, form in _FORMS.items()
}
"""The validator of the value of each keyword."""
_BOUNDS: Final = (("minimum", "maximum"), *((f"min{what}", f"max{what}") for what in _COUNTED))


def is_nested_deeper(value: object, most: int) -> bool:
    """Return whether lists and objects in ``value`` are nested more than ``most`` deep."""
    level = [value]
    for _ in range(most):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [part for parts in inner for part in parts]
    return any(isinstance(one, dict | list) for one in level)
