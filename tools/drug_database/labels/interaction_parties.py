"""The parties of an interaction check, with the words by which labels mean them: names, classes and enzyme roles."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tools.drug_database.labels.label_terms import NO_USE, EnzymeRole, PhraseIndex, label_terms, tokens
from tools.drug_database.names.aliases import Aliases, aliases, singular
from tools.drug_database.names.foreign_names import ions_of
from tools.drug_database.names.name_keys import base_moiety, class_name
from tools.drug_database.names.name_resolution import known_name
from tools.drug_database.records.drug_record import DrugRecord
from tools.language.folding import fold_name
from tools.language.inn_stems import names_medicine
from tools.language.vocabulary.clinical_vocabulary import is_english, is_finding

_SHORTEST: Final = 4
_ACRONYM: Final = 5
"""Maximum length of an abbreviation that counts only in capitals: ARB is a class, "arb" is not."""
_PARTS: Final = re.compile(r"\s*(?:/|\+|\bin combination with\b|\band\b|\bwith\b|\bplus\b)\s*", re.IGNORECASE)
"""Separators between the ingredients of a combination."""
_TOO_GENERAL: Final = frozenset(
    ("drug", "agent", "salt", "acid", "calcium", "vitamin", "amino acid", "potassium", "sodium", "iron", "water")
)


@dataclass(frozen=True)
class Party:
    """One medicine or class of an interaction check."""

    name: str
    record: DrugRecord | None
    names: PhraseIndex[str]
    classes: PhraseIndex[str]
    """Wordings of its database classes that are not groups of the vocabulary."""
    own: frozenset[str]
    """Its names and ingredients, folded."""
    groups: frozenset[str]
    roles: frozenset[EnzymeRole]
    is_class: bool = False
    members: tuple[DrugRecord, ...] = ()
    """Medicines of the class, whose labels are read."""
    note: str = ""
    """A warning about the name that was typed, such as its other meaning."""

    @property
    def is_unread(self) -> bool:
        """Return whether no vocabulary knows its name, so that its absence from a label means nothing."""
        known = self.record or self.is_class or self.groups or aliases().name(self.name)
        return not (known or known_name(self.name))

    @property
    def is_no_medicine(self) -> bool:
        """Return whether no vocabulary of medicines knows its name, whose words are ordinary or clinical ones."""
        words = fold_name(self.name).split()
        return self.is_unread and all(is_finding(word) or is_english(word.removesuffix("s")) for word in words)

    def named_in(self, sentence: str) -> tuple[str, ...]:
        """Return the names of the medicine that ``sentence`` uses."""
        found = self.names.find(tokens(sentence))
        return tuple(dict.fromkeys(name for _, _, name in found if _is_written(name, sentence)))

    def tells_apart(self, sentence: str) -> bool:
        """Return whether ``sentence`` names this combination by a name that none of its ingredients has."""
        several = self.record is not None and len(self.record.ingredients) > 1
        return several and any(fold_name(name) not in self.own for name in self.named_in(sentence))

    def classed_in(self, sentence: str) -> tuple[str, ...]:
        """Return the classes in ``sentence`` that the medicine belongs to."""
        found = sorted(self.groups & label_terms().groups_in(sentence))
        words = tokens(sentence)
        wordings = ((end, name) for _, end, name in self.classes.find(words) if _is_written(name, sentence))
        found += (name for end, name in wordings if NO_USE.isdisjoint(words[end : end + 1]))
        return tuple(dict.fromkeys(found))

    def acting_in(self, sentence: str) -> tuple[str, ...]:
        """Return the enzyme roles in ``sentence`` that the medicine has."""
        terms = label_terms()
        wanted = terms.roles_in(sentence) if self.roles else []
        found = [one for one in wanted if any(_fits(one, has) for has in self.roles)]
        if found and terms.needs_all_roles(sentence):
            lacking = {one.role for one in wanted if one not in found}
            found = [one for one in found if one.role not in lacking]
        return tuple(dict.fromkeys(one.title() for one in found))

    def meant_in(self, sentence: str) -> bool:
        """Return whether ``sentence`` names the medicine, a class of it, or what it does to an enzyme."""
        return bool(self.named_in(sentence) or self.classed_in(sentence) or self.acting_in(sentence))

    def names_another(self, clause: str) -> bool:
        """Return whether ``clause`` names a medicine or class that is not this one."""
        rest = fold_name(clause)
        for name in self.own:
            rest = rest.replace(name, " ")
        terms = label_terms()
        return names_medicine(rest) or bool(terms.members_in(rest)) or not terms.groups_in(clause) <= self.groups


def medicine(record: DrugRecord) -> Party:
    """Return the party of a record. A formulary may name a record like a class, such as "CYP3A4 inhibitors"."""
    known = aliases()
    plain = [record.generic_name, *record.ingredients, *(fact.value for fact in record.substances)]
    plain += [part for name in plain for part in _PARTS.split(name) if part != name]
    plain += [base_moiety(name) for name in plain]
    others = [name for one in dict.fromkeys(map(fold_name, plain)) for name in known.other_names(one)]
    marked = [fact.value for fact in (*record.brand_names, *record.synonyms)]
    classes = [class_name(fact.value) for fact in record.drug_classes]
    terms = label_terms()
    return Party(
        name=record.generic_name,
        record=record,
        names=_index([*plain, *others], marked),
        classes=_index(_class_wordings(classes, known), ()),
        own=frozenset(map(fold_name, plain)),
        groups=terms.groups_of(plain, [part for one in classes for part in _spellings(one)])
        | terms.group_named(record.generic_name),
        roles=terms.roles_of(plain) | frozenset(terms.roles_in(f"an {record.generic_name}")),
    )


def unlisted(name: str, members: Iterable[DrugRecord] = ()) -> Party:
    """Return the party of a name without a record: a class, or a medicine that only labels may name.

    A label means a class also by the name of a member or of a wider class, and the preparations of an element by the
    element.
    """
    alias = aliases().name(name)
    names = [name, *(alias.names if alias else aliases().other_names(fold_name(name)))]
    names += [part for one in names for part in _PARTS.split(one) if part != one]
    terms = label_terms()
    wording = terms.group_named(name)
    names += ions_of(fold_name(name)) if wording else ()
    return Party(
        name=name,
        record=None,
        names=_index([*names, *terms.members_of(wording)], ()),
        classes=_index((), ()),
        own=frozenset(map(fold_name, names)),
        groups=(wording | terms.wider(name)) or terms.groups_of(names),
        roles=terms.roles_of(names) | frozenset(terms.roles_in(f"an {name}")),
        is_class=bool(wording),
        members=tuple(record for record in members if record.labels),
    )


def _index(plain: Iterable[str], others: Iterable[str]) -> PhraseIndex[str]:
    kept = [name for name in dict.fromkeys((*plain, *others)) if is_telling(name)]
    return PhraseIndex((name, name) for name in kept)


def is_telling(name: str) -> bool:
    """Return whether ``name`` alone tells a medicine or class, unlike ``inhibitor``."""
    folded = fold_name(name)
    return (
        folded not in _TOO_GENERAL
        and singular(folded) not in _TOO_GENERAL
        and (len(folded) >= _SHORTEST or (len(name) == _SHORTEST - 1 and name.isupper()))
    )


def _is_written(name: str, sentence: str) -> bool:
    """Return whether ``sentence`` writes an acronym in capitals, and a brand with a capital letter."""
    if name.isupper() and len(name) <= _ACRONYM:
        return name in sentence
    return name[0].islower() or not name[0].isalpha() or name in sentence or name.upper() in sentence


def _class_wordings(classes: Iterable[str], known: Aliases) -> list[str]:
    wordings = [part for one in classes for part in (*_spellings(one), *known.nicknames(one))]
    unknown = [part for part in wordings if not label_terms().group_named(part)]
    return [part if part.isupper() else part.lower() for part in unknown]


def _spellings(drug_class: str) -> tuple[str, ...]:
    """Return both names of a class such as ``Nonsteroidal anti-inflammatory drug (NSAID)``."""
    outer, _, inner = drug_class.rstrip(")").partition(" (")
    return tuple(filter(None, (outer, inner)))


def _fits(wanted: EnzymeRole, has: EnzymeRole) -> bool:
    """Return whether a medicine that ``has`` this role is among those that a label means; no strength fits any."""
    same = wanted.enzyme == has.enzyme and wanted.role == has.role
    return same and (wanted.strength == has.strength or not (wanted.strength and has.strength))
