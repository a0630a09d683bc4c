"""Reads the lines of PDF pages with PDFium: their words, place, type size and weight. Runs in the worker process.

PDFium gives text in content order, which is the reading order of most guidelines, two columns included. Lines that may
belong to a table are split into cells, which are further apart than the words of a sentence.
"""

import math
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from statistics import mode
from typing import Any, NamedTuple

from pypdfium2 import raw

from tools.documents.pdf.false_spaces import is_opened_by_raised, with_raised_numbers, with_whole_words
from tools.documents.pdf.pdf_rules import Rule, read_rules
from tools.documents.pdf.pdf_text import PageCharacters, TextLine, text_lines, utf16_length
from tools.errors import SourceRejected
from tools.language.sentences import BULLETS
from tools.language.terms import clean

_CELL_GAP = 0.75
"""Maximum space between words of one cell, in heights of the type. A usual space is about 0.2."""
_LEAST_GAP = 6.0
"""Minimum space between two cells, in points."""
_TOUCHING = 0.1
"""Maximum gap inside a word, in heights of the type."""
_BOLD_WEIGHT = 600
LEAST_ROWS = 3
_WIDE_LINE = 0.62
"""Maximum width of a line without gaps for each character, in heights of the type. Prose takes 0.4 to 0.5."""
_TALLEST_ROW = 200.0
"""Maximum rise from one cell to the next, in points. The rise to the next column of prose is larger."""
_MAX_LEADERS = 8
"""Maximum number of dotted rows; a page with more is a list of contents, whose entries are no captions."""
TABLE_CAPTION = re.compile(r"^[ \t]*(?:Table|TABLE)[ \u00a0]+(?:[A-Z]{0,4}[-.]?){0,3}\d", re.MULTILINE)
_MAX_PAGE_CHARACTERS = 200_000
"""A page of prose has 3,000 to 6,000; more than this is no page for reading."""
_SPACES = re.compile(r"\s+")


class Cell(NamedTuple):
    """A part of a line that white space separates from the rest, like a table's cell."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
    """One printed line. Coordinates are in points from the page's lower left corner, as in the PDF."""

    text: str
    left: float
    right: float
    base: float
    """Height of the line its letters are on."""
    size: float
    """Height of its type in points."""
    bold: bool
    hyphenated: bool
    """True when it ends in a hyphen that PDFium took for a line-end hyphen."""
    cells: tuple[Cell, ...] = ()
    """Its parts, found only where a table may be."""
    raised: bool = False
    """True when a raised reference number opens it."""

    @property
    def top(self) -> float:
        """Return the approximate height of the line's capitals above the page's foot, in points."""
        return self.base + self.size * 0.8


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The lines, rules and size of a page, in points."""

    number: int
    label: str | None
    width: float
    height: float
    lines: tuple[Line, ...]
    characters: int
    """Of its text, white space included."""
    pictured: bool
    """True for a page without text that shows something: a picture, or paths, for some scanners trace what they see."""
    rules: tuple[Rule, ...] = ()
    """Its horizontal rules, found only where lines are placed like table rows."""


def read_page(document: Any, index: int) -> PdfPage:
    """Read page ``index`` (from 0) of an open ``PdfDocument``. Raises ``SourceRejected``."""
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        characters = text_page.count_chars()
        if characters > _MAX_PAGE_CHARACTERS:
            raise SourceRejected(f"The PDF is no document to read: page {index + 1} holds {characters:,} characters.")
        lines, tabular = _lines(text_page)
        width, height = page.get_size()
        shown = (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH)
        pictured = not lines and next(page.get_objects(filter=shown, max_depth=3), None) is not None
        rules = read_rules(page) if tabular else ()
        label = clean(document.get_page_label(index))[:20] or None
        return PdfPage(index + 1, label, width, height, tuple(lines), characters, pictured, rules)


def _lines(text_page: Any) -> tuple[list[Line], bool]:
    """Return the lines of a page, and whether some are placed like table rows."""
    text: str = text_page.get_text_range()
    parts = text_lines(text)
    if not parts:
        return [], False
    characters = PageCharacters(text_page)
    if (whole := with_whole_words(text, parts, characters)) != text:
        text, parts = whole, text_lines(whole)
    # In other text the places of characters are not those on the page.
    placed = text if utf16_length(text) == len(text) else ""
    if (joined := with_raised_numbers(placed, characters)) != placed:
        text, placed, parts = joined, joined, text_lines(joined)
    lines = [_line(part, size, characters) for part, size in zip(parts, _sizes(parts, characters), strict=True)]
    tabular = _look_like_rows(lines) and _has_cells(text)
    highest = math.inf if tabular else _highest_caption(text, lines)
    for at, part in enumerate(parts):
        cells = _cells(text, part, lines[at].size, characters) if lines[at].base <= highest else ()
        raised = is_opened_by_raised(placed, part.first, characters)
        lines[at] = lines[at]._replace(cells=cells, raised=raised)
    return _whole_lines(lines), tabular


def _line(part: TextLine, size: float, characters: PageCharacters) -> Line:
    (left, base), (_, right) = characters.origin(part.first), characters.sides(part.last)
    bold = min(characters.weight(part.first), characters.weight(part.last)) >= _BOLD_WEIGHT
    return Line(part.words, left, max(left, right), base, size, bold, part.hyphenated)


def _cells(text: str, part: TextLine, size: float, characters: PageCharacters) -> tuple[Cell, ...]:
    """Split a line where the space between two words is far wider than between words of a sentence."""
    first, (left, _) = part.first, characters.sides(part.first)
    cells: list[Cell] = []
    for space in _SPACES.finditer(text, part.first, part.last):
        (_, before), (after, _) = characters.sides(space.start() - 1), characters.sides(space.end())
        if after - before > max(_LEAST_GAP, size * _CELL_GAP):
            cells.append(Cell(clean(text[first : space.start()]), left, before))
            first, left = space.end(), after
    rest = clean(text[first : part.last + 1]) if cells else part.words
    # The sign of a hyphen at a line's end is a part of its last cell.
    _, right = characters.sides(part.last + part.hyphenated)
    return (*cells, Cell(rest, left, right))


def _whole_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, and join those that PDFium breaks after a raised figure: "kg/m2" and ")"."""
    whole: list[Line] = []
    for line in lines:
        last = whole[-1] if whole else line
        if whole and abs(last.base - line.base) < 1 and abs(line.left - last.right) < _TOUCHING * line.size:
            seam = zip(last.cells[-1:], line.cells[:1], strict=False)
            cells = (*last.cells[:-1], *(Cell(a.text + b.text, a.left, b.right) for a, b in seam), *line.cells[1:])
            words = last.text + line.text
            whole[-1] = last._replace(text=words, right=line.right, hyphenated=line.hyphenated, cells=cells)
        else:
            whole.append(line)
    return whole


def _sizes(parts: Sequence[TextLine], characters: PageCharacters) -> list[float]:
    """Return the type size of each line.

    Where a line begins in another size than most of the page, the larger of its two ends counts: a raised reference
    number or small capitals may open it. A bullet at its beginning is ignored.
    """
    sizes = [characters.size(part.first) for part in parts]
    usual = mode(sizes)
    for at, part in enumerate(parts):
        if part.words[0] in BULLETS:
            sizes[at] = characters.size(part.last)
        elif sizes[at] != usual:
            sizes[at] = max(sizes[at], characters.size(part.last))
    return sizes


def _has_cells(text: str) -> bool:
    """Return False for a table of contents, and for text with characters beyond the basic plane."""
    return text.count(". . .") < _MAX_LEADERS and utf16_length(text) == len(text)


def _look_like_rows(lines: Sequence[Line]) -> bool:
    """Return whether some lines are far wider than their words, or beside the line before, like rows of a table."""
    beside = sum(-1 < line.base - above.base < _TALLEST_ROW for above, line in pairwise(lines))
    wide = sum(line.right - line.left > _WIDE_LINE * (line.size * len(line.text)) for line in lines)
    return max(wide, beside) >= LEAST_ROWS


def _highest_caption(text: str, lines: Sequence[Line]) -> float:
    """Return the height of the page's first table caption, below which lines may belong to a table."""
    if TABLE_CAPTION.search(text) is None or not _has_cells(text):
        return -math.inf
    return max((line.base for line in lines if is_caption(line.text, line.bold)), default=-math.inf)


def is_caption(words: str, bold: bool) -> bool:
    """Return whether ``words`` are a caption; a sentence that begins with ``Table 3 provides`` is not."""
    if not TABLE_CAPTION.match(words):
        return False
    parts = words.split()
    return bold or len(parts) == 2 or parts[1].endswith((".", ":"))
