"""Extract text from PDF, DOCX and HTML files in a child process with limits, in reading order, without running heads.

A file that crashes its parser, or exhausts memory or time, ends the child and not the server.
"""

from __future__ import annotations

import asyncio
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Literal

from tools.errors import SourceRejected


class UnreadableFileError(Exception):
    """The file contains no text that this server can read; the message says why."""


async def text_in_child(path: Path, suffix: Literal[".pdf", ".docx", ".html"]) -> str:
    """Return the text of a file.

    Raises:
        UnreadableFileError: The file cannot be read.
    """
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
    from tools.documents.tables.page_tables import table_text

    with pages.open("rb") as lines:
        blocks = [block for line in lines for block in PageContent.model_validate_json(line).blocks]
    return "\n\n".join(block.text if block.table is None else table_text(block.table) for block in blocks)
