"""Answers one query to the drug database: synchronous, called in a thread.

Names, classes and spellings are resolved against the list of names in memory; BM25 in Milvus answers what is none of
these. The records themselves always come from Milvus.
"""

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from tools.drug_database.drug_filters import Filters, has_strength, normal_strength, with_fitting_products
from tools.drug_database.drug_snapshot import READ_SECONDS, DrugSnapshot
from tools.drug_database.labels.label_scope import (
    asked_forms,
    form_words,
    labelled_first,
    scope_notes,
    scope_of,
    with_asked_label_first,
)
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.named_beside import named_beside, named_first, past_limit
from tools.drug_database.names.aliases import look_alikes
from tools.drug_database.names.laboratory_results import without_results
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_keys import base_moieties, joined
from tools.drug_database.names.name_resolution import NameCandidate, classed, distinct, meanings_of
from tools.drug_database.names.name_spans import find_spans
from tools.drug_database.names.not_taken import excluded, without_allergens, without_excluded, without_withdrawn
from tools.drug_database.names.query_words import CONTEXT, LONGEST, TypedQuery, parse_query
from tools.drug_database.names.resolve import Reading, interpret
from tools.drug_database.query_expander import QueryExpander
from tools.drug_database.records.codes import AskedCode, asked_code, product_first
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.records.queries import DrugHit, DrugQuery, DrugSearchResult, Match
from tools.drug_database.storage import drug_collection
from tools.drug_database.storage.drug_collection import grams, stems
from tools.language.folding import fold_name
from tools.language.query_expansion import QueryExpansion
from tools.language.question_words import ASKS_FOR_MEDICINE
from tools.language.vocabulary.populations import populations_asked
from tools.milvus.connection import Client

_MOST_NAMED: Final = 8
_MOST_IN_LIST: Final = 16
"""Maximum number of medicines that a text names and that are all returned."""
_MOST_OF_ONE_NAME: Final = 5
"""Records of one brand that are read to find the one that holds its label."""
_RRF_K: Final = 10
_GUESSES: Final = frozenset({"spelling", "text"})
_EMPTY = "The drug database holds no records yet: import drug data first."
_NO_MATCH = "No medicine of that name is in the drug database."
_SPELLING = "No medicine of that name is in the drug database; these names are spelt similarly. Ask which one is meant."
_NO_PRODUCT = (
    "The medicine is in the drug database, but no product of it fits the class, form, route or strength asked for."
)
_NO_CODE = "No product with that code is in the drug database."
_AMBIGUOUS = "Without hyphens the code can be read in several ways: compare the product with the package."
_ALSO_SPELT = (
    "Another word is no name in the drug database; medicines that are spelt similarly are marked: ask about them."
)
_TEXT = "No medicine of that name is in the drug database; these records mention the words."


@cache
def bare_expander() -> QueryExpander:
    """Return the expander that knows the shipped aliases alone."""
    return QueryExpander(NameIndex(()))


class Searcher:
    """Answers queries from the generation that is current when a query comes."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._snapshot: DrugSnapshot | None = None
        self._lock = threading.Lock()

    def snapshot(self, client: Client) -> DrugSnapshot | None:
        """Return the current state, reloaded when another was published; None before the first import."""
        generation = drug_collection.current(client, self._alias, timeout=READ_SECONDS)
        if generation is None:
            return None
        with self._lock:
            if self._snapshot is None or self._snapshot.generation != generation:
                self._snapshot = DrugSnapshot.load(client, generation)
            return self._snapshot

    def ingredients_of(self, name: str) -> frozenset[str]:
        """Return the base names of the ingredients of the medicine ``name``, from lists in memory alone.

        A name that only the vocabulary of labels knows is its own ingredient.
        """
        held = self._snapshot
        known = held.index.whole(name) if held is not None else ()
        if held and known:
            return frozenset(base_moieties(held.index.entries[known[0].entry].ingredients))
        folded = fold_name(name)
        return frozenset({folded} if folded in label_terms().members and folded not in CONTEXT else ())

    def forget(self) -> None:
        """Drop the held state, so that the next search loads the index again."""
        self._snapshot = None

    def expand(self, client: Client, question: str) -> QueryExpansion:
        """Return other words for the words of ``question``, from the current state."""
        state = self.snapshot(client)
        return (state.expander if state is not None else bare_expander()).expand(question)

    def search(self, client: Client, query: DrugQuery) -> DrugSearchResult:
        """Answer one query."""
        state = self.snapshot(client)
        if state is None:
            return DrugSearchResult(query=query, note=_EMPTY)
        name, reading = self._interpret_patient(client, state, query)
        question = parse_query(name)
        filters = Filters.of(query)
        allowed = {one.entry for one in classed(state.index, query.drug_class)} if query.drug_class else None
        candidates = tuple(one for one in reading.candidates if allowed is None or one.entry in allowed)
        limit = query.limit
        if query.all_named and len(named := named_first(candidates)) > limit:
            candidates, limit = tuple(dict.fromkeys((*named.values(), *candidates))), min(len(named), _MOST_IN_LIST)
        most = max(limit, _MOST_OF_ONE_NAME) if not filters.active else min(50, limit * 8)
        records = state.records(client, [state.index.entries[one.entry].key for one in candidates[:most]])
        found = [(one, records.get(state.index.entries[one.entry].key)) for one in candidates[:most]]
        hits = _hits(found, filters, question, query)[:limit]
        expanded = state.expander.expand(name).expansions
        return DrugSearchResult(
            query=query,
            hits=hits,
            did_you_mean=reading.did_you_mean if candidates else (),
            note=" ".join([*_notes(reading, hits), *_unlisted(question, hits)]),
            absent=not reading.candidates and bool(reading.notes),
            not_loaded=reading.not_loaded,
            misspelt=reading.misspelt,
            also_named=(
                *past_limit(state.index, candidates, hits),
                *named_beside(state.index, question, expanded, name, hits, misspelt=reading.misspelt),
            ),
        )

    def named(self, client: Client, text: str) -> list[DrugRecord]:
        """Return the records of the medicines whose names are inside ``text``, in their order."""
        if (state := self.snapshot(client)) is None:
            return []
        spans = find_spans(state.index, parse_query(text))
        named = [span.found[0] for span in spans if not span.aside and span.found[0].how != "class"]
        keys = list(dict.fromkeys(state.index.entries[one.entry].key for one in named))[:_MOST_NAMED]
        records = state.records(client, keys)
        return [records[key] for key in keys if key in records]

    def record(self, client: Client, key: str) -> DrugRecord | None:
        """Return the whole record of ``key``; None when there is none."""
        state = self.snapshot(client)
        return state.records(client, [key]).get(key) if state else None

    def _interpret_patient(self, client: Client, state: DrugSnapshot, query: DrugQuery) -> tuple[str, Reading]:
        """Interpret the text without results and what the patient does not take; with the latter if nothing is left."""
        text = without_results(query.name)
        rest = without_withdrawn(without_allergens(without_excluded(text)))
        if rest != text:
            reading = self._interpret(client, state, parse_query(rest), query)
            if excluded(text) or any(one.how in {"exact", "brand", "synonym"} for one in reading.candidates):
                return rest, reading
            if ASKS_FOR_MEDICINE.search(rest):
                return rest, Reading()
        return text, self._interpret(client, state, parse_query(text), query)

    def _interpret(self, client: Client, state: DrugSnapshot, question: TypedQuery, query: DrugQuery) -> Reading:
        if query.drug_class and not question.words:
            return Reading(classed(state.index, query.drug_class))
        code = asked_code(query.name)
        reading = _by_code(client, state, code) if code else interpret(state.index, question)
        if not reading.candidates and not reading.notes and question.words:
            by_text = Reading(_listed(state.index, question) or tuple(_text_candidates(client, state, question)))
            reading = by_text if by_text.candidates else reading.perhaps or by_text
        return reading


def _by_code(client: Client, state: DrugSnapshot, code: AskedCode) -> Reading:
    entries = dict.fromkeys(state.entries_of(client, code.stored))
    found = tuple(NameCandidate(entry, "code", code.title, 100.0) for entry in entries)
    ambiguous = len(found) > 1 and len(code.stored) > 1
    return Reading(found, notes=(_AMBIGUOUS,) if ambiguous else () if found else (_NO_CODE,))


def _listed(index: NameIndex, question: TypedQuery) -> tuple[NameCandidate, ...]:
    """Return the loaded members of a group that the vocabulary of labels names, such as the salts of an element."""
    text, terms = " ".join(question.core), label_terms()
    known = (one for name in terms.members_of(terms.group_named(text)) for one in meanings_of(index, name))
    return distinct(NameCandidate(one.entry, "class", text, 95.0) for one in known if one.kind == "generic")


def _text_candidates(client: Client, state: DrugSnapshot, question: TypedQuery) -> Iterable[NameCandidate]:
    """Rank records that hold a word of the question by BM25 on stems and on 3-grams (reciprocal rank).

    A record that shares only 3-grams is left out: some always do, whatever was typed.
    """
    words = question.core
    also = (same for one in state.expander.expand(" ".join(words)).expansions for same in one.same)
    found = state.matching(client, "stems_bm25", stems([*words, *also]))
    scores = {key: 1.0 / (_RRF_K + rank) for rank, key in enumerate(found)}
    for rank, key in enumerate(state.matching(client, "grams_bm25", grams(words)) if found else ()):
        if key in scores:
            scores[key] += 1.0 / (_RRF_K + rank)
    for key in sorted(scores, key=lambda key: -scores[key]):
        entry = state.index.by_key[key]
        yield NameCandidate(entry, "text", state.index.entries[entry].generic, 100.0 * scores[key])


def _hits(
    found: Iterable[tuple[NameCandidate, DrugRecord | None]], filters: Filters, question: TypedQuery, query: DrugQuery
) -> tuple[DrugHit, ...]:
    """Return the records that pass ``filters``, each with the label of the asked form or brand first."""
    filtered = fold_name(f"{query.dosage_form or ''} {query.route or ''}"[:200]).split()
    forms = asked_forms((*form_words(question, query.name), *filtered))
    populations = populations_asked(query.name[:LONGEST])
    hits: list[DrugHit] = []
    for one, record in found:
        brand = one.on if one.how == "brand" else ""
        fitting = with_fitting_products(record, filters, brand=brand) if record else None
        if fitting is None:
            continue
        if one.how == "code" and (code := asked_code(one.on)):
            fitting = product_first(fitting, code.stored)
        fitting = with_asked_label_first(fitting, forms, brand)
        hits.append(
            DrugHit(
                record=fitting,
                scope=scope_of(fitting, forms, populations, brand),
                matched=Match(how=one.how, on=one.on),
                score=round(one.score, 2),
                look_alikes=() if one.how == "class" else look_alikes((one.on, fitting.generic_name)),
            )
        )
    return tuple(labelled_first(hits))


def _notes(reading: Reading, hits: Sequence[DrugHit]) -> Iterable[str]:
    if not hits:
        named = any(one.how not in _GUESSES for one in reading.candidates)
        yield from (_NO_PRODUCT,) if named else reading.notes or (_NO_MATCH,)
        return
    how = hits[0].matched.how
    if how in _GUESSES:
        yield _SPELLING if how == "spelling" else _TEXT
    elif any(hit.matched.how == "spelling" for hit in hits):
        yield _ALSO_SPELT
    alike = [name for name in hits[0].look_alikes if name not in reading.did_you_mean]
    if alike and how in {"spelling", "synonym"}:
        yield f"{hits[0].matched.on} is known to be confused with {joined(alike)}."
    yield from scope_notes(hits[0].scope)
    yield from reading.notes


def _unlisted(question: TypedQuery, hits: Sequence[DrugHit]) -> Iterable[str]:
    """Warn of a typed strength that no product of the medicine has: it may be a slip."""
    first = next(iter(hits), None)
    if first is None or not question.strength or first.matched.how not in {"exact", "brand", "synonym"}:
        return
    wanted = normal_strength(question.strength)
    listed = [one for product in first.record.products for one in product.strengths]
    if listed and not any(has_strength(one, wanted) for one in listed):
        yield f"{first.record.generic_name} is not listed in the strength {wanted}."
