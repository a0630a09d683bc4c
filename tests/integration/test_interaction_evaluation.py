"""The interaction evaluation reads labels by section and counts a sentence as quoted only when a quote holds it."""

from __future__ import annotations

import json
from pathlib import Path

from chat_app.evaluation.interaction_evaluation import (
    DocumentedPair,
    cases_of,
    evaluate_called,
    read_labels,
    sections_of,
    write_formulary,
)
from tests.support.drugs import drug_database
from tools.drug_database.labels.label_sentences import label_sections

LINE = {
    "label": "Examplin",
    "generic": "examplin",
    "text": "7 DRUG INTERACTIONS\n\nWarfarin raises the levels of examplin.\n\nOVERDOSAGE\n\nOverdose causes sleep.",
    "pairs": [
        {"other": "warfarin", "type": "Drug", "sentences": ["Warfarin raises the levels of examplin."]},
        {"other": "digoxin", "type": "Drug", "sentences": ["Digoxin is not in this text."]},
        {"other": "diuretics", "type": "Drug_Class", "sentences": ["No class."]},
    ],
}


def test_text_is_read_by_its_headings() -> None:
    found = label_sections(sections_of(LINE["text"]), ())  # type: ignore[arg-type]
    assert found == {
        "interactions": ("Warfarin raises the levels of examplin.",),
        "overdosage": ("Overdose causes sleep.",),
    }


async def test_what_is_not_quoted_is_a_miss(milvus_uri: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    labels = read_labels(file)
    cases = cases_of(labels)
    assert [pair.other for _, pair in cases] == ["warfarin", "digoxin"]
    assert isinstance(cases[0][1], DocumentedPair)
    seen: list[int] = []
    async with drug_database(milvus_uri) as drugs:
        await drugs.import_paths([write_formulary(labels, cases, tmp_path)])
        report = await evaluate_called(drugs, labels, cases, lambda _, done, __: seen.append(done))
    assert (report.called_found, report.called_quoted) == (0.5, 0.5)
    assert [miss.other for miss in report.misses] == ["digoxin"]
    assert seen == [1, 2]
