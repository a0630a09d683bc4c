"""Find the order in which the lines of a page are read."""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

from tools.documents.pdf.pdf_lines import Line
from tools.documents.pdf.pdf_rules import runs

_NEAR = 2.5
"""Maximum distance between lines of one block, in heights of the type."""


def reading_order(lines: Sequence[Line], tables: Iterable[Iterable[int]]) -> Sequence[int]:
    """Return the indices of the lines in reading order: block after block down the page.

    A box is often drawn after the text around it, so the order of the file may differ. It is kept if blocks are beside
    each other, as in columns. The lines of each table are one block.
    """
    known = [sorted(table) for table in tables]
    inside = {place for table in known for place in table}
    outside = (place for place in range(len(lines)) if place not in inside)
    blocks = sorted([*known, *runs(outside, lambda block, place: _is_near(lines[block[-1]], lines[place]))])
    tops = {block[0]: max(lines[place].base for place in block) for block in blocks}
    ordered = sorted(blocks, key=lambda block: -tops[block[0]])
    overlap = any(min(lines[place].base for place in above) <= tops[below[0]] for above, below in pairwise(ordered))
    drawn_later = ((one, other) for one, other in combinations(blocks, 2) if tops[one[0]] < tops[other[0]])
    if overlap or any(_beside(lines, one, other) for one, other in drawn_later):
        return range(len(lines))
    return [place for block in ordered for place in block]


def _is_near(last: Line, line: Line) -> bool:
    return abs(last.base - line.base) < _NEAR * max(line.size, 6.0)


def _beside(lines: Sequence[Line], one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether one block ends left of where the other begins."""
    (left, right), (start, end) = (
        (min(lines[place].left for place in block), max(lines[place].right for place in block))
        for block in (one, other)
    )
    return right <= start or end <= left
