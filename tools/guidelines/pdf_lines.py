"""Reads the lines of PDF pages with PDFium: their words, place, type size and weight. Runs in the worker process.

PDFium gives text in content order, which is the reading order of most guidelines, two columns included. Where it
ends a line with a hyphen it writes one sign in place of the hyphen and the line break.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from operator import mul, sub
from statistics import mode
from typing import Any, NamedTuple

from pypdfium2 import raw

from tools.guidelines.pdf_characters import PageCharacters
from tools.guidelines.pdf_rules import Rule, read_rules
from tools.guidelines.text import LINE_HYPHENS, clean

BOLD_WEIGHT = 600
CELL_GAP = 0.75
"""Of the type's height: a wider space between words parts two cells. A space between words is about 0.2."""
LEAST_GAP = 6.0
"""In points: less parts no cells in any type."""
LEAST_ROWS = 3
WIDE_LINE = 0.62
"""Of the type's height, for each character: a line wider than this holds white. Prose takes 0.4 to 0.5."""
TALLEST_ROW = 200.0
"""Points that text rises by at most from the end of one cell to the next; to the next column of prose it rises more."""
MAX_LEADERS = 8
"""A page with more rows of dots is a list of contents, whose entries are no captions."""
TABLE_CAPTION = re.compile(r"^[ \t]*(?:Table|TABLE)[ \u00a0]+(?:[A-Z]{0,4}[-.]?){0,3}\d", re.MULTILINE)
_SPACES = re.compile(r"\s+")
_HYPHEN_ENDS = frozenset(LINE_HYPHENS)
MAX_PAGE_CHARACTERS = 200_000
"""A page of prose has 3,000 to 6,000; more than this is no page for reading."""


class Cell(NamedTuple):
    """A part of a line that stands apart from the rest, as the cells of a table do."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
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
    """Its parts, looked up only where a table may be."""

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
    characters: int
    """Of its text, white space included."""
    pictures: int
    """Pictures on a page that has no text; 0 is not looked up where there is text."""
    rules: tuple[Rule, ...] = ()
    """Its horizontal rules, looked up only where its lines stand as those of a table do."""


class PageTooLarge(ValueError):
    """A page holds more characters than any printed page can."""


def read_page(document: Any, index: int) -> PdfPage:
    """Reads page ``index`` (from 0) of an open ``PdfDocument``."""
    page = document[index]
    text_page = page.get_textpage()
    try:
        characters = text_page.count_chars()
        if characters > MAX_PAGE_CHARACTERS:
            raise PageTooLarge(f"page {index + 1} holds {characters:,} characters")
        lines, tabular = _lines(text_page)
        width, height = page.get_size()
        pictures = 0 if lines else _pictures(page)
        rules = read_rules(page) if tabular else ()
        return PdfPage(index + 1, _label(document, index), width, height, tuple(lines), characters, pictures, rules)
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


def _lines(text_page: Any) -> tuple[list[Line], bool]:
    """The lines of a page, and whether some stand as those of a table do."""
    text: str = text_page.get_text_range()
    parts = _parts(text)
    if not parts:
        return [], False
    words, firsts, lasts, hyphenated = zip(*parts, strict=True)
    characters = PageCharacters(text_page)
    lefts, bases = characters.origins(firsts)
    _, rights = characters.sides(lasts)
    sizes, bold = _sizes(parts, characters), _bold(parts, characters)
    tabular = _stand_as_rows(words, lefts, rights, bases, sizes) and _has_cells(text)
    chosen = list(range(len(parts))) if tabular else _under_captions(text, parts, bases, bold)
    cells = _cells(text, parts, sizes, chosen, characters) if chosen else repeat(())
    lines = list(map(Line, words, lefts, map(max, lefts, rights), bases, sizes, bold, hyphenated, cells))
    return lines, tabular


class _Part(NamedTuple):
    """The text of one line, and the indices of its first and last characters that are no white space."""

    words: str
    first: int
    last: int
    """A hyphen that PDFium put at the line's end is not counted."""
    hyphenated: bool


def _parts(text: str) -> list[_Part]:
    """The lines of ``text`` that hold words. Behind what PDFium writes for a hyphen and a line break there is none."""
    # Characters beyond the basic plane count twice on the text page.
    wide = _units(text) > len(text)
    broken = text.replace("\r\n", "\n ").replace("\r", "\n")
    for sign in LINE_HYPHENS:
        broken = broken.replace(sign, f"{sign}\n")
    found: list[_Part] = []
    at = 0
    for line in broken.split("\n"):
        stripped = line.strip()
        if stripped:
            hyphenated = stripped[-1] in _HYPHEN_ENDS
            words = clean(stripped[:-1] if hyphenated else stripped)
            if words:
                first = at + line.index(stripped[0])
                if wide:
                    first = _units(text[:first])
                last = first + len(stripped) - 1 - hyphenated
                found.append(_Part(words, first, max(first, last), hyphenated))
            at -= hyphenated
        at += len(line) + 1
    return found


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _sizes(parts: Sequence[_Part], characters: PageCharacters) -> list[float]:
    """The type's height of each line. The larger counts of its ends, where it begins otherwise than most of the page:

    a raised reference number, a bullet or small capitals may stand at its head.
    """
    sizes = characters.sizes([part.first for part in parts])
    usual = mode(sizes)
    others = [at for at, size in enumerate(sizes) if size != usual]
    for at, size in zip(others, characters.sizes([parts[at].last for at in others]), strict=True):
        sizes[at] = max(sizes[at], size)
    return sizes


def _bold(parts: Sequence[_Part], characters: PageCharacters) -> list[bool]:
    """Whether each line begins and ends in bold type."""
    bold = [weight >= BOLD_WEIGHT for weight in characters.weights([part.first for part in parts])]
    begun = [at for at, heavy in enumerate(bold) if heavy]
    for at, weight in zip(begun, characters.weights([parts[at].last for at in begun]), strict=True):
        bold[at] = weight >= BOLD_WEIGHT
    return bold


def _has_cells(text: str) -> bool:
    """False for a list of contents, and for what has characters beyond the basic plane: no simple places for cells."""
    return text.count(". . .") < MAX_LEADERS and _units(text) == len(text)


def _stand_as_rows(
    words: Sequence[str],
    lefts: Sequence[float],
    rights: Sequence[float],
    bases: Sequence[float],
    sizes: Sequence[float],
) -> bool:
    """Whether some lines are far wider than their words, or go on beside or above the line before, as rows do."""
    # Built of C loops, for every line of every page comes through here.
    risen = map(sub, islice(bases, 1, None), bases)
    widths, usual = map(sub, rights, lefts), map(mul, sizes, map(len, words))
    beside = [rise for rise in risen if -1 < rise < TALLEST_ROW]
    wide = [width for width, high in zip(widths, usual, strict=True) if width > WIDE_LINE * high]
    return max(len(wide), len(beside)) >= LEAST_ROWS


def _under_captions(text: str, parts: Sequence[_Part], bases: Sequence[float], bold: Sequence[bool]) -> list[int]:
    """Which lines may belong to a table: those that stand no higher than the first caption of one on the page."""
    if not _names_table(text) or not _has_cells(text):
        return []
    captions = [base for part, base, heavy in zip(parts, bases, bold, strict=True) if is_caption(part.words, heavy)]
    highest = max(captions, default=-math.inf)
    return [at for at, base in enumerate(bases) if base <= highest]


def _names_table(text: str) -> bool:
    return ("Table" in text or "TABLE" in text) and TABLE_CAPTION.search(text) is not None


def is_caption(words: str, bold: bool) -> bool:
    """A caption names its table and is set apart; a sentence that begins with ``Table 3 provides`` is not one."""
    if words[:5] not in {"Table", "TABLE"} or not TABLE_CAPTION.match(words):
        return False
    parts = words.split()
    return bold or len(parts) == 2 or parts[1].endswith((".", ":"))


def _cells(
    text: str, parts: Sequence[_Part], sizes: Sequence[float], chosen: Sequence[int], characters: PageCharacters
) -> list[tuple[Cell, ...]]:
    """Parts the chosen lines where the space between two words is far wider than between words of a sentence."""
    found: list[tuple[Cell, ...]] = [()] * len(parts)
    lefts, _ = characters.sides([parts[at].first for at in chosen])
    # The sign of a hyphen at the line's end is a part of its last cell.
    _, rights = characters.sides([parts[at].last + parts[at].hyphenated for at in chosen])
    gaps = _gaps(text, parts, sizes, chosen, characters)
    for at, start, right in zip(chosen, lefts, rights, strict=True):
        part = parts[at]
        first, left = part.first, start
        cells: list[Cell] = []
        for gap in gaps.get(at, ()):
            cells.append(Cell(clean(text[first : gap.start]), left, gap.left))
            first, left = gap.end, gap.right
        last = clean(text[first : part.last + 1]) if cells else part.words
        found[at] = (*cells, Cell(last, left, right))
    return found


class _Gap(NamedTuple):
    """White space of the text from ``start`` to ``end``, as wide as from ``left`` to ``right`` on the page."""

    start: int
    end: int
    left: float
    right: float


def _gaps(
    text: str, parts: Sequence[_Part], sizes: Sequence[float], chosen: Sequence[int], characters: PageCharacters
) -> dict[int, list[_Gap]]:
    within = [(parts[at].first, parts[at].last) for at in chosen]
    spaces = [match.span() for first, last in within for match in _SPACES.finditer(text, first, last)]
    _, befores = characters.sides([start - 1 for start, _ in spaces])
    afters, _ = characters.sides([end for _, end in spaces])
    firsts = [first for first, _ in within]
    wide: dict[int, list[_Gap]] = {}
    for space in [at for at, width in enumerate(map(sub, afters, befores)) if width > LEAST_GAP]:
        (start, end), left, right = spaces[space], befores[space], afters[space]
        at = chosen[bisect(firsts, start) - 1]
        if right - left > sizes[at] * CELL_GAP:
            wide.setdefault(at, []).append(_Gap(start, end, left, right))
    return wide
