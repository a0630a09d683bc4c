"""What the labels of two medicines say about each other: quotations, never a verdict.

A label mentions a medicine by one of its names or by its class. A sentence is quoted when it holds such a word;
finding none is "not mentioned in these labels", which says nothing about safety.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tools.drug_database.names.aliases import Aliases, singular
from tools.drug_database.names.name_keys import class_name, fold
from tools.drug_database.records import DrugRecord, Label, SectionName
from tools.types import Frozen

SEARCHED: Final[tuple[SectionName, ...]] = (
    "contraindications",
    "boxed_warning",
    "interactions",
    "warnings",
    "dosage",
)
MOST_QUOTES: Final = 5
"""Sentences quoted from one section."""
_LABELS_A_RECORD: Final = 3
_ACRONYM: Final = 3
"""Letters of an acronym that counts in capitals alone: ARB is a class, "arb" is not."""
_ENZYME = re.compile(r"^cytochrome p450 (\w+) (inhibitor|inducer|substrate)s?$")
_TOO_GENERAL: Final = frozenset({"drug", "agent", "salt", "acid", "calcium", "vitamin", "amino acid", "macrolide drug"})


class Mention(Frozen):
    """Sentences of one section of one label that mention the other medicine."""

    label_of: str
    about: str
    mentioned_as: tuple[str, ...]
    """The names or classes of the other medicine that the sentences use."""
    section: SectionName
    quotes: tuple[str, ...]
    label: Label


def terms_of(record: DrugRecord, aliases: Aliases) -> Mapping[str, str]:
    """What a label may call the medicine: folded words and the name or class that they stand for."""
    terms: dict[str, str] = {}
    names = [record.generic_name, *record.ingredients]
    names += [fact.value for fact in (*record.substances, *record.brand_names, *record.synonyms)]
    for name in names:
        if len(fold(name)) >= 4:
            terms.setdefault(fold(name), name)
    for fact in record.drug_classes:
        plain = class_name(fact.value)
        for written in (*_spellings(plain), *aliases.nicknames(plain)):
            form = singular(fold(written))
            if form not in _TOO_GENERAL and (len(form) >= 4 or _is_acronym(written)):
                terms.setdefault(form, plain)
    return terms


def _spellings(drug_class: str) -> Iterable[str]:
    """``Nonsteroidal anti-inflammatory drug (NSAID)`` is called by either name."""
    outer, _, inner = drug_class.rstrip(")").partition(" (")
    return (outer, *filter(None, (inner,)), *_enzyme(drug_class))


def _is_acronym(written: str) -> bool:
    return len(written) == _ACRONYM and written.isupper()


def _enzyme(drug_class: str) -> Iterable[str]:
    """``Cytochrome P450 3A4 Inhibitors`` stands in labels as ``CYP3A4 inhibitors``."""
    found = _ENZYME.match(fold(drug_class))
    return (f"cyp{found[1]} {found[2]}", f"cyp {found[1]} {found[2]}") if found else ()


def mentions(of: DrugRecord, about: DrugRecord, terms: Mapping[str, str]) -> list[Mention]:
    """Where the labels ``of`` one medicine mention the other, section by section; each sentence once."""
    found: list[Mention] = []
    quoted: set[str] = set()
    own = {fold(name) for name in (of.generic_name, *of.ingredients)}
    wanted = {term: name for term, name in terms.items() if term not in own}
    for label in of.labels[:_LABELS_A_RECORD]:
        for section in SEARCHED:
            hits = _hits(label.sections.get(section, ()), wanted, quoted)
            if hits:
                quotes = tuple(hits)[:MOST_QUOTES]
                names = tuple(dict.fromkeys(name for quote in quotes for name in hits[quote]))
                found.append(
                    Mention(
                        label_of=of.generic_name,
                        about=about.generic_name,
                        mentioned_as=names,
                        section=section,
                        quotes=quotes,
                        label=label,
                    )
                )
    return found


def _hits(sentences: Sequence[str], wanted: Mapping[str, str], quoted: set[str]) -> dict[str, list[str]]:
    hits: dict[str, list[str]] = {}
    for sentence in sentences:
        folded = fold(sentence)
        if folded in quoted:
            continue
        padded = f" {folded} "
        names = [
            name
            for term, name in wanted.items()
            if (f" {term} " in padded or f" {term}s " in padded) and _in_capitals(term, sentence)
        ]
        if names:
            quoted.add(folded)
            hits[sentence] = names
    return hits


def _in_capitals(term: str, sentence: str) -> bool:
    return len(term) > _ACRONYM or term.upper() in sentence
