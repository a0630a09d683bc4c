"""Hypothesis strategies for texts made of pieces.

Hypothesis draws a string in one go and a list item by item, which takes about twice the time, so the order of the
pieces is drawn as a string with one character for each piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
_FIRST = 0xE000
"""Of the code points that Unicode leaves to applications."""


def sequences(pieces: Sequence[T], *, min_size: int = 0, max_size: int) -> st.SearchStrategy[list[T]]:
    """Return a strategy for lists of ``pieces``."""
    drawn = st.characters(min_codepoint=_FIRST, max_codepoint=_FIRST + len(pieces) - 1)
    places = st.text(drawn, min_size=min_size, max_size=max_size)
    return places.map(lambda found: [pieces[ord(place) - _FIRST] for place in found])


def texts(pieces: Sequence[str], *, max_size: int, joined: str = "") -> st.SearchStrategy[str]:
    """Return a strategy for texts of ``pieces`` and, as often, of up to three of any characters."""
    places = sequences([*pieces, *[None] * len(pieces)], max_size=max_size)
    return st.builds(lambda found, others: joined.join(_filled(found, others)), places, st.text(max_size=3 * max_size))


def _filled(pieces: Iterable[str | None], others: str) -> Iterator[str]:
    rest = (others[at : at + 3] for at in range(0, len(others), 3))
    return (next(rest, "") if piece is None else piece for piece in pieces)
