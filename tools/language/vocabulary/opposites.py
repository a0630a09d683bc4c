"""Decides whether a text is about the opposite of the question: "chronic pain" for "acute pain", "type 2" for "1"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from tools.language.terms import terms

FILE: Final = Path(__file__).with_name("related") / "opposites.tsv"
KINDS: Final = frozenset(terms("category class grade group phase stage step track type"))
"""Words before a number that distinguishes kinds."""
_NUMERALS: Final[Mapping[str, int]] = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5}
_REACH: Final = 2
"""Number of terms after an adjective that it may qualify, as in "acute severe asthma"."""

Qualified = tuple[str, str]
"""An adjective or number with the term that it qualifies."""


def opposes(question: str, text: str) -> bool:
    """Return whether ``text`` has only the opposite, or another kind, of a term of ``question``."""
    asked, said = _qualified(question), _qualified(text)
    return any(
        noun == other_noun and _are_opposite(one, other) and (one, noun) not in said and (other, noun) not in asked
        for one, noun in asked
        for other, other_noun in said
    )


def _are_opposite(one: str, other: str) -> bool:
    return (one.isdecimal() and other.isdecimal()) or other in _opposites().get(one, ())


@lru_cache(maxsize=20_000)
def _qualified(text: str) -> Set[Qualified]:
    """Return the adjectives with an opposite and the numbers of kinds, each with the term that it qualifies."""
    words = terms(text)
    found: set[Qualified] = set()
    for place, word in enumerate(words):
        if word in _opposites():
            found.update((word, noun) for noun in words[place + 1 : place + 1 + _REACH])
        elif word in KINDS:
            found.update((str(number), word) for number in _numbers(words[place + 1 : place + 1 + _REACH]))
    return found


def _numbers(words: list[str]) -> range:
    """Return the number with which ``words`` begin, or the range of two numbers."""
    numbers = [_NUMERALS.get(word) or (int(word[0]) if word[0].isdecimal() else 0) for word in words]
    first = numbers[0] if numbers else 0
    return range(first, max(first, *numbers) + 1) if first else range(0)


@cache
def _opposites() -> Mapping[str, Set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in FILE.read_text(encoding="utf-8").splitlines():
        one, _, other = line.partition("\t")
        found[one].add(other)
        found[other].add(one)
    return found
