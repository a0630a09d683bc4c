"""The library's documents, and the own documents of conversations.

    documents/ versions/ originals/ …     the library's
    conversations/<key>/                  the same for one conversation, erased with it

A conversation's files are only in its folder, so that the library cannot show them by mistake, and erasing the folder
erases everything. The lock and the index are shared.
"""

import shutil
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from tools.errors import SourceRejected
from tools.guidelines.storage.catalog import DocumentCatalog, LibrarySnapshot
from tools.guidelines.storage.document_store import LibraryStore, VersionRef
from tools.guidelines.storage.scopes import Scope

_KEPT = 64
"""Number of conversations whose catalogue is cached."""
_GONE = "This conversation was deleted, and its files with it. Begin another one."


class ConversationStore(LibraryStore):
    """The folder of one conversation. Nothing is written to an erased one until it is created again."""

    def __init__(self, library: LibraryStore, scope: Scope) -> None:
        super().__init__(library.folder / "conversations" / scope)
        self._library = library

    def save_version(self, ref: VersionRef, made: Path) -> None:
        # Without the lock, a file ingested while its conversation is deleted would stay behind.
        with self.locked():
            super().save_version(ref, made)

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        # The scratch folder is outside, so that a worker that still writes cannot recreate an erased folder.
        self._make()
        return self._library.scratch()

    @contextmanager
    def locked(self, *, wait: bool = True) -> Generator[bool]:
        """Lock the library, which shares its index. Raises ``SourceRejected`` if the conversation was deleted."""
        with self._library.locked(wait=wait) as held:
            self._make()
            yield held

    def _make(self) -> None:
        if not self.folder.is_dir():
            raise SourceRejected(_GONE)


class LibraryCatalogs:
    """The catalogs of the library and of all conversations; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.library = DocumentCatalog(LibraryStore(folder))
        self._folder = folder / "conversations"
        self._lock = threading.Lock()
        self._own: OrderedDict[Scope, DocumentCatalog] = OrderedDict()

    def has(self, scope: Scope) -> bool:
        """Return whether the conversation has had documents and was not erased since."""
        return (self._folder / scope).is_dir()

    def of(self, scope: Scope | None) -> DocumentCatalog:
        """Return the catalog of a conversation, or of the library for None."""
        if scope is None:
            return self.library
        with self._lock:
            if scope not in self._own or not self.has(scope):
                self._own[scope] = DocumentCatalog(ConversationStore(self.library.store, scope))
            self._own.move_to_end(scope)
            if len(self._own) > _KEPT:
                self._own.popitem(last=False)
            return self._own[scope]

    def made(self, scope: Scope) -> DocumentCatalog:
        """Return the catalog of a conversation, created if missing."""
        (self._folder / scope).mkdir(parents=True, exist_ok=True)
        return self.of(scope)

    def scopes(self) -> list[Scope]:
        """Return the conversations that have documents of their own."""
        return [Scope(path.name) for path in sorted(self._folder.glob("[0-9a-f]" * 32))]

    def own_count(self) -> int:
        """Return how many documents belong to conversations."""
        return sum(len(self.of(scope).store.live()) for scope in self.scopes())

    def snapshot(self, scope: Scope | None) -> LibrarySnapshot:
        """Return the documents that a question searches: those of the library and of its conversation."""
        library = self.library.snapshot()
        own = self.of(scope).snapshot() if scope is not None and self.has(scope) else library
        return _together(library, own) if own is not library and own.live else library

    def erase(self, scope: Scope) -> bool:
        """Erase a conversation's files, words and records. Return False if it had none.

        Its rows in the index, which have no words, are marked for ``ingest.clean_up``.
        """
        store = self.of(scope).store
        if not store.folder.is_dir():
            return False
        with self.library.store.locked():
            if not store.folder.is_dir():  # Another process erased it meanwhile.
                return False
            for path in (store.folder / "versions").glob("*"):
                if (ref := VersionRef.parse(path.name)) is not None:
                    self.library.store.mark_pending(ref)
            shutil.rmtree(store.folder)
        return True


def erase_files(folder: Path, scope: Scope) -> bool:
    """Erase like ``LibraryCatalogs.erase`` while the library is closed; the next opening repairs the index."""
    return LibraryCatalogs(folder).erase(scope)


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
