"""What the tools brought, in one form: passages to quote from, drug records, and what was not found."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final

from tools.language.folding import fold_name
from tools.language.quotable_units import Unit, term_set

CONTRAINDICATED: Final = "contraindicated"
_SHORT_FORM: Final = re.compile(r"(.+?) \(([^()]+)\)(.*)")
_OF_NOTES: Final = term_set("drug database")
"""Terms of every note on a medicine that is not loaded."""


@dataclass(frozen=True)
class EvidencePassage:
    """A retrieved part of a document. ``cite`` is the marker to write, such as ``[3]``, or empty."""

    text: str
    cite: str = ""
    document: str = ""
    section: str = ""
    file_id: str = ""
    rank: int = 0
    place: int = 0
    """Where it is in its document, counted in passages."""
    about: str = ""
    """More words that say what all of the passage is about: a medicine's names, other words for a label section."""
    title: str = ""
    """The heading that an answer shows above quotes of the passage; empty for guidelines and files."""
    part: str = ""
    """The section of a label; empty for guidelines and files."""


Quote = tuple[Unit, EvidencePassage]
"""A quotable unit and the passage that it is a part of."""


@dataclass(frozen=True)
class Remark:
    """One of the model's own phrases, with the lists of names to set into it and the word that joins them."""

    phrase: str
    names: dict[str, tuple[str, ...]]
    joint: str = "and"


@dataclass(frozen=True)
class EvidenceRecord:
    """A drug of the database: its names, its products, and the sentences of its label by section."""

    name: str
    cite: str
    brand_names: tuple[str, ...] = ()
    drug_classes: tuple[str, ...] = ()
    products: tuple[tuple[str, ...], ...] = ()
    """Dosage form, routes, strengths and brand names of each that is marketed."""
    discontinued_products: tuple[tuple[str, ...], ...] = ()
    discontinued_brands: tuple[str, ...] = ()
    discontinued: bool = False
    """Whether all products are discontinued."""
    label: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matched: str = ""
    """How the name was found: exact, brand, synonym, code, class, spelling, text."""
    matched_on: str = ""
    cites: dict[str, str] = field(default_factory=dict[str, str])
    """Markers of single label sections, where they have their own."""
    scope: tuple[Remark, ...] = ()
    """What the label covers, where that is not the asked form or population."""
    severity: str = ""
    """Of statements on a pair: how strongly they warn."""

    @property
    def is_named(self) -> bool:
        """True when the question named this drug itself."""
        return self.matched not in {"class", "spelling", "text"}

    @property
    def is_grave(self) -> bool:
        """True for a contraindication, what to avoid, and a changed dose."""
        return self.severity in {CONTRAINDICATED, "avoid", "adjust dose"}

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the drug, with the one that the question used."""
        return tuple(filter(None, (self.name, self.matched_on, *self.brand_names, *self.discontinued_brands)))


@dataclass(frozen=True)
class Lookup:
    """The result of one search of the drug database, best record first."""

    asked: str
    records: tuple[EvidenceRecord, ...] = ()
    suggestions: tuple[str, ...] = ()
    absent: str = ""
    """What the search says about a known name whose medicine it does not have, if it found nothing else."""
    not_loaded: tuple[str, ...] = ()
    """The notes on such names, also if the search found other medicines."""
    also_named: tuple[str, ...] = ()
    """Classes, foods and herbs that were named beside the medicines."""


@dataclass(frozen=True)
class Pair:
    """What the labels of two drugs say of one another; ``said`` is empty when they do not name one another."""

    names: tuple[str, ...]
    said: tuple[EvidenceRecord, ...]
    note: str = ""
    """What the check says where it found nothing, or about how it was done."""


@dataclass(frozen=True)
class TitledLines:
    """Lines under a title: a calculation's result or the inputs that it needs, or the fields of an unknown output."""

    title: str
    lines: tuple[str, ...] = ()
    cite: str = ""


@dataclass(frozen=True)
class Catalogue:
    """What is loaded: titles with issuer and date, those on the asked subject, and the number of medicines."""

    guidelines: tuple[tuple[str, str], ...]
    on_subject: tuple[tuple[str, str], ...]
    drugs: int | None


@dataclass(frozen=True)
class WeightedTerm:
    """A term of the question as the search read it: its weight in the whole library, and other words for it."""

    term: str
    weight: float
    also: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    absent: bool = False
    """Whether it occurs in no guideline of the library, nor does another word for it."""


@dataclass
class Evidence:
    """All that one question's calls brought."""

    passages: list[EvidencePassage] = field(default_factory=list[EvidencePassage])
    terms: list[WeightedTerm] = field(default_factory=list[WeightedTerm])
    lookups: list[Lookup] = field(default_factory=list[Lookup])
    pairs: list[Pair] = field(default_factory=list[Pair])
    fields: list[TitledLines] = field(default_factory=list[TitledLines])
    calculations: list[TitledLines] = field(default_factory=list[TitledLines])
    catalogue: Catalogue | None = None
    searched_documents: bool = False
    hosted: bool = False
    """True when the documents were searched by the server's own file search."""
    failures: list[str] = field(default_factory=list[str])
    """Functions of calls that failed. Their messages are for the step: here they would read as the answer."""

    @property
    def results(self) -> str:
        """The results of the calculations, as values of the patient."""
        return "; ".join(one.lines[0] for one in self.calculations if one.lines)

    @property
    def named(self) -> tuple[EvidenceRecord, ...]:
        """The drugs that the question names, without repeats."""
        found = (record for lookup in self.lookups for record in _named(lookup))
        return tuple({record.name: record for record in found}.values())

    @property
    def mentioned(self) -> tuple[EvidenceRecord, ...]:
        """The drugs whose records or classes contain words of the question, and whose names it does not contain."""
        found = (record for lookup in self.lookups for record in lookup.records)
        return tuple(record for record in found if record.matched in {"text", "class"})

    @property
    def medicines(self) -> list[str]:
        """The names of the drugs that the question names, without their classes."""
        return [name for record in self.named for name in record.names]

    def of_the_question(self) -> Evidence:
        """Return the evidence with only the grave statements on medicines that an earlier question named alone."""
        named = {*self.medicines, *(name for lookup in self.lookups for name in lookup.also_named)}
        return self._with_grave_beside([one for one in self.pairs if not self.named or named.issuperset(one.names)])

    def names_in(self, text: str) -> list[str]:
        """Return the names of the found drugs that ``text`` names."""
        said = term_set(text)
        return [one.name for one in self.named if any(term_set(name) <= said for name in (*one.names, one.matched_on))]

    def of_case(self, question: str) -> Evidence:
        """Return the evidence for the ``question`` on a described patient.

        Of the drugs only those that it names are left, if it names any; of the pairs those with one of them, and the
        grave statements on the others.
        """
        asked = self.names_in(question)
        found = self._with_grave_beside([pair for pair in self.pairs if not set(asked).isdisjoint(pair.names)])
        return replace(found, lookups=[_on_named(lookup, asked, question) for lookup in self.lookups])

    def of_medicine(self, name: str) -> Evidence:
        """Return the evidence on one of the found drugs alone, without pairs."""
        return replace(self, lookups=[_on_named(lookup, [name], name) for lookup in self.lookups], pairs=[])

    def _with_grave_beside(self, asked: Collection[Pair]) -> Evidence:
        """Return the evidence with the ``asked`` pairs, and of the others only the grave statements."""
        others = replace(self, pairs=[pair for pair in self.pairs if pair not in asked])
        return replace(self, pairs=[*asked, *others.grave_pairs])

    @property
    def grave_pairs(self) -> list[Pair]:
        """The pairs with only the grave statements on them, without notes."""
        grave = (replace(pair, said=tuple(one for one in pair.said if one.is_grave), note="") for pair in self.pairs)
        return [pair for pair in grave if pair.said]

    def with_levels(self, levels: Collection[str]) -> Evidence:
        """Return the evidence with only the statements on pairs that warn at one of ``levels``, without notes."""
        pairs = (replace(pair, said=tuple(one for one in pair.said if one.severity in levels), note="")
                 for pair in self.pairs)  # fmt: skip
        return replace(self, pairs=[pair for pair in pairs if pair.said])

    @property
    def on_overdose(self) -> bool:
        """True when the labels of one drug were checked alone, for an overdose."""
        return any(len(pair.names) < 2 for pair in self.pairs)

    @property
    def classes(self) -> list[tuple[str, str]]:
        """Each name of a drug that the question names, with each class that it belongs to."""
        names = ((record, name) for record in self.named for name in (record.name, record.matched_on))
        return [(name, part) for record, name in names for one in record.drug_classes for part in _parts(one)]

    def subjects(self, question: str) -> list[str]:
        """Return the names of the drugs that ``question`` names, and the classes that it names in full."""
        own = [part for record in self.named for name in record.drug_classes for part in _parts(name)]
        asked = term_set(question)
        records = [record for lookup in self.lookups for record in lookup.records if record.matched == "class"]
        classes = [part for record in records for part in _parts(record.matched_on) if term_set(part) <= asked]
        members = [name for record in records for name in (record.name, *record.brand_names)] if classes else []
        return list(dict.fromkeys([*self.medicines, *own, *classes, *members]))


def _parts(name: str) -> list[str]:
    """Return the name of a class and its short form in brackets, each with the words after the brackets."""
    split = _SHORT_FORM.fullmatch(name)
    return [f"{split[1]}{split[3]}", f"{split[2]}{split[3]}"] if split else [name]


def _on_named(lookup: Lookup, names: Collection[str], text: str) -> Lookup:
    """Return ``lookup`` with its records of ``names`` alone, if there are any, and a note only on words of ``text``."""
    records = tuple(one for one in lookup.records if one.name in names) if names else lookup.records
    said = term_set(text) - _OF_NOTES
    absent = lookup.absent if said & term_set(lookup.absent) else ""
    return replace(lookup, records=records, absent=absent)


def _named(lookup: Lookup) -> list[EvidenceRecord]:
    """Return the best record of each name that was typed; the end of a unit, such as "mL/min", is no name.

    A typed word that is one medicine's name and the start of another's names one of them.
    """
    best: dict[str, EvidenceRecord] = {}
    asked = fold_name(lookup.asked).split()
    for record in lookup.records:
        if record.is_named and f"/{record.matched_on}".lower() not in lookup.asked.lower():
            name = fold_name(record.matched_on)
            typed = " ".join(word for word in name.split() if word in asked)
            best.setdefault(typed or name or record.name, record)
    return list(best.values())
