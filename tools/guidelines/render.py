"""Draws a PDF page as PNG with the words of a quote marked, as with a yellow pen. Runs in the worker process."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

from tools.errors import SourceRejected
from tools.guidelines.pdf_open import open_pdf
from tools.guidelines.text import comparable

MAX_PIXELS = 40_000_000
"""An A4 page at scale 5; larger pages are drawn at a smaller scale."""
_PEN = (255, 232, 92)
"""Yellow; each channel is multiplied with the page's, so that the words stay as they are printed."""
_MIN_MATCH = 12
"""Fewer signs than this that agree are no match of a quote."""


def render_page(path: Path, page_number: int, *, highlight: str, scale: float) -> bytes:
    """The PNG of page ``page_number`` (from 1) at ``scale`` times 72 dots per inch. Raises ``SourceRejected``."""
    document = open_pdf(path)
    try:
        if not 1 <= page_number <= len(document):
            raise SourceRejected(f"The document has {len(document)} pages; there is no page {page_number}.")
        page = document[page_number - 1]
        width, height = page.get_size()
        scale = max(0.1, min(scale, (MAX_PIXELS / max(1.0, width * height)) ** 0.5))
        bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
        rows = _rows(bitmap)
        if highlight:
            _mark(rows, quote_rectangles(page, highlight), bitmap.n_channels, height, scale)
        return _png(rows, bitmap.width, bitmap.n_channels)
    finally:
        document.close()


def picture_of_page(page: Any, scale: float) -> bytes:
    """An open page as PNG, in shades of grey."""
    width, height = page.get_size()
    scale = max(0.1, min(scale, (MAX_PIXELS / max(1.0, width * height)) ** 0.5))
    bitmap = page.render(scale=scale, grayscale=True)
    return _png(_rows(bitmap), bitmap.width, bitmap.n_channels)


def quote_rectangles(page: Any, quote: str) -> list[tuple[float, float, float, float]]:
    """Where the words of ``quote`` stand: (left, bottom, right, top) in points; empty when they are not there.

    White space, hyphens and case are ignored. Of a quote that runs over the page's end the part on it is found.
    """
    text_page = page.get_textpage()
    try:
        span = find_quote(text_page.get_text_range(), quote)
        if span is None:
            return []
        start, end = span
        count = text_page.count_rects(start, end - start)
        return [text_page.get_rect(index) for index in range(count)]
    finally:
        text_page.close()


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """First and last+1 index in ``text`` of the words of ``quote``, or None."""
    signs: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        for sign in comparable(char):
            signs.append(sign)
            places.append(at)
    haystack, needle = "".join(signs), comparable(quote)
    for wanted in _parts(needle):
        at = haystack.find(wanted)
        if at >= 0:
            return places[at], places[at + len(wanted) - 1] + 1
    return None


def _parts(needle: str) -> list[str]:
    """The whole quote, then ever shorter beginnings and ends of it, for a quote that crosses a page or a column."""
    if not needle:
        return []
    parts = [needle]
    size = len(needle) * 3 // 4
    while size >= _MIN_MATCH:
        parts += [needle[:size], needle[-size:]]
        size = size * 3 // 4
    return parts


def _rows(bitmap: Any) -> list[bytearray]:
    data = bytes(bitmap.buffer)
    used = bitmap.width * bitmap.n_channels
    return [bytearray(data[at : at + used]) for at in range(0, bitmap.stride * bitmap.height, bitmap.stride)]


def _mark(
    rows: list[bytearray], places: list[tuple[float, float, float, float]], channels: int, height: float, scale: float
) -> None:
    tables = [bytes(value * pen // 255 for value in range(256)) for pen in _PEN]
    for left, bottom, right, top in places:
        first, last = round((left - 1) * scale), round((right + 1) * scale)
        for y in range(max(0, round((height - top - 1) * scale)), min(len(rows), round((height - bottom + 1) * scale))):
            row = rows[y]
            start, end = max(0, first) * channels, min(len(row), last * channels)
            for channel, table in enumerate(tables):
                row[start + channel : end : channels] = row[start + channel : end : channels].translate(table)


def _png(rows: list[bytearray], width: int, channels: int) -> bytes:
    colour_type = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, len(rows), 8, colour_type, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
