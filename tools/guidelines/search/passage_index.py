"""The two collections of guideline passages: stemmed terms searched by BM25, and vectors searched by cosine.

They hold search terms and vectors; the words themselves are in the library's folder.
"""

import zlib
from collections import Counter
from collections.abc import Sequence

from tools.language.terms import Weight
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import PassageCollection, SearchField

COLLECTION = "clinical_guidelines"
K1 = 1.2
B = 0.75
"""On BioASQ-mini b=0.4 is no better, and on tables, whose rows are short passages, b=0.75 finds far more."""
USUAL_TERMS = 120
"""Length to which passages are scaled. A fixed one, so that adding a guideline leaves the others' rows as they are;
120 is the best of 80, 120, 180 and the true mean on BioASQ-mini and on questions about pages."""


def terms_index(connection: MilvusConnection, name: str) -> PassageCollection:
    """Return the collection of passages by their stemmed terms, ranked by BM25.

    The weights are made here and stored as sparse vectors, whose inner product is the BM25 score. Milvus has a BM25
    function, but Milvus Lite counts terms for each segment alone: in a segment that holds one guideline
    on lenacapavir, that word is in every passage and weighs nothing. Here a term's weight comes from the whole
    library, and adding a guideline needs no row of another to be written again.
    """
    index = {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "IP"}
    field = SearchField("weights", "SPARSE_FLOAT_VECTOR", index, stored=passage_weights, probe={0: 1.0})
    return PassageCollection(connection, name, field)


def vector_index(connection: MilvusConnection, name: str, dimension: int) -> PassageCollection:
    """Return the collection of passages by the vectors of one embedding model, ranked by cosine."""
    index = {"index_type": "HNSW", "metric_type": "COSINE", "params": {"M": 16, "efConstruction": 200}}
    probe = [1.0] + [0.0] * (dimension - 1)
    field = SearchField("vector", "FLOAT_VECTOR", index, stored=list, probe=probe, dimension=dimension)
    return PassageCollection(connection, name, field)


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
