"""The library's folder: documents, their versions, the words of every passage, and the original files.

    documents/<id>.json                 a document and its versions; it is searchable when this names a current one
    versions/<id>@<key>/                one version's words (see ``version_files``), kept for old citations
    originals/<sha256><suffix>          the files as they came
    pending/<id>@<key>                  marks a version whose rows are being written, also if that run was killed
    lock                                held by the one process that changes the library

Every file is written completely beside its place and then renamed, so that a killed process leaves the old or the new
one. Processes share the folder only through the file system: each search sees the result of the last rename.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

from tools.documents.models import Extraction, PageContent, StoredPassage
from tools.documents.version_files import Lexicon, parsed, parsed_file, parsed_lines
from tools.errors import ToolUnavailable
from tools.guidelines.models import DocumentRecord, DocumentVersion

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_SCRATCH_SECONDS = 3600
_VERSION_ID = re.compile(rf"({_ID.pattern})@([0-9a-f]{{12}})")


@dataclass(frozen=True, slots=True)
class VersionRef:
    """Names one version of one document, written ``id@key``."""

    document: str
    key: str

    def __str__(self) -> str:
        return f"{self.document}@{self.key}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the version that ``text`` names, or None."""
        match = _VERSION_ID.fullmatch(text)
        return cls(match[1], match[2]) if match else None


class LibraryStore:
    """Reads and writes the folder. All methods do short disk I/O; none calls a server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._offsets: dict[tuple[VersionRef, str], list[int]] = {}

    def records(self) -> list[DocumentRecord]:
        """Return the documents whose record can be read; ``damaged`` names the others."""
        found = (parsed(DocumentRecord, path.read_bytes()) for path in self._record_paths())
        return [record for record in found if record is not None]

    def live(self) -> list[tuple[DocumentRecord, DocumentVersion]]:
        """Return the documents that are not removed, each with the version that searches use."""
        return [(record, version) for record in self.records() if (version := record.live) is not None]

    def damaged(self) -> tuple[str, ...]:
        """Return the ids of documents whose record exists and cannot be parsed."""
        return tuple(path.stem for path in self._record_paths() if parsed(DocumentRecord, path.read_bytes()) is None)

    def record(self, document_id: str) -> DocumentRecord | None:
        """Return the document's record, or None."""
        return parsed_file(DocumentRecord, self._record_path(document_id)) if _ID.fullmatch(document_id) else None

    def drop_record(self, document_id: str) -> None:
        """Delete the document's record."""
        self._record_path(document_id).unlink(missing_ok=True)

    def _record_paths(self) -> list[Path]:
        return sorted((self.folder / "documents").glob("*.json"))

    def save_record(self, record: DocumentRecord) -> None:
        """Write the document's record."""
        _write(self._record_path(record.id), record.model_dump_json(indent=1).encode())

    def _record_path(self, document_id: str) -> Path:
        return self.folder / "documents" / f"{document_id}.json"

    def state_stamp(self) -> tuple[tuple[str, int], ...]:
        """Return a value that changes whenever any process changes a document."""
        folder = self.folder / "documents"
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            return tuple(sorted((entry.name, entry.stat().st_mtime_ns) for entry in entries))
        return ()

    def version_folder(self, ref: VersionRef) -> Path:
        """Return the folder of the version's pages and passages."""
        return self.folder / "versions" / str(ref)

    def is_whole(self, ref: VersionRef) -> bool:
        """Return whether all files of the version exist and can be read."""
        lexicon = self.lexicon(ref)
        if lexicon is None or self.facts(ref) is None:
            return False
        try:
            passages, pages = sum(1 for _ in self.passages(ref)), sum(1 for _ in self.pages(ref))
            found = self.indexed_terms(ref)
        except (OSError, ToolUnavailable):
            return False
        known = {term for line in found for term in line.split()}
        return pages > 0 and passages == len(found) and lexicon.counts.keys() <= known

    def version_refs(self, document_id: str) -> list[VersionRef]:
        """Return the versions of a document that have a folder, whatever its record says."""
        found = (VersionRef.parse(path.name) for path in (self.folder / "versions").glob(f"{document_id}@*"))
        return [ref for ref in found if ref is not None]

    def save_version(self, ref: VersionRef, made: Path) -> None:
        """Move the folder ``made`` (written by ``write_version``) into its place."""
        place = self.version_folder(ref)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            shutil.rmtree(place)
        made.replace(place)
        for name in ("passages.jsonl", "terms.txt"):
            self._offsets.pop((ref, name), None)

    def facts(self, ref: VersionRef) -> Extraction | None:
        """Return the document's facts without its pages; None if they are missing or damaged."""
        return parsed_file(Extraction, self.version_folder(ref) / "facts.json")

    def passages(self, ref: VersionRef) -> Iterator[StoredPassage]:
        """Return all passages of a version in order. Raises ``ToolUnavailable`` at a damaged one."""
        return parsed_lines(StoredPassage, self.version_folder(ref) / "passages.jsonl")

    def passage(self, ref: VersionRef, number: int) -> StoredPassage | None:
        """Return one passage; None if it does not exist or is damaged."""
        line = self._line(ref, "passages.jsonl", number)
        return parsed(StoredPassage, line) if line is not None else None

    def passage_terms(self, ref: VersionRef, number: int) -> list[str]:
        """Return the indexed terms of one passage, in order."""
        line = self._line(ref, "terms.txt", number)
        return line.decode(errors="replace").split() if line is not None else []

    def _line(self, ref: VersionRef, name: str, number: int) -> bytes | None:
        path = self.version_folder(ref) / name
        offsets = self._offsets.get((ref, name))
        if offsets is None:
            if not path.is_file():
                return None
            offsets = self._offsets[ref, name] = _line_offsets(path)
        if not 0 <= number < len(offsets):
            return None
        with path.open("rb") as lines:
            lines.seek(offsets[number])
            return lines.readline()

    def pages(self, ref: VersionRef) -> Iterator[PageContent]:
        """Yield the version's pages."""
        return parsed_lines(PageContent, self.version_folder(ref) / "pages.jsonl")

    def indexed_terms(self, ref: VersionRef) -> list[str]:
        """Return the stemmed terms of each passage of a version, by its number."""
        return (self.version_folder(ref) / "terms.txt").read_text(encoding="utf-8", errors="replace").splitlines()

    def lexicon(self, ref: VersionRef) -> Lexicon | None:
        """Return the word counts of a version; None if they are missing or damaged."""
        return parsed_file(Lexicon, self.version_folder(ref) / "terms.json")

    def original(self, version: DocumentVersion) -> Path:
        """Return the path of the version's file."""
        return self.folder / "originals" / f"{version.sha256}{version.suffix}"

    def keep_original(self, version: DocumentVersion, source: Path) -> None:
        """Copy the version's file into the library, unless it is already there."""
        place = self.original(version)
        if not place.exists():
            _write(place, source.read_bytes())

    def mark_pending(self, ref: VersionRef) -> None:
        """Record that the version's index entries must be checked."""
        _write(self.folder / "pending" / str(ref), b"")

    def clear_pending(self, ref: VersionRef) -> None:
        """Remove the mark of ``mark_pending``."""
        (self.folder / "pending" / str(ref)).unlink(missing_ok=True)

    def pending(self) -> list[VersionRef]:
        """Return the versions marked by ``mark_pending``."""
        marks = sorted((self.folder / "pending").glob("*"))
        return [ref for path in marks if (ref := VersionRef.parse(path.name)) is not None]

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """Return a temporary folder on the same file system, from which results are renamed into place."""
        self._make()
        return tempfile.TemporaryDirectory(prefix="scratch-", dir=self.folder)

    def clear_scratch(self) -> None:
        """Remove temporary folders so old that only killed processes can have left them."""
        for folder in self.folder.glob("scratch-*"):
            with suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > _SCRATCH_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def locked(self, *, wait: bool = True) -> Generator[bool]:
        """Lock the library for changes, and yield whether it is locked.

        Without ``wait``, it is not if another process holds the lock. The lock of a dead process is released.
        """
        self._make()
        held = True
        with (self.folder / "lock").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held = False
            yield held

    def _make(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolUnavailable(
                f"The guideline folder cannot be made ({error.strerror}). Check ASCLEPIUS_DATA_DIR and its rights."
            ) from None


def document_id(file_name: str) -> str:
    """Return the id of a document from its file's name: lower case letters, digits and single hyphens.

    Accents are dropped; a name without any Latin letter or digit gets a hash. The suffix is part of the id unless it is
    ``.pdf``, so that a text beside its PDF is a separate document.
    """
    stem, _, suffix = file_name.rpartition(".")
    name = stem if suffix.lower() == "pdf" else file_name
    if not _latin_words(stem or name):
        return f"guideline-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
    return "-".join(_latin_words(name))[:80].strip("-")


def _latin_words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.findall(r"[a-z0-9]+", plain)


def _line_offsets(path: Path) -> list[int]:
    with path.open("rb") as lines:
        return [0, *accumulate(map(len, lines))][:-1]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
