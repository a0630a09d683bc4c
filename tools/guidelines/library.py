"""The guideline library: add, list, search, cite and show guidelines. The one entry for the app.

Everything that can take long runs elsewhere: files are opened in a worker process, the index is called in threads of
the library's own, so the event loop stays free. The constructor does nothing but remember.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from tools.errors import IndexMismatch, SourceRejected, ToolUnavailable
from tools.guidelines import ingest
from tools.guidelines.catalog import Catalog, current_version, document_of
from tools.guidelines.cited_sources import CitedSources
from tools.guidelines.embedders import Embedder
from tools.guidelines.index import COLLECTION
from tools.guidelines.library_search import LibrarySearch, damaged_record
from tools.guidelines.milvus import Connection
from tools.guidelines.models import (
    Document,
    DocumentRecord,
    DocumentVersion,
    Extraction,
    FolderReport,
    GuidelineSearchResult,
    IngestProgress,
    Refusal,
    SearchFilter,
)
from tools.guidelines.retrieval import Retriever
from tools.guidelines.sandbox import run_job
from tools.guidelines.store import LibraryStore, document_id
from tools.guidelines.worker import ExtractJob, RenderJob
from tools.types import Passage

T = TypeVar("T")
Progress = Callable[[IngestProgress], None]

DEMO_FOLDER = Path(__file__).parent / "demo"
SEARCH_SECONDS = 10.0
"""Within this a search answers or raises ``ToolUnavailable``."""
RENDER_SECONDS = 20.0
MAX_LIMIT = 50


class GuidelineLibrary:
    """Guidelines in ``folder`` and their index on the Milvus server at ``uri``."""

    def __init__(
        self,
        uri: str,
        folder: Path,
        token: str | None = None,
        *,
        embedder: Embedder | None = None,
        collection: str = COLLECTION,
    ) -> None:
        self._store = LibraryStore(folder)
        self._catalog = Catalog(self._store)
        self._connection = Connection(uri, token)
        self._retriever = Retriever(self._connection, collection, embedder)
        self._cited = CitedSources(self._store, self._catalog)
        self._searcher = LibrarySearch(self._store, self._catalog, self._retriever)
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="guidelines")
        # One change at a time waits for the folder's lock, so that threads are left for searches; two files at a
        # time are read, for each may take gigabytes.
        self._changing = asyncio.Lock()
        self._reading = asyncio.Semaphore(2)

    # -- search

    async def search(
        self,
        question: str,
        *,
        limit: int = 6,
        documents: Sequence[str] | None = None,
        chosen: SearchFilter | None = None,
    ) -> GuidelineSearchResult:
        """The passages that fit ``question`` best.

        ``documents`` limits it to these ids; ``chosen`` also by issuer and date. Raises ``ToolUnavailable`` when the
        index does not answer within ``SEARCH_SECONDS``.
        """
        wanted = chosen or SearchFilter()
        if documents is not None:
            wanted = wanted.model_copy(update={"documents": tuple(documents)})
        return await self._run(
            lambda: self._searcher.search(question, max(1, min(limit, MAX_LIMIT)), wanted), seconds=SEARCH_SECONDS
        )

    # -- documents

    async def documents(self) -> list[Document]:
        """What is loaded and searchable, by id."""
        return await self._run(self._catalog.documents)

    async def damaged(self) -> tuple[str, ...]:
        """The ids of documents whose record is damaged: not searched until added again, or removed."""
        return await self._run(self._store.damaged)

    async def document(self, document_id: str) -> Document | None:
        return next((found for found in await self.documents() if found.id == document_id), None)

    async def add(self, path: Path, *, progress: Progress | None = None) -> Document:
        """Takes one file in; the same bytes again change nothing, other bytes under its name are a new version.

        Raises ``SourceRejected`` with the reason when the file is refused (then nothing is changed), and
        ``ToolUnavailable`` when the index cannot be written. ``progress`` is called in the event loop, page by page.
        """
        report = ingest.Reporter(path.name, progress)
        source = await self._run(lambda: ingest.check_source(path))
        known = await self._run(lambda: ingest.unchanged(self._store, source))
        if known is not None:
            report("unchanged", known.pages, known.pages)
            return known
        return await self._take(source, progress)

    async def _take(self, source: ingest.Source, progress: Progress | None) -> Document:
        report = ingest.Reporter(source.file_name, progress)
        facts = await self._read(source, report)
        in_thread = ingest.Reporter(source.file_name, ingest.in_loop(progress))
        async with self._changing:
            document = await self._run(
                lambda: ingest.publish(self._store, self._retriever, source, facts, in_thread)
            )
        report("done", document.pages, document.pages)
        return document

    async def add_folder(self, folder: Path, *, progress: Progress | None = None) -> FolderReport:
        """Takes in every guideline file under ``folder``; a refused file does not stop the others.

        Hidden files and links are left alone. Raises ``SourceRejected`` when ``folder`` is none, and
        ``ToolUnavailable`` when the index cannot be written.
        """
        documents: list[Document] = []
        refused: list[Refusal] = []
        taken: set[str] = set()
        for path in await self._run(lambda: ingest.files_under(folder)):
            name = document_id(path.name)
            if name in taken:
                reason = f"{path.name}: another file of this folder goes by the id {name}; rename one of them."
                refused.append(Refusal(file_name=path.name, reason=reason))
                continue
            taken.add(name)
            try:
                documents.append(await self.add(path, progress=progress))
            except SourceRejected as error:
                refused.append(Refusal(file_name=path.name, reason=str(error)))
        return FolderReport(documents=tuple(documents), refused=tuple(refused))

    async def reindex(self, *, progress: Progress | None = None) -> FolderReport:
        """Builds the index anew from the stored originals; documents that an older reader read are read again.

        Needed after a new version of the app, a new embedding model, or when the Milvus server lost its data. Until
        it ends, searches find only what is already indexed again.
        """
        async with self._changing:
            await self._run(self._drop_index)
        documents: list[Document] = []
        refused = [Refusal(file_name=name, reason=damaged_record(name)) for name in await self.damaged()]
        for record, version in await self._run(self._current):
            try:
                source = ingest.stored_source(self._store, record, version)
                if version.reader == ingest.READER and self._store.is_whole(source.ref):
                    async with self._changing:
                        await self._run(partial(self._write, source, ingest.in_loop(progress)))
                    documents.append(document_of(record, version))
                else:
                    documents.append(await self._take(source, progress))
            except SourceRejected as error:
                refused.append(Refusal(file_name=version.file_name, reason=str(error)))
        await self._run(self._retriever.settle)
        return FolderReport(documents=tuple(documents), refused=tuple(refused))

    def _current(self) -> list[tuple[DocumentRecord, DocumentVersion]]:
        found = [(record, current_version(record)) for record in self._store.records()]
        return [(record, version) for record, version in found if version is not None]

    def _drop_index(self) -> None:
        with self._store.locked():
            self._retriever.drop()
            self._retriever.check()

    def _write(self, source: ingest.Source, progress: Progress | None) -> None:
        with self._store.locked():
            report = ingest.Reporter(source.file_name, progress)
            ingest.write_rows(self._store, self._retriever, source.ref, report)

    async def _read(self, source: ingest.Source, report: ingest.Reporter) -> Extraction:
        """Reads the file in the worker, unless a run that was broken off had read it already."""
        known = await self._run(lambda: self._store.facts(source.ref) if self._store.is_whole(source.ref) else None)
        if known is not None:
            return known
        scratch = await self._run(self._store.scratch)
        try:
            made = Path(scratch.name) / "version"
            job = ExtractJob(path=source.path.absolute(), suffix=source.suffix, title=source.title, out=made)
            try:
                async with self._reading:
                    await run_job(job, progress=report.stage("reading"))
            except SourceRejected as error:
                raise SourceRejected(f"{source.file_name}: {error}") from None
            await self._run(lambda: self._store.save_version(source.ref, made))
            facts = await self._run(lambda: self._store.facts(source.ref))
            if facts is None:
                raise SourceRejected(f"{source.file_name}: the disk lost what was read; try again.")
            return facts
        finally:
            await self._run(scratch.cleanup)

    async def load_demo(self, progress: Progress | None = None) -> None:
        """Loads the demonstration guidelines; those that are loaded and unchanged are left alone."""
        for path in sorted(DEMO_FOLDER.glob("*.pdf")):
            await self.add(path, progress=progress)

    async def remove(self, document_id: str) -> bool:
        """Takes a document out of search and list; what old answers cite stays. False when there is no such one."""
        async with self._changing:
            return await self._run(lambda: ingest.withdraw(self._store, self._retriever, document_id))

    # -- what citations open

    async def passage(self, passage_id: str) -> Passage | None:
        """The passage of that id, also of a superseded or removed document; None when there never was one."""
        return await self._run(lambda: self._cited.passage(passage_id))

    async def passages_of(self, document_id: str, *, sha256: str) -> tuple[Passage, ...]:
        """All passages of a document in reading order, as they were last read from the file of that hash.

        ``sha256`` may be its first digits alone. Empty when the document never was that file.
        """
        return await self._run(lambda: self._cited.passages_of(document_id, sha256))

    async def page_image(
        self, document_id: str, page: int, *, highlight: Sequence[str] = (), scale: float = 2.0
    ) -> bytes:
        """Page ``page`` (from 1) as PNG at ``scale`` × 72 dpi, the quotes of ``highlight`` marked where they stand.

        ``document_id`` is a document's id or a passage's ``document_id``. Raises ``SourceRejected`` when there is no
        such document or page, or its format has no pages.
        """
        original = await self._run(lambda: self._cited.original(document_id))
        if original.suffix != ".pdf":
            raise SourceRejected("This document has no pages that could be shown: it is not a PDF.")
        scratch = await self._run(self._store.scratch)
        try:
            out = Path(scratch.name) / "page.png"
            job = RenderJob(path=original.absolute(), page=page, scale=scale, highlight=tuple(highlight), out=out)
            await run_job(job, quiet_seconds=RENDER_SECONDS)
            return await self._run(out.read_bytes)
        finally:
            await self._run(scratch.cleanup)

    def original(self, document_id: str) -> Path:
        """The file as it was added. Raises ``SourceRejected`` when there is no such document."""
        return self._cited.original(document_id)

    # -- running

    async def load(self) -> None:
        """Loads the index into the server's memory and reads the catalogue, so that the first search is fast."""
        await self._run(self._load)

    def _load(self) -> None:
        # While another process is adding a guideline, what is pending is its own business.
        with self._store.locked_if_free() as mine:
            if mine:
                ingest.clean_up(self._store, self._retriever)
        self._catalog.snapshot()
        self._retriever.load()

    async def check_index(self) -> list[str]:
        """Why no search can be answered; empty when it can, whatever is wrong with single documents."""
        try:
            await self._run(self._retriever.check, seconds=SEARCH_SECONDS)
        except (ToolUnavailable, IndexMismatch) as error:
            return [str(error)]
        return []

    async def check(self) -> list[str]:
        """What is wrong with the library, one sentence each, with what to do; empty when all is well."""
        try:
            return await self._run(self._searcher.problems, seconds=SEARCH_SECONDS)
        except (ToolUnavailable, IndexMismatch) as error:
            return [str(error)]

    async def aclose(self) -> None:
        """Closes the connection; calls that still run are left to their own time limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._connection.close)

    async def _run(self, call: Callable[[], T], *, seconds: float | None = None) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ToolUnavailable(
                f"The guideline index did not answer within {seconds:.0f} s. "
                "Check that the Milvus server of MILVUS_URI runs, or run `asclepius doctor`."
            ) from None
        except OSError as error:
            raise ToolUnavailable(
                f"The guideline folder cannot be read or written ({error.strerror}). Check the disk and its rights."
            ) from None
