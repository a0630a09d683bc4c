"""Adds, shares, removes, erases and reindexes guidelines.

Only one change at a time waits for the folder's lock, so that threads remain for searches. At most two files are
extracted at a time, because each may need gigabytes. Messages to others never name a conversation's own files.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from tools.documents.models import READER, Extraction
from tools.documents.sandbox import run_job
from tools.documents.worker import ExtractJob
from tools.errors import SourceRejected, ToolError, ToolUnavailable
from tools.guidelines.ingestion import ingest
from tools.guidelines.models import Document, FolderReport, IngestProgress, Progress, RefusedFile
from tools.guidelines.search.library_search import damaged_record
from tools.guidelines.search.retrieval import Retriever
from tools.guidelines.storage.catalog import DocumentCatalog, document_of
from tools.guidelines.storage.document_store import LibraryStore
from tools.guidelines.storage.document_store import document_id as id_of_file
from tools.guidelines.storage.library_catalogs import LibraryCatalogs
from tools.guidelines.storage.scopes import Scope, own_id

logger = logging.getLogger(__name__)
T = TypeVar("T")

MOST_OWN = 20
"""Maximum number of files of a conversation."""
OWN_FILE = "a file of a conversation"
"""Replaces the name of a conversation's own file in messages to others."""


class Ingester:
    """The part of ``GuidelineLibrary`` that changes the documents of ``catalogs`` and their index."""

    def __init__(self, catalogs: LibraryCatalogs, retriever: Retriever) -> None:
        self._catalogs = catalogs
        self._retriever = retriever
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="guidelines")
        self._ingesting: dict[Path, IngestProgress] = {}
        self._changing = asyncio.Lock()
        self._reading = asyncio.Semaphore(2)

    async def _run(self, call: Callable[[], T], *, seconds: float | None = None) -> T:
        """Return the result of ``call``, which may block, in a thread.

        Raises ``ToolUnavailable`` if it takes more than ``seconds``, and for errors of the disk.
        """
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except TimeoutError:
            raise ToolUnavailable(
                f"The guideline index did not answer within {seconds:.0f} s. "
                "Check that the Milvus server of MILVUS_URI runs, or run `asclepius doctor`."
            ) from None
        except OSError as error:
            raise ToolUnavailable(
                f"The guideline folder cannot be read or written ({error.strerror}). Check the disk and its rights."
            ) from None

    async def add(self, path: Path, *, progress: Progress | None = None, scope: Scope | None = None) -> Document:
        """Ingest one file. The same bytes change nothing; other bytes under the same name are a new version.

        With ``scope``, only that conversation has the file, unless it is already in the library. Raises
        ``SourceRejected`` with the reason if the file is refused (then nothing changes), and ``ToolUnavailable`` if the
        index cannot be written. ``progress`` is called in the event loop, page by page.
        """

        def note(at: IngestProgress) -> None:
            if scope is None:
                self._ingesting[path] = at
            if progress is not None:
                progress(at)

        try:
            return await self._add(path, note, scope)
        finally:
            self._ingesting.pop(path, None)

    def ingesting(self) -> list[IngestProgress]:
        """Return the progress of the files that are being added to the library."""
        return list(self._ingesting.values())

    async def _add(self, path: Path, progress: Progress, scope: Scope | None) -> Document:
        report = ingest.Reporter(path.name, progress)
        source = await self._run(lambda: ingest.check_source(path))
        if scope is not None:
            source = replace(source, document=own_id(scope, source.file_name))
        known = await self._run(lambda: self._known(source, scope))
        if known is not None:
            report("unchanged", known.pages, known.pages)
            return known
        catalog = await self._run(lambda: self._catalog_for(source, scope))
        return await self._ingest(catalog.store, source, progress)

    def _known(self, source: ingest.SourceFile, scope: Scope | None) -> Document | None:
        """Return the document with these bytes, from the conversation or the library."""
        catalogs = dict.fromkeys((self._catalogs.of(scope), self._catalogs.library))
        found = (ingest.unchanged(catalog.store, source) for catalog in catalogs)
        return next((document for document in found if document is not None), None)

    def _catalog_for(self, source: ingest.SourceFile, scope: Scope | None) -> DocumentCatalog:
        if scope is None:
            return self._catalogs.library
        catalog = self._catalogs.made(scope)
        current = [record.id for record, _ in catalog.store.live()]
        if source.document not in current and len(current) >= MOST_OWN:
            raise SourceRejected(
                f"A conversation can have {MOST_OWN} files. Start a new conversation.",
                code="conversation_full",
                params={"limit": MOST_OWN},
            )
        return catalog

    async def share(self, document_id: str, scope: Scope) -> Document | None:
        """Move a conversation's own document to the library; None if it has no such document.

        The passages that its answers cite stay readable. Raises as ``add`` does.
        """
        catalog = self._catalogs.of(scope)
        record = await self._run(lambda: catalog.store.record(document_id))
        version = record.live if record is not None else None
        if record is None or version is None:
            return None
        given = await self._run(lambda: ingest.stored_source(catalog.store, record, version))
        source = replace(given, document=id_of_file(given.file_name))
        known = await self._run(lambda: ingest.unchanged(self._catalogs.library.store, source))
        shared = known or await self._ingest(self._catalogs.library.store, source, None)
        await self.remove(document_id, scope=scope)
        return shared

    async def _ingest(self, store: LibraryStore, source: ingest.SourceFile, progress: Progress | None) -> Document:
        report = ingest.Reporter(source.file_name, progress)
        facts = await self._extracted(store, source, report)
        async with self._changing:
            document = await self._run(lambda: ingest.publish(store, self._retriever, source, facts, report))
        report("done", document.pages, document.pages)
        return document

    async def _extracted(self, store: LibraryStore, source: ingest.SourceFile, report: ingest.Reporter) -> Extraction:
        """Extract the file in the worker, unless an interrupted run has already done so."""
        known = await self._run(lambda: store.facts(source.ref) if store.is_whole(source.ref) else None)
        if known is not None:
            return known
        scratch = await self._run(store.scratch)
        try:
            made = Path(scratch.name) / "version"
            job = ExtractJob(path=source.path.absolute(), suffix=source.suffix, title=source.title, out=made)
            try:
                async with self._reading:
                    await run_job(job, progress=partial(report, "reading"))
            except SourceRejected as error:
                raise SourceRejected(f"{source.file_name}: {error}", code=error.code, params=error.params) from None
            async with self._changing:  # A conversation's folder waits for the lock here.
                await self._run(lambda: store.save_version(source.ref, made))
            facts = await self._run(lambda: store.facts(source.ref))
            if facts is None:
                raise SourceRejected(f"{source.file_name}: the disk lost what was read; try again.")
            return facts
        finally:
            await self._run(scratch.cleanup)

    async def remove(self, document_id: str, *, scope: Scope | None = None) -> bool:
        """Remove a document from search and list, but keep the passages that old answers cite. False if unknown."""
        store = self._catalogs.of(scope).store
        if scope is not None and not self._catalogs.has(scope):
            return False
        async with self._changing:
            return await self._run(lambda: ingest.withdraw(store, self._retriever, document_id))

    async def erase(self, scope: Scope) -> bool:
        """Erase a conversation's own documents: files, words, rows. False if it had none."""
        async with self._changing:
            return await self._run(lambda: self._erase(scope))

    def _erase(self, scope: Scope) -> bool:
        if not self._catalogs.erase(scope):
            return False
        store = self._catalogs.library.store
        try:
            with store.locked():
                if store.pending():
                    ingest.clean_up(store, self._retriever)
                    self._retriever.settle()
        except ToolError:
            logger.warning("The rows of an erased conversation stay in the index until the library is opened again.")
        return True

    def _clean_up(self) -> None:
        """Clean up after killed runs, unless another process is changing the library and will do so."""
        store = self._catalogs.library.store
        with store.locked(wait=False) as mine:
            if mine:
                store.clear_scratch()
                ingest.clean_up(store, self._retriever)
                for scope in self._catalogs.scopes():
                    ingest.clean_up(self._catalogs.of(scope).store, self._retriever)

    async def reindex(self, *, progress: Progress | None = None) -> FolderReport:
        """Rebuild the index from the stored originals; extract again those that an older reader extracted.

        This is needed for a new version of the app or a new embedding model, or if the Milvus server lost its data.
        Until it ends, searches find only the documents indexed so far.
        """
        async with self._changing:
            await self._run(self._drop_index)
        library = await self._reindex_catalog(self._catalogs.library, progress)
        own, refused = 0, 0
        for scope in await self._run(self._catalogs.scopes):
            report = await self._reindex_catalog(self._catalogs.of(scope), _nameless(progress))
            own, refused = own + len(report.documents), refused + len(report.refused)
        await self._run(self._retriever.settle)
        reason = "A file of a conversation could not be indexed again; it is not searched until it is added again."
        return FolderReport(
            documents=library.documents,
            refused=(*library.refused, *[RefusedFile(file_name=OWN_FILE, reason=reason)] * refused),
            own_documents=own,
        )

    async def _reindex_catalog(self, catalog: DocumentCatalog, progress: Progress | None) -> FolderReport:
        documents: list[Document] = []
        damaged = await self._run(catalog.store.damaged)
        refused = [RefusedFile(file_name=name, reason=damaged_record(name)) for name in damaged]
        for record, version in await self._run(catalog.store.live):
            try:
                source = await self._run(partial(ingest.stored_source, catalog.store, record, version))
                if version.reader == READER and catalog.store.is_whole(source.ref):
                    report = ingest.Reporter(source.file_name, progress)
                    async with self._changing:
                        await self._run(partial(self._write, catalog.store, source, report))
                    documents.append(document_of(record, version))
                else:
                    documents.append(await self._ingest(catalog.store, source, progress))
            except SourceRejected as error:
                refused.append(RefusedFile(file_name=version.file_name, reason=str(error)))
        return FolderReport(documents=tuple(documents), refused=tuple(refused))

    def _drop_index(self) -> None:
        with self._catalogs.library.store.locked():
            self._retriever.drop()
            self._retriever.check()

    def _write(self, store: LibraryStore, source: ingest.SourceFile, report: ingest.Reporter) -> None:
        with store.locked():
            ingest.write_rows(store, self._retriever, source.ref, report)


def _nameless(progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return lambda event: progress(event.model_copy(update={"file_name": OWN_FILE}))
