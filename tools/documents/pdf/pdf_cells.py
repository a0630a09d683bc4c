"""Finds the cells of lines that may belong to a table: pieces further apart than the words of a sentence."""

import re
from bisect import bisect
from collections.abc import Sequence
from operator import sub
from typing import NamedTuple

from tools.documents.pdf.pdf_characters import PageCharacters
from tools.documents.pdf.pdf_parts import Parts
from tools.language.terms import clean

CELL_GAP = 0.75
"""Of the type's height: a wider space between words parts two cells. A space between words is about 0.2."""
LEAST_GAP = 6.0
"""In points: less parts no cells in any type."""
_SPACES = re.compile(r"\s+")


class Cell(NamedTuple):
    """A part of a line that white space separates from the rest, like a table's cell."""

    text: str
    left: float
    right: float


class Places(NamedTuple):
    """Where the lines of a page are, as columns of one length. All in points."""

    lefts: Sequence[float]
    rights: Sequence[float]
    bases: Sequence[float]
    sizes: Sequence[float]


def cells_of(
    text: str, parts: Parts, places: Places, chosen: Sequence[int], characters: PageCharacters
) -> list[tuple[Cell, ...]]:
    """Part the chosen lines where the space between two words is far wider than between words of a sentence."""
    found: list[tuple[Cell, ...]] = [()] * len(parts.words)
    lefts, _ = characters.sides([parts.firsts[at] for at in chosen])
    rights = _with_hyphens(parts, places.rights, chosen, characters)
    gaps = _gaps(text, parts, places.sizes, chosen, characters)
    for at, start in zip(chosen, lefts, strict=True):
        if at not in gaps:
            found[at] = (Cell(parts.words[at], start, rights[at]),)
            continue
        first, left = parts.firsts[at], start
        cells: list[Cell] = []
        for gap in gaps[at]:
            cells.append(Cell(clean(text[first : gap.start]), left, gap.left))
            first, left = gap.end, gap.right
        found[at] = (*cells, Cell(clean(text[first : parts.lasts[at] + 1]), left, rights[at]))
    return found


def _with_hyphens(
    parts: Parts, ends: Sequence[float], chosen: Sequence[int], characters: PageCharacters
) -> list[float]:
    """Return the right ends of the lines. The sign of a hyphen at a line's end is a part of its last cell."""
    rights = list(ends)
    broken = [at for at in chosen if parts.hyphenated[at]]
    _, further = characters.sides([parts.lasts[at] + 1 for at in broken])
    for at, right in zip(broken, further, strict=True):
        rights[at] = right
    return rights


class _Gap(NamedTuple):
    """White space of the text from ``start`` to ``end``, as wide as from ``left`` to ``right`` on the page."""

    start: int
    end: int
    left: float
    right: float


def _gaps(
    text: str, parts: Parts, sizes: Sequence[float], chosen: Sequence[int], characters: PageCharacters
) -> dict[int, list[_Gap]]:
    """Return the wide spaces of each line that has some."""
    firsts = [parts.firsts[at] for at in chosen]
    lasts = [parts.lasts[at] for at in chosen]
    spaces = [
        match.span() for first, last in zip(firsts, lasts, strict=True) for match in _SPACES.finditer(text, first, last)
    ]
    _, befores = characters.sides([start - 1 for start, _ in spaces])
    afters, _ = characters.sides([end for _, end in spaces])
    wide: dict[int, list[_Gap]] = {}
    for space in [at for at, width in enumerate(map(sub, afters, befores)) if width > LEAST_GAP]:
        (start, end), left, right = spaces[space], befores[space], afters[space]
        at = chosen[bisect(firsts, start) - 1]
        if right - left > sizes[at] * CELL_GAP:
            wide.setdefault(at, []).append(_Gap(start, end, left, right))
    return wide
