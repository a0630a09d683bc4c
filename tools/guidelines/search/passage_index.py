"""The two collections of guideline passages: stemmed terms searched by BM25, and vectors searched by cosine.

They hold search terms and vectors; the words themselves are in the library's folder.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tools.language.terms import Weight
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import Hit, PassageCollection

COLLECTION = "clinical_guidelines"
K1 = 1.2
B = 0.75
"""On BioASQ-mini b=0.4 is no better, and on tables, whose rows are short passages, b=0.75 finds far more."""
USUAL_TERMS = 120
"""Length to which passages are scaled. A fixed one, so that adding a guideline leaves the others' rows as they are;
120 is the best of 80, 120, 180 and the true mean on BioASQ-mini and on questions about pages."""


class TermsIndex(PassageCollection[Sequence[str]]):
    """Passages by their stemmed terms, ranked by BM25.

    The weights are made here and stored as sparse vectors, whose inner product is the BM25 score. Milvus has a BM25
    function, but Milvus Lite counts terms for each segment alone: in a segment that holds one guideline
    on lenacapavir, that word is in every passage and weighs nothing. Here a term's weight comes from the whole
    library, and adding a guideline needs no row of another to be written again.
    """

    search_field = "weights"

    def search(self, terms: Sequence[str], weight: Weight, versions: Sequence[str], limit: int) -> list[Hit]:
        """Return the best passages of ``versions`` for stemmed ``terms`` by BM25, best first."""
        return self._find(question_weights(terms, weight), versions, limit) if terms and versions else []

    def _probe(self) -> dict[int, float]:
        return {0: 1.0}

    def _stored(self, content: Sequence[str]) -> dict[int, float]:
        return passage_weights(content)

    def _add_search_field(self, schema: Any, indexes: Any, types: Any) -> None:
        schema.add_field("weights", types.SPARSE_FLOAT_VECTOR)
        indexes.add_index("weights", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")


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


class VectorIndex(PassageCollection[Sequence[float]]):
    """Passages by the vectors of one embedding model."""

    search_field = "vector"

    def __init__(self, connection: MilvusConnection, name: str, dimension: int) -> None:
        super().__init__(connection, name)
        self.dimension = dimension

    def search(self, vector: Sequence[float], versions: Sequence[str], limit: int) -> list[Hit]:
        """Return the passages of ``versions`` whose vectors have the largest cosine with ``vector``, best first."""
        return self._find(list(vector), versions, limit) if versions else []

    def _probe(self) -> list[float]:
        return [1.0] + [0.0] * (self.dimension - 1)

    def _fits(self, fields: Sequence[dict[str, Any]]) -> bool:
        stored = next(field for field in fields if field["name"] == "vector")
        return int(stored["params"]["dim"]) == self.dimension

    def _stored(self, content: Sequence[float]) -> list[float]:
        return list(content)

    def _add_search_field(self, schema: Any, indexes: Any, types: Any) -> None:
        schema.add_field("vector", types.FLOAT_VECTOR, dim=self.dimension)
        indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 200})
