"""The records of the guideline library: documents, reports and search results.

All are plain data. A *document* is a guideline under one id; each changed file is a new *version* of it, named by
the hash of its bytes. Passages belong to a version, so an old answer keeps the words it cited.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from tools.documents.models import DocumentFacts
from tools.language.query_expansion import QueryExpansion
from tools.types import Frozen, Passage

Match = Literal["strong", "weak", "none"]
"""How well passages match a question, from words alone.

``strong`` means that one sentence, list item or table row holds more than half of the question with its headings.
``none`` is proven: no passage shares a term with the question. All between is ``weak``: words alone cannot tell there
whether a passage answers, so the reader of the passages has to judge.
"""
IngestStage = Literal["reading", "recognising", "embedding", "indexing", "done", "unchanged"]


class IngestedFile(DocumentFacts):
    """A guideline's file with its facts and the outcome of its reading."""

    file_name: str
    sha256: str
    pages: int = 0
    passages: int = 0
    unsearchable_pages: tuple[int, ...] = ()
    """Pages that show something but hold no text that could be read."""
    recognised_pages: tuple[int, ...] = ()
    """Pages whose words were recognised from a picture."""
    added_at: datetime


class DocumentVersion(IngestedFile):
    """One version of a document as stored."""

    key: str
    """Twelve hexadecimal digits that identify the file's bytes and the reader's number."""
    suffix: str
    """Of the kept original, such as ``.pdf``."""
    paged: bool = True
    reader: int
    """Number of the reading code that made the passages; ``reindex`` reads older ones again."""


class DocumentRecord(Frozen):
    """A document's file on disk: its versions, oldest first. ``current`` is None once it was removed."""

    id: str
    current: str | None
    versions: tuple[DocumentVersion, ...]


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
    """Number of conversations' files that were indexed again; only their owners see more."""


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
    """A term of a question as the search read it: a stem, its weight in the library, and other words for it."""

    term: str
    weight: float
    also: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    """Classes, members and words that go with it."""
    absent: bool = False
    """True for a rare word that occurs in no guideline of the library, nor does another word for it."""


class GuidelineSearchResult(Frozen):
    """Passages, best first, with a hint on how well they match the question."""

    passages: tuple[Passage, ...]
    match: Match
    terms: tuple[QuestionTerm, ...] = ()
    expansion: QueryExpansion = QueryExpansion()
    """Other words that were searched beside the words of the question, and the question's language."""
