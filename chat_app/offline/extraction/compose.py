"""Puts the answer together: extracts with their citations, grouped under fixed phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.evidence import DrugRecord, Evidence, Fields, Passage
from chat_app.offline.extraction.selection import Quote, select
from chat_app.offline.extraction.text import terms
from chat_app.offline.extraction.topics import OVERVIEW, SECTIONS, Aspect, aspects, only_database
from chat_app.offline.extraction.units import Table, Unit
from chat_app.offline.model import Answer, FileCitation

_MOST_LABEL_SENTENCES = 6
_NARROWING = frozenset({Aspect.RENAL, Aspect.HEPATIC, Aspect.PREGNANCY})


@dataclass
class Draft:
    """The answer as it grows: blocks of text, and file citations by their place in it."""

    text: str = ""
    citations: list[FileCitation] = field(default_factory=list[FileCitation])

    def block(self, text: str) -> None:
        self.text += f"\n\n{text}" if self.text else text

    def quote(self, sentence: str, source: Passage, *, first: bool) -> None:
        """One list item: the sentence and its citation."""
        self.text += ("\n\n" if first else "\n") + f"- {sentence}"
        self._cite(source)

    def head(self, table: Table) -> None:
        """The caption and the header of a table whose rows follow."""
        if table.caption:
            self.block(table.caption)
        cells = [cell.replace("|", "\\|") for cell in table.header]
        self.block(f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}")

    def row(self, cells: Sequence[str], source: Passage) -> None:
        """One row, its citation at the end of its last cell."""
        self.text += "\n| " + " | ".join(cell.replace("|", "\\|") for cell in cells)
        self._cite(source)
        self.text += " |"

    def _cite(self, source: Passage) -> None:
        """The citation of what was just written: a marker, or an annotation of the file."""
        if source.file_id:
            self.citations.append(FileCitation(len(self.text), source.file_id, source.document))
        if source.cite:
            self.text += f" {source.cite}"


def compose(question: str, evidence: Evidence) -> Answer:
    """The answer to ``question`` from ``evidence``; what was searched and found empty is said."""
    draft = Draft()
    wanted = aspects(question)
    for record in evidence.records:
        _record(draft, question, record, wanted)
    told = bool(draft.text)
    if evidence.passages:
        _passages(draft, question, evidence, supplement=told)
    for output in evidence.fields:
        _fields(draft, output)
    _empty_handed(draft, evidence)
    return Answer(draft.text, tuple(draft.citations))


def _record(draft: Draft, question: str, record: DrugRecord, wanted: Sequence[Aspect]) -> None:
    if Aspect.FORMULATIONS in wanted and record.products:
        draft.block(phrases.PRODUCTS.format(name=record.name))
        draft.head(Table("", phrases.PRODUCT_COLUMNS))
        for product in record.products:
            cells = (product.dosage_form, product.routes, product.strengths, product.brand_names)
            draft.row([cell or phrases.NOT_GIVEN for cell in cells], Passage("", cite=record.cite))
    if Aspect.BRANDS in wanted and record.brand_names:
        names = phrases.listed(list(record.brand_names))
        draft.block(f"{phrases.BRANDS.format(name=record.name, names=names)} {record.cite}".rstrip())
    if Aspect.DRUG_CLASS in wanted and record.drug_classes:
        names = phrases.listed(list(record.drug_classes))
        draft.block(f"{phrases.CLASSES.format(name=record.name, names=names)} {record.cite}".rstrip())
    if only_database(wanted):
        return
    for section in _sections(wanted):
        _label(draft, question, record, section, narrow=section not in OVERVIEW or len(wanted) > 1)


def _sections(wanted: Sequence[Aspect]) -> list[str]:
    """The label's sections to quote, in order of what was asked: in whom comes before what."""
    asked = [aspect for aspect in wanted if aspect in SECTIONS]
    if not asked:
        return list(OVERVIEW)
    narrowing = [aspect for aspect in asked if aspect in _NARROWING]
    chosen = narrowing + [a for a in asked if a not in _NARROWING] if narrowing else asked
    if narrowing and Aspect.DOSAGE in asked:
        chosen.remove(Aspect.DOSAGE)
    return list(dict.fromkeys(section for aspect in chosen for section in SECTIONS[aspect]))


def _label(draft: Draft, question: str, record: DrugRecord, section: str, *, narrow: bool) -> None:
    sentences = [text for text in record.label.get(section, ()) if text]
    if not sentences:
        return
    draft.block(phrases.LABEL.format(name=record.name, section=phrases.SECTION_NAMES.get(section, section)))
    shown = _closest(question, sentences) if narrow else sentences[:_MOST_LABEL_SENTENCES]
    for index, sentence in enumerate(shown):
        draft.quote(sentence, Passage(sentence, cite=record.cite), first=index == 0)


def _closest(question: str, sentences: Sequence[str]) -> list[str]:
    """The sentences of a section that share most with the question, in the label's order."""
    wanted = terms(question)
    ranked = sorted(range(len(sentences)), key=lambda i: (-len(wanted & terms(sentences[i])), i))
    return [sentences[i] for i in sorted(ranked[:_MOST_LABEL_SENTENCES])]


def _passages(draft: Draft, question: str, evidence: Evidence, *, supplement: bool) -> None:
    quotes = select(question, evidence.passages, most=3 if supplement else None)
    if not quotes:
        if not supplement:
            evidence.answerable = False
        return
    from_files = all(quote.passage.file_id for quote in quotes)
    draft.block(phrases.FROM_FILES if from_files else phrases.FROM_GUIDELINES)
    listed = False
    table: Table | None = None
    for quote in _in_order(quotes):
        passage, unit = quote.passage, quote.unit
        if unit.table is not None and _fits(unit):
            if unit.table != table:
                draft.head(unit.table)
            draft.row(unit.cells, passage)
            table, listed = unit.table, False
        else:
            draft.quote("; ".join(unit.cells) or unit.text, passage, first=not listed)
            table, listed = None, True


def _fits(unit: Unit) -> bool:
    """True when each cell of a row stands under a column of the header."""
    return unit.table is not None and len(unit.cells) == len(unit.table.header)


def _in_order(quotes: Sequence[Quote]) -> list[Quote]:
    """The best quote first with its neighbours in reading order, then those of the next best passage."""
    best: dict[int, float] = {}
    for quote in quotes:
        rank = quote.passage.rank
        best[rank] = max(best.get(rank, 0.0), quote.score)
    return sorted(quotes, key=lambda quote: (-best[quote.passage.rank], quote.passage.rank, quote.place))


def _fields(draft: Draft, output: Fields) -> None:
    draft.block(phrases.FIELDS.format(tool=output.tool))
    for index, (name, value) in enumerate(output.pairs):
        draft.quote(f"{name}: {value}" if name else value, Passage(value, cite=output.cite), first=index == 0)


def _empty_handed(draft: Draft, evidence: Evidence) -> None:
    """Says what was searched without success, and that nothing answers when that is so."""
    answered = bool(draft.text)
    if evidence.searched_documents and not evidence.answerable:
        draft.block(phrases.NOTHING_IN_GUIDELINES)
    if not evidence.records:
        for name in evidence.drugs_looked_up:
            draft.block(phrases.NO_RECORD.format(name=name))
        if evidence.suggestions:
            draft.block(phrases.DID_YOU_MEAN.format(names=phrases.listed(evidence.suggestions[:3], "or")))
    for tool, message in evidence.failures:
        draft.block(phrases.FAILED.format(tool=tool, message=message))
    if not answered:
        draft.block(phrases.NO_ANSWER)
