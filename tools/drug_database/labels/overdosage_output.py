"""The output of ``search_overdosage``: Overdosage or hypersensitivity in labels, and the Dosage of treatments."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
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
_HYPERSENSITIVITY: Final[tuple[SectionName, ...]] = ("boxed_warning", "contraindications", "warnings")
_ALLERGIC: Final = re.compile("hypersensitiv|anaphyla|allerg|angio-?o?edema|urticaria|bronchospasm", re.IGNORECASE)
_ANYTHING: Final = re.compile("")
_REACTIONS: Final = re.compile("anaphyla", re.IGNORECASE)
_RESCUES: Final = re.compile("overdos|poison|anaphyla", re.IGNORECASE)
_NOTES: Final[dict[str, dict[str, str]]] = json.loads((DATA / "overdosage_notes.json").read_text(encoding="utf-8"))
_LETTERS: Final = 6
"""Letters by which a word of an indication is found in the question, in any of the languages."""
_GENERAL: Final = re.compile(r"overdos|poison|emerg|treat|indica|suspec|includ|patient|medici|condit")


class Treatments:
    """Tells which of the medicines that a question names are asked for as a treatment, and were not taken.

    ``records`` are those that it names, ``asked`` those whose dose it asks for, without an amount that was given, and
    ``taken`` the keys of those in the words that tell what was taken, None where no words do.
    """

    def __init__(
        self,
        question: str,
        records: Sequence[DrugRecord],
        asked: Iterable[DrugRecord],
        taken: Collection[str] | None = None,
    ) -> None:
        self._question = question.lower()
        self._records = records
        self._asked = {record.key for record in asked}
        self._taken = taken
        self.reacted = any(self._shares(record, _REACTIONS) for record in records if record.key in self._asked)
        """Whether the dose of a medicine for anaphylaxis is asked, so that no overdose of another is meant."""

    def holds(self, record: DrugRecord) -> bool:
        """Return whether ``record`` is asked for as a treatment.

        Another medicine's Overdosage section speaks of it, or its indication is an overdose or anaphylaxis: the one
        that the question tells of in the same words, or of another medicine that it names. One with an Overdosage
        section must be asked for by its dose.
        """
        asked = record.key in self._asked
        if self._is_spoken_of(record) and (asked or not _said(record, SECTION)):
            return True
        told = self._taken is not None and record.key not in self._taken
        taken = told or any(one.key not in self._asked for one in self._records if one.key != record.key)
        return asked and ((taken and any(_indications(record, _RESCUES))) or self._shares(record, _RESCUES))

    def spares(self, record: DrugRecord) -> bool:
        """Return whether ``record`` was not taken: its dose is asked for, or it is a treatment of what was."""
        named = record.key in self._asked or self._is_spoken_of(record)
        return named and bool(self._taken) and record.key not in (self._taken or ())

    def _is_spoken_of(self, record: DrugRecord) -> bool:
        """Return whether the Overdosage section of another medicine of the question names ``record``."""
        name = re.compile(rf"\b{re.escape(record.generic_name)}\b", re.IGNORECASE)
        others = (one for one in self._records if one.key != record.key)
        return any(name.search(text) for other in others for text in _said(other, SECTION))

    def _shares(self, record: DrugRecord, emergency: re.Pattern[str]) -> bool:
        """Return whether an indication that speaks of ``emergency`` shares a word with the question."""
        told = " ".join(_indications(record, emergency))
        words = (word for word in re.findall(rf"\w{{{_LETTERS},}}", told) if not _GENERAL.match(word))
        return any(word[:_LETTERS] in self._question for word in words if word != record.generic_name)


def has_section(record: DrugRecord) -> bool:
    """Return whether a label of ``record`` has an Overdosage section."""
    return bool(_said(record, SECTION))


def note(kind: Literal["unnamed", "no_section", "self_harm"], language: str, name: str = "") -> JsonValue:
    """Return a row that quotes nothing and says whom to call."""
    said = _NOTES.get(language, _NOTES[_DEFAULT])[kind].format(name=name)
    return {"medicines": [name] if name else [], "mentions": 0, "note": said}


def overdosage_result(
    question: str,
    records: Sequence[DrugRecord],
    treatments: Treatments,
    *,
    members: Collection[str] = (),
    above: bool,
    language: str,
) -> ToolResult:
    """Return the Overdosage section of the first label of each record that has one, and the Dosage of treatments.

    Of ``members`` of a class, by key, those that say the same as another but for the name are left out.
    """
    found = _FoundSections(records, {"question": question, ABOVE: above})
    told = [record for record in records if treatments.holds(record) or not treatments.spares(record)]
    if not told:
        found.pairs.append(note("unnamed", language))
    wordings: set[str] = set()
    for record in told:
        wording = "\n".join(_said(record, SECTION)).lower().replace(record.generic_name.lower(), "{}")
        if record.key in members and wording in wordings:
            continue
        wordings.add(wording)
        treats = treatments.holds(record)
        if (treats or not treatments.reacted) and not found.add(record, [_TREATMENT if treats else SECTION]):
            found.pairs.append(note("no_section", language, record.generic_name))
    return found.result()


def hypersensitivity_result(question: str, records: Sequence[DrugRecord], treatments: Treatments) -> ToolResult:
    """Return what the labels of the medicines say of hypersensitivity, and the Dosage of what treats a reaction.

    A medicine for anaphylaxis is not the one reacted to: unless its dose is asked for, it may have been overdosed.
    """
    found = _FoundSections(records, {"question": question})
    for record in records:
        if treatments.holds(record):
            found.add(record, [_TREATMENT])
        elif any(_indications(record, _REACTIONS)):
            found.add(record, [SECTION])
        elif not treatments.reacted:
            found.add(record, _HYPERSENSITIVITY, _ALLERGIC)
    return found.result()


class _FoundSections:
    """The sections found for a question, as the tool returns them."""

    def __init__(self, records: Sequence[DrugRecord], told: Mapping[str, JsonValue]) -> None:
        self._passages: list[Passage] = []
        self._rows: list[JsonValue] = []
        self.pairs: list[JsonValue] = []
        self._subject = ", ".join(record.generic_name for record in records)
        self._told = told

    def add(self, record: DrugRecord, sections: Iterable[SectionName], about: re.Pattern[str] = _ANYTHING) -> bool:
        """Add the sentences ``about`` something of the first label with each section; return whether any was found."""
        name, before = record.generic_name, len(self._rows)
        for section in sections:
            labels = (
                (one, [text for text in one.sections.get(section, ()) if about.search(text)]) for one in record.labels
            )
            label, said = next(((one, said) for one, said in labels if said), (None, []))
            if label is None:
                continue
            passage = section_passage(record, label, section)
            self._passages.append(passage)
            row: dict[str, JsonValue] = {"cite": passage.id, "label_of": name, "about": name}
            self._rows.append({**row, "section": SECTION_TITLES[section], "label": {section: [*said]}})
        if len(self._rows) > before:
            self.pairs.append({"medicines": [name], "mentions": len(self._rows) - before, "note": ""})
        return len(self._rows) > before

    def result(self) -> ToolResult:
        """Return what was found."""
        summary = Phrase(text="{count} sections", singular="{count} section", values={"count": len(self._passages)})
        data: JsonValue = {**self._told, "pairs": self.pairs, "results": self._rows}
        return ToolResult(data=data, passages=tuple(self._passages), summary=summary, subject=self._subject)


def _indications(record: DrugRecord, emergency: re.Pattern[str]) -> Iterable[str]:
    return (text.lower() for text in _said(record, "indications") if emergency.search(text))


def _said(record: DrugRecord, section: SectionName) -> Iterable[str]:
    return [text for label in record.labels for text in label.sections.get(section, ())]
