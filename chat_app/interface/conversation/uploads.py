"""Files dropped into the chat: check, ingest as a step with progress, then search them in that conversation.

The step's events are those of any tool call. Users who may add to the library are asked under the answer whether the
file is for everyone; until then only the conversation can use it.
"""

import asyncio
import json
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Literal, NamedTuple
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
from chat_app.interface.conversation.own_documents import ConversationFiles
from chat_app.interface.i18n.translation import Language, say, say_tool_error
from tools.documents.layout.ocr import tesseract
from tools.errors import SourceRejected, ToolError
from tools.guidelines import Document, IngestProgress, scope_of
from tools.types import Function, FunctionOutput, Phrase, ToolPresentation, ToolProgress

TOOL = "add_guideline"
PRESENTATION = ToolPresentation(title="Add file", icon="file-plus", subjects=("name",))
OWN, MAY_SHARE = "document", "may_share"
"""Keys of the step's result: the id of a file that is the conversation's own, and whether its user may share it."""
MAX_BYTES = 50_000_000
_PDF = b"%PDF-"
_LONGEST_NAME = 120


FileState = Literal["asked", "own", "library", "removed"]
"""Whether the user is asked for whom a file is, or has said so: for the conversation, for everybody, for nobody."""


class Upload(NamedTuple):
    """A file sent with a message: the browser's name for it and its path."""

    name: str
    path: Path


def safe_name(name: str) -> str:
    """Turn ``name`` into a file name that stays in its folder and ends in ``.pdf``."""
    stem = re.sub(r"[^\w .()+-]", "_", Path(name.replace("\\", "/")).name).strip(" .")
    stem = re.sub(r"(?i)\.pdf$", "", stem)[:_LONGEST_NAME] or "guideline"
    return f"{stem}.pdf"


def check_upload(upload: Upload) -> None:
    """Raise ``SourceRejected`` for a file that is not a PDF or too large, without reading it in full."""
    size = upload.path.stat().st_size
    if size == 0:
        raise SourceRejected("The file is empty.", code="file_empty")
    if size > MAX_BYTES:
        raise SourceRejected(
            f"The file has {size / 1e6:.0f} MB; the limit is {MAX_BYTES / 1e6:.0f} MB.",
            code="file_too_large",
            params={"size": round(size / 1e6), "limit": round(MAX_BYTES / 1e6)},
        )
    with upload.path.open("rb") as file:
        if _PDF not in file.read(1024):
            raise SourceRejected("The file is not a PDF, whatever its name says.", code="file_not_pdf")


async def upload_events(
    files: ConversationFiles, upload: Upload, language: Language, *, may_share: bool, asked: bool
) -> AsyncIterator[AgentEvent]:
    """Ingest one file; yield the step's events, then sentences about the result.

    ``may_share`` is true for a user who may add the file to the library; ``asked`` when a question came with the file.
    """
    call = Function(call_id=uuid4().hex, name=TOOL, arguments=json.dumps({"name": safe_name(upload.name)}))
    yield RunItemStreamEvent(
        name="agent.tool_call_start", item=ToolCallRunItem(function=call, presentation=PRESENTATION)
    )
    began = time.monotonic()
    reports: asyncio.Queue[IngestProgress | None] = asyncio.Queue()
    adding = asyncio.create_task(_add(files, upload, reports))
    try:
        while (report := await reports.get()) is not None:
            item = _stage(report, language)
            progress = ToolProgress(call_id=call.call_id, name=TOOL, item=item)
            yield RunItemStreamEvent(name="agent.tool_call_progress", item=ToolProgressRunItem(progress=progress))
        document, error = await adding
    finally:
        adding.cancel()
    count: dict[str, str | int] = {"count": document.pages} if document else {}
    pages = Phrase(text="{count} pages", singular="{count} page", values=count) if document else None
    spent = (time.monotonic() - began) * 1000
    output = FunctionOutput(
        name=TOOL,
        input=call,
        output=_facts(document, may_share=may_share),
        error=str(error) if error else None,
        error_code=error.code if error else "other",
        error_params=dict(error.params) if error else {},
        duration_ms=spent,
        summary=str(pages) if pages else "",
        summary_phrase=pages,
    )
    yield RunItemStreamEvent(name="agent.tool_call_complete", item=ToolOutputRunItem(function_output=output))
    said = _refusal(upload, error, language) if document is None else _said(document, language, may_share=may_share)
    if asked and not (document and document.passages):
        said += " " + say(language, "upload.not_used")
    yield TextDelta(text=f"{said}\n\n")


async def _add(
    files: ConversationFiles, upload: Upload, reports: asyncio.Queue[IngestProgress | None]
) -> tuple[Document | None, ToolError | None]:
    try:
        await asyncio.to_thread(check_upload, upload)
        with tempfile.TemporaryDirectory(prefix="asclepius-upload-", ignore_cleanup_errors=True) as folder:
            named = Path(folder, safe_name(upload.name))
            await asyncio.to_thread(shutil.copyfile, upload.path, named)
            return await files.add(named, progress=reports.put_nowait), None
    except ToolError as error:
        return None, error
    finally:
        reports.put_nowait(None)


def _facts(document: Document | None, *, may_share: bool) -> JsonValue:
    if document is None:
        return None
    facts: dict[str, JsonValue] = {
        "title": document.title,
        "version": document.version or document.date,
        "pages": document.pages,
        "passages": document.passages,
        "pages without text": _listed(document.unsearchable_pages),
    }
    return facts | ({OWN: document.id, MAY_SHARE: may_share and document.passages > 0} if scope_of(document.id) else {})


def files_of(outputs: Iterable[FunctionOutput]) -> list[dict[str, str]]:
    """Return the conversation's own files among a turn's ``outputs``; who may add them to the library is asked."""
    found = (output.output for output in outputs if output.name == TOOL and isinstance(output.output, dict))
    return [
        {"document": str(facts[OWN]), "title": str(facts["title"]), "state": "asked" if facts.get(MAY_SHARE) else "own"}
        for facts in found
        if facts.get(OWN)
    ]


def _listed(pages: Iterable[int]) -> str:
    return ", ".join(map(str, pages))


def _stage(report: IngestProgress, language: Language) -> str:
    stage = say(language, f"upload.{report.stage}")
    if not report.total:
        return stage
    return say(language, "upload.page", stage=stage, done=report.done, total=report.total)


def _refusal(upload: Upload, error: ToolError | None, language: Language) -> str:
    reason = say_tool_error(language, error.code, error.params, str(error)) if error else ""
    return say(language, "upload.refused", file=safe_name(upload.name), reason=reason)


def _said(document: Document, language: Language, *, may_share: bool) -> str:
    """Say what can be searched now, and who can use it."""
    if scope_of(document.id) is None:
        return say(language, "upload.in_library", title=document.title)
    if not document.passages:
        if tesseract():
            return say(language, "upload.not_recognised", title=document.title)
        return say(language, "upload.nothing_readable", title=document.title)
    said = [
        say(language, "upload.searchable", title=document.title),
        say(language, "upload.own_for_now" if may_share else "upload.own", count=document.pages),
    ]
    if document.unsearchable_pages:
        said.append(say(language, "upload.gaps", pages=_listed(document.unsearchable_pages)))
    if document.recognised_pages:
        said.append(say(language, "upload.recognised", pages=_listed(document.recognised_pages)))
    return " ".join(said)
