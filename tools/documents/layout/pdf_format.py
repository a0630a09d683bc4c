"""Reads PDF files into pages of blocks, with what the file says about itself. Runs in the worker process."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from tools.documents.layout.block_layout import Layout, OutlineEntry
from tools.documents.layout.ocr import recognise, tesseract
from tools.documents.layout.pdf_facts import pdf_facts
from tools.documents.models import Extraction, PageContent, Progress
from tools.documents.pdf.pdf_lines import PdfPage, read_page
from tools.documents.pdf.pdf_open import open_pdf
from tools.errors import SourceRejected
from tools.language.terms import clean

MAX_PAGES = 5_000
_MAX_CHARACTERS = 40_000_000
"""Maximum of a whole document; the longest guideline tried (262 pages) has 0.9 million."""
_MAX_OUTLINE = 5_000


def read_pdf(path: Path, progress: Progress) -> Extraction:
    """Read all pages. Raises ``SourceRejected`` for a file that is encrypted, damaged, empty or too large."""
    with closing(open_pdf(path)) as document:
        total = len(document)
        if total == 0:
            raise SourceRejected("The PDF has no pages.", code="file_without_text")
        if total > MAX_PAGES:
            raise SourceRejected(
                f"The PDF has {total:,} pages; a guideline may have {MAX_PAGES:,}. Split the file.",
                code="file_too_long",
                params={"pages": total, "limit": MAX_PAGES},
            )
        pages = _read_pages(document, total, progress)
        read = tuple(Layout(pages, _outline(document)).pages())
        contents = _with_scans(document, read, progress)
        return pdf_facts(document, contents).model_copy(update={"pages": contents})


def _read_pages(document: Any, total: int, progress: Progress) -> list[PdfPage]:
    pages: list[PdfPage] = []
    characters = 0
    for index in range(total):
        try:
            page = read_page(document, index)
        except pdfium.PdfiumError:
            raise SourceRejected(
                f"Page {index + 1} of the PDF is damaged and cannot be read.", code="file_damaged"
            ) from None
        characters += page.characters
        if characters > _MAX_CHARACTERS:
            raise SourceRejected(f"The PDF holds more than {_MAX_CHARACTERS:,} characters. Split the file.")
        pages.append(page)
        progress(index + 1, total)
    return pages


def _outline(document: Any) -> list[OutlineEntry]:
    """Return the PDF's outline; bookmarks that a word processor left (``_Ref123``) are no headings."""
    entries: list[OutlineEntry] = []
    try:
        for bookmark in document.get_toc(max_depth=6):
            target = bookmark.get_dest()
            page = target.get_index() if target is not None else None
            title = clean(bookmark.get_title())
            if page is not None and title and not title.startswith("_"):
                entries.append(OutlineEntry(bookmark.level + 1, title, page + 1))
            if len(entries) == _MAX_OUTLINE:
                break
    except pdfium.PdfiumError:
        return []
    return entries


def _with_scans(document: Any, pages: tuple[PageContent, ...], progress: Progress) -> tuple[PageContent, ...]:
    """Read the pages that are pictures, where Tesseract is installed."""
    program = tesseract()
    if program is None or all(page.searchable for page in pages):
        return pages
    read = list(pages)
    for at, page in enumerate(pages):
        if not page.searchable:
            if blocks := recognise(document[at], program):
                read[at] = page.model_copy(update={"blocks": blocks, "searchable": True, "recognised": True})
            progress(at + 1, len(pages))
    return tuple(read)
