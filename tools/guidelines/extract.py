"""Reads a file into pages of blocks: one entry for every format. Runs in the worker process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from tools.errors import SourceRejected
from tools.guidelines.layout import Layout, OutlineEntry
from tools.guidelines.models import Extraction, PageContent
from tools.guidelines.pdf_lines import PageTooLarge, PdfPage, read_page
from tools.guidelines.text import clean

MAX_PAGES = 5_000
MAX_CHARACTERS = 40_000_000
"""Of a whole document; the longest guideline tried (262 pages) has 0.9 million."""
MAX_OUTLINE = 5_000
SUFFIXES = (".pdf",)
Progress = Callable[[int, int], None]
_PDF_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_FILE_NAME = re.compile(r"\.(docx?|pdf|indd|qxd|pptx?)$|^Microsoft Word", re.IGNORECASE)
_YEAR = re.compile(r"\b(19[89]\d|20[0-4]\d)\b")


def extract(path: Path, suffix: str, *, progress: Progress) -> Extraction:
    """Reads the file at ``path``, which came with the ending ``suffix``. Raises ``SourceRejected``."""
    return _extract_pdf(path, progress)


def open_pdf(path: Path) -> Any:
    """Opens a PDF, or raises ``SourceRejected`` with the reason for which it cannot be read."""
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY) or "assword" in str(error):
            raise SourceRejected("The PDF is encrypted: save it without a password and add it again.") from None
        raise SourceRejected("The PDF is damaged or is no PDF: it cannot be opened.") from None
    return document


def _extract_pdf(path: Path, progress: Progress) -> Extraction:
    document = open_pdf(path)
    try:
        total = len(document)
        if total == 0:
            raise SourceRejected("The PDF has no pages.")
        if total > MAX_PAGES:
            raise SourceRejected(f"The PDF has {total:,} pages; a guideline may have {MAX_PAGES:,}. Split the file.")
        pages = _read_pages(document, total, progress)
        contents = tuple(Layout(pages, _outline(document)).pages())
        title, issuer, date = _metadata(document, contents)
        return Extraction(title=title, issuer=issuer, date=date, pages=contents)
    finally:
        document.close()


def _read_pages(document: Any, total: int, progress: Progress) -> list[PdfPage]:
    pages: list[PdfPage] = []
    characters = 0
    for index in range(total):
        try:
            page = read_page(document, index)
        except PageTooLarge as error:
            raise SourceRejected(f"The PDF is no document to read: {error}.") from None
        except pdfium.PdfiumError:
            raise SourceRejected(f"Page {index + 1} of the PDF is damaged and cannot be read.") from None
        characters += sum(len(line.text) for line in page.lines)
        if characters > MAX_CHARACTERS:
            raise SourceRejected(f"The PDF holds more than {MAX_CHARACTERS:,} characters. Split the file.")
        pages.append(page)
        progress(index + 1, total)
    return pages


def _outline(document: Any) -> list[OutlineEntry]:
    """The PDF's outline; bookmarks that a word processor left (``_Ref123``) are no headings."""
    entries: list[OutlineEntry] = []
    try:
        for bookmark in document.get_toc(max_depth=6):
            target = bookmark.get_dest()
            page = target.get_index() if target is not None else None
            title = clean(bookmark.get_title())
            if page is not None and title and not title.startswith("_"):
                entries.append(OutlineEntry(bookmark.level + 1, title, page + 1))
            if len(entries) == MAX_OUTLINE:
                break
    except pdfium.PdfiumError:
        return []
    return entries


def _metadata(document: Any, pages: tuple[PageContent, ...]) -> tuple[str, str, str]:
    facts: dict[str, str] = document.get_metadata_dict()
    title = clean(facts.get("Title", ""))
    if not _is_title(title):
        title = _printed_title(pages)
    return title[:300], clean(facts.get("Author", ""))[:200], _date(facts, pages)


def _is_title(text: str) -> bool:
    return len(text) > 5 and " " in text and not _FILE_NAME.search(text)


def _printed_title(pages: tuple[PageContent, ...]) -> str:
    """The headings that open the first page with text, in their order."""
    for page in pages[:3]:
        headings = [block for block in page.blocks if block.kind == "heading"]
        if headings:
            top = min(block.level for block in headings)
            words = " ".join(block.text for block in headings if block.level <= top + 1)
            if _is_title(words):
                return words
    return ""


def _date(facts: dict[str, str], pages: tuple[PageContent, ...]) -> str:
    """The year that the first pages print, else the day the file was made."""
    made = _PDF_DATE.match(facts.get("CreationDate", ""))
    made_year = made[1] if made else ""
    printed = [year for page in pages[:2] for block in page.blocks for year in _YEAR.findall(block.text)]
    if made is not None and (not printed or made_year in printed):
        return "-".join(part for part in made.groups() if part)
    return max(printed, default="")
