"""Searches passages by terms and, if there is an embedder, by meaning, and fuses both.

It does not depend on documents or files, so that the library and the evaluation can use it.
"""

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import fsum
from typing import Literal, NamedTuple

from tools.embeddings.embedders import Embedder
from tools.errors import ToolUnavailable
from tools.guidelines.search.passage_index import question_weights, terms_index, vector_index
from tools.language.query_expansion import QueryExpansion
from tools.language.question_words import asked_terms, for_ranking
from tools.language.terms import Weight, terms
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import Hit, PassageCollection

_EMBED_AT_ONCE = 64
_CANDIDATES = 50
"""Number of passages from each search that are ranked."""
_DENSE_SHARE = 0.5
"""Weight of the dense score; the term score has the rest. Both are scaled to 0..1 (BioASQ-mini and PubMedQA)."""
_PROXIMITY = 0.3
"""Weight of term proximity, the share of the question in a window of ``_WINDOW`` terms, added to the scaled score."""
_WINDOW = 25
"""Number of terms without stop words: about two sentences."""
logger = logging.getLogger(__name__)
_SAME = 0.8
"""Factor for the weight of a synonym in a search; each of the n words of a phrase has 1/√n of it."""
_RELATED = 0.25
"""Factor for the weight of a class of an asked medicine, and of a member of an asked class."""


class IndexedPassage(NamedTuple):
    """A passage to index; ``text`` is for the embedder."""

    id: str
    text: str
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates, best first, with the terms of the question."""

    question: tuple[str, ...]
    candidates: tuple[Hit, ...]


class Retriever:
    """The two searches over one set of collections. All calls block."""

    def __init__(self, connection: MilvusConnection, collection: str, embedder: Embedder | None = None) -> None:
        self.terms = terms_index(connection, collection)
        self.embedder = embedder
        self._connection = connection
        self._collection = collection
        self._warned = False

    @cached_property
    def vectors(self) -> PassageCollection | None:
        """Return the collection of the embedder's vectors; None without an embedder."""
        if self.embedder is None:
            return None
        name = f"{self._collection}_{self.embedder.name}"
        return vector_index(self._connection, name, self.embedder.dimension)

    def search(
        self,
        question: str,
        versions: Sequence[str],
        terms_of: Callable[[str], Sequence[str]],
        weight: Weight,
        expansion: QueryExpansion | None = None,
    ) -> Retrieved:
        """Return the best candidates among the passages of ``versions``, by the question and its ``expansion``."""
        expansion = expansion or QueryExpansion()
        wanted = asked_terms(question, expansion)
        shares = _shares(expansion, wanted)
        searched = (*wanted, *shares)
        ranking = for_ranking(weight, wanted)

        def lowered(term: str) -> float:
            return ranking(term) * shares.get(term, 1.0)

        by_terms = self.terms.search(question_weights(searched, lowered), versions, _CANDIDATES)
        by_vector = self._by_vector(_in_other_words(question, expansion), versions)
        raised = [
            replace(each, score=each.score + _PROXIMITY * term_proximity(searched, terms_of(each.id), lowered))
            for each in fuse(by_terms, by_vector)[:_CANDIDATES]
        ]
        return Retrieved(wanted, tuple(sorted(raised, key=lambda hit: -hit.score)))

    def _by_vector(self, question: str, versions: Sequence[str]) -> list[Hit]:
        """Return the dense hits; none if the embedder fails, so that the search continues by terms."""
        if self.embedder is None or not question.strip() or not versions:
            return []
        try:
            index = self.vectors
            return index.search(self.embedder.embed([question])[0], versions, _CANDIDATES) if index else []
        except ToolUnavailable as error:
            if not self._warned:
                logger.warning("Searching guidelines by terms alone: %s", error)
                self._warned = True
            return []

    def _collections(self) -> Iterator[PassageCollection]:
        yield self.terms
        if self.vectors is not None:
            yield self.vectors

    def add(
        self,
        version: str,
        passages: Sequence[IndexedPassage],
        report: Callable[[Literal["embedding", "indexing"], int, int], None],
    ) -> None:
        """Write the rows of a version, vectors first because they take longest."""
        if self.embedder is not None and self.vectors is not None:
            for at in range(0, len(passages), _EMBED_AT_ONCE):
                part = passages[at : at + _EMBED_AT_ONCE]
                made = self.embedder.embed([passage.text for passage in part])
                self.vectors.add(version, dict(zip((one.id for one in part), made, strict=True)))
                report("embedding", at + len(part), len(passages))
        self.terms.add(version, {one.id: one.terms for one in passages}, progress=partial(report, "indexing"))

    def load(self) -> None:
        """Load the collections so that the first search is fast."""
        for collection in self._collections():
            collection.load()

    def delete_versions(self, versions: Sequence[str]) -> None:
        """Delete the passages of these versions."""
        for collection in self._collections():
            collection.delete_versions(versions)

    def settle(self) -> None:
        """Wait until all writes can be searched."""
        for collection in self._collections():
            collection.settle()

    def drop(self) -> None:
        """Remove the collections with all rows."""
        for collection in self._collections():
            collection.drop()

    def check(self) -> None:
        """Check the server and the collections. Raises ``ToolUnavailable`` or ``IndexMismatch``."""
        for collection in self._collections():
            collection.check()


def _shares(expansion: QueryExpansion, asked: Sequence[str]) -> dict[str, float]:
    """Return the terms of the expansion without the asked ones, each with the factor for its weight.

    All words of a phrase together weigh about as much as one word, so that the long form of an abbreviation does not
    outweigh the other words of the question.
    """
    shares: dict[str, float] = {}
    for one in expansion.expansions:
        same = ((term, _SAME / len(phrase) ** 0.5) for phrase in map(terms, one.same) for term in phrase)
        related = ((term, _RELATED) for word in one.related for term in terms(word))
        for term, share in (*same, *related):
            shares[term] = max(share, shares.get(term, 0.0))
    return {term: share for term, share in shares.items() if term not in asked}


def _in_other_words(question: str, expansion: QueryExpansion) -> str:
    """Return the text to embed: the question followed by words of the same meaning."""
    same = [word for one in expansion.expansions for word in one.same]
    return f"{question} ({', '.join(same)})" if same else question


def fuse(by_terms: Sequence[Hit], by_vector: Sequence[Hit]) -> list[Hit]:
    """Merge two lists by their scaled scores, best first. If the second is empty, the order of the first stays."""
    if not by_vector:
        top = max((hit.score for hit in by_terms), default=1.0) or 1.0
        return [Hit(hit.id, hit.score / top) for hit in by_terms]
    bm25, cosine = _scaled(by_terms), _scaled(by_vector)
    fused = [
        Hit(key, (1 - _DENSE_SHARE) * bm25.get(key, 0.0) + _DENSE_SHARE * cosine.get(key, 0.0))
        for key in {**bm25, **cosine}
    ]
    return sorted(fused, key=lambda hit: -hit.score)


def _scaled(hits: Sequence[Hit]) -> dict[str, float]:
    low, high = min((hit.score for hit in hits), default=0.0), max((hit.score for hit in hits), default=0.0)
    return {hit.id: (hit.score - low) / ((high - low) or 1.0) for hit in hits}


def term_proximity(question: Sequence[str], passage: Sequence[str], weight: Weight) -> float:
    """Return term proximity: the largest share (0 to 1) of the question's weight in ``_WINDOW`` successive terms."""
    wanted = {term: weight(term) for term in question}
    total = sum(wanted.values())
    if not total:
        return 0.0
    places = [at for at, term in enumerate(passage) if term in wanted]
    windows = (
        {passage[place] for place in places[first : bisect_left(places, at + _WINDOW)]}
        for first, at in enumerate(places)
    )
    return max((fsum(wanted[term] for term in window) for window in windows), default=0.0) / total
