"""The records of the guideline library: documents, reports and search results.

A *document* is a guideline under one id; each changed file is a new *version* of it, named by the hash of its bytes.
Passages belong to a version, so that the citations of an old answer keep their words.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from tools.documents.models import DocumentFacts
from tools.language.query_expansion import QueryExpansion
from tools.types import Frozen, Passage

Match = Literal["strong", "weak", "none"]
"""How well passages match a question by their words.

``strong``: one sentence, list item or table row has more than half of the question, with its headings. ``none``: no
passage shares a term with the question. ``weak``: anything in between; the reader of the passages has to judge whether
they answer.
"""
IngestStage = Literal["reading", "recognising", "embedding", "indexing", "done", "unchanged"]


class IngestedFile(DocumentFacts):
    """The facts of a guideline's file, and the outcome of its extraction."""

    file_name: str
    sha256: str
    pages: int = 0
    passages: int = 0
    unsearchable_pages: tuple[int, ...] = ()
    """Pages that are not empty but have no readable text."""
    recognised_pages: tuple[int, ...] = ()
    """Pages whose words were recognised by OCR."""
    added_at: datetime


class DocumentVersion(IngestedFile):
    """One version of a document as stored."""

    key: str
    """Twelve hexadecimal digits that identify the file's bytes and the reader's number."""
    suffix: str
    """File suffix of the stored original, such as ``.pdf``."""
    paged: bool = True
    reader: int
    """Version of the extraction code that made the passages; ``reindex`` extracts older ones again."""


class DocumentRecord(Frozen):
    """The record of a document on disk: its versions, oldest first. ``current`` is None after its removal."""

    id: str
    current: str | None
    versions: tuple[DocumentVersion, ...]

    @property
    def live(self) -> DocumentVersion | None:
        """Return the version that searches use; None for a removed document."""
        return next((version for version in self.versions if version.key == self.current), None)


class Document(IngestedFile):
    """A loaded, searchable guideline as the page and the shell list it."""

    id: str
    superseded: tuple[str, ...] = ()
    """Keys of the earlier versions that are kept for old citations."""


class RefusedFile(Frozen):
    """A file that was not ingested, and why."""

    file_name: str
    reason: str


class FolderReport(Frozen):
    """The outcome of adding a folder."""

    documents: tuple[Document, ...] = ()
    refused: tuple[RefusedFile, ...] = ()
    own_documents: int = 0
    """Number of conversations' own files that were indexed again; their names are not reported."""


class IngestProgress(Frozen):
    """How far one file is: ``done`` of ``total`` pages (or passages, while embedding and indexing)."""

    file_name: str
    stage: IngestStage
    done: int = 0
    total: int = 0


Progress = Callable[[IngestProgress], None]


class SearchFilter(Frozen):
    """Limits a search. ``issued_from`` and ``issued_to`` are ISO dates or beginnings of one (``2024``), inclusive."""

    documents: tuple[str, ...] = ()
    issuers: tuple[str, ...] = ()
    issued_from: str = ""
    issued_to: str = ""


class QuestionTerm(Frozen):
    """A term of a question: a stem, its weight in the library, and other words for it."""

    term: str
    weight: float
    also: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    """Related classes, members and words."""
    absent: bool = False
    """True for a rare word that is in no guideline of the library, and neither is another word for it."""


class GuidelineSearchResult(Frozen):
    """Passages, best first, with a hint on how well they match the question."""

    passages: tuple[Passage, ...]
    match: Match
    terms: tuple[QuestionTerm, ...] = ()
    expansion: QueryExpansion = QueryExpansion()
    """The question's language, and other words for its words, which were searched, too."""
