"""Reads JSON schemas: references, merged parts, kinds, and what each has to be when a text holds nothing for it."""

import math
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from chat_app.offline.wire.schema_limits import at_reference, matcher

Json = dict[str, Any]
_LONGEST_REFERENCE: Final = 12
_Maker = Callable[[Any], str]
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


def resolve(schema: object, root: Json) -> Json:
    """Return the schema behind ``$ref``s, with the parts of an ``allOf`` merged; ``True`` allows anything."""
    found: Json = schema if isinstance(schema, dict) else {}
    for _ in range(_LONGEST_REFERENCE):
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        beside = {key: value for key, value in found.items() if key != "$ref"}
        found = {**at_reference(root, reference), **beside}
    parts = found.get("allOf")
    if not isinstance(parts, list):
        return found
    merged = {key: value for key, value in found.items() if key != "allOf"}
    for part in parts:
        merged = _merge(merged, resolve(part, root))
    return merged


def _merge(one: Json, other: Json) -> Json:
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


def kind_of_schema(schema: Json) -> str:
    """The JSON type that a schema asks for; the first that is not null."""
    kind = "null" if is_only_null(schema) else schema.get("type")
    if isinstance(kind, list):
        return next((part for part in kind if part != "null"), "null")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if {"minimum", "maximum", "multipleOf"} & schema.keys() else "string"


def is_nullable(schema: object) -> bool:
    """True when the schema takes null."""
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return any(is_nullable(part) for key in ("anyOf", "oneOf") for part in schema.get(key, ()))


def is_only_null(schema: object) -> bool:
    """True when the schema takes nothing but null."""
    if not isinstance(schema, dict):
        return False
    choices = [part for key in ("anyOf", "oneOf") for part in schema.get(key, ())]
    return schema.get("type") == "null" or (bool(choices) and all(map(is_only_null, choices)))


def branch(schema: Json, root: Json) -> Json | None:
    """Return the first branch of a choice that is not just null, merged with the constraints beside the choice."""
    for key in ("anyOf", "oneOf"):
        for part in schema.get(key, ()):
            if not is_only_null(resolve(part, root)):
                beside = {name: value for name, value in schema.items() if name not in {"anyOf", "oneOf"}}
                return _merge(beside, part if isinstance(part, dict) else {})
    return None


def fits_number(value: float, schema: Json) -> bool:
    """True when a number is within the bounds of a schema."""
    step = schema.get("multipleOf")
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        and (not step or _is_whole(value / step))
    )


def _is_whole(ratio: float) -> bool:
    return math.isfinite(ratio) and math.isclose(ratio, round(ratio), abs_tol=1e-9)


def default_number(schema: Json, *, whole: bool) -> float | int:
    """The default, or the number nearest to zero that the bounds allow, as far as it is easily found."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    step = schema.get("multipleOf") or 1
    near = max(low, min(0, high))
    ratio = near / step
    steps = math.floor(ratio) if math.isfinite(ratio) else 0
    tried: list[float] = [schema.get("default", 0), 0, near, (low + high) / 2 if low > -math.inf else near]
    tried += [step * (steps + more) for more in (0, 1, -1, 2)]
    for value in tried:
        if not math.isnan(value) and fits_number(value, schema) and (not whole or float(value).is_integer()):
            return int(value) if float(value).is_integer() else value
    return 0


def fits_text(value: str, schema: Json) -> bool:
    """True when a string has the length, the pattern and, where it is known, the format that a schema asks for."""
    known = FORMATS.get(str(schema.get("format")))
    return (
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        and (known is None or known[0].fullmatch(value) is not None or value == known[1])
        and (pattern_of(schema) is None or matcher(schema["pattern"]).isinstance_python(value))
    )


def pattern_of(schema: Json) -> re.Pattern[str] | None:
    """The schema's pattern, when it is one that can be read here."""
    pattern = schema.get("pattern")
    try:
        return re.compile(pattern) if isinstance(pattern, str) else None
    except re.error:
        return None


def default_text(schema: Json) -> str:
    """Return a valid text that means nothing is known: the format's or the pattern's shortest, padded with spaces."""
    default = schema.get("default")
    if isinstance(default, str) and fits_text(default, schema):
        return default
    known = FORMATS.get(str(schema.get("format")))
    pattern = pattern_of(schema)
    text = known[1] if known else emptiest(pattern.pattern) if pattern else ""
    return text.ljust(schema.get("minLength", 0))


def emptiest(pattern: str) -> str:
    """A short string that ``pattern`` matches, as a rule: zeros for digits, the first letter of a range."""
    # The standard library's own reading of a pattern; it has no public name.
    parser: Any = import_module("re._parser")
    return "".join(_emptiest(part) for part in parser.parse(pattern))


def _emptiest(part: Any) -> str:
    name, argument = str(part[0]), part[1]
    makers: Mapping[str, _Maker] = {
        "LITERAL": chr,
        "NOT_LITERAL": lambda char: "0" if char != ord("0") else "1",
        "ANY": lambda _: "0",
        "IN": _one_of,
        "MAX_REPEAT": lambda repeat: repeat[0] * "".join(map(_emptiest, repeat[2])),
        "MIN_REPEAT": lambda repeat: repeat[0] * "".join(map(_emptiest, repeat[2])),
        "SUBPATTERN": lambda group: "".join(map(_emptiest, group[3])),
        "BRANCH": lambda branches: "".join(map(_emptiest, branches[1][0])),
    }
    return makers[name](argument) if name in makers else ""


def _one_of(choices: Any) -> str:
    kind, argument = str(choices[0][0]), choices[0][1]
    if kind == "NEGATE":
        return next((char for char in "0A -" if not any(_holds(choice, char) for choice in choices[1:])), "_")
    if kind == "RANGE":
        return chr(argument[0])
    if kind == "CATEGORY":
        return {"CATEGORY_SPACE": " ", "CATEGORY_NOT_WORD": " ", "CATEGORY_NOT_DIGIT": "A"}.get(str(argument), "0")
    return chr(argument)


def _holds(choice: Any, char: str) -> bool:
    kind, argument = str(choice[0]), choice[1]
    if kind == "RANGE":
        return bool(argument[0] <= ord(char) <= argument[1])
    if kind == "LITERAL":
        return bool(argument == ord(char))
    held = {"CATEGORY_DIGIT": char.isdigit(), "CATEGORY_WORD": char.isalnum(), "CATEGORY_SPACE": char.isspace()}
    return held.get(str(argument), True)
