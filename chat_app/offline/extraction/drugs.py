"""Answers from drug records: tables of products, sentences of the label, and names that have to be asked back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.contrasts import names_children, of_other_patients
from chat_app.offline.extraction.draft import Draft
from chat_app.offline.extraction.evidence import DrugRecord, Lookup, Pair, Passage
from chat_app.offline.extraction.text import stem, terms, words
from chat_app.offline.extraction.topics import OVERVIEW, SECTIONS, Aspect, asking_terms, aspects, only_database
from chat_app.offline.extraction.units import Table
from chat_app.offline.extraction.vocabulary import word_list

MOST_SENTENCES: Final = 5
"""Of one label section."""
MOST_RELEVANT: Final = 4
MOST_OF_A_CLASS: Final = 5
OVERVIEW_SENTENCES: Final = 2
_DOSES: Final = frozenset({"dosage", "renal_dosing", "hepatic_dosing"})
_ALLERGY: Final = terms("allergy")
_NARROWING: Final = frozenset({Aspect.RENAL, Aspect.HEPATIC, Aspect.PREGNANCY})


def lookups(draft: Draft, question: str, found: Sequence[Lookup]) -> None:
    """Adds what the looked-up records say to the question."""
    wanted = aspects(question)
    exact = [lookup.records[0] for lookup in found if lookup.is_exact]
    if len(exact) >= 2 and Aspect.INTERACTIONS in wanted:
        _interactions(draft, exact)
        return
    for lookup in found:
        if lookup.is_exact:
            _record(draft, question, lookup.records[0], wanted)
            if only_database(wanted) and lookup.note:
                draft.block(lookup.note)
        elif lookup.records and not lookup.is_guess:
            _class(draft, question, lookup.records, wanted)


def _record(draft: Draft, question: str, record: DrugRecord, wanted: Sequence[Aspect]) -> None:
    if Aspect.FORMULATIONS in wanted and record.products:
        draft.block(phrases.PRODUCTS.format(name=record.name))
        draft.head(Table("", phrases.PRODUCT_COLUMNS))
        for product in record.products:
            cells = (product.dosage_form, product.routes, product.strengths, product.brand_names)
            draft.row([cell or phrases.NOT_GIVEN for cell in cells], _source(record))
    for aspect, names in ((Aspect.BRANDS, record.brand_names), (Aspect.DRUG_CLASS, record.drug_classes)):
        if aspect in wanted and names:
            draft.block(phrases.NAMED[aspect.name].format(name=record.name, names=phrases.listed(list(names))))
            draft.cite(_source(record))
    if only_database(wanted):
        return
    asked = [aspect for aspect in wanted if aspect in SECTIONS]
    if asked:
        for section in _sections(asked):
            _section(draft, question, record, section)
    else:
        _free(draft, question, record)


def _sections(asked: Sequence[Aspect]) -> list[str]:
    """The label's sections to quote: in whom comes before what, and a dose in whom is that section's."""
    narrowing = [aspect for aspect in asked if aspect in _NARROWING]
    others = [aspect for aspect in asked if aspect not in _NARROWING and not (narrowing and aspect is Aspect.DOSAGE)]
    return list(dict.fromkeys(section for aspect in (*narrowing, *others) for section in SECTIONS[aspect]))


def _section(draft: Draft, question: str, record: DrugRecord, section: str) -> None:
    sentences = _of_patients(question, section, record.label.get(section, ()))
    if Aspect.ALLERGY in aspects(question):
        sentences = [text for text in sentences if _ALLERGY & terms(text)]
    shown = _narrowed(question, record, sentences)
    if shown:
        _quoted(draft, record, section, shown)


def _of_patients(question: str, section: str, sentences: Sequence[str]) -> list[str]:
    """The sentences that are not of other patients. No dose is given for children that is not said to be theirs."""
    if section in _DOSES and names_children(question):
        return [text for text in sentences if names_children(text)]
    return [text for text in sentences if not of_other_patients(question, text)]


def _narrowed(question: str, record: DrugRecord, sentences: Sequence[str]) -> list[str]:
    """The sentences that hold all that the question adds to drug and aspect; none when nothing of it is there.

    Where sentences hold a part of it the section is given as it stands: half of a dosage can mislead.
    """
    added = _added(question, record)
    shared = [len(added & terms(sentence)) for sentence in sentences]
    best = max(shared, default=0)
    if best and best == len(added):
        return [text for text, number in zip(sentences, shared, strict=True) if number == best][:MOST_SENTENCES]
    return [] if not best and len(added) >= 2 else list(sentences[:MOST_SENTENCES])


def _added(question: str, record: DrugRecord) -> frozenset[str]:
    """The terms of a question beside the drug's names and the words that name an aspect."""
    names = terms(" ".join((record.name, *record.brand_names, record.asked)))
    weak = {stem(word) for word in word_list("weak")}
    return terms(question) - names - asking_terms() - weak


def _free(draft: Draft, question: str, record: DrugRecord) -> None:
    """A question that names no aspect: the sentences of the label that hold it, or an overview of the drug."""
    added = _added(question, record)
    if not added:
        for section in OVERVIEW:
            _quoted(draft, record, section, record.label.get(section, ())[:OVERVIEW_SENTENCES])
        return
    scored = [
        (len(added & terms(sentence)) / len(added), section, sentence)
        for section, sentences in record.label.items()
        for sentence in sentences
    ]
    best = max((share for share, _, _ in scored), default=0.0)
    if best < 0.5:
        return
    kept = [(section, sentence) for share, section, sentence in scored if share == best][:MOST_RELEVANT]
    for section in dict.fromkeys(section for section, _ in kept):
        _quoted(draft, record, section, [sentence for name, sentence in kept if name == section])


def _quoted(draft: Draft, record: DrugRecord, section: str, sentences: Sequence[str]) -> None:
    if not sentences:
        return
    draft.block(phrases.LABEL.format(name=record.name, section=phrases.SECTION_NAMES.get(section, section)))
    for index, sentence in enumerate(sentences):
        draft.quote(sentence, Passage("", cite=record.cites.get(section, record.cite)), first=index == 0)


def _class(draft: Draft, question: str, records: Sequence[DrugRecord], wanted: Sequence[Aspect]) -> None:
    """Several records that match by their class or their text."""
    asked = [aspect for aspect in wanted if aspect in SECTIONS]
    if asked:
        for record in records[:MOST_OF_A_CLASS]:
            section = _sections(asked)[0]
            sentences = _of_patients(question, section, record.label.get(section, ()))
            _quoted(draft, record, section, _narrowed(question, record, sentences)[:OVERVIEW_SENTENCES])
        return
    if not only_database(wanted) and _added(question, records[0]) - terms(" ".join(records[0].drug_classes)):
        return
    draft.block(phrases.RECORDS)
    draft.head(Table("", phrases.RECORD_COLUMNS))
    for record in records:
        cells = (record.name, ", ".join(record.drug_classes), ", ".join(record.brand_names))
        draft.row([cell or phrases.NOT_GIVEN for cell in cells], _source(record))


def _interactions(draft: Draft, records: Sequence[DrugRecord]) -> None:
    """What the labels of several drugs say of one another."""
    told = False
    for record in records:
        others = [other for other in records if other is not record]
        naming = [
            sentence
            for section in ("interactions", "contraindications", "boxed_warning", "warnings")
            for sentence in record.label.get(section, ())
            if any(_mentions(sentence, other) for other in others)
        ]
        _quoted(draft, record, "interactions", naming[:MOST_SENTENCES])
        told = told or bool(naming)
    if not told:
        names = phrases.listed([record.name for record in records])
        draft.block(phrases.NO_INTERACTION.format(names=names))


def pairs(draft: Draft, found: Sequence[Pair]) -> None:
    """Adds what labels say of one another; of a pair that is silent it is said that it is."""
    for pair in found:
        for record in pair.said:
            for section, sentences in record.label.items():
                _quoted(draft, record, section, sentences[:MOST_SENTENCES])
        if not pair.said:
            draft.block(phrases.NO_INTERACTION.format(names=phrases.listed(list(pair.names))))


def _mentions(sentence: str, drug: DrugRecord) -> bool:
    """True when a sentence names a drug or one of its classes, with or without the explanation in brackets."""
    said = words(sentence)
    stems = [stem(word) for word in said]
    text = f" {' '.join(stems)} "
    names = [drug.name, *drug.brand_names, *drug.drug_classes]
    names += [part for name in drug.drug_classes for part in re.findall(r"\(([^)]+)\)", name)]
    plain = (re.sub(r"\s*\([^)]*\)", "", name) for name in names)
    return any(f" {' '.join(stem(word) for word in words(name))} " in text for name in plain if words(name))


def _source(record: DrugRecord) -> Passage:
    return Passage("", cite=record.cite)
