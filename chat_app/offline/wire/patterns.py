"""Regular expressions of JSON schemas: matched in linear time, with a bound on their compiled size."""

import re
from functools import lru_cache
from math import prod
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

_LONGEST: Final = 2_000
_SMALLEST_SIZE: Final = 400
_WIDE: Final = re.compile(r"\\[wWpPbB]")
_WIDE_SIZE: Final = 500
_NEGATED: Final = re.compile(r"\\[dDsS]|\.|\[\^")
_NEGATED_SIZE: Final = 15
_BOUND: Final = re.compile(r"(?P<group>(?<=[)}?*+]))?\{(?P<least>\d+)(?:,(?P<most>\d*))?\}")
_VERBOSE: Final = re.compile(r"\(\?[a-z-]*x")


@lru_cache(maxsize=1)
def matcher(pattern: str) -> SchemaValidator:
    """Return a validator of strings that hold ``pattern``, in time linear in their length.

    Raises:
        ValueError: The engine does not take the pattern.
    """
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        raise ValueError("a pattern is too large, or uses look-around or back-references") from None


def pattern_size(pattern: str) -> int:
    """Return an upper bound on the compiled size of ``pattern``: about 0.7 µs and 100 bytes a unit.

    Each part counts as often as the largest bound on a single part demands, times all bounds on groups. Classes of
    letters count as the hundreds of ranges that they are in Unicode.

    Raises:
        ValueError: The pattern is too long, or its white space has no meaning.
    """
    if len(pattern) > _LONGEST or _VERBOSE.search(pattern):
        raise ValueError("a pattern is too long, or written with free spacing")
    size = len(pattern) + len(_WIDE.findall(pattern)) * _WIDE_SIZE + len(_NEGATED.findall(pattern)) * _NEGATED_SIZE
    times, group_times = [1], [1]
    for bound in _BOUND.finditer(pattern):
        most = max(int(bound["least"]), int(bound["most"] or 0), 1)
        (times if bound["group"] is None else group_times).append(most)
    return _SMALLEST_SIZE + size * max(times) * prod(group_times)
