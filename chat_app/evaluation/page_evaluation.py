"""Measure whether questions find the page of a loaded guideline that answers them."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pydantic import BaseModel, Field

from chat_app.evaluation.question_files import read_rows
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


class PagesReport(Frozen):
    """Shares of the answerable questions whose page was first, or among the first five passages."""

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


async def evaluate_pages(library: GuidelineLibrary, questions: Path, *, within_document: bool = False) -> PagesReport:
    """Ask each question of a JSON list of ``{"question", "document", "gold_pages"}`` (pages from 1).

    ``document`` is an id, a file name or a title; null or an empty ``gold_pages`` marks a question that the loaded
    guidelines do not answer. All loaded documents are searched, unless ``within_document``. Raises
    ``SourceRejected`` for a file of another shape or a document that is not loaded.
    """
    needs = '"question", and "document" and "gold_pages" where a page answers it'
    asked = await asyncio.to_thread(read_rows, questions, _PageQuestion, needs)
    documents = await library.documents()
    ids = {question.document: _find(documents, question) for question in asked}
    trials: list[_Trial] = []
    started = time.perf_counter()
    for question in asked:
        wanted = ids[question.document] if question.gold_pages else None
        chosen = ids[question.document] if within_document else None
        result = await library.search(question.question, limit=FIRST, documents=[chosen] if chosen else None)
        trials.append(_Trial(question, wanted, result))
    return _report(trials, time.perf_counter() - started)


class _Trial(NamedTuple):
    question: _PageQuestion
    wanted: str | None
    """The id of the document that answers; None when none does."""
    result: GuidelineSearchResult

    @property
    def strong(self) -> bool:
        return self.result.match == "strong"

    @property
    def found(self) -> list[tuple[str, int | None]]:
        return [(passage.document_id.partition("@")[0], passage.page) for passage in self.result.passages]

    @property
    def rank(self) -> int:
        """The place of the page among those found, from 0; ``FIRST`` when it was not found."""
        hits = [name == self.wanted and page in self.question.gold_pages for name, page in self.found]
        return hits.index(True) if any(hits) else FIRST


def _report(trials: Sequence[_Trial], seconds: float) -> PagesReport:
    answerable = [trial for trial in trials if trial.wanted is not None]
    weak = [not trial.strong for trial in trials if trial.wanted is None]
    return PagesReport(
        hit_at_1=fmean([trial.rank == 0 for trial in answerable] or [0]),
        hit_at_5=fmean([trial.rank < FIRST for trial in answerable] or [0]),
        questions=len(answerable),
        answerable_strong=fmean([trial.strong for trial in answerable] or [0]),
        unanswerable_weak=fmean(weak) if weak else None,
        ms_per_query=1000 * seconds / max(1, len(trials)),
        misses=tuple(
            PageMiss(
                question=trial.question.question,
                document=trial.wanted or "",
                gold_pages=trial.question.gold_pages,
                found=tuple(f"{name}:{page}" for name, page in trial.found),
            )
            for trial in answerable
            if trial.rank
        ),
    )


def _find(documents: list[Document], question: _PageQuestion) -> str | None:
    name = question.document
    if not name:
        return None
    for document in documents:
        if document.id == document_id(name) or name in {document.title, Path(document.file_name).stem}:
            return document.id
    raise SourceRejected(f"The questions name a document that is not loaded: {name}.")
