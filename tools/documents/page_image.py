"""Draws a PDF page as PNG with the words of quotes marked, as with a yellow pen. Runs in the worker process."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pypdfium2 import raw

from tools.documents.models import PageImage
from tools.documents.pdf.pdf_open import fitting_scale, open_pdf, png
from tools.documents.pdf.pdf_rules import runs
from tools.documents.row_places import row_spans
from tools.errors import SourceRejected
from tools.language.quotes import find_longest, find_span
from tools.language.sentences import Span

_YELLOW = (255, 232, 92)
"""Each channel is multiplied with the page's, so that the words stay as they are printed."""
_MIN_MATCH = 24
"""Minimum number of characters of a quote's beginning or end that is marked instead of the whole."""


def render_page(path: Path, page_number: int, *, highlight: Sequence[str], scale: float) -> PageImage:
    """Render page ``page_number`` (from 1) as PNG at ``scale`` times 72 dpi and mark the quotes of ``highlight``.

    Raises ``SourceRejected``.
    """
    with closing(open_pdf(path)) as document:
        if not 1 <= page_number <= len(document):
            raise SourceRejected(f"The document has {len(document)} pages; there is no page {page_number}.")
        page = document[page_number - 1]
        width, height = page.get_size()
        places = quote_rectangles(page, highlight)
        of_first = quote_rectangles(page, highlight[:1]) if len(highlight) > 1 else []
        first = next(iter(of_first or places), None)
        for place in places:
            _mark(page, *place)
        image = png(page.render(scale=fitting_scale(page, scale), rev_byteorder=True, prefer_bgrx=False))
        return PageImage(png=image, pages=len(document), marked_at=first and (first[0] / width, 1 - first[3] / height))


def quote_rectangles(page: Any, quotes: Sequence[str]) -> list[tuple[float, float, float, float]]:
    """Return the boxes of ``quotes``: (left, bottom, right, top) in points; empty if they are missing.

    White space, hyphens and case are ignored. Overlapping quotes have common boxes. A quote that spans two pages has
    the boxes of its part on this page. A table's row, which may be drawn in any order, has boxes for its cells if they
    are beside each other.
    """
    with closing(page.get_textpage()) as text_page:
        places: list[tuple[float, float, float, float]] = []
        for start, end in _joined(span for quote in quotes for span in quote_spans(text_page, quote)):
            count = text_page.count_rects(start, end - start)
            places += [text_page.get_rect(index) for index in range(count)]
        return places


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones joined: a word that is marked twice would be hard to read."""
    overlapping = runs(sorted(spans), lambda run, span: span.start < max(end for _, end in run))
    return [Span(run[0].start, max(end for _, end in run)) for run in overlapping]


def quote_spans(text_page: Any, quote: str) -> list[Span]:
    """Return the spans of ``quote`` on an open page: one, several for a table row, or none."""
    text: str = text_page.get_text_range()
    whole = find_span(quote, text, ignore_case=True, whole_words=False)
    if whole is not None:
        return [whole]
    if "\t" in quote:
        return row_spans(text_page, quote)
    part = find_longest(quote, text, least=_MIN_MATCH)
    return [part] if part is not None else []


def _mark(page: Any, left: float, bottom: float, right: float, top: float) -> None:
    pen = raw.FPDFPageObj_CreateNewRect(left - 1, bottom - 1, right - left + 2, top - bottom + 2)
    raw.FPDFPageObj_SetFillColor(pen, *_YELLOW, 255)
    raw.FPDFPageObj_SetBlendMode(pen, b"Multiply")
    raw.FPDFPath_SetDrawMode(pen, raw.FPDF_FILLMODE_WINDING, 0)
    raw.FPDFPage_InsertObject(page, pen)
