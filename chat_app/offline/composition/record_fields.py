"""Adds the fields of drug records that a question asks for, and the outputs of other tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from chat_app.offline import phrases
from chat_app.offline.composition.draft import Draft
from chat_app.offline.extraction.drug_parts import BRANDS, DRUG_CLASS, PRODUCTS
from chat_app.offline.reading.evidence import Evidence, EvidencePassage, EvidenceRecord, TitledLines
from tools.language.quotable_units import Table, Unit


def add_fields(draft: Draft, parts: Collection[str], evidence: Evidence) -> None:
    """Add the fields of records that the question asks for, and those of other tools' outputs."""
    if parts:
        add_class_members(draft, evidence)
    for record in evidence.named:
        _record(draft, parts, record)
    for output in evidence.fields:
        add_titled(draft, replace(output, title=_said(draft, phrases.FIELDS, tool=[output.title])))


def _record(draft: Draft, parts: Collection[str], record: EvidenceRecord) -> None:
    """Add the fields of a record that the question asks for."""
    source = EvidencePassage("", cite=record.cite)
    if PRODUCTS in parts:
        for heading, products in (
            (phrases.PRODUCTS, record.products),
            (phrases.DISCONTINUED_PRODUCTS, record.discontinued_products),
        ):
            rows = ((product, record) for product in products)
            _table(draft, _said(draft, heading, name=[record.name]), phrases.PRODUCT_COLUMNS, rows)
    for part, phrase, names in (
        (BRANDS, phrases.BRANDS, record.brand_names),
        (BRANDS, phrases.DISCONTINUED_BRANDS, record.discontinued_brands),
        (DRUG_CLASS, phrases.DRUG_CLASS, record.drug_classes),
    ):
        if part in parts and names:
            draft.paragraph(_said(draft, phrase, name=[record.name], names=names), source)


def _said(draft: Draft, phrase: str, **names: Iterable[str]) -> str:
    return phrases.filled(phrase, draft.language, names)


def add_class_members(draft: Draft, evidence: Evidence) -> None:
    """List the members of a class."""
    records = [one for lookup in evidence.lookups for one in lookup.records if one.matched == "class"]
    rows = (((one.name, ", ".join(one.drug_classes), ", ".join(one.brand_names)), one) for one in records)
    if not evidence.named:
        _table(draft, phrases.RECORDS, phrases.RECORD_COLUMNS, rows)


def _table(
    draft: Draft, heading: str, columns: tuple[str, ...], rows: Iterable[tuple[Sequence[str], EvidenceRecord]]
) -> None:
    """Add a table on records, if there are any."""
    table = Table("", tuple(phrases.said(column, draft.language) for column in columns))
    units = [
        (Unit("", table=table, cells=tuple(cell or phrases.NOT_GIVEN for cell in cells)),
         EvidencePassage("", cite=record.cite))
        for cells, record in rows
    ]  # fmt: skip
    if units:
        draft.lines(heading, units)


def add_titled(draft: Draft, block: TitledLines) -> None:
    """Add the output of a tool under its title."""
    draft.lines(block.title, ((Unit(line), EvidencePassage(line, cite=block.cite)) for line in block.lines))
