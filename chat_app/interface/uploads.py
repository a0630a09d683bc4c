"""A guideline dropped into the chat: checked, taken in page by page as a step, then searchable.

The step's events are those of any tool, so the page shows progress and refusals as it shows look-ups.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import uuid4

from pydantic import JsonValue

from chat_app.events import (
    AgentEvent,
    RunItemStreamEvent,
    TextDelta,
    ToolCallRunItem,
    ToolOutputRunItem,
    ToolProgressRunItem,
)
from chat_app.interface.phrases import Language, say, translated
from tools.errors import SourceRejected, ToolError
from tools.guidelines.models import Document, IngestProgress
from tools.types import Function, FunctionOutput, ToolProgress

TOOL = "add_guideline"
NO_UPLOAD = "You may not add guidelines here. Ask those who run this server; ASCLEPIUS_UPLOADERS says who may."
MAX_BYTES = 50_000_000
_PDF = b"%PDF-"
_LONGEST_NAME = 120


class Upload(NamedTuple):
    """A file that came with a message: its name as the browser gave it, and where it is kept."""

    name: str
    path: Path


class Library(Protocol):
    """What is needed of the guideline library."""

    async def add(self, path: Path, *, progress: Callable[[IngestProgress], None] | None = None) -> Document: ...


class Closed:
    """The library for somebody who may not add to it."""

    async def add(self, path: Path, *, progress: Callable[[IngestProgress], None] | None = None) -> Document:
        """Raises ``SourceRejected`` with the reason."""
        raise SourceRejected(NO_UPLOAD)


def safe_name(name: str) -> str:
    """``name`` as a file name that stays in its folder and ends in ``.pdf``."""
    stem = re.sub(r"[^\w .()+-]", "_", Path(name.replace("\\", "/")).name).strip(" .")
    stem = re.sub(r"(?i)\.pdf$", "", stem)[:_LONGEST_NAME] or "guideline"
    return f"{stem}.pdf"


def check_upload(upload: Upload) -> None:
    """Raises ``SourceRejected`` for what is no PDF or too large, before anything reads it in full."""
    size = upload.path.stat().st_size
    if size == 0:
        raise SourceRejected("The file is empty.")
    if size > MAX_BYTES:
        raise SourceRejected(f"The file has {size / 1e6:.0f} MB; at most {MAX_BYTES / 1e6:.0f} MB can be taken.")
    with upload.path.open("rb") as file:
        if _PDF not in file.read(1024):
            raise SourceRejected("The file is not a PDF, whatever its name says.")


async def upload_events(library: Library, upload: Upload, language: Language = "en") -> AsyncIterator[AgentEvent]:
    """Takes one file in; yields the step's events, then a sentence that says what there is now."""
    call = Function(call_id=uuid4().hex, name=TOOL, arguments=json.dumps({"name": safe_name(upload.name)}))
    yield RunItemStreamEvent(name="agent.tool_call_start", item=ToolCallRunItem(function=call))
    began = time.monotonic()
    reports: asyncio.Queue[IngestProgress | None] = asyncio.Queue(maxsize=1000)
    adding = asyncio.create_task(_add(library, upload, reports))
    try:
        while (report := await reports.get()) is not None:
            item = _stage(report, language)
            progress = ToolProgress(call_id=call.call_id, name=TOOL, item=item)
            yield RunItemStreamEvent(name="agent.tool_call_progress", item=ToolProgressRunItem(progress=progress))
        document, error = await adding
    finally:
        adding.cancel()
    spent = (time.monotonic() - began) * 1000
    output = FunctionOutput(
        name=TOOL, input=call, output=_facts(document), error=error, duration_ms=spent,
        summary=f"{document.pages} pages" if document else "",
    )
    yield RunItemStreamEvent(name="agent.tool_call_complete", item=ToolOutputRunItem(function_output=output))
    yield TextDelta(text=_sentence(document, error, language))


async def _add(
    library: Library, upload: Upload, reports: asyncio.Queue[IngestProgress | None]
) -> tuple[Document | None, str | None]:
    def report(progress: IngestProgress) -> None:
        if not reports.full():
            reports.put_nowait(progress)

    folder = Path(tempfile.mkdtemp(prefix="asclepius-upload-"))
    try:
        await asyncio.to_thread(check_upload, upload)
        named = folder / safe_name(upload.name)
        await asyncio.to_thread(shutil.copyfile, upload.path, named)
        return await library.add(named, progress=report), None
    except ToolError as error:
        return None, str(error)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        await reports.put(None)


def _facts(document: Document | None) -> JsonValue:
    if document is None:
        return None
    missing = ", ".join(str(page) for page in document.unsearchable_pages)
    return {"title": document.title, "version": document.version or document.date, "pages": document.pages,
            "passages": document.passages, "pages without text": missing}


def _stage(report: IngestProgress, language: Language) -> str:
    stage = say(language, report.stage)
    if not report.total:
        return stage
    return say(language, "{stage}, page {done} of {total}", stage=stage, done=report.done, total=report.total)


def _sentence(document: Document | None, error: str | None, language: Language) -> str:
    if document is None:
        return f"{say(language, 'The file was not taken in.')} {translated(language, error or '')}\n\n"
    gaps = len(document.unsearchable_pages)
    note = say(language, " {gaps} of its pages hold no text and are not searchable.", gaps=gaps) if gaps else ""
    loaded = say(language, "“{title}” is loaded and searchable: {pages} pages.", title=document.title,
                 pages=document.pages)  # fmt: skip
    return f"{loaded}{note}\n\n"
