"""Open a citation: its passage, the original file, all passages of a version. All calls block on the disk."""

from __future__ import annotations

from pathlib import Path

from tools.errors import SourceRejected
from tools.guidelines.storage.catalog import LibraryCatalog, as_passage, parse_passage_id
from tools.guidelines.storage.document_store import LibraryStore, VersionRef
from tools.types import Passage


class CitedSources:
    """Passages and files of any version that was ever cited, also of removed documents."""

    def __init__(self, store: LibraryStore, catalog: LibraryCatalog) -> None:
        self._store = store
        self._catalog = catalog

    def passage(self, passage_id: str) -> Passage | None:
        """Return a passage, also of a replaced version; None when it was removed."""
        parsed = parse_passage_id(passage_id)
        found = self._catalog.version(str(parsed[0])) if parsed else None
        stored = self._store.passage(*parsed) if parsed else None
        return as_passage(*found, stored) if found and stored else None

    def passages_of(self, document_id: str, sha256: str) -> tuple[Passage, ...]:
        """Return the passages made of the file with this hash."""
        record = self._store.record(document_id)
        for version in reversed(record.versions if record else ()):
            ref = VersionRef(document_id, version.key)
            if version.sha256.startswith(sha256) and self._store.has_version(ref):
                return tuple(as_passage(ref, version, stored) for stored in self._store.passages(ref))
        return ()

    def original(self, document_id: str) -> Path:
        """Return the path of the document's file. Raises ``DocumentNotFound``."""
        found = self._catalog.version(document_id)
        path = self._store.original(found[1]) if found else None
        if path is None or not path.is_file():
            raise SourceRejected("There is no such guideline in the library.")
        return path
