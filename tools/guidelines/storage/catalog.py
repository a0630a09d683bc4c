"""The documents of one folder, their passages, and the word counts of the live versions, cached while unchanged."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tools.documents.models import StoredPassage
from tools.errors import SourceRejected
from tools.guidelines.models import Document, DocumentRecord, DocumentVersion, SearchFilter
from tools.guidelines.storage.document_store import LibraryStore, VersionRef
from tools.language.terms import weight_of
from tools.types import Passage


@dataclass(frozen=True, slots=True, eq=False)
class LibrarySnapshot:
    """The live versions at one moment, by document id, and the number of their passages with each term."""

    stamp: tuple[tuple[str, int], ...]
    live: dict[str, DocumentVersion]
    passages: int
    counts: Counter[str] = field(repr=False)
    unreadable: frozenset[str] = frozenset()
    """Documents whose words are missing or damaged; they are not searched."""

    def refs(self, chosen: SearchFilter) -> list[VersionRef]:
        """Return the versions that match ``chosen``; an empty filter matches all."""
        return [
            VersionRef(document, version.key)
            for document, version in self.live.items()
            if _matches(document, version, chosen)
        ]

    def weight(self, term: str) -> float:
        """Return the BM25 weight of a term; it is largest for a term that no passage has."""
        return weight_of(self.counts, self.passages)(term)


class DocumentCatalog:
    """The documents in one folder, including versions that old answers cite; safe to use from several threads."""

    def __init__(self, store: LibraryStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._snapshot: LibrarySnapshot | None = None

    def snapshot(self) -> LibrarySnapshot:
        """Return the documents as stored now, cached until any process changes them."""
        stamp = self.store.state_stamp()
        with self._lock:
            if self._snapshot is None or self._snapshot.stamp != stamp:
                self._snapshot = self._read(stamp)
            return self._snapshot

    def _read(self, stamp: tuple[tuple[str, int], ...]) -> LibrarySnapshot:
        live: dict[str, DocumentVersion] = {}
        counts: Counter[str] = Counter()
        total = 0
        unreadable: set[str] = set()
        for record, version in self.store.live():
            lexicon = self.store.lexicon(VersionRef(record.id, version.key))
            if lexicon is None:
                unreadable.add(record.id)
                continue
            live[record.id] = version
            counts.update(lexicon.counts)
            total += lexicon.indexed
        return LibrarySnapshot(stamp, live, total, counts, frozenset(unreadable))

    def documents(self) -> list[Document]:
        """Return the loaded documents as the list shows them."""
        return [document_of(record, version) for record, version in self.store.live()]

    def version(self, name: str) -> tuple[VersionRef, DocumentVersion] | None:
        """Return the version of a name: ``id@key``, or ``id`` for its current version."""
        ref = VersionRef.parse(name)
        record = self.store.record(ref.document if ref else name)
        if record is None:
            return None
        key = ref.key if ref else record.current
        found = (version for version in record.versions if version.key == key)
        return next(((VersionRef(record.id, version.key), version) for version in found), None)

    def passage(self, passage_id: str) -> Passage | None:
        """Return a passage, also of a replaced version, or None."""
        parsed = parse_passage_id(passage_id)
        found = self.version(str(parsed[0])) if parsed else None
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
        """Return the path of the document's file. Raises ``SourceRejected`` if there is none."""
        found = self.version(document_id)
        path = self.store.original(found[1]) if found else None
        if path is None or not path.is_file():
            raise SourceRejected("There is no such guideline in the library.")
        return path


def _matches(document: str, version: DocumentVersion, chosen: SearchFilter) -> bool:
    if chosen.documents and not {document, f"{document}@{version.key}"} & set(chosen.documents):
        return False
    if chosen.issuers and not any(issuer.lower() in version.issuer.lower() for issuer in chosen.issuers):
        return False
    if chosen.issued_from and version.date[: len(chosen.issued_from)] < chosen.issued_from[: len(version.date) or None]:
        return False
    return not (chosen.issued_to and (not version.date or version.date[: len(chosen.issued_to)] > chosen.issued_to))


def document_of(record: DocumentRecord, version: DocumentVersion) -> Document:
    """Return ``version`` of ``record`` as the list shows it."""
    facts = version.model_dump(exclude={"key", "suffix", "paged", "reader"})
    return Document(
        id=record.id, superseded=tuple(other.key for other in record.versions if other.key != version.key), **facts
    )


def as_passage(ref: VersionRef, version: DocumentVersion, stored: StoredPassage, score: float = 0.0) -> Passage:
    """Return a stored passage as the app cites it; its ``document_id`` names the version."""
    return Passage(
        id=passage_id(ref, stored.number),
        kind="guideline",
        document_id=str(ref),
        title=version.title,
        text=stored.text,
        issuer=version.issuer,
        version=version.version or version.date,
        section=stored.section,
        further_sections=stored.further_sections,
        page=stored.page if version.paged else None,
        page_label=stored.label,
        url=version.url or None,
        score=score,
    )


def passage_id(ref: VersionRef, number: int) -> str:
    """Return the id that citations use for a passage."""
    return f"guideline:{ref}:{number}"


def parse_passage_id(text: str) -> tuple[VersionRef, int] | None:
    """Return the version and number in a passage id; None for another text."""
    kind, _, rest = text.partition(":")
    name, _, number = rest.rpartition(":")
    ref = VersionRef.parse(name)
    if kind != "guideline" or ref is None or not number.isascii() or not number.isdigit():
        return None
    return ref, int(number)
