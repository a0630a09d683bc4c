"""Reads a file into pages of blocks: one entry for every format. Runs in the worker process."""

from pathlib import Path

from tools.documents.docx_format import read_docx
from tools.documents.layout.pdf_format import read_pdf
from tools.documents.models import Extraction, Progress
from tools.documents.text_formats import decode, read_html, read_markdown, read_plain
from tools.errors import SourceRejected

_MAX_TEXT_BYTES = 50_000_000


def extract(path: Path, suffix: str, *, progress: Progress) -> Extraction:
    """Read the file at ``path``, which came with the ending ``suffix``. Raises ``SourceRejected``."""
    if suffix == ".pdf":
        return read_pdf(path, progress)
    if suffix == ".docx":
        extraction = read_docx(path)
    else:
        if path.stat().st_size > _MAX_TEXT_BYTES:
            raise SourceRejected(f"The text has more than {_MAX_TEXT_BYTES // 1_000_000} MB. Split the file.")
        text = decode(path.read_bytes())
        readers = {".md": read_markdown, ".html": read_html, ".txt": read_plain}
        extraction = readers[suffix](text)
    if not any(page.blocks for page in extraction.pages):
        raise SourceRejected("The file holds no text.", code="file_without_text")
    progress(1, 1)
    return extraction
