"""Searches passages by terms and, when there is an embedder, by meaning, and fuses both.

Knows nothing of documents or files: the library and the evaluation use it alike.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.embeddings.embedders import Embedder
from tools.errors import ToolUnavailable
from tools.guidelines.search.passage_index import TermsIndex, VectorIndex
from tools.guidelines.search.ranking import CANDIDATES, PassageCandidate, by_closeness, fuse
from tools.language.query_expansion import QueryExpansion
from tools.language.question_words import asked_terms, for_ranking
from tools.language.term_weights import Weight
from tools.language.terms import terms
from tools.milvus.connection import MilvusConnection
from tools.milvus.passage_collection import Hit

logger = logging.getLogger(__name__)


SAME = 0.8
"""Share of its weight that a word of the same meaning as an asked one has in a search; of n words in a phrase 1/√n."""
RELATED = 0.25
"""The share of a class of an asked medicine, and of a member of an asked class."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates, best first, with the terms that were searched for."""

    question: tuple[str, ...]
    candidates: tuple[PassageCandidate, ...]


class Retriever:
    """The two searches over one set of collections. All calls block."""

    def __init__(self, connection: MilvusConnection, collection: str, embedder: Embedder | None = None) -> None:
        self.terms = TermsIndex(connection, collection)
        self.embedder = embedder
        self._connection = connection
        self._collection = collection
        self._vectors: VectorIndex | None = None
        self._warned = False

    @property
    def vectors(self) -> VectorIndex | None:
        """The collection of the embedder's vectors; None without an embedder."""
        if self.embedder is None:
            return None
        if self._vectors is None:
            name = f"{self._collection}_{self.embedder.name}"
            self._vectors = VectorIndex(self._connection, name, self.embedder.dimension)
        return self._vectors

    def search(
        self,
        question: str,
        versions: Sequence[str],
        terms_of: Callable[[str], Sequence[str]],
        weight: Weight,
        expansion: QueryExpansion | None = None,
    ) -> Retrieved:
        """Return the best candidates among the passages of ``versions``, also by the other words of ``expansion``."""
        expansion = expansion or QueryExpansion()
        wanted = asked_terms(question, expansion)
        shares = _shares(expansion, wanted)
        searched = (*wanted, *shares)
        weight = _lowered(for_ranking(weight, wanted), shares)
        by_terms = self.terms.search(searched, weight, versions, CANDIDATES)
        by_vector = self._by_vector(_in_other_words(question, expansion), versions)
        ordered = by_closeness(fuse(by_terms, by_vector)[:CANDIDATES], searched, terms_of, weight)
        return Retrieved(wanted, tuple(ordered))

    def _by_vector(self, question: str, versions: Sequence[str]) -> list[Hit]:
        """Return the dense hits; none when the embedder fails, so that the search goes on without them."""
        if self.embedder is None or not question.strip() or not versions:
            return []
        try:
            index = self.vectors
            return index.search(self.embedder.embed([question])[0], versions, CANDIDATES) if index else []
        except ToolUnavailable as error:
            if not self._warned:
                logger.warning("Searching guidelines by terms alone: %s", error)
                self._warned = True
            return []

    def load(self) -> None:
        """Load the collections so that the first search is fast."""
        self.terms.load()
        if self.vectors is not None:
            self.vectors.load()

    def delete_versions(self, versions: Sequence[str]) -> None:
        """Delete the passages of these versions."""
        self.terms.delete_versions(versions)
        if self.vectors is not None:
            self.vectors.delete_versions(versions)

    def settle(self) -> None:
        """Wait until all writes can be searched."""
        self.terms.settle()
        if self.vectors is not None:
            self.vectors.settle()

    def drop(self) -> None:
        """Remove the collections with all rows."""
        self.terms.drop()
        if self.vectors is not None:
            self.vectors.drop()

    def check(self) -> None:
        """Check the server and the collections. Raises ``ToolUnavailable`` or ``IndexMismatch``."""
        self.terms.check()
        if self.vectors is not None:
            self.vectors.check()


def _shares(expansion: QueryExpansion, asked: Sequence[str]) -> dict[str, float]:
    """Return the terms of the other words with the share of their weight, without the asked terms.

    A phrase counts as one word that is asked: a long form must not outweigh the other words of the question.
    """
    shares: dict[str, float] = {}
    for one in expansion.expansions:
        same = ((term, SAME / len(phrase) ** 0.5) for phrase in map(terms, one.same) for term in phrase)
        related = ((term, RELATED) for word in one.related for term in terms(word))
        for term, share in (*same, *related):
            shares[term] = max(share, shares.get(term, 0.0))
    return {term: share for term, share in shares.items() if term not in asked}


def _lowered(weight: Weight, shares: Mapping[str, float]) -> Weight:
    return lambda term: weight(term) * shares.get(term, 1.0)


def _in_other_words(question: str, expansion: QueryExpansion) -> str:
    """Return the text to embed: the question followed by words of the same meaning."""
    same = [word for one in expansion.expansions for word in one.same]
    return f"{question} ({', '.join(same)})" if same else question
