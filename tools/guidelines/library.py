"""The guideline library: adds, lists, searches, cites and shows guidelines. The app uses only this class.

Slow work does not block the event loop: files are opened in a worker process, and the index is called in the library's
own threads. The constructor does no I/O.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.documents.models import PageImage
from tools.documents.sandbox import run_job
from tools.documents.worker import RenderJob
from tools.embeddings.embedders import Embedder
from tools.errors import IndexMismatch, SourceRejected, ToolUnavailable
from tools.guidelines.ingestion import ingest
from tools.guidelines.ingestion.ingester import Ingester
from tools.guidelines.models import Document, FolderReport, GuidelineSearchResult, Progress, RefusedFile, SearchFilter
from tools.guidelines.search.library_search import LibrarySearch
from tools.guidelines.search.passage_index import COLLECTION
from tools.guidelines.search.retrieval import Retriever
from tools.guidelines.storage.document_store import document_id
from tools.guidelines.storage.library_catalogs import LibraryCatalogs
from tools.guidelines.storage.scopes import Scope
from tools.language.query_expansion import Expand, QueryExpansion
from tools.milvus.connection import MilvusConnection
from tools.types import Passage

DEMO_FOLDER = Path(__file__).parent / "demo"
_SEARCH_SECONDS = 10.0
"""Time limit of a search."""
_RENDER_SECONDS = 20.0
_MOST_AT_ONCE, _MOST_DRAWN = 2, 64
_MAX_LIMIT = 50
USUAL_LIMIT = 8
"""Default number of passages of a search; docs/measurements.md compares it with six."""


class GuidelineLibrary(Ingester):
    """Guidelines in ``folder`` and their index on the Milvus server at ``uri``."""

    def __init__(
        self,
        uri: str,
        folder: Path,
        token: str | None = None,
        *,
        embedder: Embedder | None = None,
        collection: str = COLLECTION,
        expand: Expand | None = None,
    ) -> None:
        self._connection = MilvusConnection(uri, token, contents="guideline index")
        super().__init__(LibraryCatalogs(folder), Retriever(self._connection, collection, embedder))
        self._searcher = LibrarySearch(self._catalogs, self._retriever)
        self._expand = expand
        self._drawing = asyncio.Semaphore(_MOST_AT_ONCE)
        self._drawn: dict[tuple[object, ...], PageImage] = {}

    async def search(
        self,
        question: str,
        *,
        limit: int = USUAL_LIMIT,
        documents: Sequence[str] | None = None,
        chosen: SearchFilter | None = None,
        scope: Scope | None = None,
    ) -> GuidelineSearchResult:
        """Return the passages that fit ``question`` best.

        ``documents`` limits the search to these ids; ``chosen`` also by issuer and date. With ``scope``, the
        conversation's own documents are searched, too. Raises ``ToolUnavailable`` if the index does not answer within
        ``_SEARCH_SECONDS``.
        """
        wanted = chosen or SearchFilter()
        if documents is not None:
            wanted = wanted.model_copy(update={"documents": tuple(documents)})
        expansion = await self._expand(question) if self._expand is not None else QueryExpansion()
        return await self._run(
            lambda: self._searcher.search(question, max(1, min(limit, _MAX_LIMIT)), wanted, scope, expansion),
            seconds=_SEARCH_SECONDS,
        )

    async def documents(self) -> list[Document]:
        """Return the loaded, searchable documents by id."""
        return await self._run(self._catalogs.library.documents)

    async def damaged(self) -> tuple[str, ...]:
        """Return the ids of documents whose record is damaged. They are not searched until they are added again."""
        return await self._run(self._catalogs.library.store.damaged)

    async def document(self, document_id: str) -> Document | None:
        """Return the document in the library with this id."""
        return next((found for found in await self.documents() if found.id == document_id), None)

    async def own_documents(self, scope: Scope) -> list[Document]:
        """Return the conversation's own documents."""
        return await self._run(lambda: self._catalogs.of(scope).documents() if self._catalogs.has(scope) else [])

    async def own_count(self) -> int:
        """Return how many documents belong to conversations."""
        return await self._run(self._catalogs.own_count)

    async def add_folder(self, folder: Path, *, progress: Progress | None = None) -> FolderReport:
        """Ingest every guideline file under ``folder``; a refused file does not stop the others.

        Hidden files and links are skipped. Raises ``SourceRejected`` if ``folder`` is not a folder, and
        ``ToolUnavailable`` if the index cannot be written.
        """
        documents: list[Document] = []
        refused: list[RefusedFile] = []
        taken: set[str] = set()
        for path in await self._run(lambda: ingest.files_under(folder)):
            name = document_id(path.name)
            if name in taken:
                reason = f"{path.name}: another file of this folder goes by the id {name}; rename one of them."
                refused.append(RefusedFile(file_name=path.name, reason=reason))
                continue
            taken.add(name)
            try:
                documents.append(await self.add(path, progress=progress))
            except SourceRejected as error:
                refused.append(RefusedFile(file_name=path.name, reason=str(error)))
        return FolderReport(documents=tuple(documents), refused=tuple(refused))

    async def load_demo(self, progress: Progress | None = None) -> None:
        """Load the demonstration guidelines that are not loaded yet or have changed."""
        for path in sorted(DEMO_FOLDER.glob("*.pdf")):
            await self.add(path, progress=progress)

    async def passage(self, passage_id: str, *, scope: Scope | None = None) -> Passage | None:
        """Return the passage with this id, also of a superseded or removed document; None if there never was one.

        A passage of a conversation's own document is only found with its ``scope``.
        """
        return await self._run(lambda: self._catalogs.of(scope).passage(passage_id))

    async def passages_of(self, document_id: str, sha256: str) -> tuple[Passage, ...]:
        """Return all passages of a document in reading order, as last read from the file with this hash.

        ``sha256`` may be only its first digits. The result is empty if the document never was that file.
        """
        return await self._run(lambda: self._catalogs.library.passages_of(document_id, sha256))

    async def page_image(
        self,
        document_id: str,
        page: int,
        *,
        highlight: Sequence[str] = (),
        scale: float = 2.0,
        scope: Scope | None = None,
    ) -> PageImage:
        """Draw page ``page`` (from 1) as PNG at ``scale`` × 72 dpi, with the quotes of ``highlight`` marked.

        ``document_id`` is a document's id or a passage's ``document_id``; ``scope`` is the conversation that owns it.
        Raises ``SourceRejected`` if there is no such document or page, or its format has no pages.
        """
        original = await self._run(lambda: self.original(document_id, scope=scope))
        if original.suffix != ".pdf":
            raise SourceRejected("This document has no pages that could be shown: it is not a PDF.")
        asked = (original, original.stat().st_mtime_ns, page, scale, tuple(highlight))
        if (drawn := self._drawn.get(asked)) is not None:
            return drawn
        async with self._drawing:
            scratch = await self._run(self._catalogs.of(scope).store.scratch)
            try:
                out = Path(scratch.name) / "page.png"
                job = RenderJob(path=original.absolute(), page=page, scale=scale, highlight=tuple(highlight), out=out)
                facts = await run_job(job, quiet_seconds=_RENDER_SECONDS)
                image = PageImage(png=await self._run(out.read_bytes), **facts)
            finally:
                await self._run(scratch.cleanup)
        if scope is None:
            # Pages of a conversation's own document are not cached, so that they are gone when it is erased.
            self._drawn[asked] = image
            if len(self._drawn) > _MOST_DRAWN:
                del self._drawn[next(iter(self._drawn))]
        return image

    def original(self, document_id: str, *, scope: Scope | None = None) -> Path:
        """Return the path of the original file. Raises ``SourceRejected`` if there is no such document."""
        return self._catalogs.of(scope).original(document_id)

    async def load(self) -> None:
        """Load the index into the server's memory and read the catalogue, so that the first search is fast."""
        await self._run(self._load)

    def _load(self) -> None:
        self._clean_up()
        self._catalogs.library.snapshot()
        self._retriever.load()

    async def check_index(self) -> list[str]:
        """Return why no search can be answered; empty if searches work, whatever is wrong with single documents."""
        return await self._checked(self._retriever.check)

    async def check(self) -> list[str]:
        """Return each fault of the library as a sentence that names the remedy."""
        return await self._checked(self._searcher.problems)

    async def check_own(self) -> list[str]:
        """Return the faults of conversations' own documents, without their names."""
        return await self._checked(self._searcher.own_problems)

    async def _checked(self, problems: Callable[[], list[str] | None]) -> list[str]:
        try:
            return await self._run(problems, seconds=_SEARCH_SECONDS) or []
        except (ToolUnavailable, IndexMismatch) as error:
            return [str(error)]

    async def aclose(self) -> None:
        """Close the connection; calls that still run end by their own time limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._connection.close)
