"""Measure whether questions find the page of a loaded guideline that answers them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tools.errors import SourceRejected
from tools.guidelines.library import GuidelineLibrary
from tools.guidelines.models import Document, GuidelineSearchResult
from tools.guidelines.storage.document_store import document_id
from tools.types import Frozen

FIRST = 5


class PageMiss(Frozen):
    """A question whose page was not first, and the pages found, best first."""

    question: str
    document: str
    gold_pages: tuple[int, ...]
    found: tuple[str, ...]


class PagesReport(BaseModel):
    """Shares of the answerable questions whose page was first, or among the first five passages."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    hit_at_1: float = Field(serialization_alias="hit@1")
    hit_at_5: float = Field(serialization_alias="hit@5")
    questions: int
    answerable_strong: float
    """Share of the questions with a page with a strong match."""
    unanswerable_weak: float | None
    """Share of the questions without a page with a weak match or none; None when there is none."""
    ms_per_query: float
    misses: tuple[PageMiss, ...]


class _PageQuestion(BaseModel):
    question: str
    document: str | None = None
    gold_pages: tuple[int, ...] = ()


_QUESTIONS = TypeAdapter(list[_PageQuestion])


async def evaluate_pages(library: GuidelineLibrary, questions: Path, *, within_document: bool = False) -> PagesReport:
    """Ask each question of a JSON list of ``{"question", "document", "gold_pages"}`` (pages from 1).

    ``document`` is an id, a file name or a title; null or an empty ``gold_pages`` marks a question that the loaded
    guidelines do not answer. All loaded documents are searched, unless ``within_document``. Raises
    ``SourceRejected`` for a file of another shape or a document that is not loaded.
    """
    try:
        asked = _QUESTIONS.validate_json(await asyncio.to_thread(questions.read_bytes))
    except (OSError, ValidationError):
        raise SourceRejected(
            f"{questions.name} is no list of questions: each needs `question`, `document` and `gold_pages`."
        ) from None
    documents = await library.documents()
    trial = _Trial(library, {question.document: _find(documents, question) for question in asked}, within_document)
    for question in asked:
        await trial.ask(question)
    return trial.report()


class _Trial:
    def __init__(self, library: GuidelineLibrary, ids: dict[str | None, str | None], within: bool) -> None:
        self._library = library
        self._ids = ids
        self._within = within
        self._first: list[bool] = []
        self._among: list[bool] = []
        self._kept: list[bool] = []
        self._rejected: list[bool] = []
        self._misses: list[PageMiss] = []
        self._seconds = 0.0

    async def ask(self, question: _PageQuestion) -> None:
        wanted = self._ids[question.document]
        started = time.perf_counter()
        result = await self._library.search(
            question.question, limit=FIRST, documents=[wanted] if self._within and wanted else None
        )
        self._seconds += time.perf_counter() - started
        if wanted is None or not question.gold_pages:
            self._rejected.append(result.match != "strong")
            return
        self._kept.append(result.match == "strong")
        hits = _hits(result, wanted, question.gold_pages)
        self._first.append(hits[:1] == [True])
        self._among.append(any(hits))
        if hits[:1] != [True]:
            found = tuple(f"{passage.document_id.partition('@')[0]}:{passage.page}" for passage in result.passages)
            self._misses.append(
                PageMiss(question=question.question, document=wanted, gold_pages=question.gold_pages, found=found)
            )

    def report(self) -> PagesReport:
        return PagesReport(
            hit_at_1=_share(self._first),
            hit_at_5=_share(self._among),
            questions=len(self._first),
            answerable_strong=_share(self._kept),
            unanswerable_weak=_share(self._rejected) if self._rejected else None,
            ms_per_query=1000 * self._seconds / max(1, len(self._kept) + len(self._rejected)),
            misses=tuple(self._misses),
        )


def _find(documents: list[Document], question: _PageQuestion) -> str | None:
    if not question.document:
        return None
    name = question.document
    for document in documents:
        if name in {document.id, document.file_name, document.title, Path(document.file_name).stem}:
            return document.id
    for document in documents:
        if document.id in {document_id(name), document_id(f"{name}.pdf")}:
            return document.id
    raise SourceRejected(f"The questions name a document that is not loaded: {name}.")


def _hits(result: GuidelineSearchResult, document: str, pages: tuple[int, ...]) -> list[bool]:
    return [passage.document_id.partition("@")[0] == document and passage.page in pages for passage in result.passages]


def _share(values: list[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
