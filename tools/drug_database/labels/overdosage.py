"""The output of ``search_overdosage``: the Overdosage sections of the medicines that a question names.

Of an antidote, a medicine without such a section that the section of another named one speaks of, it is the Dosage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from tools.drug_database.labels.label_tools import section_passage
from tools.drug_database.records import SECTION_TITLES, DrugRecord, Label, SectionName
from tools.types import Passage, Phrase, ToolResult

_SECTION: Final[SectionName] = "overdosage"
_ANTIDOTE: Final[SectionName] = "dosage"
_UNNAMED: Final = "Call the emergency number. No medicine of the drug database is named, so no label was searched."


def overdosage_result(question: str, records: Sequence[DrugRecord]) -> ToolResult:
    """Return the Overdosage section of the first label of each record that has one, and the Dosage of antidotes."""
    passages: list[Passage] = []
    pairs: list[JsonValue] = []
    results: list[JsonValue] = []
    spoken_of = " ".join(sentence for one in records for label in one.labels for sentence in _sentences(label))
    for record in records:
        name = record.generic_name
        label = next((one for one in record.labels if _sentences(one)), None)
        section = _SECTION
        if label is None and re.search(rf"\b{re.escape(name)}\b", spoken_of, re.IGNORECASE):
            section = _ANTIDOTE
            label = next((one for one in record.labels if one.sections.get(section)), None)
        pairs.append({"medicines": [name], "mentions": int(label is not None), "note": "" if label else _none(name)})
        if label is not None:
            passage = section_passage(record, label, section)
            passages.append(passage)
            quotes: list[JsonValue] = list(label.sections[section])
            results.append(
                {
                    "cite": passage.id,
                    "label_of": name,
                    "about": name,
                    "section": SECTION_TITLES[section],
                    "label": {section: quotes},
                }
            )
    note = "" if records else _UNNAMED
    if not records:
        pairs.append({"medicines": [], "mentions": 0, "note": note})
    data: dict[str, JsonValue] = {"question": question, "pairs": pairs, "results": results, "note": note}
    count = len(passages)
    summary = Phrase(text="{count} sections", singular="{count} section", values={"count": count})
    return ToolResult(data=data, passages=tuple(passages), summary=summary)


def _sentences(label: Label) -> Sequence[str]:
    return label.sections.get(_SECTION, ())


def _none(name: str) -> str:
    return (
        f"Call the emergency number, or in an overdose of {name} a poison centre. No label of it with an Overdosage "
        "section is loaded."
    )
