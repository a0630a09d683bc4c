"""Ingests a file in steps: check it, extract it in the worker process, index it, and only then make it visible.

The order makes a killed run harmless. The version's files are renamed into place as a whole; a mark says that its rows
are being written; rows of a version that is not current are never searched; the document's record is replaced last.
The next change of the library removes the rest of a killed run, and a finished extraction is not repeated.
"""

import asyncio
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import get_ident

from tools.documents.models import READER, Extraction
from tools.errors import SourceRejected
from tools.guidelines.models import Document, DocumentRecord, DocumentVersion, IngestProgress, IngestStage, Progress
from tools.guidelines.search.retrieval import IndexedPassage, Retriever
from tools.guidelines.storage.catalog import document_of, passage_id
from tools.guidelines.storage.document_store import LibraryStore, VersionRef, document_id

_SUFFIXES = {
    ".pdf": ".pdf",
    ".md": ".md",
    ".markdown": ".md",
    ".html": ".html",
    ".htm": ".html",
    ".docx": ".docx",
    ".txt": ".txt",
}
"""Suffixes of files that are ingested, with the one that stands for the format."""
_MAX_FILE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that passed the first checks."""

    path: Path
    file_name: str
    document: str
    sha256: str
    suffix: str

    @property
    def title(self) -> str:
        """Derive a title from the file's name, for a document without one."""
        words = Path(self.file_name).stem.replace("_", " ").replace("-", " ").strip()
        return words[:1].upper() + words[1:]

    @property
    def ref(self) -> VersionRef:
        """Return the version, whose key changes with the file and the reader, so that cited passages never change."""
        return VersionRef(self.document, hashlib.sha256(f"{READER}:{self.sha256}".encode()).hexdigest()[:12])


class Reporter:
    """Reports the progress of one file, from any thread, to a listener in the event loop of its creation."""

    def __init__(self, file_name: str, progress: Progress | None) -> None:
        self._file_name = file_name
        self._progress = progress
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()

    def __call__(self, stage: IngestStage, done: int, total: int) -> None:
        """Report progress to the listener, if there is one."""
        if self._progress is not None:
            at = IngestProgress(file_name=self._file_name, stage=stage, done=done, total=total)
            if get_ident() == self._thread:
                self._progress(at)
            else:
                self._loop.call_soon_threadsafe(self._progress, at)


def check_source(path: Path) -> SourceFile:
    """Check size and first bytes, and hash the file. Raises ``SourceRejected``."""
    try:
        if not path.is_file():
            raise SourceRejected(f"{path.name} is no file.")
        size = path.stat().st_size
        if size == 0:
            raise SourceRejected(f"{path.name} is empty (0 bytes).", code="file_empty")
        if size > _MAX_FILE_BYTES:
            allowed = _MAX_FILE_BYTES // 1_000_000
            raise SourceRejected(
                f"{path.name} has {size / 1e6:,.0f} MB; a guideline may have {allowed} MB.",
                code="file_too_large",
                params={"size": round(size / 1e6), "limit": allowed},
            )
        with path.open("rb") as data:
            suffix = _suffix(path, data.read(2048))
            data.seek(0)
            digest = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise SourceRejected(f"{path.name} cannot be read ({error.strerror}).") from None
    return SourceFile(path, path.name, document_id(path.name), digest, suffix)


def _suffix(path: Path, start: bytes) -> str:
    given = path.suffix.lower()
    suffix = _SUFFIXES.get(given)
    if suffix is None:
        raise SourceRejected(f"{path.name}: guidelines are read from PDF, Markdown, HTML, DOCX and text files.")
    looks_like = ".pdf" if b"%PDF-" in start[:1024] else ".docx" if start.startswith(b"PK\x03\x04") else "text"
    expected = suffix if suffix in {".pdf", ".docx"} else "text"
    if looks_like != expected:
        raise SourceRejected(f"{path.name} ends in {given} and holds something else.", code="file_damaged")
    return suffix


def files_under(folder: Path) -> list[Path]:
    """Return the files with known suffixes under ``folder``, sorted. Raises ``SourceRejected``."""
    if not folder.is_dir():
        raise SourceRejected(f"{folder.name} is no folder.")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES and not path.is_symlink())
    return sorted(
        path
        for path in found
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def stored_source(store: LibraryStore, record: DocumentRecord, version: DocumentVersion) -> SourceFile:
    """Return the stored original, to ingest it again. Raises ``SourceRejected`` if it is gone."""
    path = store.original(version)
    if not path.is_file():
        raise SourceRejected(f"The original of {version.file_name} is gone from the library: add it again.")
    return SourceFile(path, version.file_name, record.id, version.sha256, version.suffix)


def unchanged(store: LibraryStore, source: SourceFile) -> Document | None:
    """Return the document that was ingested from the same bytes by this version of the reader."""
    for record, version in store.live():
        if version.sha256 == source.sha256 and version.reader == READER:
            # Adding the same file again repairs a version that was damaged on the disk.
            return document_of(record, version) if store.is_whole(VersionRef(record.id, version.key)) else None
    return None


def publish(
    store: LibraryStore, retriever: Retriever, source: SourceFile, facts: Extraction, report: Reporter
) -> Document:
    """Index the stored version and make it the document's current one. Blocks; holds the lock."""
    with store.locked():
        clean_up(store, retriever)
        ref = source.ref
        record = store.record(source.document)
        version = _version(store, source, facts)
        store.keep_original(version, source.path)
        store.mark_pending(ref)
        retriever.delete_versions([str(ref)])
        write_rows(store, retriever, ref, report)
        earlier = tuple(other for other in record.versions if other.key != ref.key) if record else ()
        retriever.delete_versions([str(other) for other in store.version_refs(source.document) if other != ref])
        retriever.settle()
        made = DocumentRecord(id=source.document, current=ref.key, versions=(*earlier, version))
        store.save_record(made)
        store.clear_pending(ref)
    return document_of(made, version)


def withdraw(store: LibraryStore, retriever: Retriever, document: str) -> bool:
    """Remove a document from search and list, under the lock. Blocks. False if unknown.

    Its passages are kept for old citations, and its record unless it is damaged.
    """
    with store.locked():
        record = store.record(document)
        if record is None and document not in store.damaged():
            return False
        if record is not None and record.current is None:
            return False
        refs = store.version_refs(document)
        for ref in refs:
            store.mark_pending(ref)
        if record is None:
            store.drop_record(document)
        else:
            store.save_record(record.model_copy(update={"current": None}))
        retriever.delete_versions([str(ref) for ref in refs])
        retriever.settle()
        for ref in refs:
            store.clear_pending(ref)
        return True


def write_rows(store: LibraryStore, retriever: Retriever, ref: VersionRef, report: Reporter) -> None:
    """Write the rows of a stored version."""
    found = store.indexed_terms(ref)
    passages = [
        IndexedPassage(passage_id(ref, stored.number), stored.with_section, found[stored.number].split())
        for stored in store.passages(ref)
        if stored.kind != "reference"
    ]
    retriever.add(str(ref), passages, report)


def clean_up(store: LibraryStore, retriever: Retriever) -> None:
    """Remove rows left by a killed run. The caller holds the lock."""
    for ref in store.pending():
        record = store.record(ref.document)
        if record is None or record.current != ref.key:
            retriever.delete_versions([str(ref)])
        store.clear_pending(ref)


def _version(store: LibraryStore, source: SourceFile, facts: Extraction) -> DocumentVersion:
    pages = list(store.pages(source.ref))
    return DocumentVersion(
        key=source.ref.key,
        sha256=source.sha256,
        file_name=source.file_name,
        suffix=source.suffix,
        pages=len(pages),
        passages=sum(1 for stored in store.passages(source.ref) if stored.kind != "reference"),
        unsearchable_pages=tuple(page.number for page in pages if not page.searchable),
        recognised_pages=tuple(page.number for page in pages if page.recognised),
        added_at=datetime.now(UTC),
        reader=READER,
        **facts.model_dump(exclude={"pages"}),
    )
