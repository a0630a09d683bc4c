"""Reads the words of each page from the original file, for evaluations to compare quotes with.

It uses none of the library's own extraction (columns, running heads, tables, passages), so that a mistake there cannot
hide itself.
"""

import html
import re
import zipfile
from contextlib import closing
from pathlib import Path

import pypdfium2

from tools.errors import SourceRejected
from tools.language.folding import folded

_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_LEAST_BEFORE, _LEAST_AFTER = 8, 4
"""Minimum numbers of characters before and after the page break of a quote that spans two pages."""
_RUNNING_HEAD = 300
"""Maximum number of characters above its rest on the next page. A whole table may follow its beginning."""
_LABEL = re.compile(r"(?:table|figure|fig\.|box|chart)\s+[\w.-]+[:.]?\s+", re.IGNORECASE)


def page_texts(path: Path) -> list[str]:
    """Return the text of each page of a PDF in the file's own order; any other format is one page. Blocks.

    PDFium must not be entered by two threads at once. Raises ``SourceRejected`` when the file cannot be read.
    """
    try:
        if path.suffix == ".pdf":
            with closing(pypdfium2.PdfDocument(path)) as document:
                return [page.get_textpage().get_text_range() for page in document]
        if path.suffix == ".docx":
            with zipfile.ZipFile(path) as archive:
                return [_untagged(archive.read("word/document.xml").decode())]
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, pypdfium2.PdfiumError) as error:
        raise SourceRejected(f"The original file cannot be read ({type(error).__name__}).") from None
    return [_untagged(text) if path.suffix in {".html", ".htm"} else re.sub(r"[*_`#|]", "", text)]


def is_on_page(quote: str, page: int, texts: list[str]) -> bool:
    """Return whether ``quote`` is on page ``page`` (from 1), or begins there and ends on the next.

    White space, hyphens and dashes do not count, since line ends put them anywhere; everything else does, also case.
    The label of a table or figure may be apart from its caption, as in many files.
    """
    words = folded(quote)
    if not words or not 1 <= page <= len(texts):
        return False
    here = folded(texts[page - 1])
    if words in here:
        return True
    label = _LABEL.match(quote)
    if label and folded(label[0]) in here:
        return is_on_page(quote[label.end() :], page, texts)
    following = folded(texts[page]) if page < len(texts) else ""
    return any(
        words[:cut] in here and words[cut:] in following[: _RUNNING_HEAD + len(words) - cut]
        for cut in range(_LEAST_BEFORE, len(words) - _LEAST_AFTER + 1)
    )


def _untagged(text: str) -> str:
    return html.unescape(_TAGS.sub(" ", text))
