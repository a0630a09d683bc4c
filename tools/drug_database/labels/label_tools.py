"""The output of ``get_drug_label``, and what it shares with that of ``check_drug_interactions``."""

import hashlib
from collections.abc import Sequence

from pydantic import JsonValue

from tools.drug_database.labels.label_scope import scope_notes
from tools.drug_database.labels.record_rendering import UNDATED
from tools.drug_database.labels.record_rendering import passage as record_passage
from tools.drug_database.names.name_keys import joined
from tools.drug_database.records import SECTION_TITLES, SECTIONS, DrugRecord, Label, SectionName
from tools.drug_database.records.queries import DrugSearchResult
from tools.types import Passage, Phrase, ToolResult

NO_LABEL = "No label of this medicine is loaded in the drug database."
_NOT_THE_NAME = (
    "No medicine of exactly that name is in the drug database: ask which one is meant before quoting a label."
)
_KNOWN = frozenset({"exact", "brand", "synonym", "code"})


def named_record(result: DrugSearchResult) -> DrugRecord | None:
    """Return the medicine that was named; None when only a spelling, a class or words led to the hits."""
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
        version=label.source.date or UNDATED,
        section=f"{record.generic_name} › {SECTION_TITLES[section]}",
        url=label.source.url or None,
    )


def cited_passage(record: DrugRecord, passage_id: str) -> Passage | None:
    """Return the record, or the section of one of its labels, of that id; None when its text has changed."""
    sections = (section_passage(record, label, name) for label in record.labels for name in label.sections)
    return next((found for found in (record_passage(record), *sections) if found.id == passage_id), None)


def label_result(result: DrugSearchResult, wanted: Sequence[SectionName] | None) -> ToolResult:
    """Return the whole sections of the best label of the medicine that was named."""
    record = named_record(result)
    data: dict[str, JsonValue] = {"name": result.query.name, "did_you_mean": list(result.did_you_mean), "results": []}
    if record is None:
        return ToolResult(data=data | {"note": _NOT_THE_NAME}, summary=Phrase(text="no match"))
    label = next(iter(record.labels), None)
    if label is None:
        return ToolResult(data=data | {"note": f"{record.generic_name}: {NO_LABEL}"}, summary=Phrase(text="no label"))
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
    scope = result.hits[0].scope
    data["label_scope"] = scope.model_dump(mode="json") if scope is not None else None
    notes = [f"This label has no section on {joined(missing)}."] if missing else []
    data["note"] = " ".join([*(alias_notes([result]) or scope_notes(scope)), *notes])
    found = Phrase(text="{count} sections", singular="{count} section", values={"count": len(sections)})
    return ToolResult(data=data, passages=passages, summary=found)


def alias_notes(found: Sequence[DrugSearchResult]) -> list[str]:
    """Return the warnings about abbreviations that were typed."""
    return [result.note for result in found if result.note and result.hits and result.hits[0].matched.how == "synonym"]
