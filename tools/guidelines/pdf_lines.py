"""Reads the lines of PDF pages with PDFium: their words, place, type size and weight. Runs in the worker process.

PDFium gives text in content order, which is the reading order of most guidelines, two columns included. Where it
ends a line with a hyphen it writes one sign in place of the hyphen and the line break.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from tools.guidelines.text import LINE_HYPHENS, clean

BOLD_WEIGHT = 600
_BREAKS = re.compile(f"\r\n|\n|\r|(?<=[{LINE_HYPHENS}])")
MAX_PAGE_CHARACTERS = 200_000
"""A page of prose has 3,000 to 6,000; more than this is no page for reading."""


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line. Coordinates are in points from the page's lower left corner, as in the PDF."""

    text: str
    start: int
    """Index of its first character on the text page."""
    left: float
    bottom: float
    right: float
    top: float
    size: float
    """Height of its type in points."""
    bold: bool
    hyphenated: bool
    """True when it ends in a hyphen that PDFium took for a line-end hyphen."""


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
    lines: list[Line] = []
    text: str = text_page.get_text_range()
    # Characters beyond the basic plane count twice on the text page.
    wide = any(ord(char) > 0xFFFF for char in text)
    start = 0
    for part in _BREAKS.split(text):
        line = _line(text_page, part, _units(text[:start]) if wide else start)
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


def _line(text_page: Any, part: str, start: int) -> Line | None:
    hyphenated = part[-1:] != "" and part[-1] in LINE_HYPHENS
    words = clean(part.translate(dict.fromkeys(map(ord, LINE_HYPHENS))))
    if not words:
        return None
    lead = len(part) - len(part.lstrip())
    first = start + lead
    last = start + len(part.rstrip()) - 1 - int(hyphenated)
    left, bottom, _, top = _box(text_page, first)
    _, _, right, last_top = _box(text_page, max(first, last))
    size = _size(text_page, first)
    bold = all(raw.FPDFText_GetFontWeight(text_page, at) >= BOLD_WEIGHT for at in (first, last))
    return Line(words, first, left, bottom, max(left, right), max(top, last_top), size, bold, hyphenated)


def _box(text_page: Any, index: int) -> tuple[float, float, float, float]:
    try:
        left, bottom, right, top = text_page.get_charbox(index)
    except pdfium.PdfiumError:
        return (0.0, 0.0, 0.0, 0.0)
    return (left, bottom, right, top)


def _size(text_page: Any, index: int) -> float:
    # The font's own size is 1 in files that scale it by a matrix; the loose box is scaled.
    rect = raw.FS_RECTF()
    if raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(rect)):
        return round(abs(float(rect.top) - float(rect.bottom)), 1)
    return round(float(raw.FPDFText_GetFontSize(text_page, index)), 1)
