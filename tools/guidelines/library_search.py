"""Searches the loaded guidelines, and says what is wrong with them. All calls block."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from tools.guidelines.catalog import Catalog, Snapshot, as_passage, names, parse_passage_id
from tools.guidelines.confidence import ANSWERABLE_FROM, confidence
from tools.guidelines.ingest import READER
from tools.guidelines.models import GuidelineSearchResult, SearchFilter
from tools.guidelines.retrieval import Found, Retriever
from tools.guidelines.store import LibraryStore, VersionRef
from tools.types import Passage

KEPT_TERMS = 20_000
"""Passages whose terms stay in memory; 200 terms each, shared between passages, are about 35 MB in all."""
MAX_ROWS = 3
"""Rows of one page's tables in one result: the page's own passage holds the whole table."""


class LibrarySearch:
    """The search over what the folder says is loaded at this moment."""

    def __init__(self, store: LibraryStore, catalog: Catalog, retriever: Retriever) -> None:
        self._store = store
        self._catalog = catalog
        self._retriever = retriever
        # A version's passages never change, so their terms can be kept.
        self._terms_of = lru_cache(KEPT_TERMS)(self._read_terms)

    def search(self, question: str, limit: int, chosen: SearchFilter) -> GuidelineSearchResult:
        """The best ``limit`` passages of the documents that ``chosen`` lets through."""
        snapshot = self._catalog.snapshot()
        found = self._retriever.search(question, names(snapshot.refs(chosen)), self._terms_of, snapshot.weight)
        passages = tuple(islice(self._passages(found, snapshot), limit))
        score = confidence(found, self._terms_of, snapshot.weight, self._retriever.scale)
        return GuidelineSearchResult(passages=passages, answerable=score >= ANSWERABLE_FROM, score=score)

    def _passages(self, found: Found, snapshot: Snapshot) -> Iterator[Passage]:
        """The candidates as passages; what was replaced since the search began is left out."""
        rows: Counter[tuple[str, int]] = Counter()
        for candidate in found.candidates:
            parsed = parse_passage_id(candidate.id)
            version = snapshot.live.get(parsed[0].document) if parsed else None
            stored = self._store.passage(*parsed) if parsed else None
            if parsed is None or version is None or stored is None or version.key != parsed[0].key:
                continue
            if stored.kind == "table_row":
                rows[parsed[0].document, stored.page] += 1
                if rows[parsed[0].document, stored.page] > MAX_ROWS:
                    continue
            yield as_passage(parsed[0], version, stored, candidate.score)

    def _read_terms(self, passage_id: str) -> tuple[str, ...]:
        parsed = parse_passage_id(passage_id)
        return tuple(map(sys.intern, self._store.passage_terms(*parsed))) if parsed else ()

    def problems(self) -> list[str]:
        """What is wrong, one sentence each, with what to do. Raises ``ToolUnavailable`` or ``IndexMismatch``."""
        self._retriever.check()
        snapshot = self._catalog.snapshot()
        problems = [damaged_record(name) for name in self._store.damaged()]
        problems += [
            f"Guideline {name}: its words are gone from the library's folder or damaged; add it again."
            for name in sorted(snapshot.unreadable)
        ]
        older = sorted(document for document, version in snapshot.live.items() if version.reader < READER)
        if older:
            problems.append(
                f"Read by an earlier version of Asclepius, and found less well: {', '.join(older)}. "
                "Run `asclepius guidelines reindex`."
            )
        for document, version in snapshot.live.items():
            ref = str(VersionRef(document, version.key))
            for what, collection in (("terms", self._retriever.terms), ("meaning", self._retriever.vectors)):
                indexed = collection.count(ref) if collection is not None else version.passages
                if indexed != version.passages:
                    problems.append(
                        f"Guideline {document}: {indexed} of {version.passages} passages can be searched by {what}. "
                        "Run `asclepius guidelines reindex`."
                    )
            if not self._store.original(version).is_file():
                problems.append(f"Guideline {document}: its original file is gone; add it again.")
        return problems


def damaged_record(document: str) -> str:
    """What a reader is told of a document whose record cannot be read."""
    return (
        f"Guideline {document}: its record in the library's folder is damaged, and it is not searched. "
        f"Add its file again, or run `asclepius guidelines remove {document}`."
    )
