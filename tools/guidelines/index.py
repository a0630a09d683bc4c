"""The two collections of guideline passages: stemmed terms searched by BM25, and vectors searched by cosine.

They hold what is searched and no more; the words themselves are in the library's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tools.guidelines.milvus import CALL_SECONDS, ID_BYTES, VERSION_BYTES, Collection, Connection, Hit

COLLECTION = "clinical_guidelines"
_TERMS_BYTES = 65_535
BM25 = {"bm25_k1": 1.2, "bm25_b": 0.75}
"""On BioASQ-mini b=0.4 is .004 better; on tables, whose rows are short passages, b=0.75 finds far more."""


@dataclass(frozen=True, slots=True)
class TermsRow:
    """A passage as the terms collection holds it."""

    id: str
    version: str
    terms: str


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A passage as the vector collection holds it."""

    id: str
    version: str
    vector: Sequence[float]


class TermsIndex(Collection):
    """Passages by their stemmed terms."""

    fields = frozenset({"id", "version", "terms", "sparse"})
    search_field = "sparse"

    def add(self, rows: Sequence[TermsRow], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes ``rows``; they are searched fast only after ``settle``."""
        self._write([{"id": row.id, "version": row.version, "terms": _cut(row.terms)} for row in rows], progress)

    def search(self, terms: str, versions: Sequence[str], limit: int) -> list[Hit]:
        """The best passages of ``versions`` for stemmed ``terms`` by BM25, best first."""
        return self._find(terms, versions, limit) if terms and versions else []

    def _probe(self) -> str:
        return "load"

    def _create(self, client: Any) -> None:
        from pymilvus import DataType, Function, FunctionType

        schema = _schema(client)
        schema.add_field(
            "terms", DataType.VARCHAR, max_length=_TERMS_BYTES, enable_analyzer=True,
            analyzer_params={"tokenizer": "standard", "filter": ["lowercase"]},
        )  # fmt: skip
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(Function(
            name="bm25", function_type=FunctionType.BM25, input_field_names=["terms"], output_field_names=["sparse"],
        ))  # fmt: skip
        indexes = client.prepare_index_params()
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=BM25)
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(self.name, schema=schema, index_params=indexes, timeout=CALL_SECONDS)


class VectorIndex(Collection):
    """Passages by the vectors of one embedding model."""

    fields = frozenset({"id", "version", "vector"})
    search_field = "vector"

    def __init__(self, connection: Connection, name: str, dimension: int) -> None:
        super().__init__(connection, name)
        self.dimension = dimension

    def add(self, rows: Sequence[VectorRow], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes ``rows``; they are searched fast only after ``settle``."""
        self._write([{"id": row.id, "version": row.version, "vector": list(row.vector)} for row in rows], progress)

    def search(self, vector: Sequence[float], versions: Sequence[str], limit: int) -> list[Hit]:
        """The passages of ``versions`` whose vectors have the largest cosine with ``vector``, best first."""
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
        indexes.add_index(
            "vector", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 200}
        )
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(self.name, schema=schema, index_params=indexes, timeout=CALL_SECONDS)


def _schema(client: Any) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=ID_BYTES)
    schema.add_field("version", DataType.VARCHAR, max_length=VERSION_BYTES)
    return schema


def _cut(terms: str) -> str:
    """Within the field's limit, which counts bytes."""
    data = terms.encode()
    return terms if len(data) <= _TERMS_BYTES else data[:_TERMS_BYTES].decode(errors="ignore").rsplit(" ", 1)[0]
