"""Finds what repeats from page to page (running heads, page numbers, watermarks) so that it is not read as text.

A word of a guideline that is dropped by mistake can be a harm, so a line counts as a running head only when its
words (figures aside) are in the same place on several pages, or when it is the outermost line of its page, is
where running heads are, and begins or ends with the number of this very page.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tools.documents.pdf.pdf_lines import Line, PdfPage
from tools.documents.pdf.pdf_rules import stacks

_NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b", re.IGNORECASE)
_PAGE_OF = re.compile(r"\bpage\s+(\d{1,4})\b", re.IGNORECASE)
_MARGIN = 0.1
"""Share of the page's height, at top and at bottom, in which running heads are."""
_MAX_WORDS = 30
_GRID = 6.0
_ZONE = 24.0
"""Points up and across within which two lines are in the same place: right-aligned numbers move with their length."""

Place = tuple[str, int, int]
T = TypeVar("T", bound=Hashable)


class Marginal(NamedTuple):
    """A line that is where running heads are, and the places that it counts for."""

    line: Line
    places: frozenset[Place]


class RunningHeads:
    """Finds the lines that repeat at the same place of many pages; ``numbers`` has the printed page numbers."""

    def __init__(self, pages: Sequence[PdfPage]) -> None:
        heads: Counter[Place] = Counter()
        bands: Counter[int] = Counter()
        self._margins = {page.number: [Marginal(line, _near(line)) for line in in_margins(page)] for page in pages}
        for margin in self._margins.values():
            heads.update(frozenset[Place]().union(*(each.places for each in margin)))
            bands.update({round(each.line.base / _GRID) for each in margin})
        needed = 2 if len(pages) < 6 else 3
        self._heads = _often(heads, needed)
        self._bands = _often(bands, max(needed, 0.3 * len(pages)))
        self._watermarks = _watermarks(pages)
        self._marked = {text for text, _, _ in self._watermarks}
        self.numbers = printed_numbers(self._margins)

    def kept(self, page: PdfPage) -> list[Line]:
        """Return the lines of ``page`` that are its text."""
        lines = [line for line in page.lines if line.text not in self._marked or _exact(line) not in self._watermarks]
        bases = [line.base for line in lines]
        outermost = {min(bases), max(bases)} if bases else set[float]()
        margin = self._margins[page.number]
        dropped = {
            id(each.line)
            for each in margin
            if self._drops(each, page, [other.line for other in margin], outermost=each.line.base in outermost)
        }
        return [line for line in lines if id(line) not in dropped] if dropped else lines

    def _drops(self, marginal: Marginal, page: PdfPage, margin: Sequence[Line], *, outermost: bool) -> bool:
        if not self._heads.isdisjoint(marginal.places):
            return True
        number = page.label or self.numbers.get(page.number)
        if not outermost or number is None:
            return False
        # PDFium often returns the number as a separate line.
        words = [word for line in margin if line.base == marginal.line.base for word in line.text.split()]
        in_band = any(round(marginal.line.base / _GRID) + step in self._bands for step in (-1, 0, 1))
        return in_band and number in {words[0], words[-1]}


def _often(counts: Counter[T], least: float) -> frozenset[T]:
    return frozenset(each for each, count in counts.items() if count >= least)


def _watermarks(pages: Sequence[PdfPage]) -> frozenset[Place]:
    needed = max(3, len(pages) // 2)
    texts = _often(Counter(text for page in pages for text in {line.text for line in page.lines}), needed)
    if not texts:
        return frozenset()
    marks = Counter(place for page in pages for place in {_exact(line) for line in page.lines if line.text in texts})
    return _often(marks, needed)


def _exact(line: Line) -> Place:
    return line.text, round(line.left / 4), round(line.base / 4)


def _near(line: Line) -> frozenset[Place]:
    """Return the line's place and the neighbouring ones, so that a small shift does not make it another head."""
    shape = _NUMBER.sub("#", line.text)
    across, up = line.left / _ZONE, line.base / _GRID
    return frozenset([(shape, column, row) for column in _nearest(across) for row in _nearest(up)])


def _nearest(place: float) -> set[int]:
    """Return the nearest integer and its neighbour on the side of ``place``."""
    return {round(place), round(place + (0.5 if place > round(place) else -0.5))}


def in_margins(page: PdfPage) -> list[Line]:
    """Return the short lines in the strips at the top and the bottom of a page where running heads are.

    Lines between the rules of a table are left out: its header is at the top of every page on which it continues.
    """
    bottom, top = page.height * _MARGIN, page.height * (1 - _MARGIN)
    tables = stacks(page.rules, page.width)
    return [
        line
        for line in page.lines
        if (line.base < bottom or line.top > top)
        and len(line.text.split()) <= _MAX_WORDS
        and not any(rules[-1].height < line.base < rules[0].height for rules in tables)
    ]


def printed_numbers(margins: Mapping[int, Sequence[Marginal]]) -> dict[int, str]:
    """Return the consecutive numbers in the margins, by page: page numbers of files that do not name them."""
    offsets: Counter[int] = Counter()
    seen: dict[int, set[int]] = {}
    for page, margin in margins.items():
        numbers = {number for each in margin for number in _margin_numbers(each.line.text)}
        seen[page] = {number - page for number in numbers}
        offsets.update(seen[page])
    offset, count = offsets.most_common(1)[0] if offsets else (0, 0)
    if count < max(2, 0.5 * len(margins)):
        return {}
    return {number: str(number + offset) for number, found in seen.items() if offset in found}


def _margin_numbers(text: str) -> Iterable[int]:
    of = _PAGE_OF.search(text)
    if of:
        return (int(of[1]),)
    words = text.split()
    return (int(word) for word in {words[0], words[-1]} if word.isascii() and word.isdigit() and len(word) <= 4)
