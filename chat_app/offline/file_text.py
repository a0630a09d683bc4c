"""The text of an uploaded file, and its cutting into chunks.

Read are plain text (also Markdown, CSV, JSON and source code), HTML, PDF and DOCX. A file that is none of these is
refused with the reason.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pypdfium2

from chat_app.offline.extraction.text import sentences
from chat_app.offline.objects import count_tokens

MOST_CHARACTERS: Final = 20_000_000
_DOCX_PARAGRAPH: Final = re.compile(r"<w:p[ >].*?</w:p>", re.DOTALL)
_DOCX_TEXT: Final = re.compile(r"<w:t(?: [^>]*)?>([^<]*)</w:t>|<w:tab/>|<w:br/>")
_HYPHEN: Final = re.compile("[\x02\ufffe]\\s*")
_HTML_NAME: Final = re.compile(r"\.x?html?$", re.IGNORECASE)
_HTML_HEAD: Final = re.compile(r"\s*<(?:!doctype html|html)", re.IGNORECASE)
_SKIPPED: Final = frozenset({"script", "style", "head", "template"})
_BLOCKS: Final = frozenset({"p", "div", "li", "tr", "br", "h1", "h2", "h3", "h4", "h5", "h6", "section", "table", "td"})


class UnreadableFileError(Exception):
    """A file that holds no text this server can read; the message says why."""


def text_of_file(path: Path, filename: str) -> str:
    """The text of a file. Raises ``UnreadableFileError``."""
    head = path.read_bytes()[:8]
    if head.startswith(b"%PDF"):
        text = _pdf(path)
    elif head.startswith(b"PK\x03\x04"):
        text = _docx(path)
    else:
        text = _plain(path)
        if _HTML_NAME.search(filename) or _HTML_HEAD.match(text):
            text = _html(text)
    if not text.strip():
        raise UnreadableFileError("The file holds no text. A scan must be read by OCR first.")
    return text[:MOST_CHARACTERS]


def _plain(path: Path) -> str:
    data = path.read_bytes()
    for encoding in ("utf-8-sig", "utf-16") if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else ("utf-8-sig",):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise UnreadableFileError("The file is not text in UTF-8, and not a PDF, DOCX or HTML file.")


def _pdf(path: Path) -> str:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        raise UnreadableFileError("The PDF is damaged or encrypted.") from None
    try:
        return "\n\n".join(_pages(document))
    finally:
        document.close()


def _pages(document: pypdfium2.PdfDocument) -> Iterator[str]:
    size = 0
    for page in document:
        text = _HYPHEN.sub("", page.get_textpage().get_text_range().replace("\r\n", "\n"))
        size += len(text)
        if size > MOST_CHARACTERS:
            return
        yield text


def _docx(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive, archive.open("word/document.xml") as part:
            xml = part.read(MOST_CHARACTERS * 4).decode("utf-8", errors="replace")
    except (KeyError, zipfile.BadZipFile, OSError):
        raise UnreadableFileError("The archive is not a DOCX document.") from None
    paragraphs = _DOCX_PARAGRAPH.findall(xml)
    return "\n\n".join(
        html.unescape("".join(match.group(1) or " " for match in _DOCX_TEXT.finditer(paragraph)))
        for paragraph in paragraphs
    )


class _TextOfHtml(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._skipping = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipping += tag in _SKIPPED
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in _SKIPPED and self._skipping > 0

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.pieces.append(data)


def _html(text: str) -> str:
    parser = _TextOfHtml()
    parser.feed(text)
    parser.close()
    return "".join(parser.pieces)


def chunks(text: str, *, size: int, overlap: int) -> Iterator[str]:
    """Stretches of about ``size`` tokens on sentence bounds; each repeats up to ``overlap`` tokens of the last."""
    current: list[tuple[str, int]] = []
    total = 0
    for sentence in _pieces(text, size):
        tokens = count_tokens(sentence)
        if current and total + tokens > size:
            yield "\n".join(part for part, _ in current)
            current = _tail(current, overlap, room=size - tokens)
            total = sum(count for _, count in current)
        current.append((sentence, tokens))
        total += tokens
    if current:
        yield "\n".join(part for part, _ in current)


def _pieces(text: str, size: int) -> Iterator[str]:
    for sentence in sentences(text):
        words = sentence.split(" ")
        # What has no sentence bounds (a table, a list of codes) is cut at words.
        step = max(1, size // 2)
        for start in range(0, len(words), step):
            yield " ".join(words[start : start + step])


def _tail(parts: list[tuple[str, int]], overlap: int, *, room: int) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    total = 0
    for part, tokens in reversed(parts):
        total += tokens
        if total > overlap or total > room:
            break
        kept.insert(0, (part, tokens))
    return kept
