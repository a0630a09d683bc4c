"""Finds the horizontal rules of a PDF page: lines between the rows of tables, and edges of coloured bands.

Runs in the worker process.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from pypdfium2 import raw

_THICKEST = 5.0
"""Points; a wide line is reported with half its width on each side."""
_SHORTEST = 15.0
_SAME = 3.0
"""Maximum distance between the pieces of one rule, up or across, in points."""
_LEAST_RULES = 3
_ALIKE = 4.5
"""Maximum distance between the ends of a table's rules, in points."""
_LEAST_WIDTH = 0.3
"""Minimum width of the rules of a table, as a share of the page's width."""
_MAX_OBJECTS = 5_000
"""A page that draws more is a picture made of lines."""
T = TypeVar("T")


class Rule(NamedTuple):
    """A horizontal rule. Tables often draw one piece over each column: ``joints`` is where the pieces meet."""

    left: float
    right: float
    height: float
    """Above the page's lower edge."""
    joints: tuple[float, ...]


def read_rules(page: Any) -> tuple[Rule, ...]:
    """Return the rules of an open page from top to bottom."""
    pieces = sorted(_pieces(page), key=lambda piece: (-piece[2], piece[0]))
    return tuple(
        _rule(touching)
        for level in runs(pieces, lambda run, piece: run[0][2] - piece[2] <= _SAME)
        for touching in runs(sorted(level), lambda run, piece: piece[0] <= max(right for _, right, _ in run) + _SAME)
    )


def runs(items: Iterable[T], continues: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """Split ``items`` into runs; an item begins another run unless ``continues`` accepts it after the current one."""
    run: list[T] = []
    for item in items:
        if run and not continues(run, item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _pieces(page: Any) -> list[tuple[float, float, float]]:
    """Return left end, right end and height of thin lines, and of the upper and lower edges of boxes."""
    if raw.FPDFPage_CountObjects(page) > _MAX_OBJECTS:
        return []
    found: list[tuple[float, float, float]] = []
    for path in page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=1):
        left, bottom, right, top = path.get_bounds()
        if right - left < _SHORTEST:
            continue
        heights = ((bottom + top) / 2,) if top - bottom <= _THICKEST else (bottom, top)
        found += ((left, right, height) for height in heights)
    return found


def _rule(pieces: Sequence[tuple[float, float, float]]) -> Rule:
    left, right = pieces[0][0], max(right for _, right, _ in pieces)
    parts = [piece for piece in pieces if piece[1] - piece[0] < right - left - _SAME]
    return Rule(left, right, pieces[0][2], tuple((one[1] + other[0]) / 2 for one, other in pairwise(parts)))


def stacks(rules: Sequence[Rule], page_width: float) -> list[list[Rule]]:
    """Group the rules that begin and end at the same places, as those of a table do, from top to bottom."""
    found: list[list[Rule]] = []
    for rule in rules:
        if rule.right - rule.left < _LEAST_WIDTH * page_width:
            continue
        for stack in found:
            if abs(stack[0].left - rule.left) < _ALIKE and abs(stack[0].right - rule.right) < _ALIKE:
                stack.append(rule)
                break
        else:
            found.append([rule])
    return [stack for stack in found if len(stack) >= _LEAST_RULES]
