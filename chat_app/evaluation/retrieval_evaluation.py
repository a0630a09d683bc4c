"""Measure retrieval on test collections in the BEIR layout."""

import gzip
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple
from uuid import uuid4

import orjson
from pydantic import Field

from tools.embeddings.embedders import Embedder
from tools.errors import SourceRejected
from tools.guidelines.search.retrieval import IndexedPassage, Retriever
from tools.language.terms import terms, weight_of
from tools.milvus.connection import MilvusConnection
from tools.types import Frozen

_VERSION = "evaluation"
CUT = 10
Progress = Callable[[str, int, int], None]
PassageTerms = Mapping[str, Sequence[str]]


class RetrievalReport(Frozen):
    """Means over all questions; dump it with ``by_alias=True`` for the names that evaluations use."""

    ndcg: float = Field(serialization_alias="ndcg@10")
    recall: float = Field(serialization_alias="recall@10")
    ms_per_query: float
    queries: int
    passages: int
    dense: bool


class BeirCollection(NamedTuple):
    """Passages, questions and relevance (question to passage to grade), by id."""

    passages: dict[str, str]
    questions: dict[str, str]
    relevance: dict[str, dict[str, int]]


def read_collection(folder: Path) -> BeirCollection:
    """Read ``corpus.jsonl[.gz]``, ``queries.jsonl[.gz]`` and ``qrels_test.tsv``. Raises ``SourceRejected``."""
    try:
        corpus = {
            str(row["_id"]): f"{row.get('title') or ''}\n{row['text']}".strip() for row in _rows(folder, "corpus")
        }
        questions = {str(row["_id"]): row["text"] for row in _rows(folder, "queries")}
        relevance: dict[str, dict[str, int]] = {}
        flat = folder / "qrels_test.tsv"
        qrels = flat if flat.is_file() else folder / "qrels" / "test.tsv"
        for line in filter(str.strip, qrels.read_text(encoding="utf-8").splitlines()):
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


def evaluate_retrieval(
    uri: str,
    collection: BeirCollection,
    *,
    token: str | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> RetrievalReport:
    """Index the passages in scratch collections, ask every question, and drop the collections. Blocks."""
    connection = MilvusConnection(uri, token, contents="guideline index")
    retriever = Retriever(connection, f"evaluation_{uuid4().hex[:12]}", embedder)
    tell: Progress = progress or (lambda stage, done, total: None)
    found = {key: terms(text) for key, text in collection.passages.items()}
    try:
        passages = [IndexedPassage(key, collection.passages[key], found[key]) for key in found]
        retriever.add(_VERSION, passages, tell)
        retriever.settle()
        return _ask(collection, retriever, found, tell)
    finally:
        retriever.drop()


def _ask(collection: BeirCollection, retriever: Retriever, found: PassageTerms, progress: Progress) -> RetrievalReport:
    gains: list[float] = []
    recalls: list[float] = []
    asked = [key for key in collection.relevance if key in collection.questions]
    weight = weight_of(Counter(term for known in found.values() for term in set(known)), len(found))
    spent = 0.0
    for at, key in enumerate(asked, start=1):
        started = time.perf_counter()
        hits = retriever.search(collection.questions[key], [_VERSION], found.__getitem__, weight)
        spent += time.perf_counter() - started
        ranked = [candidate.id for candidate in hits.candidates[:CUT]]
        gains.append(ndcg(ranked, collection.relevance[key]))
        recalls.append(recall(ranked, collection.relevance[key]))
        progress("asking", at, len(asked))
    return RetrievalReport(
        ndcg=fmean(gains or [0.0]),
        recall=fmean(recalls or [0.0]),
        ms_per_query=1000 * spent / max(1, len(asked)),
        queries=len(asked),
        passages=len(found),
        dense=retriever.embedder is not None,
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
