"""How often the right medicine is found: hit@1 and hit@5 over a file of queries, overall and by kind, and the time.

A line of the file is ``{"id", "type", "query"}`` with what a hit must be: ``expect`` or ``expect_any`` (any of these
ingredient names), ``expect_subst`` (this full substance) or ``expect_class`` (this pharmacologic class).
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import Field

from chat_app.evaluation.question_files import read_rows
from tools.drug_database.database import DrugDatabase
from tools.drug_database.names.name_keys import base_moiety, class_name
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.records.queries import DrugQuery
from tools.language.folding import fold_name
from tools.types import Frozen

_DEPTH: Final = 5


class EvaluationQuery(Frozen, extra="ignore"):
    """A query with the expected hit."""

    id: str = ""
    type: str = "query"
    query: str
    expect: tuple[str, ...] = ()
    expect_any: tuple[str, ...] = ()
    expect_subst: str = ""
    expect_class: str = ""

    def fits(self, record: DrugRecord) -> bool:
        """Return whether ``record`` is the expected one."""
        if self.expect_class:
            wanted = fold_name(class_name(self.expect_class))
            return any(fold_name(class_name(fact.value)) == wanted for fact in record.drug_classes)
        substances = {fold_name(fact.value) for fact in record.substances}
        if self.expect_subst:
            return fold_name(self.expect_subst) in substances
        known = substances | {fold_name(name) for name in record.ingredients}
        bases = {base_moiety(name) for name in record.ingredients}
        return any(fold_name(name) in known or base_moiety(name) in bases for name in (*self.expect, *self.expect_any))


class HitRate(Frozen):
    """Shares between 0 and 1 of ``queries`` queries."""

    hit_at_1: float = Field(serialization_alias="hit@1")
    hit_at_5: float = Field(serialization_alias="hit@5")
    queries: int


class Miss(Frozen):
    """A query whose first hit was not the expected one."""

    id: str
    type: str
    query: str
    found: tuple[str, ...]


class Milliseconds(Frozen):
    """Time of one search as the caller sees it."""

    mean: float
    p50: float
    p95: float


class DrugEvaluation(Frozen):
    """The outcome; ``model_dump(by_alias=True)`` gives the JSON of ``asclepius eval drugs --json``."""

    overall: HitRate
    by_kind: dict[str, HitRate]
    ms: Milliseconds
    misses: tuple[Miss, ...] = ()


def read_queries(file: Path) -> list[EvaluationQuery]:
    """Read a file of queries. Raises ``SourceRejected``."""
    return read_rows(file, EvaluationQuery, 'a "query"')


async def evaluate(database: DrugDatabase, queries: Sequence[EvaluationQuery]) -> DrugEvaluation:
    """Run every query once, after one that warms up the index."""
    await database.load()
    await database.search(DrugQuery(name=queries[0].query, limit=_DEPTH))
    ranks: dict[str, list[int]] = defaultdict(list)
    times: list[float] = []
    misses: list[Miss] = []
    for query in queries:
        started = time.perf_counter()
        result = await database.search(DrugQuery(name=query.query, limit=_DEPTH))
        times.append(1000 * (time.perf_counter() - started))
        fitting = (place for place, hit in enumerate(result.hits) if query.fits(hit.record))
        rank = next(fitting, _DEPTH)
        ranks[query.type].append(rank)
        if rank:
            found = tuple(hit.record.generic_name for hit in result.hits)
            misses.append(Miss(id=query.id, type=query.type, query=query.query, found=found))
    return DrugEvaluation(
        overall=_rate([rank for kind in ranks.values() for rank in kind]),
        by_kind={kind: _rate(found) for kind, found in sorted(ranks.items())},
        ms=_milliseconds(times),
        misses=tuple(misses),
    )


def _rate(ranks: Sequence[int]) -> HitRate:
    return HitRate(
        hit_at_1=round(fmean(rank == 0 for rank in ranks), 4),
        hit_at_5=round(fmean(rank < _DEPTH for rank in ranks), 4),
        queries=len(ranks),
    )


def _milliseconds(times: list[float]) -> Milliseconds:
    ordered = sorted(times)
    return Milliseconds(
        mean=round(fmean(ordered), 2),
        p50=round(ordered[len(ordered) // 2], 2),
        p95=round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 2),
    )
