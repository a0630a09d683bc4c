"""Extract the text of an uploaded file, and cut it into chunks.

The file is plain text (also Markdown, CSV, JSON and source code), HTML, PDF or DOCX; the last three are parsed in a
child process. Any other file is refused with the reason.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Final, Literal

from chat_app.offline.wire.objects import count_tokens
from tools.errors import SourceRejected
from tools.language.quotable_units import is_table_caption, lines, sentences

MOST_CHARACTERS: Final = 20_000_000
_HTML_NAME: Final = re.compile(r"\.x?html?$", re.IGNORECASE)
_HTML_HEAD: Final = re.compile(r"\s*<(?:!doctype html|html)", re.IGNORECASE)


class UnreadableFileError(Exception):
    """The file contains no text that this server can read; the message says why."""


async def text_in_child(path: Path, suffix: Literal[".pdf", ".docx", ".html"]) -> str:
    """Return the text of a file. Raises ``UnreadableFileError``."""
    # The guideline library is large, so it loads with the first such file, in a thread.
    await asyncio.to_thread(import_module, "tools.documents.sandbox")
    from tools.documents.sandbox import run_job
    from tools.documents.worker import ExtractJob

    with tempfile.TemporaryDirectory(prefix="asclepius-offline-") as folder:
        try:
            await run_job(ExtractJob(path=path, suffix=suffix, title="", out=Path(folder)))
        except SourceRejected as error:
            raise UnreadableFileError(str(error)) from None
        return await asyncio.to_thread(_text, Path(folder) / "pages.jsonl")


def _text(pages: Path) -> str:
    from tools.documents.models import PageContent

    with pages.open("rb") as lines:
        blocks = [block for line in lines for block in PageContent.model_validate_json(line).blocks]
    return "\n\n".join(block.text for block in blocks)


async def text_of_file(path: Path, filename: str) -> str:
    """Return the text of a file. Raises ``UnreadableFileError``."""
    head = await asyncio.to_thread(_head, path)
    if head.startswith(b"%PDF"):
        text = await text_in_child(path, ".pdf")
    elif head.startswith(b"PK\x03\x04"):
        text = await text_in_child(path, ".docx")
    else:
        text = await asyncio.to_thread(_decoded, path)
        if _HTML_NAME.search(filename) or _HTML_HEAD.match(text):
            text = await text_in_child(path, ".html")
    if not text.strip():
        raise UnreadableFileError("The file holds no text. A scan must be read by OCR first.")
    return text[:MOST_CHARACTERS]


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
        if "\x00" not in text:
            return text
    raise UnreadableFileError("The file is not text in UTF-8, and not a PDF, DOCX or HTML file.")


def chunks(text: str, *, size: int, overlap: int) -> Iterator[str]:
    """Yield chunks of about ``size`` tokens, cut at sentence ends; each repeats up to ``overlap`` tokens of the last.

    Each chunk of a table repeats its caption and header.
    """
    current: list[tuple[str, int]] = []
    total = 0
    for piece, header in _pieces(text, size):
        tokens = count_tokens(piece)
        if current and total + tokens > size:
            yield "\n".join(part for part, _ in current)
            current = _tail(current, overlap, room=size - tokens)
        if header not in {"", piece} and all(part != header for part, _ in current):
            current.append((header, count_tokens(header)))
        current.append((piece, tokens))
        total = sum(count for _, count in current)
    if current:
        yield "\n".join(part for part, _ in current)


def _pieces(text: str, size: int) -> Iterator[tuple[str, str]]:
    """Yield sentences, headings and table rows, each row with its table's caption and header."""
    before = ""
    for is_table, stretch in groupby(lines(text), key=lambda line: "\t" in line.strip()):
        if not is_table:
            for line in stretch:
                before = line
                yield from ((piece, "") for piece in _short(line, size))
            continue
        first, *rows = stretch
        header = f"{before}\n{first}" if is_table_caption(before) else first
        yield from [(row, header) for row in rows] or [(first, "")]


def _short(line: str, size: int) -> Iterator[str]:
    for sentence in sentences(line):
        words = sentence.split(" ")
        # What has no sentence bounds (a list of codes) is cut at words.
        step = max(1, size // 2)
        for start in range(0, len(words), step):
            yield " ".join(words[start : start + step])


def _tail(parts: list[tuple[str, int]], overlap: int, *, room: int) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    total = 0
    for part, tokens in reversed(parts):
        total += tokens
        # Of a table nothing is repeated: without its header a row says something else.
        if total > overlap or total > room or "\t" in part:
            break
        kept.insert(0, (part, tokens))
    return kept
