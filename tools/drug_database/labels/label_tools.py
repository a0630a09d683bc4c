"""The outputs of ``get_drug_label`` and ``check_drug_interactions``: quotations with the section they stand in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations

from pydantic import JsonValue

from tools.drug_database.labels.interactions import Mention, mentions, terms_of
from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.name_keys import base_moieties, joined
from tools.drug_database.records import SECTION_TITLES, SECTIONS, DrugRecord, Label, SectionName
from tools.drug_database.records.queries import DrugSearchResult
from tools.types import Passage, Phrase, ToolResult

_NO_LABEL = "No label of this medicine is loaded in the drug database."
_NOT_THE_NAME = (
    "No medicine of exactly that name is in the drug database: ask which one is meant before quoting a label."
)
_NOT_MENTIONED = (
    "These labels do not mention each other's medicine or class. That is no evidence that the combination is safe."
)
_KNOWN = frozenset({"exact", "brand", "synonym", "code"})


def named_record(result: DrugSearchResult) -> DrugRecord | None:
    """The medicine that was named; None when only a spelling, a class or words led to the hits."""
    first = next(iter(result.hits), None)
    return first.record if first is not None and first.matched.how in _KNOWN else None


def section_passage(record: DrugRecord, label: Label, section: SectionName) -> Passage:
    """One section of one label as a passage; its id changes with its text."""
    text = "\n".join(label.sections[section])
    version = hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
    return Passage(
        id=f"drug:{record.key}:{section}:{version}",
        kind="drug_record",
        document_id=f"drug:{record.key}",
        text=text,
        title=label.source.title,
        issuer=label.source.publisher,
        version=label.source.date,
        section=f"{record.generic_name} › {SECTION_TITLES[section]}",
        url=label.source.url or None,
    )


def label_result(result: DrugSearchResult, wanted: Sequence[SectionName] | None) -> ToolResult:
    """The whole sections of the best label of the medicine that was named."""
    record = named_record(result)
    data: dict[str, JsonValue] = {"name": result.query.name, "did_you_mean": list(result.did_you_mean), "results": []}
    if record is None:
        return ToolResult(data=data | {"note": _NOT_THE_NAME}, summary="no match")
    label = next(iter(record.labels), None)
    if label is None:
        return ToolResult(data=data | {"note": f"{record.generic_name}: {_NO_LABEL}"}, summary="no label")
    held: list[SectionName] = [name for name in SECTIONS if label.sections.get(name)]
    sections: list[SectionName] = [name for name in held if not wanted or name in wanted]
    missing = [SECTION_TITLES[name].lower() for name in wanted or () if name not in sections]
    passages = tuple(section_passage(record, label, name) for name in sections)
    data["generic_name"] = record.generic_name
    data["matched"] = result.hits[0].matched.model_dump()
    data["source"] = label.source.model_dump(include={"title", "publisher", "url", "date"})
    data["results"] = [
        {
            "cite": passage.id,
            "generic_name": record.generic_name,
            "section": SECTION_TITLES[name],
            "label": {name: list(label.sections[name])},
        }
        for name, passage in zip(sections, passages, strict=True)
    ]
    notes = [f"This label has no section on {joined(missing)}."] if missing else []
    data["note"] = " ".join([*_alias_notes([result]), *notes])
    return ToolResult(data=data, passages=passages, summary=_counted(len(sections), "section"))


def interaction_result(found: Sequence[DrugSearchResult]) -> ToolResult:
    """What the labels of each pair of the named medicines say about the other."""
    records = [record for record in map(named_record, found) if record is not None]
    unknown = [result for result in found if named_record(result) is None]
    passages: dict[str, Passage] = {}
    pairs: list[JsonValue] = []
    results: list[JsonValue] = []
    for one, other in combinations({record.key: record for record in records}.values(), 2):
        both = mentions(one, other, terms_of(other, aliases())) + mentions(other, one, terms_of(one, aliases()))
        owner = {one.generic_name: one, other.generic_name: other}
        rows: list[JsonValue] = []
        for mention in both:
            passage = section_passage(owner[mention.label_of], mention.label, mention.section)
            passages[passage.id] = passage
            rows.append(_row(mention, passage.id))
        results += rows
        pairs.append(
            {
                "medicines": [one.generic_name, other.generic_name],
                "mentions": len(rows),
                "note": _pair_note(one, other, found_any=bool(rows)),
            }
        )
    data: dict[str, JsonValue] = {
        "pairs": pairs,
        "results": results,
        "unknown": [{"name": result.query.name, "did_you_mean": list(result.did_you_mean)} for result in unknown],
        "note": " ".join([*_alias_notes(found), *([f"{_NOT_THE_NAME} They were left out."] if unknown else [])]),
    }
    summary = _counted(len(results), "label section") if results else "not mentioned in these labels"
    return ToolResult(data=data, passages=tuple(passages.values()), summary=summary)


def _alias_notes(found: Sequence[DrugSearchResult]) -> list[str]:
    """The warnings about abbreviations that were typed."""
    return [result.note for result in found if result.note and result.hits and result.hits[0].matched.how == "synonym"]


def _row(mention: Mention, cite: str) -> dict[str, JsonValue]:
    return {
        "cite": cite,
        "label_of": mention.label_of,
        "about": mention.about,
        "section": SECTION_TITLES[mention.section],
        "mentioned_as": list(mention.mentioned_as),
        "label": {mention.section: list(mention.quotes)},
    }


def _pair_note(one: DrugRecord, other: DrugRecord, *, found_any: bool) -> str:
    notes: list[str] = []
    shared = [name for name in base_moieties(one.ingredients) if name in base_moieties(other.ingredients)]
    if shared:
        notes.append(f"Both contain {joined(shared)}.")
    notes += [f"{record.generic_name}: {_NO_LABEL}" for record in (one, other) if not record.labels]
    if not found_any:
        notes.append(_NOT_MENTIONED)
    return " ".join(notes)


def _counted(count: int, what: str) -> Phrase:
    return Phrase(text=f"1 {what}" if count == 1 else f"{{count}} {what}s", values={"count": count})
