"""Rejects JSON schemas that are malformed or too large, or that have such patterns.

The schemas of one request share one limit. ``schema_filling`` checks whether a schema can be filled. For strict tools
and formats, the limits of OpenAI's structured outputs apply:
https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from annotated_types import Predicate
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.patterns import matcher, pattern_size

MOST_PARTS: Final = 10_000
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
_LONG_ENUM: Final = 250
_MOST_OF_STRICT: Final = {
    "properties": 5_000,
    "enum values": 1_000,
    "characters in names, enum values and constants": 120_000,
}
_MOST_LEVELS: Final = 10
_MOST_CHARACTERS_OF_LONG_ENUM: Final = 15_000


@dataclass(slots=True)
class _Left:
    """The rest of the limits that the schemas of a request share."""

    parts: int = MOST_PARTS
    pattern_size: int = _MOST_PATTERN_SIZE
    patterns: set[str] = field(default_factory=set)

    def take_part(self) -> None:
        self.parts -= 1
        if self.parts < 0:
            raise ValueError(TOO_LARGE)

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
    """Share one limit between all schemas that are checked in the ``with`` block."""
    token = _LEFT.set(_Left())
    try:
        yield
    finally:
        _LEFT.reset(token)


def at_reference(root: Json, reference: str) -> Json:
    """Return the part of ``root`` that a reference such as ``#/$defs/name`` names; empty if there is none."""
    node: Any = root
    for step in filter(None, reference[1:].split("/")):
        node = node.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}


def check_schema(root: Json) -> Json:
    """Return ``root``. Raises ``ValueError`` if a keyword has the wrong type, or the schema is too large."""
    left = _LEFT.get() or _Left()
    references: set[str] = set()
    checked: set[int] = set()
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if (isinstance(node, bool) and depth) or id(node) in checked:
            continue
        checked.add(id(node))
        if not isinstance(node, dict):
            raise ValueError("each part of a schema is an object")  # noqa: TRY004 - pydantic reports value errors
        _check_keywords(node)
        left.take_part()
        if depth > DEEPEST:
            raise ValueError(TOO_LARGE)
        if "pattern" in node:
            left.take_pattern(node["pattern"])
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
    return root


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
                raise ValueError(f"each of the '{key}' is an object")  # noqa: TRY004 - pydantic reports value errors
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


def check_strict(schema: Json) -> None:
    """Raise ``ValueError`` if a schema that ``check_schema`` has accepted is too large for a strict one."""
    found: Counter[str] = Counter()
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        node, level = waiting.pop()
        if isinstance(node, bool):
            continue
        found.update(_sizes(node))
        level += "properties" in node
        if level > _MOST_LEVELS:
            raise ValueError(f"a strict schema has at most {_MOST_LEVELS} levels of nesting")
        waiting += ((part, level) for part in children_of(node))
    for what, most in _MOST_OF_STRICT.items():
        if found[what] > most:
            raise ValueError(f"a strict schema has at most {most:,} {what}")


def _sizes(node: Json) -> dict[str, int]:
    """Return the size of a part of a schema for each limit in ``_MOST_OF_STRICT``."""
    properties, enum = node.get("properties", {}), node.get("enum", [])
    if len(enum) > _LONG_ENUM and _characters(enum) > _MOST_CHARACTERS_OF_LONG_ENUM:
        raise ValueError(
            f"a strict enum of more than {_LONG_ENUM} values has at most {_MOST_CHARACTERS_OF_LONG_ENUM:,} characters"
        )
    names = [*properties, *node.get("$defs", {}), *node.get("definitions", {})]
    sizes = (len(properties), len(enum), _characters([*names, *enum, node.get("const")]))
    return dict(zip(_MOST_OF_STRICT, sizes, strict=True))


def _characters(values: list[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))


CheckedSchema = Annotated[Json, AfterValidator(check_schema)]


def is_nested_deeper(value: object, most: int) -> bool:
    """Return whether lists and objects in ``value`` are nested more than ``most`` deep."""
    level = [value]
    for _ in range(most):
        inner = (part for one in level if isinstance(one, dict | list) for part in _parts_of(one))
        level = [part for part in inner if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _parts_of(value: dict[Any, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
