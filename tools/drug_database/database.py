"""``DrugDatabase``: the one object through which the app, the shell and the tools use the drug index."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from tools.drug_database.drug_search import Searcher, bare_expander
from tools.drug_database.importers import demo
from tools.drug_database.importers.importer_base import Progress
from tools.drug_database.importers.recognise import read_paths
from tools.drug_database.importing.import_run import ImportJob, run_import
from tools.drug_database.labels.record_rendering import cited_passage
from tools.drug_database.names.name_keys import joined
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.records.queries import DrugQuery, DrugSearchResult
from tools.drug_database.records.reports import DrugDatabaseStats, ImportProgress, ImportReport
from tools.drug_database.storage import drug_collection
from tools.drug_database.storage.generations import WRITE_SECONDS, drop
from tools.errors import IndexMismatch, ToolError, ToolUnavailable
from tools.language.query_expansion import QueryExpansion
from tools.milvus.connection import Client, CollectionGone, MilvusConnection
from tools.types import Passage

T = TypeVar("T")
_ALIAS: Final = "asclepius_drugs"
_SEARCH_SECONDS: Final = 8.0
_LOAD_SECONDS: Final = 300.0


class DrugDatabase:
    """The drug index in Milvus. The constructor does no I/O; the connection is made by the first call.

    Every method raises ``ToolUnavailable`` when Milvus cannot be reached or does not answer in time, and
    ``IndexMismatch`` when another version wrote the index. ``name`` is the alias of the index in Milvus.
    """

    def __init__(self, uri: str, token: str | None = None, *, name: str = _ALIAS) -> None:
        self._name = name
        self._milvus = MilvusConnection(uri, token, contents="drug database")
        self._searcher = Searcher(name)
        self._importing = asyncio.Lock()

    async def search(self, query: DrugQuery) -> DrugSearchResult:
        """Find the medicines that a query names."""
        return await self._read(lambda client: self._searcher.search(client, query), _SEARCH_SECONDS)

    async def expand(self, question: str) -> QueryExpansion:
        """Return other words for the words of a clinical question.

        Without a readable index the shipped aliases and vocabulary alone are used.
        """
        try:
            return await self._read(lambda client: self._searcher.expand(client, question), _SEARCH_SECONDS)
        except ToolError:
            return bare_expander().expand(question)

    async def named(self, text: str) -> list[DrugRecord]:
        """Return the medicines that ``text`` names, in their order; near spellings do not count."""
        return await self._read(lambda client: self._searcher.named(client, text), _SEARCH_SECONDS)

    async def record(self, key: str) -> DrugRecord | None:
        """Return the whole record of a key such as ``metformin``; None when there is none."""
        return await self._read(lambda client: self._searcher.record(client, key), _SEARCH_SECONDS)

    async def passage(self, passage_id: str) -> Passage | None:
        """Return the record or label section that an answer cited; None when its text has changed since."""
        part = passage_id.removeprefix("drug:").rpartition(":")[0]
        for key in (part, part.rpartition(":")[0]):
            if key and (record := await self.record(key)) is not None:
                return cited_passage(record, passage_id)
        return None

    def ingredients_of(self, name: str) -> frozenset[str]:
        """Return the ingredients of the medicine ``name`` without I/O; empty while the index is not loaded."""
        return self._searcher.ingredients_of(name)

    async def stats(self) -> DrugDatabaseStats:
        """Return what the database holds."""
        state = await self._read(self._searcher.snapshot, _LOAD_SECONDS)
        if state is None:
            return DrugDatabaseStats()
        found = state.catalog.model_dump(exclude={"schema_version", "name_pieces", "revision"})
        return DrugDatabaseStats(revision=state.generation.records.removeprefix(f"{self._name}_"), **found)

    async def load(self) -> None:
        """Load the index and its list of names, so that the first search is fast."""
        await self._read(self._searcher.snapshot, _LOAD_SECONDS)

    async def check(self) -> list[str]:
        """Return each fault as a sentence that names the remedy; empty when there is none."""

        def look(client: Client) -> list[str]:
            generation = drug_collection.current(client, self._name, timeout=_SEARCH_SECONDS)
            if generation is None:
                return ["The drug database is empty. Run `asclepius drugs import PATH` with drug data."]
            drug_collection.read_catalog(client, generation, timeout=_SEARCH_SECONDS)
            return []

        try:
            return await self._read(look, _SEARCH_SECONDS)
        except ToolError as error:
            return [str(error)]

    async def import_paths(
        self, paths: Sequence[Path], *, progress: Progress | None = None, replace: bool = False
    ) -> ImportReport:
        """Import drug data files, zips or folders, recognised by their content.

        Items update those of the same source with the same key; with ``replace`` the sources that the files belong to
        are swapped as a whole, and an index of another version is rebuilt. The new state appears at once when it is
        complete. Raises ``SourceRejected`` for a file that cannot be taken; the database is then as it was.
        """
        return await self._import(ImportJob(partial(read_paths, paths), replace=replace), progress)

    async def load_demo(self, progress: Progress | None = None) -> ImportReport:
        """Load the demonstration drugs unless this version of them is loaded.

        An index of another version that holds only demonstration drugs is rebuilt.
        """
        version = demo.version()
        try:
            stats = await self.stats()
        except IndexMismatch:
            stats = DrugDatabaseStats()
        if any(one.source.id == demo.SOURCE_ID and one.version == version for one in stats.sources):
            return ImportReport(changed=False, records=stats.records, products=stats.products)
        job = ImportJob(demo.read, replace=True, sole_source=demo.SOURCE_ID, versions={demo.SOURCE_ID: version})
        return await self._import(job, progress)

    async def clear(self, source: str | None = None, progress: Progress | None = None) -> None:
        """Remove the whole drug index, whichever version wrote it, or the statements of one source.

        Raises ``ToolError`` when ``source`` is none of the loaded ones.
        """
        if source is not None:
            loaded = {one.source.id for one in (await self.stats()).sources}
            if source not in loaded:
                held = joined(sorted(loaded)) or "none"
                raise ToolError(f"No source of that name is loaded. Loaded are: {held}.")
            if loaded != {source}:
                await self._import(ImportJob(read=lambda _: None, remove=frozenset({source})), progress)
                return

        def remove(client: Client) -> None:
            generation = drug_collection.current(client, self._name, timeout=WRITE_SECONDS)
            if generation is not None:
                client.drop_alias(self._name, timeout=WRITE_SECONDS)
                drop(client, generation)

        await self._milvus.run(remove, deadline=_LOAD_SECONDS)

    async def aclose(self) -> None:
        """Close the connection to Milvus."""
        await self._milvus.aclose()

    async def _read(self, call: Callable[[Client], T], deadline: float) -> T:
        """Run ``call``, and once more when another state replaced the one it read."""
        for _ in range(2):
            try:
                return await self._milvus.run(call, deadline=deadline)
            except CollectionGone:
                self._searcher.forget()
        raise ToolUnavailable("The drug index changed while it was read. Try again.")

    async def _import(self, job: ImportJob, progress: Progress | None) -> ImportReport:
        """Run the import in a thread and report progress on the event loop. Cancelling stops it at the next row."""
        loop = asyncio.get_running_loop()
        cancelled = threading.Event()

        def report(item: ImportProgress) -> None:
            if progress is not None:
                loop.call_soon_threadsafe(progress, item)

        def run(client: Client) -> ImportReport:
            return run_import(client, self._name, job, report, cancelled)

        async with self._importing:
            try:
                return await self._milvus.run(run, deadline=None, explain=True)
            except CollectionGone:
                raise ToolUnavailable("The drug index changed during the import. Run it again.") from None
            finally:
                cancelled.set()
