"""Reads the lines of PDF pages with PDFium: their words, place, type size and weight. Runs in the worker process.

PDFium gives text in content order, which is the reading order of most guidelines, two columns included. Where it
ends a line with a hyphen it writes one sign in place of the hyphen and the line break.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypdfium2 import raw

from tools.guidelines.text import LINE_HYPHENS, clean

BOLD_WEIGHT = 600
CELL_GAP = 0.75
"""Of the type's height: a wider space between words parts two cells. A space between words is about 0.2."""
MAX_LEADERS = 8
"""A page with more rows of dots is a list of contents, whose entries are no captions."""
TABLE_CAPTION = re.compile(r"^[ \t]*(?:Table|TABLE)[ \u00a0]+(?:[A-Z]{0,4}[-.]?)?\d", re.MULTILINE)
_SPACES = re.compile(r"\s+")
_NO_HYPHENS = dict.fromkeys(map(ord, LINE_HYPHENS))
_BREAKS = re.compile(f"\r\n|\n|\r|(?<=[{LINE_HYPHENS}])")
MAX_PAGE_CHARACTERS = 200_000
"""A page of prose has 3,000 to 6,000; more than this is no page for reading."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line that stands apart from the rest, as the cells of a table do."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line. Coordinates are in points from the page's lower left corner, as in the PDF."""

    text: str
    left: float
    right: float
    base: float
    """Height of the line its letters stand on."""
    size: float
    """Height of its type in points."""
    bold: bool
    hyphenated: bool
    """True when it ends in a hyphen that PDFium took for a line-end hyphen."""
    cells: tuple[Cell, ...] = ()
    """Its parts, looked up only on pages with a table's caption."""

    @property
    def top(self) -> float:
        return self.base + self.size * 0.8


@dataclass(frozen=True, slots=True)
class PdfPage:
    number: int
    label: str | None
    width: float
    height: float
    lines: tuple[Line, ...]
    pictures: int
    """Pictures on a page that has no text; 0 is not looked up where there is text."""


class PageTooLarge(ValueError):
    """A page holds more characters than any printed page can."""


def read_page(document: Any, index: int) -> PdfPage:
    """Reads page ``index`` (from 0) of an open ``PdfDocument``."""
    page = document[index]
    text_page = page.get_textpage()
    try:
        if text_page.count_chars() > MAX_PAGE_CHARACTERS:
            raise PageTooLarge(f"page {index + 1} holds {text_page.count_chars():,} characters")
        lines = _lines(text_page)
        width, height = page.get_size()
        pictures = 0 if lines else _pictures(page)
        return PdfPage(index + 1, _label(document, index), width, height, tuple(lines), pictures)
    finally:
        text_page.close()
        page.close()


def _label(document: Any, index: int) -> str | None:
    label = clean(str(document.get_page_label(index) or ""))
    return label[:20] or None


def _pictures(page: Any) -> int:
    """Counts images; paths count as well, for some scanners trace what they see."""
    found = 0
    for thing in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH), max_depth=3):
        found += 1
        thing.close()
        if found >= 3:
            break
    return found


def _lines(text_page: Any) -> list[Line]:
    text: str = text_page.get_text_range()
    # Characters beyond the basic plane count twice on the text page.
    wide = max(text, default="") > "\uffff"
    names_table = "Table" in text or "TABLE" in text
    with_cells = (
        names_table and not wide and text.count(". . .") < MAX_LEADERS and TABLE_CAPTION.search(text) is not None
    )
    reader = _Reader(text_page)
    lines: list[Line] = []
    start = 0
    for part in _BREAKS.split(text):
        line = reader.line(part, _units(text[:start]) if wide else start, with_cells)
        if line is not None:
            lines.append(line)
        start += len(part)
        start += _break_length(text, start)
    return lines


def _break_length(text: str, at: int) -> int:
    if text.startswith("\r\n", at):
        return 2
    return 1 if text[at : at + 1] in ("\r", "\n") else 0


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class _Reader:
    """Asks PDFium for the place of single characters; its buffers are made once, for it is asked often."""

    def __init__(self, text_page: Any) -> None:
        self._page = text_page.raw
        self._box = [ctypes.c_double() for _ in range(4)]
        self._references = [ctypes.byref(value) for value in self._box]
        self._matrix = raw.FS_MATRIX()
        self._matrix_reference = ctypes.byref(self._matrix)

    def line(self, part: str, start: int, with_cells: bool) -> Line | None:
        stripped = part.rstrip()
        hyphenated = stripped[-1:] != "" and stripped[-1] in LINE_HYPHENS
        words = clean(part if part.isascii() else part.translate(_NO_HYPHENS))
        if not words:
            return None
        first = start + len(part) - len(part.lstrip())
        last = max(first, start + len(stripped) - 1 - int(hyphenated))
        left, base = self._origin(first)
        _, right = self._sides(last)
        weight = raw.FPDFText_GetFontWeight
        bold = weight(self._page, first) >= BOLD_WEIGHT and weight(self._page, last) >= BOLD_WEIGHT
        size = self._size(first)
        if words[0].isdigit():
            # It may be a raised reference number, in smaller type than the line.
            size = max(size, self._size(last))
        cells = tuple(self._cells(part, start, size)) if with_cells else ()
        return Line(words, left, max(left, right), base, size, bold, hyphenated, cells)

    def _origin(self, index: int) -> tuple[float, float]:
        if raw.FPDFText_GetCharOrigin(self._page, index, *self._references[:2]):
            return self._box[0].value, self._box[1].value
        return 0.0, 0.0

    def _sides(self, index: int) -> tuple[float, float]:
        if raw.FPDFText_GetCharBox(self._page, index, *self._references):
            return self._box[0].value, self._box[1].value
        return 0.0, 0.0

    def _size(self, index: int) -> float:
        # The font's own size is 1 in files that scale it by the text matrix.
        size = float(raw.FPDFText_GetFontSize(self._page, index))
        if raw.FPDFText_GetMatrix(self._page, index, self._matrix_reference):
            size *= math.hypot(self._matrix.c, self._matrix.d)
        return round(size, 1)

    def _cells(self, part: str, start: int, size: float) -> Iterator[Cell]:
        """Parts the line where the space between two words is far wider than between words of a sentence."""
        wide = max(6.0, size * CELL_GAP)
        first = len(part) - len(part.lstrip())
        end = len(part.rstrip())
        left = self._sides(start + first)[0]
        for match in _SPACES.finditer(part, first, end):
            before = self._sides(start + match.start() - 1)[1]
            after = self._sides(start + match.end())[0]
            if after - before > wide:
                yield Cell(clean(part[first : match.start()]), left, before)
                first, left = match.end(), after
        yield Cell(clean(part[first:end].translate(_NO_HYPHENS)), left, self._sides(start + end - 1)[1])
