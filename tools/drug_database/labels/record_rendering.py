"""Renders records and labels for the model and the reader: as JSON data, and as passages to quote from."""

import hashlib
from collections.abc import Sequence

from pydantic import JsonValue

from tools.drug_database.labels.label_scope import doses_for, scope_notes
from tools.drug_database.names.name_keys import joined
from tools.drug_database.names.overdosage_wording import speaks_of_overdose
from tools.drug_database.records.drug_record import (
    DOSE_SECTIONS,
    SECTION_TITLES,
    SECTIONS,
    DataSource,
    DrugRecord,
    Label,
    SectionName,
)
from tools.drug_database.records.product_groups import MOST_BRANDS, grouped, listed
from tools.drug_database.records.queries import DrugHit, DrugSearchResult
from tools.types import CitedAs, Passage, Phrase, SectionStart, ToolResult

NO_LABEL = "No label of this medicine is loaded in the drug database."
_DISCONTINUED = "Discontinued: the loaded sources list no product of this medicine that is marketed."
_NOT_THE_NAME = (
    "No medicine of exactly that name is in the drug database: ask which one is meant before quoting a label."
)
_KNOWN = frozenset({"exact", "brand", "synonym", "code"})
_UNDATED = "label date not given"
"""The version in a reference to a source without a date."""
_MOST_PRODUCTS = 40
_MOST_SENTENCES = 6
"""Maximum number of sentences of a section in a search result; ``get_drug_label`` gives the whole section."""


def tool_result(result: DrugSearchResult) -> ToolResult:
    """Return the output of ``search_drug_database``; its shape is a contract with the agent."""
    passages = tuple(passage(hit.record, score=hit.score) for hit in result.hits)
    # The amounts of an overdose could be read as doses, and are shown only if asked for.
    sections: list[SectionName] = [
        name for name in SECTIONS if name != "overdosage" or speaks_of_overdose(result.query.name)
    ]
    data: dict[str, JsonValue] = {
        "query": {name: value for name, value in result.query.model_dump().items() if value is not None},
        "results": [_hit(hit, cited.id, sections) for hit, cited in zip(result.hits, passages, strict=True)],
        "did_you_mean": list(result.did_you_mean),
        "note": result.note,
        "absent": result.absent,
        "not_loaded": list(result.not_loaded),
        "also_named": list(result.also_named),
    }
    names = [hit.matched.on for hit in result.hits if hit.matched.how not in {"spelling", "text"}]
    subject = ", ".join({name.lower(): name for name in names}.values())
    return ToolResult(data=data, passages=passages, summary=summary(result), subject=subject)


def summary(result: DrugSearchResult) -> Phrase:
    """Return the result in a few words, for the title of the step."""
    if not result.hits:
        return Phrase(text="no match")
    first, *others = result.hits
    if suggested := next(iter(result.did_you_mean), None):
        return Phrase(text="did you mean {name}?", values={"name": suggested})
    if others:
        return Phrase(text="{count} medicines", values={"count": len(result.hits)})
    count = len(grouped(first.record.products))
    return Phrase(text="{count} products", singular="{count} product", values={"count": count})


def passage(record: DrugRecord, *, score: float = 0.0) -> Passage:
    """Return the record as a passage of its product list. The part from its label is cited as that label."""
    text, name = record_text(record), record.generic_name
    lists = (one for one in record.sources if any(one.id in product.sources for product in record.products))
    found = _passage(record, "", text, next(lists, next(iter(record.sources), main_source(record))), name, score)
    if not record.labels:
        return found
    label = _passage(record, ":label", text, main_source(record), name)
    cited_as = CitedAs(**label.model_dump(include=set(CitedAs.model_fields)))
    start = SectionStart(at=len("\n".join(_facts(record))) + 1, section=name, cited_as=cited_as)
    return found.model_copy(update={"further_sections": (start,)})


def section_passage(record: DrugRecord, label: Label, section: SectionName) -> Passage:
    """Return one section of one label as a passage."""
    title = f"{record.generic_name} › {SECTION_TITLES[section]}"
    return _passage(record, f":{section}", "\n".join(label.sections[section]), label.source, title)


def _passage(  # noqa: PLR0917
    record: DrugRecord, part: str, text: str, source: DataSource | None, section: str, score: float = 0.0
) -> Passage:
    """Return a part of the record as a passage.

    Its id changes with its text, so that the citations of old answers do not show a newer text.
    """
    version = hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
    return Passage(
        id=f"drug:{record.key}{part}:{version}",
        kind="drug_record",
        document_id=f"drug:{record.key}",
        text=text,
        title=source.title if source else f"Drug database: {record.generic_name}",
        issuer=source.publisher if source else "",
        version=(source.date or (_UNDATED if part else "")) if source else "",
        section=section,
        url=(source.url or None) if source else None,
        score=score,
    )


def main_source(record: DrugRecord) -> DataSource | None:
    """Return the source of the record's label, or else its first source."""
    if record.labels:
        return record.labels[0].source
    return record.sources[0] if record.sources else None


def record_text(record: DrugRecord) -> str:
    """Return the record as lines: names, classes, forms, and the label's sentences under headings."""
    lines = _facts(record)
    sections = record.labels[0].sections if record.labels else {}
    for section in SECTIONS:
        if said := sections.get(section):
            lines += [f"{SECTION_TITLES[section]}:", *said[:_MOST_SENTENCES]]
    lines += [
        f"Source: {source.title}, {source.publisher}{f', {source.date}' if source.date else ''}"
        for source in (*(label.source for label in record.labels[:1]), *record.sources)
    ]
    return "\n".join(lines)


def _facts(record: DrugRecord) -> list[str]:
    """Return the lines on the record that are not from a label."""
    lines = [record.generic_name]
    if record.discontinued:
        lines.append(_DISCONTINUED)
    for title, names in (
        ("Active substances", [fact.value for fact in record.substances]),
        ("Brand names", record.marketed_brands),
        ("Discontinued brand names", record.discontinued_brands),
        ("Also called", [fact.value for fact in record.synonyms]),
        ("Classes", [fact.value for fact in record.drug_classes]),
    ):
        if names:
            lines.append(f"{title}: {listed(names)}")
    groups = grouped(record.products)
    lines += [group.line() for group in groups[:_MOST_PRODUCTS]]
    if len(groups) > _MOST_PRODUCTS:
        lines.append(f"and {len(groups) - _MOST_PRODUCTS} further forms")
    return lines


def _hit(hit: DrugHit, cite: str, sections: Sequence[SectionName]) -> dict[str, JsonValue]:
    record = hit.record
    source = main_source(record)
    data: dict[str, JsonValue] = {
        "cite": cite,
        "generic_name": record.generic_name,
        "brand_names": [*record.marketed_brands[:MOST_BRANDS]],
        "drug_classes": [fact.value for fact in record.drug_classes],
        "matched": hit.matched.model_dump(),
        "products": [group.data() for group in grouped(record.products)[:_MOST_PRODUCTS]],
        "label": {name: said for name in sections if (said := _sentences(hit, name))},
        "source": source.model_dump(include={"title", "publisher", "url", "date"}) if source else {},
    }
    if record.discontinued:
        data["discontinued"] = True
    if record.discontinued_brands:
        data["discontinued_brand_names"] = [*record.discontinued_brands[:MOST_BRANDS]]
    if hit.scope is not None:
        data["label_scope"] = hit.scope.model_dump(mode="json")
    if hit.look_alikes:
        data["look_alikes"] = list(hit.look_alikes)
    return data


def _sentences(hit: DrugHit, section: SectionName) -> list[JsonValue]:
    """Return the first sentences of a section of the first label, without doses for routes that were not asked for."""
    said = hit.record.labels[0].sections.get(section, ()) if hit.record.labels else ()
    if section in DOSE_SECTIONS and hit.scope is not None:
        said = doses_for(hit.record, said, (*hit.scope.asked, *hit.scope.implied))
    return list(said[:_MOST_SENTENCES])


def named_record(result: DrugSearchResult) -> DrugRecord | None:
    """Return the medicine that was named; None if only a spelling, a class or other words led to the hits."""
    first = next(iter(result.hits), None)
    return first.record if first is not None and first.matched.how in _KNOWN else None


def cited_passage(record: DrugRecord, passage_id: str) -> Passage | None:
    """Return the passage of the record or of a label section with this id; None if its text has changed."""
    whole = passage(record)
    parts = (section_passage(record, label, name) for label in record.labels for name in label.sections)
    found = (*map(whole.with_source_of, whole.sections), *parts)
    return next((one for one in found if one.id == passage_id), None)


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
