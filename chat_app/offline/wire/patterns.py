r"""Matches the regular expressions of JSON schemas in linear time.

OpenAI accepts a pattern if Python's ``re`` can read it and it has no look-around. Such a pattern is rewritten here for
an engine whose time is linear in the text. As in ECMA-262, ``\w``, ``\d`` and ``\b`` mean ASCII, and ``$`` only matches
the end.
"""

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

# The parser of the standard library has no public name.
_parser: Any = import_module("re._parser")
_LONGEST: Final = 2_000
_SMALLEST_SIZE: Final = 400
_RANGE_SIZE: Final = 3
_WIDE_SIZE: Final = 15
"""Additional size of a class with characters beyond ASCII, which are several byte sequences in UTF-8."""
_FOLDED_SIZE: Final = 4_000
"""Additional size of a range beyond ASCII whose case is ignored, since the engine looks up each letter."""
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": ("[0-9]", _RANGE_SIZE),
    "CATEGORY_NOT_DIGIT": ("[^0-9]", _WIDE_SIZE),
    "CATEGORY_SPACE": (r"\s", _WIDE_SIZE),
    "CATEGORY_NOT_SPACE": (r"\S", _WIDE_SIZE),
    "CATEGORY_WORD": ("[0-9A-Za-z_]", 4 * _RANGE_SIZE),
    "CATEGORY_NOT_WORD": ("[^0-9A-Za-z_]", 4 * _RANGE_SIZE + _WIDE_SIZE),
}
_PLACES: Final = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": r"\A",
    "AT_BOUNDARY": r"(?-u:\b)",
    "AT_NON_BOUNDARY": r"(?-u:\B)",
    "AT_END": "$",
    "AT_END_STRING": r"\z",
}
_FLAGS: Final = (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL))
_TOO_LARGE: Final = "a pattern is too large or too deep"
Part = tuple[Any, Any]
"""A parsed part of a pattern: its name and its argument."""


@lru_cache(maxsize=1)
def matcher(pattern: str) -> SchemaValidator:
    """Return a validator for strings that match ``pattern``, whose time is linear in their length.

    Raises ``ValueError`` if the pattern is not supported.
    """
    text, _ = _rewritten_pattern(pattern)
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
    except SchemaError:
        raise ValueError(_TOO_LARGE) from None


def pattern_size(pattern: str) -> int:
    """Return an upper bound on the compiled size of ``pattern``; a unit costs about 0.7 µs and 100 bytes.

    Raises ``ValueError`` if the pattern is not supported.
    """
    return _SMALLEST_SIZE + _rewritten_pattern(pattern)[1]


def parsed(pattern: str) -> Any:
    """Parse ``pattern`` with Python's parser. Raises ``ValueError`` if it is invalid or too long."""
    if len(pattern) > _LONGEST:
        raise ValueError(_TOO_LARGE)
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return _parser.parse(pattern)
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    except (re.error, OverflowError):
        raise ValueError("a pattern is not a regex that Python can read") from None


@lru_cache(maxsize=1)
def _rewritten_pattern(pattern: str) -> tuple[str, int]:
    parts = parsed(pattern)
    flags = parts.state.flags
    try:
        text, size = _rewritten(parts, folds=bool(flags & re.IGNORECASE))
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    return f"(?{_letters(flags)}:{text})", size


def _rewritten(parts: Iterable[Part], *, folds: bool) -> tuple[str, int]:
    """Return successive parts in the syntax of the linear engine, and their size; ``folds`` ignores case."""
    each = [_rewritten_part(str(name), argument, folds=folds) for name, argument in parts]
    return "".join(text for text, _ in each), sum(size for _, size in each)


def _rewritten_part(name: str, argument: Any, *, folds: bool) -> tuple[str, int]:
    match name:
        case "LITERAL":
            return _character(argument), 1
        case "ANY":
            return ".", _WIDE_SIZE
        case "NOT_LITERAL":
            return f"[^{_character(argument)}]", _WIDE_SIZE
        case "IN":
            return _class(argument, folds=folds)
        case "AT":
            return _PLACES[str(argument)], 1
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = argument
            text, size = _rewritten(inner, folds=folds)
            endless = most == _parser.MAXREPEAT
            return f"(?:{text}){{{least},{'' if endless else most}}}", (least + 1 if endless else most) * max(size, 1)
        case "SUBPATTERN":
            _, added, removed, inner = argument
            text, size = _rewritten(inner, folds=(folds or bool(added & re.IGNORECASE)))
            return f"(?{_letters(added)}{'-' if _letters(removed) else ''}{_letters(removed)}:{text})", size
        case "BRANCH":
            each = [_rewritten(branch, folds=folds) for branch in argument[1]]
            return f"(?:{'|'.join(text for text, _ in each)})", len(each) + sum(size for _, size in each)
        case "ASSERT" | "ASSERT_NOT":
            raise ValueError("regex lookaround is not supported in a pattern")
        case _:
            raise ValueError("back-references, conditions and possessive repeats are not supported in a pattern")


def _class(items: Iterable[Part], *, folds: bool) -> tuple[str, int]:
    text, size = "", 1
    for name, argument in items:
        match str(name):
            case "NEGATE":
                text, size = "^", size + _WIDE_SIZE
            case "CATEGORY":
                category, category_size = _CATEGORIES[str(argument)]
                text, size = text + category, size + category_size
            case _:
                low, high = argument if str(name) == "RANGE" else (argument, argument)
                wide = 0 if high < 128 else _FOLDED_SIZE if folds and low < high else _WIDE_SIZE
                text, size = f"{text}{_character(low)}-{_character(high)}", size + _RANGE_SIZE + wide
    return f"[{text}]", size


def _character(code: int) -> str:
    return f"\\x{{{code:x}}}"


def _letters(flags: int) -> str:
    if flags & re.VERBOSE:
        raise ValueError("a pattern with free spacing is not supported")
    return "".join(letter for letter, flag in _FLAGS if flags & flag)
