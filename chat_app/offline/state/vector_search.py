"""Search over the chunks of vector stores, with filters on the files' attributes."""

import math
import operator
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import orjson

from chat_app.offline.state.state_database import Database
from chat_app.offline.state.vector_store import touch
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.model import Found
from chat_app.offline.wire.requests import ComparisonFilter, CompoundFilter, FileSearchToolIn, Filter
from tools.language.terms import terms

_CONSIDERED: Final = 3
"""Chunks that are scored for each result that is wanted."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
DEFAULT_RESULTS: Final = 20
_BM25_HALF: Final = 4.0
"""A BM25 score that gives half of the highest score."""
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


# The best chunks first, and only then what belongs to them: a common word matches nearly all chunks.
_BEST: Final = """
WITH best AS (
    SELECT c.id AS id, -bm25(chunk_index) AS score FROM chunk_index JOIN chunks c ON c.id = chunk_index.rowid
    WHERE chunk_index MATCH :terms AND c.store_id IN (SELECT value FROM json_each(:stores))
    AND (:files IS NULL OR c.file_id IN (SELECT value FROM json_each(:files)))
    ORDER BY score DESC LIMIT :most
)
SELECT c.id, c.file_id, c.text, f.filename, v.attributes, best.score FROM best JOIN chunks c USING (id)
JOIN vector_store_files v ON v.store_id = c.store_id AND v.file_id = c.file_id JOIN files f ON f.id = c.file_id
ORDER BY best.score DESC
"""


class VectorSearch:
    """Searches the chunks of vector stores."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def check(self, store_ids: Sequence[str]) -> None:
        """Raise ``ApiError`` when a store is unknown or has expired."""
        if store_ids:
            await self._database.run(lambda connection: [touch(connection, store_id) for store_id in store_ids])

    async def search(self, tool: FileSearchToolIn, queries: Sequence[str]) -> list[Found]:
        """Return the best chunks for any of ``queries``, best first; scores are between 0 and 1.

        Raises ``ApiError`` when a store is unknown or has expired.
        """
        most = tool.max_num_results or DEFAULT_RESULTS
        least = tool.ranking_options.score_threshold if tool.ranking_options else 0.0

        def read(connection: sqlite3.Connection) -> list[tuple[int, Found]]:
            for store_id in tool.vector_store_ids:
                touch(connection, store_id)
            stores = orjson.dumps(tool.vector_store_ids).decode()
            files = _files_that_pass(connection, stores, tool.filters)
            given: Json = {"stores": stores, "files": files, "most": _CONSIDERED * most}
            return [hit for query in queries for hit in _matches(connection, given, query)]

        hits = await self._database.run(read)
        # The best hit of a chunk is the last.
        best = dict(sorted(hits, key=lambda hit: hit[1].score)).values()
        return sorted((found for found in best if found.score >= least), key=lambda found: -found.score)[:most]


def _files_that_pass(connection: sqlite3.Connection, stores: str, condition: Filter | None) -> str | None:
    """Return the files that pass the filter, as JSON; None without a filter."""
    if condition is None:
        return None
    rows = connection.execute(
        "SELECT file_id, attributes FROM vector_store_files WHERE store_id IN (SELECT value FROM json_each(?))",
        (stores,),
    )
    passing = [row["file_id"] for row in rows if matches_filter(condition, orjson.loads(row["attributes"]))]
    return orjson.dumps(passing).decode()


def _matches(connection: sqlite3.Connection, given: Json, query: str) -> Iterator[tuple[int, Found]]:
    words = list(dict.fromkeys(_WORD.findall(query.lower())))
    asked = [word for word in words if terms(word)] or words
    wanted = set(terms(query)) or set(asked)
    expression = " OR ".join(f'"{word}"' for word in asked)
    for row in connection.execute(_BEST, {**given, "terms": expression}) if asked else ():
        text, attributes = row["text"], orjson.loads(row["attributes"])
        score = _score(row["score"], text, wanted)
        yield row["id"], Found(row["file_id"], row["filename"], text, score, attributes)


def _score(bm25: float, text: str, wanted: set[str]) -> float:
    """Between 0 and 1: half for the share of the query's words in the chunk, half for their rarity (BM25)."""
    covered = len(wanted.intersection(terms(text))) / len(wanted)
    return 0.5 * covered + 0.5 * (1 - math.exp(-max(bm25, 0.0) * math.log(2) / _BM25_HALF))


def matches_filter(condition: Filter, attributes: Json) -> bool:
    """Whether a file with ``attributes`` passes. An attribute that is missing passes only ``ne`` and ``nin``."""
    if isinstance(condition, CompoundFilter):
        results = (matches_filter(part, attributes) for part in condition.filters)
        return all(results) if condition.type == "and" else any(results)
    return _compares(condition, attributes.get(condition.key))


def _compares(condition: ComparisonFilter, value: Any) -> bool:
    wanted = condition.value
    if condition.type in {"in", "nin"}:
        return isinstance(wanted, list) and (value in wanted) is (condition.type == "in")
    alike = any(isinstance(value, kind) and isinstance(wanted, kind) for kind in (int | float, str))
    return (alike or condition.type in {"eq", "ne"}) and bool(_COMPARISONS[condition.type](value, wanted))
