"""Searches the loaded guidelines and reports their faults. All calls block."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from tools.documents.document_abbreviations import find_abbreviations
from tools.documents.models import READER
from tools.guidelines.models import DocumentVersion, GuidelineSearchResult, Match, QuestionTerm, SearchFilter
from tools.guidelines.search.retrieval import Retrieved, Retriever
from tools.guidelines.storage.catalog import LibrarySnapshot, as_passage, parse_passage_id
from tools.guidelines.storage.document_store import VersionRef
from tools.guidelines.storage.library_catalogs import LibraryCatalogs
from tools.guidelines.storage.scopes import Scope, scope_of
from tools.language.folding import without_accents
from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.question_words import telling, term_rareness
from tools.language.quotable_units import term_set, units
from tools.language.vocabulary.misspellings import with_corrections
from tools.types import Passage

_STRONG_FROM = 0.56
"""Share of the question's weight; 97 % of 101 patients' questions that a library does not cover stay below it."""
_KEPT_TERMS = 20_000
"""Number of passages whose terms are cached; with 200 terms each, they need about 35 MB."""
_KEPT_DOCUMENTS = 500
"""Number of documents whose abbreviations are cached."""
_TELLING = 6
"""Number of best passages. A question word in one of them counts as a word of the subject."""
_RARE = 0.93
"""Rareness in ordinary language from which a word may name the subject of a question."""
_MAX_ROWS = 2
"""Maximum number of table rows per page in a result, since the page's own passage has the whole table."""


class LibrarySearch:
    """The search over the documents that are loaded at the time of the call."""

    def __init__(self, catalogs: LibraryCatalogs, retriever: Retriever) -> None:
        self._catalogs = catalogs
        self._retriever = retriever
        # A version's passages never change, so their terms can be kept.
        self._terms_of = lru_cache(_KEPT_TERMS)(self._read_terms)
        self._abbreviations_of = lru_cache(_KEPT_DOCUMENTS)(self._read_abbreviations)

    def search(
        self, question: str, limit: int, chosen: SearchFilter, scope: Scope | None, expansion: QueryExpansion
    ) -> GuidelineSearchResult:
        """Return the best ``limit`` passages of the documents in ``chosen``, including those of ``scope``."""
        snapshot = self._catalogs.snapshot(scope)
        refs = [str(ref) for ref in _without_doubles(snapshot.refs(chosen), snapshot)]
        expansion = with_corrections(question, expansion, snapshot.counts)
        found = self._retriever.search(question, refs, self._terms_of, snapshot.weight, expansion)
        passages = tuple(islice(self._passages(found, snapshot), limit))
        held = [self._terms_of(candidate.id) for candidate in found.candidates[:_TELLING]]
        asked = dict.fromkeys(telling(found.question, held, expansion))
        terms = _question_terms(question, asked, snapshot, expansion, self._explained(passages))
        best = max((_most_held(terms, passage) for passage in passages), default=0.0)
        strong = best >= _STRONG_FROM * sum(term.weight for term in terms)
        match: Match = "none" if not best else "strong" if strong else "weak"
        return GuidelineSearchResult(passages=passages, match=match, terms=terms, expansion=expansion)

    def _passages(self, found: Retrieved, snapshot: LibrarySnapshot) -> Iterator[Passage]:
        """Yield the candidates as passages, without versions replaced since the search began."""
        rows: Counter[tuple[str, int]] = Counter()
        for candidate in found.candidates:
            parsed = parse_passage_id(candidate.id)
            version = snapshot.live.get(parsed[0].document) if parsed else None
            stored = self._catalogs.of(scope_of(candidate.id)).store.passage(*parsed) if parsed else None
            if parsed is None or version is None or stored is None or version.key != parsed[0].key:
                continue
            if stored.kind == "table_row":
                rows[parsed[0].document, stored.page] += 1
                if rows[parsed[0].document, stored.page] > _MAX_ROWS:
                    continue
            yield as_passage(parsed[0], version, stored, candidate.score)

    def _explained(self, passages: Sequence[Passage]) -> dict[str, str]:
        """Return the abbreviations that the documents of ``passages`` explain, each with its words."""
        refs = dict.fromkeys(parsed[0] for one in passages if (parsed := parse_passage_id(one.id)))
        return {short: words for ref in reversed(refs) for short, words in self._abbreviations_of(ref).items()}

    def _read_abbreviations(self, ref: VersionRef) -> dict[str, str]:
        store = self._catalogs.of(scope_of(ref.document)).store
        return find_abbreviations(passage.text for passage in store.passages(ref))

    def _read_terms(self, passage_id: str) -> tuple[str, ...]:
        parsed = parse_passage_id(passage_id)
        if parsed is None:
            return ()
        return tuple(map(sys.intern, self._catalogs.of(scope_of(passage_id)).store.passage_terms(*parsed)))

    def problems(self) -> list[str]:
        """Return each problem in a sentence with what to do. Raises ``ToolUnavailable`` or ``IndexMismatch``."""
        self._retriever.check()
        store, snapshot = self._catalogs.library.store, self._catalogs.library.snapshot()
        problems = [damaged_record(name) for name in store.damaged()]
        problems += [
            f"Guideline {name}: its words are gone from the library's folder or damaged; add it again."
            for name in sorted(snapshot.unreadable)
        ]
        older = sorted(document for document, version in snapshot.live.items() if version.reader < READER)
        if older:
            problems.append(
                f"Read by an earlier version of Asclepius, and found less well: {', '.join(older)}. "
                "Run `asclepius guidelines reindex`."
            )
        for document, version in snapshot.live.items():
            problems += [
                f"Guideline {document}: {indexed} of {version.passages} passages can be searched by {what}. "
                "Run `asclepius guidelines reindex`."
                for what, indexed in self._missing(document, version)
            ]
            if not store.original(version).is_file():
                problems.append(f"Guideline {document}: its original file is gone; add it again.")
        return problems

    def own_problems(self) -> list[str]:
        """Return the problems of conversations' files, which are counted and not named."""
        self._retriever.check()
        gone, older = 0, 0
        for scope in self._catalogs.scopes():
            catalog = self._catalogs.of(scope)
            snapshot = catalog.snapshot()
            gone += len(catalog.store.damaged()) + len(snapshot.unreadable)
            for document, version in snapshot.live.items():
                missing = any(self._missing(document, version))
                older += version.reader < READER or missing
        problems = [f"Files of conversations that are damaged and not searched: {gone}."] if gone else []
        if older:
            problems.append(
                f"Files of conversations that are not searched as they should be: {older}. "
                "Run `asclepius guidelines reindex`."
            )
        return problems

    def _missing(self, document: str, version: DocumentVersion) -> Iterator[tuple[str, int]]:
        """Yield each kind of search that lacks passages of the version, and the number of passages that it has."""
        ref = VersionRef(document, version.key)
        for what, collection in (("terms", self._retriever.terms), ("meaning", self._retriever.vectors)):
            indexed = collection.count(str(ref)) if collection is not None else version.passages
            if indexed != version.passages:
                yield what, indexed


def damaged_record(document: str) -> str:
    """Return the message on a document whose record cannot be read."""
    return (
        f"Guideline {document}: its record in the library's folder is damaged, and it is not searched. "
        f"Add its file again, or run `asclepius guidelines remove {document}`."
    )


def _expanded(term: str, expansion: QueryExpansion) -> list[Expansion]:
    """Return the asked words and phrases to which ``term`` belongs, with other words for them."""
    plain = without_accents(term)
    return [one for one in expansion.expansions if plain in term_set(one.asked)]


def _also(term: str, question: str, explained: Mapping[str, str], expansions: Sequence[Expansion]) -> tuple[str, ...]:
    """Return other words for ``term``: those of the found documents if they explain it as an abbreviation.

    A word that they shorten ("lenacapavir (LEN)") has its abbreviation as another word.
    """
    own, typed = frozenset({term}), re.findall(r"[\w-]+", question)
    if meant := [words for short, words in explained.items() if short in typed and term_set(short) == own]:
        return tuple(meant)
    shorts = [short for short, words in explained.items() if " " not in words and term_set(words) == own]
    return (*(same for one in expansions for same in one.same), *shorts)


def _question_terms(
    question: str,
    asked: Iterable[str],
    snapshot: LibrarySnapshot,
    expansion: QueryExpansion,
    explained: Mapping[str, str],
) -> tuple[QuestionTerm, ...]:
    """Return the terms ``asked`` of ``question`` with their weights and other words for them."""
    rareness = term_rareness(question)
    found: list[QuestionTerm] = []
    for term in asked:
        expanded = _expanded(term, expansion)
        weight = round(snapshot.weight(term) * rareness.get(term, 1.0), 2)
        also = _also(term, question, explained, expanded)
        related = tuple(related for one in expanded for related in one.related)
        # A foreign word without a translation may be in the library in English, and part of a phrase is not a word.
        absent = (
            (expansion.language == "en" or bool(also))
            and not any(" " in one.asked for one in expanded)
            and rareness.get(term, 0.0) >= _RARE
            and _is_absent(term, (*also, *related), snapshot)
        )
        found.append(QuestionTerm(term=term, weight=weight, also=also, related=related, absent=absent))
    return tuple(found)


def _is_absent(term: str, others: Iterable[str], snapshot: LibrarySnapshot) -> bool:
    """Return whether a word, all other words for it and all words that begin with it occur in no guideline."""
    forms = [term_set(form) for form in (term, *others)]
    if len(term) <= 3 or not term.isalpha() or any(form and all(map(snapshot.counts.get, form)) for form in forms):
        return False
    return not any(count and known.startswith(term) for known, count in snapshot.counts.items())


def _without_doubles(refs: Sequence[VersionRef], snapshot: LibrarySnapshot) -> list[VersionRef]:
    """Return ``refs`` without a conversation's copies of library documents."""
    shared = {snapshot.live[ref.document].sha256 for ref in refs if scope_of(ref.document) is None}
    return [ref for ref in refs if scope_of(ref.document) is None or snapshot.live[ref.document].sha256 not in shared]


def _most_held(terms: Sequence[QuestionTerm], passage: Passage) -> float:
    """Return the largest weight of the terms in one unit of ``passage`` with its headings; 0 if no unit has any."""
    headings = term_set(f"{passage.title} {passage.section}")
    best = 0.0
    for unit in units(passage.text):
        own = term_set(f"{unit.text} {unit.heading} {unit.table.text if unit.table else ''}")
        if any(_holds(own, term) for term in terms):
            above = own | headings
            best = max(best, sum(term.weight for term in terms if _holds(above, term)))
    return best


def _holds(stems: frozenset[str], term: QuestionTerm) -> bool:
    return term.term in stems or any(term_set(form) <= stems for form in term.also)
