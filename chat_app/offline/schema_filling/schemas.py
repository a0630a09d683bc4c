"""Reads JSON schemas: references, merged parts, kinds, and what each has to be when a text holds nothing for it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.patterns import matcher, parsed
from chat_app.offline.wire.schema_limits import at_reference

_LONGEST_REFERENCE: Final = 12
# The standard library's own reading of a pattern has no public name.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")
_COUNTS: Final = ("minItems", "maxItems", "minLength", "maxLength")
"""Keywords whose value may be written as 2.0."""
_EXACT: Final = 2**53
"""Larger whole numbers stay floats: JSON readers take at most 64 bits."""
FORMATS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "date": (re.compile(r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)\b"), "1970-01-01"),
    "time": (re.compile(r"\b(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-]\d\d:\d\d)"), "00:00:00Z"),
    "date-time": (
        re.compile(r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T\d\d:[0-5]\d:[0-5]\d(?:Z|[+-]\d\d:\d\d)"),
        "1970-01-01T00:00:00Z",
    ),
    "duration": (re.compile(r"\bP\d+[DWMY]\b"), "P0D"),
    "email": (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b", re.ASCII), "unknown@example.invalid"),
    "hostname": (re.compile(r"(?!)"), "example.invalid"),
    "ipv4": (re.compile(r"(?!)"), "0.0.0.0"),  # noqa: S104 - the unspecified address
    "ipv6": (re.compile(r"(?!)"), "::"),
    "uuid": (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-0000-0000-000000000000"),
    "uri": (re.compile(r"\bhttps?://[\w./?=&%#-]*[\w/]", re.ASCII), "about:blank"),
}
"""For each format, the pattern that finds a value in a text, and the value that means none is known."""
_CHARACTERS: Final = "0Aa -_" + "".join(map(chr, range(33, 127))) + "é中"
"""What a character of a pattern may be, in the order of preference."""


@dataclass(frozen=True)
class SchemaPart:
    """A part of a schema without references, merged parts and choices."""

    schema: Json
    nullable: bool
    references: frozenset[str]
    """The references that lead to it."""

    @property
    def kind(self) -> str:
        """The JSON type that the part asks for; the first that is not null."""
        found = self.schema
        if kinds := _kinds(found):
            return next((kind for kind in kinds if kind != "null"), "null")
        if "properties" in found or "additionalProperties" in found:
            return "object"
        if "items" in found or "prefixItems" in found:
            return "array"
        return "number" if {"minimum", "maximum", "multipleOf"} & found.keys() else "string"


def part_of(schema: object, root: Json) -> SchemaPart:
    """Return what ``schema`` asks for; of a choice the first branch that is not null. ``True`` allows anything."""
    found: Json = schema if isinstance(schema, dict) else {}
    references: set[str] = set()
    nullable = False
    for _ in range(_LONGEST_REFERENCE):
        found = _resolved(found, root, references)
        nullable = nullable or "null" in _kinds(found)
        choices = [*found.get("anyOf", ()), *found.get("oneOf", ())]
        if not choices:
            break
        values = [choice for choice in choices if _kinds(_resolved(choice, root, set())) != ["null"]]
        nullable = nullable or len(values) < len(choices)
        beside = {key: value for key, value in found.items() if key not in {"anyOf", "oneOf"}}
        chosen = values[0] if values else {"type": "null"}
        found = _merged(beside, chosen if isinstance(chosen, dict) else {})
    counts = {key: int(found[key]) for key in _COUNTS if isinstance(found.get(key), float)}
    return SchemaPart({**found, **counts} if counts else found, nullable, frozenset(references))


def _kinds(schema: Json) -> list[str]:
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _resolved(schema: object, root: Json, references: set[str]) -> Json:
    """Return the schema behind references, which are added to ``references``, with the parts of an ``allOf`` merged."""
    found: Json = schema if isinstance(schema, dict) else {}
    for _ in range(_LONGEST_REFERENCE):
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        references.add(reference)
        beside = {key: value for key, value in found.items() if key != "$ref"}
        found = {**at_reference(root, reference), **beside}
    merged = {key: value for key, value in found.items() if key != "allOf"}
    for part in found.get("allOf", ()):
        merged = _merged(merged, _resolved(part, root, references))
    return merged


def _merged(one: Json, other: Json) -> Json:
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        shared = set(one["properties"]) & set(other["properties"])
        both = {name: {"allOf": [one["properties"][name], other["properties"][name]]} for name in shared}
        merged["properties"] = {**one["properties"], **other["properties"], **both}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    for key, choose in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if key in one and key in other:
            merged[key] = choose(one[key], other[key])
    return merged


def fits_number(value: float, schema: Json) -> bool:
    """Return whether a number is within the bounds of a schema."""
    step = schema.get("multipleOf")
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        and (
            not step or (math.isfinite(value / step) and math.isclose(value / step, round(value / step), abs_tol=1e-9))
        )
    )


def default_number(schema: Json, *, whole: bool) -> float | int:
    """Return the default, or the number nearest to zero that the bounds allow, as far as it is easily found."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    step = schema.get("multipleOf") or 1
    near = max(low, min(0, high))
    steps = math.floor(near / step) if math.isfinite(near / step) else 0
    tried = [
        schema.get("default"),
        0,
        near,
        low / 2 + high / 2,
        *(float(step) * (steps + more) for more in (0, 1, -1, 2)),
    ]
    for value in tried:
        if not isinstance(value, int | float) or not math.isfinite(value):
            continue
        if fits_number(value, schema) and (not whole or float(value).is_integer()):
            return int(value) if float(value).is_integer() and abs(value) < _EXACT else value
    return 0


def fits_text(value: str, schema: Json) -> bool:
    """Return whether a string has the length, the pattern and, where it is known, the format of a schema."""
    known = FORMATS.get(str(schema.get("format")))
    return (
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        and (known is None or known[0].fullmatch(value) is not None or value == known[1])
        and (not schema.get("pattern") or matcher(schema["pattern"]).isinstance_python(value))
    )


def default_text(schema: Json) -> str:
    """Return a valid text that means nothing is known: the format's or the pattern's shortest, padded with spaces."""
    default = schema.get("default")
    if isinstance(default, str) and fits_text(default, schema):
        return default
    known = FORMATS.get(str(schema.get("format")))
    text = known[1] if known else emptiest(schema["pattern"]) if schema.get("pattern") else ""
    return text.ljust(schema.get("minLength", 0))


def emptiest(pattern: str) -> str:
    """Return a short string that ``pattern`` matches, as a rule: zeros for digits."""
    return "".join(map(_emptiest, parsed(pattern)))


def _emptiest(part: Any) -> str:
    name, argument = str(part[0]), part[1]
    match name:
        case "LITERAL":
            return chr(argument)
        case "ANY":
            return "0"
        case "NOT_LITERAL":
            return _character(((_parser.NEGATE, None), (_parser.LITERAL, argument)))
        case "IN":
            return _character(tuple(argument))
        case "MAX_REPEAT" | "MIN_REPEAT":
            return int(argument[0]) * "".join(map(_emptiest, argument[2]))
        case "SUBPATTERN":
            return "".join(map(_emptiest, argument[3]))
        case "BRANCH":
            return "".join(map(_emptiest, argument[1][0]))
        case _:
            return ""


@lru_cache(maxsize=1_024)
def _character(choices: tuple[Any, ...]) -> str:
    """Return a character of a class: the first of a range or literal, or one of a few that its categories take."""
    kind, first = str(choices[0][0]), choices[0][1]
    if kind in {"LITERAL", "RANGE"}:
        return chr(first if kind == "LITERAL" else first[0])
    one = _compiler.compile(_parser.SubPattern(_parser.State(), [(_parser.IN, list(choices))]))
    return next(filter(one.match, _CHARACTERS), "")
