"""Aligns a statement with the sentence that it repeats, and finds figures, names and words in another's place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.figures import COUNTS

_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_FILLERS: Final = frozenset(
    ("a", "an", "the", "and", "or", "is", "are", "was", "were", "be", "been", "it", "they", "this", "these", "also")
)
_DIRECTIONS: Final = frozenset(("to", "from", "than", "rather", "instead", "before", "after", "over", "versus"))
"""Words between two parts that cannot change places."""


class Substitution(NamedTuple):
    """Words of a statement, and those of the sentence in whose place they are."""

    said: tuple[str, ...]
    found: tuple[str, ...]


def substitutions(statement: str, sentence: str) -> tuple[Substitution, ...]:
    """Return what ``statement`` has in the place of other words of ``sentence``, or in another place."""
    said, found = _tokens(statement), _tokens(sentence)
    codes = SequenceMatcher(None, said, found, autojunk=False).get_opcodes()
    changes = [
        Substitution(said[start:end], found[first:last]) for kind, start, end, first, last in codes if kind != "equal"
    ]
    replaced = tuple(one for one in changes if one.said and one.found)
    more = Counter(word for one in changes for word in one.said)
    less = Counter(word for one in changes for word in one.found)
    if more <= less and any(word in _DIRECTIONS or word[0].isdigit() for word in more):
        return (*replaced, Substitution(tuple(more), tuple(more)))
    return replaced


def changes_places(changes: Sequence[Substitution]) -> bool:
    """Return whether two parts of the sentence are in each other's place."""
    return any(Substitution(one.found, one.said) in changes for one in changes)


def other_number(change: Substitution) -> str:
    """Return the number that is in the place of another one; empty for other substitutions."""
    numbers = [_number(words[0]) if len(words) == 1 else None for words in change]
    return change.said[0] if None not in numbers and numbers[0] != numbers[1] else ""


def _number(word: str) -> float | None:
    return float(word.replace(",", "")) if word[0].isdigit() and word.count(".") < 2 else COUNTS.get(word)


@lru_cache(maxsize=1_024)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token for token in _TOKEN.findall(text.casefold()) if token not in _FILLERS)
