"""Find a table's row on its page by the positions of its words.

Each cell must be in one piece or wrapped in its column, and all cells side by side. A file may hold a row's words in
any order, so its text alone cannot tell. The search is independent of the table reader, so that it finds no row which
the reader put together wrongly.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tools.documents.pdf.pdf_open import open_pdf
from tools.language.folding import fold
from tools.language.quotes import places
from tools.language.sentences import Span

_MOST_TRIES = 20_000
"""Maximum for one row, whose cells may repeat on the page in endless combinations. Real rows need up to 10,000."""
_MOST_PLACES = 200
"""Maximum for one cell, since a figure may be on its page many times."""
_SHORT = 12
"""Signs of a cell that may occur on its page more than once."""
_SAME_LINE = 4.0
"""Points by which the letters of one line, and the edges of one row, may differ in height."""
_LEAST_HEIGHT = 8.0
"""Points: a sign such as a bullet is lower than the type it is set in."""
_LINE_BELOW = 2.4
"""Maximum distance between the lines of a wrapped cell, in heights of the letters."""
_WORD_GAP = 4.0
"""Maximum space between two words of a cell, in heights of the letters."""


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the words of a cell are: their spans, the box around all of them, and that of the last line."""

    spans: tuple[Span, ...]
    box: _Box
    last: _Box


def row_is_on_page(path: Path, page_number: int, quote: str) -> bool:
    """Return whether each line of ``quote``, with tabs between its cells, is a row of that page (from 1). Blocks."""
    with closing(open_pdf(path)) as document:
        return 1 <= page_number <= len(document) and bool(row_spans(document[page_number - 1].get_textpage(), quote))


def row_spans(text_page: Any, quote: str) -> list[Span]:
    """Return the spans of the rows in ``quote``; none where one of its lines is no row of the page."""
    words = _PageWords(text_page)
    found: list[Span] = []
    for line in quote.splitlines():
        cells = (fold(cell, ranges=False).text for cell in line.split("\t"))
        row = words.row([cell for cell in cells if cell])
        if row is None:
            return []
        found += (span for place in row for span in place.spans)
    return found


class _PageWords:
    """The words of an open text page and their places."""

    def __init__(self, text_page: Any) -> None:
        self._page = text_page
        self._text: str = text_page.get_text_range()
        self._folded = fold(self._text, ranges=False)
        self._tries = 0

    def row(self, cells: Sequence[str]) -> list[_Place] | None:
        """Return the places of ``cells`` from left to right, all within the height of the one that needs most lines."""
        for thorough in (False, True):
            self._tries = 0
            places = [list(islice(self._places(cell, thorough=thorough), _MOST_PLACES)) for cell in cells]
            for tallest in (place for cell in places for place in cell) if all(places) else ():
                if row := _beside(tallest.box, places):
                    return row
        return None

    def _places(self, words: str, before: _Place | None = None, *, thorough: bool) -> Iterator[_Place]:
        """Yield where ``words`` are: in one piece, or else as many as do, and the others behind or below them.

        A short cell may be in one piece somewhere, and yet be wrapped in its row: those are ``thorough`` places.
        """
        whole = list(self._pieces(words, before))
        yield from whole
        if whole and not (thorough and len(words) <= _SHORT):
            return
        for size in range(self._longest(words), 0, -1):
            for piece in self._pieces(words[:size], before):
                yield from self._places(words[size:], piece, thorough=thorough)

    def _longest(self, words: str) -> int:
        """Return how many of the first signs of ``words`` are together somewhere, but not all of them."""
        size = 0
        while size < len(words) - 1 and words[: size + 1] in self._folded.text:
            size += 1
        return size

    def _pieces(self, words: str, before: _Place | None) -> Iterator[_Place]:
        for span in places(words, self._folded, self._text):
            self._tries += 1
            if self._tries > _MOST_TRIES:
                return
            boxes = self._boxes(span)
            if boxes and _is_column(boxes) and (before is None or _continues(before, boxes[0])):
                earlier, boxed = (before.spans, [before.box]) if before else ((), [])
                yield _Place((*earlier, span), _around([*boxed, *boxes]), boxes[-1])

    def _boxes(self, span: Span) -> list[_Box]:
        """Return the boxes of a span's letters, one for each line."""
        boxes: list[_Box] = []
        for index in range(self._page.count_rects(span[0], span[1] - span[0])):
            box = _Box(*self._page.get_rect(index))
            if boxes and _is_beside(boxes[-1], box) and box.left >= boxes[-1].left:
                boxes[-1] = _around([boxes[-1], box])
            else:
                boxes.append(box)
        return boxes


def _around(boxes: Sequence[_Box]) -> _Box:
    return _Box(
        min(box.left for box in boxes),
        min(box.bottom for box in boxes),
        max(box.right for box in boxes),
        max(box.top for box in boxes),
    )


def _is_beside(first: _Box, second: _Box) -> bool:
    """Return whether two boxes share a line; raised figures do with the word that they belong to."""
    shared = min(first.top, second.top) - max(first.bottom, second.bottom)
    return shared > 0.2 * min(first.top - first.bottom, second.top - second.bottom)


def _is_column(boxes: Sequence[_Box]) -> bool:
    """Return False for words that run on from one cell or column of the page into another."""
    return all(_is_below(upper, upper, lower) for upper, lower in pairwise(boxes))


def _continues(before: _Place, box: _Box) -> bool:
    height = before.last.top - before.last.bottom
    if _is_beside(before.last, box):
        return -1 < box.left - before.last.right < _WORD_GAP * height
    return _is_below(before.last, before.box, box)


def _is_below(last: _Box, column: _Box, box: _Box) -> bool:
    drop = last.bottom - box.bottom
    height = max(last.top - last.bottom, box.top - box.bottom, _LEAST_HEIGHT)
    return 0 < drop < _LINE_BELOW * height and box.left < column.right and column.left < box.right


def _beside(band: _Box, places: Sequence[Sequence[_Place]]) -> list[_Place] | None:
    """Return one place of each cell, each to the right of the one before and no higher or lower than ``band``."""
    row: list[_Place] = []
    for cell in places:
        right = row[-1].box.left if row else float("-inf")
        fits = [
            place
            for place in cell
            if place.box.left > right
            and place.box.bottom > band.bottom - _SAME_LINE
            and place.box.top < band.top + _SAME_LINE
        ]
        if not fits:
            return None
        row.append(min(fits, key=lambda place: place.box.left))
    return row
