"""Search over the chunks of vector stores, with filters on the files' attributes."""

from __future__ import annotations

import math
import operator
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, assert_never

import orjson

from chat_app.offline.database import Database
from chat_app.offline.extraction.text import STOP, stem, words
from chat_app.offline.model import Found
from chat_app.offline.vector_store import touch
from chat_app.offline.wire import ComparisonFilter, CompoundFilter, FileSearchToolIn, Filter

Json = dict[str, Any]
MOST_RESULTS: Final = 50
DEFAULT_RESULTS: Final = 20
_BM25_HALF: Final = 4.0
"""A BM25 score that gives half of the highest score."""


class VectorSearch:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def hosted(self, tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
        """What a file_search tool finds. Raises ``ApiError`` when a store is unknown or has expired."""
        options = tool.ranking_options
        return await self.search(
            tool.vector_store_ids, queries, most=tool.max_num_results or DEFAULT_RESULTS, filters=tool.filters,
            threshold=options.score_threshold if options else 0.0,
        )  # fmt: skip

    async def search(
        self, store_ids: Sequence[str], queries: Sequence[str], *, most: int, filters: Filter | None, threshold: float
    ) -> list[Found]:
        """The best chunks for any of ``queries``, best first; scores are between 0 and 1."""

        def read(connection: sqlite3.Connection) -> dict[int, Found]:
            for store_id in store_ids:
                touch(connection, store_id)
            best: dict[int, Found] = {}
            for query in queries:
                for key, found in _matches(connection, store_ids, query):
                    if key not in best or best[key].score < found.score:
                        best[key] = found
            return best

        found = (await self._database.run(read)).values()
        kept = [item for item in found if item.score >= threshold and matches_filter(filters, item.attributes)]
        return sorted(kept, key=lambda item: -item.score)[:most]


def _matches(connection: sqlite3.Connection, store_ids: Sequence[str], query: str) -> list[tuple[int, Found]]:
    terms = [word for word in dict.fromkeys(words(query)) if word not in STOP] or words(query)
    if not terms:
        return []
    expression = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    places = ", ".join("?" * len(store_ids))
    rows = connection.execute(
        "SELECT c.id, c.file_id, c.text, f.filename, v.attributes, -bm25(chunk_index) AS score "  # noqa: S608
        "FROM chunk_index JOIN chunks c ON c.id = chunk_index.rowid "
        "JOIN vector_store_files v ON v.store_id = c.store_id AND v.file_id = c.file_id "
        "JOIN files f ON f.id = c.file_id "
        f"WHERE chunk_index MATCH ? AND c.store_id IN ({places}) ORDER BY score DESC LIMIT ?",
        (expression, *store_ids, 4 * MOST_RESULTS),
    ).fetchall()
    wanted = {stem(term) for term in terms}
    return [
        (
            row["id"],
            Found(row["file_id"], row["filename"], row["text"], _score(row["score"], row["text"], wanted),
                  orjson.loads(row["attributes"])),
        )
        for row in rows
    ]  # fmt: skip


def _score(bm25: float, text: str, wanted: set[str]) -> float:
    """Between 0 and 1: half for the share of the query's words in the chunk, half for their rarity (BM25)."""
    covered = len(wanted & {stem(word) for word in words(text)}) / len(wanted)
    return 0.5 * covered + 0.5 * (1 - math.exp(-max(bm25, 0.0) * math.log(2) / _BM25_HALF))


def matches_filter(condition: Filter | None, attributes: Json) -> bool:
    """Whether a file with ``attributes`` passes. An attribute that is missing passes only ``ne`` and ``nin``."""
    if condition is None:
        return True
    if isinstance(condition, CompoundFilter):
        results = (matches_filter(part, attributes) for part in condition.filters)
        return all(results) if condition.type == "and" else any(results)
    return _compares(condition, attributes.get(condition.key))


def _compares(condition: ComparisonFilter, value: Any) -> bool:
    wanted = condition.value
    match condition.type:
        case "eq":
            return bool(value == wanted)
        case "ne":
            return bool(value != wanted)
        case "in":
            return isinstance(wanted, list) and value in wanted
        case "nin":
            return isinstance(wanted, list) and value not in wanted
        case "gt" | "gte" | "lt" | "lte":
            return _orders(condition.type, value, wanted)
        case _:
            assert_never(condition.type)


def _orders(kind: str, value: Any, wanted: Any) -> bool:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    if not numbers and not (isinstance(value, str) and isinstance(wanted, str)):
        return False
    compare = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}[kind]
    return bool(compare(value, wanted))
