"""The two collections of guideline passages: stemmed terms searched by BM25, and vectors searched by cosine.

They hold search terms and vectors; the words themselves are in the library's folder.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tools.language.term_weights import Weight
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import CALL_SECONDS, CONSISTENCY, ID_BYTES, VERSION_BYTES, Hit, PassageCollection

COLLECTION = "clinical_guidelines"
K1 = 1.2
B = 0.75
"""On BioASQ-mini b=0.4 is no better, and on tables, whose rows are short passages, b=0.75 finds far more."""
USUAL_TERMS = 120
"""Length to which passages are scaled. A fixed one, so that adding a guideline leaves the others' rows as they are;
120 is the best of 80, 120, 180 and the true mean on BioASQ-mini and on questions about pages."""


@dataclass(frozen=True, slots=True)
class TermsRow:
    """A passage as the terms collection holds it."""

    id: str
    version: str
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A passage as the vector collection holds it."""

    id: str
    version: str
    vector: Sequence[float]


class TermsIndex(PassageCollection):
    """Passages by their stemmed terms, ranked by BM25.

    The weights are made here and stored as sparse vectors, whose inner product is the BM25 score. Milvus has a BM25
    function, but Milvus Lite counts terms for each segment alone: in a segment that holds one guideline
    on lenacapavir, that word is in every passage and weighs nothing. Here a term's weight comes from the whole
    library, and adding a guideline needs no row of another to be written again.
    """

    fields = frozenset({"id", "version", "weights"})
    search_field = "weights"

    def add(self, rows: Sequence[TermsRow], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Write ``rows``; they are searched fast only after ``settle``."""
        self._write(
            [{"id": row.id, "version": row.version, "weights": passage_weights(row.terms)} for row in rows], progress
        )

    def search(self, terms: Sequence[str], weight: Weight, versions: Sequence[str], limit: int) -> list[Hit]:
        """Return the best passages of ``versions`` for stemmed ``terms`` by BM25, best first."""
        return self._find(question_weights(terms, weight), versions, limit) if terms and versions else []

    def _probe(self) -> dict[int, float]:
        return {0: 1.0}

    def _create(self, client: Any) -> None:
        from pymilvus import DataType

        schema = _schema(client)
        schema.add_field("weights", DataType.SPARSE_FLOAT_VECTOR)
        indexes = client.prepare_index_params()
        indexes.add_index("weights", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(
            self.name, schema=schema, index_params=indexes, timeout=CALL_SECONDS, consistency_level=CONSISTENCY
        )


def passage_weights(terms: Sequence[str]) -> dict[int, float]:
    """Return the passage's side of BM25 (Robertson and Zaragoza, 2009): how much each term counts, by its dimension."""
    share = K1 * (1 - B + B * len(terms) / USUAL_TERMS)
    weights = {dimension_of(term): count * (K1 + 1) / (count + share) for term, count in Counter(terms).items()}
    return weights or {0: 0.0001}


def question_weights(terms: Sequence[str], weight: Weight) -> dict[int, float]:
    """Return the question's side: each term's weight in the library."""
    return {dimension_of(term): count * weight(term) for term, count in Counter(terms).items()}


def dimension_of(term: str) -> int:
    """Return a number for a term, from 1 to 2^32 - 3; two terms of a library hardly ever share one."""
    return 1 + zlib.crc32(term.encode()) % (2**32 - 3)


class VectorIndex(PassageCollection):
    """Passages by the vectors of one embedding model."""

    fields = frozenset({"id", "version", "vector"})
    search_field = "vector"

    def __init__(self, connection: MilvusConnection, name: str, dimension: int) -> None:
        super().__init__(connection, name)
        self.dimension = dimension

    def add(self, rows: Sequence[VectorRow], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Write ``rows``; they are searched fast only after ``settle``."""
        self._write([{"id": row.id, "version": row.version, "vector": list(row.vector)} for row in rows], progress)

    def search(self, vector: Sequence[float], versions: Sequence[str], limit: int) -> list[Hit]:
        """Return the passages of ``versions`` whose vectors have the largest cosine with ``vector``, best first."""
        return self._find(list(vector), versions, limit) if versions else []

    def _probe(self) -> list[float]:
        return [1.0] + [0.0] * (self.dimension - 1)

    def _fits(self, fields: Sequence[dict[str, Any]]) -> bool:
        stored = next(field for field in fields if field["name"] == "vector")
        return int(stored["params"]["dim"]) == self.dimension

    def _create(self, client: Any) -> None:
        from pymilvus import DataType

        schema = _schema(client)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self.dimension)
        indexes = client.prepare_index_params()
        indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 200})
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(
            self.name, schema=schema, index_params=indexes, timeout=CALL_SECONDS, consistency_level=CONSISTENCY
        )


def _schema(client: Any) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=ID_BYTES)
    schema.add_field("version", DataType.VARCHAR, max_length=VERSION_BYTES)
    return schema
