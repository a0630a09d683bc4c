"""The two collections of guideline passages: stemmed terms searched by BM25, and vectors searched by cosine.

The text of the passages is in the library's folder.
"""

import zlib
from collections import Counter
from collections.abc import Sequence

from tools.language.terms import Weight
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import PassageCollection, SearchField

COLLECTION = "clinical_guidelines"
_K1 = 1.2
B = 0.75
"""Chosen over 0.4, which is not better on BioASQ-mini and finds far fewer table rows, which are short passages."""
_USUAL_TERMS = 120
"""Mean passage length for BM25. It is fixed, so that adding a guideline does not change the rows of others. 120 is the
best of 80, 120, 180 and the true mean on BioASQ-mini and on questions about pages."""


def terms_index(connection: MilvusConnection, name: str) -> PassageCollection:
    """Return the collection of passages by their stemmed terms, ranked by BM25.

    The weights are calculated here and stored as sparse vectors, whose inner product is the BM25 score. The BM25
    function of Milvus Lite counts terms per segment: in a segment with one guideline on lenacapavir, that word is in
    every passage and weighs nothing. Here a term's weight comes from the whole library, and adding a guideline does
    not rewrite the rows of others.
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
    """Return the passage's factor of BM25 (Robertson and Zaragoza, 2009) for each term, by the term's dimension."""
    share = _K1 * (1 - B + B * len(terms) / _USUAL_TERMS)
    weights = {dimension_of(term): count * (_K1 + 1) / (count + share) for term, count in Counter(terms).items()}
    return weights or {0: 0.0001}


def question_weights(terms: Sequence[str], weight: Weight) -> dict[int, float]:
    """Return the question's factor: the weight of each term in the library."""
    return {dimension_of(term): count * weight(term) for term, count in Counter(terms).items()}


def dimension_of(term: str) -> int:
    """Return the dimension of a term, a hash from 1 to 2^32 - 3; collisions inside a library are very rare."""
    return 1 + zlib.crc32(term.encode()) % (2**32 - 3)
