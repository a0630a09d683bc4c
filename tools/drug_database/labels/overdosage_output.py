"""The output of ``search_overdosage``: Overdosage sections of labels, and the Dosage of what treats the emergency."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from pydantic import JsonValue

from tools.drug_database.labels.record_rendering import section_passage
from tools.drug_database.names.name_keys import DATA
from tools.drug_database.records.drug_record import SECTION_TITLES, DrugRecord, SectionName
from tools.types import Passage, Phrase, ToolResult

ABOVE: Final = "above_labelled_doses"
"""Key of the result for a question that states more of a medicine than its labels allow."""
SECTION: Final[SectionName] = "overdosage"
_DEFAULT: Final = "en"
_TREATMENT: Final[SectionName] = "dosage"
_DOSE: Final = re.compile(r"\bdos(?:e|ing|age|is)|[\w-]dosis|\bhow (?:much|many)|\bwie ?viel|\bcuánt", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[,;:?!()]|\.(?!\d)")
_REACTIONS: Final = re.compile("anaphyla", re.IGNORECASE)
_RESCUES: Final = re.compile("overdos|poison|anaphyla", re.IGNORECASE)
_NOTES: Final[dict[str, dict[str, str]]] = json.loads((DATA / "overdosage_notes.json").read_text(encoding="utf-8"))
_LETTERS: Final = 6
"""Letters by which a word of an indication is found in the question, in any of the languages."""
_GENERAL: Final = re.compile(r"overdos|poison|emerg|treat|indica|suspec|includ|patient|medici|condit")


class Treatments:
    """Tells which of the medicines that a question names are asked for as a treatment, and were not taken.

    ``records`` are those that it names, ``asked`` those whose dose it asks for, without an amount that was given.
    """

    def __init__(self, question: str, records: Sequence[DrugRecord], asked: Iterable[DrugRecord]) -> None:
        self._question = question.lower()
        self._records = records
        self._asked = {record.key for record in asked}
        self.reacted = any(self._shares(record, _REACTIONS) for record in records if record.key in self._asked)
        """Whether the dose of a medicine for anaphylaxis is asked, so that no overdose of another is meant."""

    def holds(self, record: DrugRecord) -> bool:
        """Return whether ``record`` is asked for as a treatment.

        Another medicine's Overdosage section speaks of it, or its indication is an overdose or anaphylaxis: the one
        that the question tells of in the same words, or of another medicine that it names. One with an Overdosage
        section must be asked for by its dose.
        """
        asked, others = record.key in self._asked, [one for one in self._records if one.key != record.key]
        named = re.compile(rf"\b{re.escape(record.generic_name)}\b", re.IGNORECASE)
        spoken_of = any(named.search(text) for other in others for text in _said(other, SECTION))
        if spoken_of and (asked or not _said(record, SECTION)):
            return True
        taken = any(other.key not in self._asked for other in others)
        return asked and ((taken and any(_indications(record, _RESCUES))) or self._shares(record, _RESCUES))

    def _shares(self, record: DrugRecord, emergency: re.Pattern[str]) -> bool:
        """Return whether an indication that speaks of ``emergency`` shares a word with the question."""
        told = " ".join(_indications(record, emergency))
        words = (word for word in re.findall(rf"\w{{{_LETTERS},}}", told) if not _GENERAL.match(word))
        return any(word[:_LETTERS] in self._question for word in words if word != record.generic_name)


def dose_clauses(question: str) -> Iterable[str]:
    """Yield the clauses of ``question`` that ask for a dose."""
    return filter(_DOSE.search, _CLAUSE.split(question))


def note(kind: Literal["unnamed", "no_section", "self_harm"], language: str, name: str = "") -> JsonValue:
    """Return a row that quotes nothing and says whom to call."""
    said = _NOTES.get(language, _NOTES[_DEFAULT])[kind].format(name=name)
    return {"medicines": [name] if name else [], "mentions": 0, "note": said}


def overdosage_result(
    question: str, records: Sequence[DrugRecord], treatments: Treatments, *, above: bool, language: str
) -> ToolResult:
    """Return the Overdosage section of the first label of each record that has one, and the Dosage of treatments."""
    passages: list[Passage] = []
    pairs: list[JsonValue] = [] if records else [note("unnamed", language)]
    results: list[JsonValue] = []
    for record in records:
        name, section = record.generic_name, _TREATMENT if treatments.holds(record) else SECTION
        if section == SECTION and treatments.reacted:
            continue
        label = next((one for one in record.labels if one.sections.get(section)), None)
        if label is None:
            pairs.append(note("no_section", language, name))
            continue
        pairs.append({"medicines": [name], "mentions": 1, "note": ""})
        passage = section_passage(record, label, section)
        passages.append(passage)
        row: dict[str, JsonValue] = {"cite": passage.id, "label_of": name, "about": name}
        row["section"], row["label"] = SECTION_TITLES[section], {section: [*label.sections[section]]}
        results.append(row)
    summary = Phrase(text="{count} sections", singular="{count} section", values={"count": len(passages)})
    subject = ", ".join(record.generic_name for record in records)
    data: JsonValue = {"question": question, "pairs": pairs, "results": results, ABOVE: above}
    return ToolResult(data=data, passages=tuple(passages), summary=summary, subject=subject)


def _indications(record: DrugRecord, emergency: re.Pattern[str]) -> Iterable[str]:
    return (text.lower() for text in _said(record, "indications") if emergency.search(text))


def _said(record: DrugRecord, section: SectionName) -> Iterable[str]:
    return [text for label in record.labels for text in label.sections.get(section, ())]
