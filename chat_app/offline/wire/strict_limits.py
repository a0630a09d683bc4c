"""Refuses schemas of strict tools and formats that are larger than OpenAI's structured outputs allow.

See https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas.
"""

from collections import Counter
from typing import Any, Final

from chat_app.offline.wire.schema_limits import children_of

Json = dict[str, Any]
_LONG_ENUM: Final = 250
_MOST: Final = {
    "properties": 5_000,
    "enum values": 1_000,
    "characters in names, enum values and constants": 120_000,
}
_MOST_LEVELS: Final = 10
_MOST_CHARACTERS_OF_LONG_ENUM: Final = 15_000


def check_strict(schema: Json) -> None:
    """Raise ``ValueError`` when a schema that ``check_schema`` has accepted is larger than a strict one may be."""
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
    for what, most in _MOST.items():
        if found[what] > most:
            raise ValueError(f"a strict schema has at most {most:,} {what}")


def _sizes(node: Json) -> dict[str, int]:
    """Return what a part of a schema has of each kind that is limited."""
    properties, enum = node.get("properties", {}), node.get("enum", [])
    if len(enum) > _LONG_ENUM and _characters(enum) > _MOST_CHARACTERS_OF_LONG_ENUM:
        raise ValueError(
            f"a strict enum of more than {_LONG_ENUM} values has at most {_MOST_CHARACTERS_OF_LONG_ENUM:,} characters"
        )
    names = [*properties, *node.get("$defs", {}), *node.get("definitions", {})]
    sizes = (len(properties), len(enum), _characters([*names, *enum, node.get("const")]))
    return dict(zip(_MOST, sizes, strict=True))


def _characters(values: list[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))
