"""The library's documents, and those that belong to one conversation.

    documents/ versions/ originals/ …     the library's
    conversations/<key>/                  the same for one conversation, erased with it

A conversation's files are nowhere else on the disk, so that the library cannot show them by mistake and erasing the
folder erases everything. The lock and the index are shared.
"""

import shutil
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tools.errors import SourceRejected
from tools.guidelines.storage.catalog import (
    LibraryCatalog,
    LibrarySnapshot,
    as_passage,
    current_version,
    parse_passage_id,
)
from tools.guidelines.storage.document_store import LibraryStore, VersionRef
from tools.guidelines.storage.scopes import Scope, as_scope, scope_of
from tools.types import Passage

_KEPT = 64
"""Conversations of which the catalogue stays in memory."""
_GONE = "This conversation was deleted, and its files with it. Begin another one."


class ConversationStore(LibraryStore):
    """The folder of one conversation. After its erasure nothing is written there until it is created again."""

    def __init__(self, library: LibraryStore, scope: Scope) -> None:
        super().__init__(library.folder / "conversations" / scope)
        self._library = library

    def save_version(self, ref: VersionRef, made: Path) -> None:
        # Under the lock, or a file that was being read while its conversation was deleted would stay behind.
        with self.locked():
            super().save_version(ref, made)

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        # Beside the folder: a worker that still writes there must not bring an erased one back.
        self._make()
        return self._library.scratch()

    @contextmanager
    def locked(self, *, wait: bool = True) -> Generator[bool]:
        """Hold the library: the index is one. Raises ``SourceRejected`` when the conversation was deleted."""
        with self._library.locked(wait=wait) as held:
            self._make()
            yield held

    def _make(self) -> None:
        if not self.folder.is_dir():
            raise SourceRejected(_GONE)


class Shelf(NamedTuple):
    """The documents of one scope, with any version that was ever cited, also of removed ones."""

    store: LibraryStore
    catalog: LibraryCatalog

    def passage(self, passage_id: str) -> Passage | None:
        """Return a passage, also of a replaced version; None when it was removed."""
        parsed = parse_passage_id(passage_id)
        found = self.catalog.version(str(parsed[0])) if parsed else None
        stored = self.store.passage(*parsed) if parsed else None
        return as_passage(*found, stored) if found and stored else None

    def passages_of(self, document_id: str, sha256: str) -> tuple[Passage, ...]:
        """Return the passages made of the file with this hash."""
        record = self.store.record(document_id)
        for version in reversed(record.versions if record else ()):
            ref = VersionRef(document_id, version.key)
            if version.sha256.startswith(sha256) and self.store.version_folder(ref).is_dir():
                return tuple(as_passage(ref, version, stored) for stored in self.store.passages(ref))
        return ()

    def original(self, document_id: str) -> Path:
        """Return the path of the document's file. Raises ``SourceRejected`` when there is none."""
        found = self.catalog.version(document_id)
        path = self.store.original(found[1]) if found else None
        if path is None or not path.is_file():
            raise SourceRejected("There is no such guideline in the library.")
        return path


def _shelf(store: LibraryStore) -> Shelf:
    return Shelf(store, LibraryCatalog(store))


class Shelves:
    """All shelves under one folder; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.library = _shelf(LibraryStore(folder))
        self._folder = folder / "conversations"
        self._lock = threading.Lock()
        self._own: OrderedDict[Scope, Shelf] = OrderedDict()

    def has(self, scope: Scope) -> bool:
        """Return whether the conversation has had documents and was not erased since."""
        return (self._folder / scope).is_dir()

    def of(self, scope: Scope | None) -> Shelf:
        """Return the shelf of a conversation; that of the library for None."""
        if scope is None:
            return self.library
        with self._lock:
            if scope not in self._own or not self.has(scope):
                self._own[scope] = _shelf(ConversationStore(self.library.store, scope))
            self._own.move_to_end(scope)
            if len(self._own) > _KEPT:
                self._own.popitem(last=False)
            return self._own[scope]

    def holding(self, name: str) -> Shelf:
        """Return the shelf of a document, version or passage id."""
        return self.of(scope_of(name))

    def made(self, scope: Scope | None) -> Shelf:
        """Return the shelf of a conversation, created if missing."""
        shelf = self.of(scope)
        shelf.store.folder.mkdir(parents=True, exist_ok=True)
        return shelf

    def scopes(self) -> list[Scope]:
        """Return the conversations that have documents of their own."""
        return [scope for path in sorted(self._folder.glob("*")) if (scope := as_scope(path.name)) is not None]

    def own_count(self) -> int:
        """Return how many documents belong to conversations."""
        records = [record for scope in self.scopes() for record in self.of(scope).store.records()]
        return sum(current_version(record) is not None for record in records)

    def snapshot(self, scope: Scope | None) -> LibrarySnapshot:
        """Return the documents that a question searches: the library's and its conversation's."""
        library = self.library.catalog.snapshot()
        if scope is None or not self.has(scope):
            return library
        own = self.of(scope).catalog.snapshot()
        return _together(library, own) if own.live else library

    def erase(self, scope: Scope) -> bool:
        """Erase a conversation's files, words and records. Return False when it had none.

        Its rows in the index, which hold no words, are marked for ``ingest.clean_up``.
        """
        store = self.of(scope).store
        if not store.folder.is_dir():
            return False
        with self.library.store.locked():
            for path in (store.folder / "versions").glob("*"):
                if (ref := VersionRef.parse(path.name)) is not None:
                    self.library.store.mark_pending(ref)
            shutil.rmtree(store.folder)
        return True


def erase_files(folder: Path, scope: Scope) -> bool:
    """Erase like ``Shelves.erase`` while the library is closed; the next opening repairs the index."""
    return Shelves(folder).erase(scope)


@lru_cache(_KEPT)
def _together(library: LibrarySnapshot, own: LibrarySnapshot) -> LibrarySnapshot:
    counts = Counter(library.counts)
    counts.update(own.counts)
    return LibrarySnapshot(
        stamp=(*library.stamp, *own.stamp),
        live={**library.live, **own.live},
        passages=library.passages + own.passages,
        counts=counts,
        unreadable=library.unreadable | own.unreadable,
    )
