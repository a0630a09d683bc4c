"""Finds the longest phrases in a list of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


def longest_matches(words: int, most: int, match: Callable[[int, int], T | None]) -> Iterator[tuple[int, int, T]]:
    """Yield the longest phrases of up to ``most`` words from left to right, without overlap, as start, end and value.

    ``words`` is the number of words. ``match`` returns the value of the phrase from a start to an end, or None.
    """
    start = 0
    while start < words:
        ends = range(min(words, start + most), start, -1)
        tried = ((end, match(start, end)) for end in ends)
        end, value = next(((end, value) for end, value in tried if value is not None), (start + 1, None))
        if value is not None:
            yield start, end, value
        start = end
