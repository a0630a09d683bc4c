"""What a question names beside the medicines that a search found."""

from collections.abc import Collection, Sequence

from tools.drug_database.labels.interaction_parties import medicine
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import aliases, singular
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import named
from tools.drug_database.names.query_words import CONTEXT, JOINING, TypedQuery
from tools.drug_database.records.queries import DrugHit
from tools.language.query_expansion import Expansion


def named_beside(
    index: NameIndex, question: TypedQuery, expanded: Sequence[Expansion], text: str, hits: Sequence[DrugHit]
) -> tuple[str, ...]:
    """Return the classes, foods, herbs and unlisted medicines in ``text`` that are none of the medicines found.

    Where no medicine was found, they count when ``text`` says nothing else, or asks about taking them together.
    """
    terms = label_terms()
    groups = terms.groups_in(text).union(*(terms.groups_in(term) for one in expanded for term in one.same))
    names = _unlisted(index, expanded, text)
    records = [hit.record for hit in hits if hit.matched.how in {"exact", "brand", "synonym"}]
    if not records and (len(groups | names) < 2 or not (question.asks_together or _is_all(question, expanded, groups))):
        return ()
    own = [medicine(record).groups for record in records]
    return tuple(sorted(groups.difference(*own) | names))


def _unlisted(index: NameIndex, expanded: Sequence[Expansion], text: str) -> set[str]:
    """Return the known names of medicines in ``text`` that have no record."""
    terms, known = label_terms(), aliases()
    typed = [alias for one in expanded if (alias := known.name(one.asked)) and alias.names[0] in one.same]
    names = {*(alias.alias for alias in typed if alias.kind != "abbreviation"), *terms.members_in(text)} - CONTEXT
    return {name for name in names if not named(index, known, name)[0] and not terms.group_named(name)}


def _is_all(question: TypedQuery, expanded: Sequence[Expansion], groups: Collection[str]) -> bool:
    """Return whether a question says nothing beside its classes and names, in its own words or in other ones."""
    terms, known = label_terms(), aliases()
    asked = [one.asked for one in expanded if any(map(terms.groups_in, one.same)) or known.name(one.asked)]
    covered = JOINING.union(terms.words_of(groups), *(one.split() for one in asked))
    return all(word in covered or singular(word) in covered for word in question.core)
