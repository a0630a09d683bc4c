"""JSON schemas that would block the offline server, or fill its memory, if it filled them."""

from __future__ import annotations

from functools import reduce
from typing import Any

Json = dict[str, Any]
HUGE = 10**9


def field(**schema: Any) -> Json:
    return {"type": "object", "properties": {"q": schema}, "required": ["q"]}


def patterns(*every: str) -> Json:
    return {"properties": {f"p{number}": {"type": "string", "pattern": one} for number, one in enumerate(every)}}


def shared(part: Json, fields: int) -> Json:
    """Return a schema of many required fields that all refer to ``part``."""
    properties = {f"p{number}": {"$ref": "#/$defs/a"} for number in range(fields)}
    return {"$defs": {"a": part}, "properties": properties, "required": list(properties)}


FAN = {
    f"d{n}": {
        "properties": {f"p{m}": {"$ref": f"#/$defs/d{m}"} for m in range(10)},
        "required": [f"p{m}" for m in range(10)],
    }
    for n in range(10)
}
HOSTILE_SCHEMAS: list[Json] = [
    field(type="array", minItems=HUGE, items={"type": "string"}),
    field(type="array", minItems=1000, items={"type": "array", "minItems": 1000, "items": {}}),
    field(type="array", minItems=1000, uniqueItems=True, items={"type": "integer"}),
    field(type="array", minItems=HUGE),
    field(type="string", minLength=HUGE),
    field(type="string", minLength="5"),
    field(type="string", minLength=-1),
    field(type="string", pattern="(?=a)b"),
    field(type="string", pattern=r"(a)\1"),
    field(type="string", pattern="a{100000000}"),
    field(type="string", pattern=5),
    field(type="number", minimum="a"),
    field(type="number", maximum=True),
    field(type=5),
    field(type="text"),
    field(enum="a"),
    field(anyOf={}),
    {"properties": {"q": True}},
    {"properties": {"q": None}},
    {"properties": []},
    {"properties": {"q": {}}, "required": "q"},
    {"properties": {"q": {}}, "required": [5]},
    {"$ref": "#"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 10}}},
    {"$ref": "#/$defs/d0", "$defs": FAN},
    patterns(*(rf"\w{{80}}x{number}" for number in range(150))),
    patterns(*(rf"\w{{150}}x{number}" for number in range(100))),
    patterns(*(f"a{number}" for number in range(3_000))),
    patterns(r"(?:\w\d{10}){3}{3}{10}"),
    patterns(r"(?x)(?:\w \w) {150}"),
    reduce(lambda inner, _: {"properties": {"q": inner}}, range(70), {}),
    patterns(*(f"(?:[^a]{{80}})?{{80}}x{number}" for number in range(65))),
    field(type="array", minItems=3, uniqueItems=True, items={"type": "number", "minimum": 1e300}),
    field(type="array", minItems=4_000, items={"const": "x" * 20_000}),
    field(type="array", minItems=1_000, items={"enum": [f"v{number}" for number in range(5_000)]}),
    field(type="array", minItems=1_000, items={"type": "object", "required": [f"p{number}" for number in range(900)]}),
    field(allOf=[{"type": "array", "uniqueItems": True, "items": {"type": "string"}}, {"minItems": 8_000}]),
    {
        "properties": {"q": {"$ref": "#/$defs/a", "minItems": 5_000}},
        "required": ["q"],
        "$defs": {"a": {"type": "array", "items": {"type": "object", "required": [f"p{n}" for n in range(900)]}}},
    },
    {"properties": {"q": {"$ref": "#/$defs/b" + "/" * 300_000}}},
    {"$ref": "#/$defs/d0", "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(10)}},
    shared({"type": "string", "pattern": "(a|b)" * 390}, 4_900),
    shared({"type": "string", "pattern": "a{150000}"}, 4_900),
    shared({"enum": ["word " * 4_000 + str(number) for number in range(100)]}, 900),
    patterns(r"(?:(?:\w\d{10}){100}){100}"),
    field(**{"$ref": "#/x"}) | {"x": {"type": "string", "minLength": "5"}},
    field(**{"$ref": "#/x"}) | {"x": {"properties": [1], "required": 7}},
    field(**{"$ref": "#/const/a"}) | {"const": {"a": {"anyOf": [{"type": "string", "pattern": 5}]}}},
    patterns(*(r"(?i)" + r"[\x00-\U0010ffff]" * 90 + str(number) for number in range(80))),
]

NODE: Json = {
    "properties": {name: {"allOf": [{"$ref": "#/$defs/Node"}]} for name in ("left", "right", "mid", "next")},
    "required": ["value"],
}
MEMBERS = [{"$ref": f"#/$defs/{name}"} for name in "ABCDE"]
FAMILY = {name: {"properties": {"children": {"type": "array", "items": {"anyOf": MEMBERS}}}} for name in "ABCDE"}
LARGE_SCHEMAS: list[Json] = [
    {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
    {"properties": {f"n{number}": {"$ref": "#/$defs/Node"} for number in range(3)}, "$defs": {"Node": NODE}},
    {"$ref": "#/$defs/A", "$defs": FAMILY},
    {"properties": {f"p{number}": {"type": "string"} for number in range(500)}},
    {"properties": {f"name{number}": {"type": "string", "pattern": "^[a-z]{3,9}$"} for number in range(500)}},
    patterns(*(rf"^[\w.-]{{1,{number}}}$" for number in range(246, 256))),
    patterns(*(rf"\w{{150}}x{number}" for number in range(20))),
    field(enum=[f"v{number}" for number in range(20_000)]),
]
"""Schemas that ordinary programs write: they are filled."""
