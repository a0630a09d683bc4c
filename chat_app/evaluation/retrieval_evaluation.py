"""Measure retrieval on test collections in the BEIR layout."""

from __future__ import annotations

import gzip
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
from pydantic import BaseModel, ConfigDict, Field

from tools.embeddings.embedders import Embedder
from tools.errors import SourceRejected
from tools.guidelines.search.passage_index import TermsRow, VectorRow
from tools.guidelines.search.retrieval import Retriever
from tools.language.term_weights import Weight, weight_of
from tools.language.terms import terms
from tools.milvus.connection import MilvusConnection

_VERSION = "evaluation"
CUT = 10
Progress = Callable[[str, int, int], None]


class RetrievalReport(BaseModel):
    """Means over all questions; dump it with ``by_alias=True`` for the names that evaluations use."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    ndcg: float = Field(serialization_alias="ndcg@10")
    recall: float = Field(serialization_alias="recall@10")
    ms_per_query: float
    queries: int
    passages: int
    dense: bool


@dataclass(slots=True)
class BeirCollection:
    """Passages, questions and relevance (question to passage to grade), by id."""

    passages: dict[str, str]
    questions: dict[str, str]
    relevance: dict[str, dict[str, int]] = field(default_factory=dict)


def read_collection(folder: Path) -> BeirCollection:
    """Read ``corpus.jsonl[.gz]``, ``queries.jsonl[.gz]`` and ``qrels_test.tsv``. Raises ``SourceRejected``."""
    try:
        corpus = {
            str(row["_id"]): f"{row.get('title') or ''}\n{row['text']}".strip() for row in _rows(folder, "corpus")
        }
        questions = {str(row["_id"]): row["text"] for row in _rows(folder, "queries")}
        relevance: dict[str, dict[str, int]] = {}
        for line in filter(str.strip, _qrels(folder).read_text(encoding="utf-8").splitlines()):
            question, passage, grade = line.split("\t")[-3:]
            if grade.strip().lstrip("-").isdigit():
                relevance.setdefault(question, {})[passage] = int(grade)
    except (OSError, KeyError, ValueError) as error:
        raise SourceRejected(
            f"{folder.name} is no collection in the BEIR layout ({type(error).__name__}): it needs corpus.jsonl[.gz], "
            "queries.jsonl and qrels_test.tsv."
        ) from None
    return BeirCollection(corpus, questions, relevance)


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    packed = folder / f"{name}.jsonl.gz"
    plain = folder / f"{name}.jsonl"
    with gzip.open(packed, "rb") if packed.is_file() else plain.open("rb") as lines:
        for line in lines:
            if line.strip():
                yield orjson.loads(line)


def _qrels(folder: Path) -> Path:
    for name in ("qrels_test.tsv", "qrels/test.tsv"):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(folder / "qrels_test.tsv")


def evaluate_retrieval(
    uri: str,
    collection: BeirCollection,
    *,
    token: str | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> RetrievalReport:
    """Index the passages in scratch collections, ask every question, and drop the collections. Blocks."""
    retriever = Retriever(
        MilvusConnection(uri, token, contents="guideline index"), f"evaluation_{uuid4().hex[:12]}", embedder
    )
    trial = _Trial(collection, retriever, progress)
    try:
        trial.index()
        return trial.ask()
    finally:
        retriever.drop()


class _Trial:
    """One indexing of a collection."""

    def __init__(
        self,
        collection: BeirCollection,
        retriever: Retriever,
        progress: Progress | None,
    ) -> None:
        self._collection = collection
        self._retriever = retriever
        self._progress: Progress = progress or (lambda stage, done, total: None)
        self._terms = {key: terms(text) for key, text in collection.passages.items()}

    def _weight(self) -> Weight:
        return weight_of(Counter(term for found in self._terms.values() for term in set(found)), len(self._terms))

    def _asked(self) -> list[str]:
        return [key for key in self._collection.relevance if key in self._collection.questions]

    def index(self) -> None:
        keys = list(self._collection.passages)
        total = len(keys)
        rows = [TermsRow(key, _VERSION, self._terms[key]) for key in keys]
        self._retriever.terms.add(rows, progress=lambda done, _: self._progress("indexing", done, total))
        embedder, vectors = self._retriever.embedder, self._retriever.vectors
        if embedder is not None and vectors is not None:
            for at in range(0, total, 256):
                part = keys[at : at + 256]
                made = embedder.embed([self._collection.passages[key] for key in part])
                vectors.add([VectorRow(key, _VERSION, vector) for key, vector in zip(part, made, strict=True)])
                self._progress("embedding", at + len(part), total)
        self._retriever.settle()

    def ask(self) -> RetrievalReport:
        gains: list[float] = []
        recalls: list[float] = []
        asked = self._asked()
        weight = self._weight()
        spent = 0.0
        for at, key in enumerate(asked, start=1):
            started = time.perf_counter()
            found = self._retriever.search(self._collection.questions[key], [_VERSION], self._terms.__getitem__, weight)
            spent += time.perf_counter() - started
            ranked = [candidate.id for candidate in found.candidates[:CUT]]
            gains.append(ndcg(ranked, self._collection.relevance[key]))
            recalls.append(recall(ranked, self._collection.relevance[key]))
            self._progress("asking", at, len(asked))
        return RetrievalReport(
            ndcg=_mean(gains),
            recall=_mean(recalls),
            ms_per_query=1000 * spent / max(1, len(asked)),
            queries=len(asked),
            passages=len(self._terms),
            dense=self._retriever.embedder is not None,
        )


def ndcg(ranked: Sequence[str], relevance: Mapping[str, int]) -> float:
    """Return the normalised discounted cumulative gain of the first ten (Järvelin and Kekäläinen, 2002)."""
    gained = sum(max(0, relevance.get(key, 0)) / math.log2(at + 2) for at, key in enumerate(ranked[:CUT]))
    ideal = sorted((grade for grade in relevance.values() if grade > 0), reverse=True)[:CUT]
    best = sum(grade / math.log2(at + 2) for at, grade in enumerate(ideal))
    return gained / best if best else 0.0


def recall(ranked: Sequence[str], relevance: Mapping[str, int]) -> float:
    """Return the share of the relevant passages among the first ten."""
    wanted = {key for key, grade in relevance.items() if grade > 0}
    return len(wanted.intersection(ranked[:CUT])) / len(wanted) if wanted else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
