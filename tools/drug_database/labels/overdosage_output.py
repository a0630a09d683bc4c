"""The output of ``search_overdosage``: label sections on overdosage or hypersensitivity, and doses of treatments."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

from pydantic import JsonValue

from tools.drug_database.labels.record_rendering import section_passage
from tools.drug_database.records.drug_record import SECTION_TITLES, DrugRecord, SectionName
from tools.drug_database.records.shipped_data import shipped_json
from tools.types import Passage, Phrase, ToolResult

ABOVE: Final = "above_labelled_doses"
"""Key of the result that is true if the question states an amount far above the labelled doses."""
_SECTION: Final[SectionName] = "overdosage"
_DEFAULT: Final = "en"
_TREATMENT: Final[SectionName] = "dosage"
_HYPERSENSITIVITY: Final[tuple[SectionName, ...]] = ("boxed_warning", "contraindications", "warnings")
_ALLERGIC: Final = re.compile("hypersensitiv|anaphyla|allerg|angio-?o?edema|urticaria|bronchospasm", re.IGNORECASE)
_ANYTHING: Final = re.compile("")
_REACTIONS: Final = re.compile("anaphyla", re.IGNORECASE)
_RESCUES: Final = re.compile("overdos|poison|anaphyla", re.IGNORECASE)
_NOTES: Final[dict[str, dict[str, str]]] = shipped_json("overdosage_notes.json")
_LETTERS: Final = 6
"""Number of first letters by which a word of an indication is found in the question, in any language."""
_GENERAL: Final = re.compile(r"overdos|poison|emerg|treat|indica|suspec|includ|patient|medici|condit")


class Treatments:
    """Decides which of the medicines of a question are treatments, and were not taken.

    ``records`` are the medicines that the question names, and ``asked`` those whose dose it asks for. ``taken`` has the
    keys of the medicines that it says were taken; None if it does not say what was taken. ``usual`` has the keys of
    those that it names as usual medicines or treatments alone, beside others that were taken.
    """

    def __init__(
        self,
        question: str,
        records: Sequence[DrugRecord],
        asked: Iterable[DrugRecord],
        taken: Collection[str] | None,
        usual: Collection[str],
    ) -> None:
        self._question = question.lower()
        self._records = records
        self._asked = {record.key for record in asked}
        self._taken = taken
        self._usual = usual
        self.treat_reaction = any(self._shares(record, _REACTIONS) for record in records if record.key in self._asked)
        """Whether one of them treats anaphylaxis, so that the question is not about an overdose of another medicine."""

    def is_treatment(self, record: DrugRecord) -> bool:
        """Return whether ``record`` is asked for as a treatment.

        Either the Overdosage section of another medicine names it, or its indication is an overdose or anaphylaxis that
        the question mentions in the same words, or that another medicine of the question may have caused. Its dose must
        be asked for, except that a medicine without an Overdosage section may be one named by another's section.
        """
        asked = record.key in self._asked
        if self._is_in_section_of_other(record) and (asked or not _said(record, _SECTION)):
            return True
        not_taken = self._taken is not None and record.key not in self._taken
        other_taken = not_taken or any(one.key not in self._asked for one in self._records if one.key != record.key)
        return asked and ((other_taken and any(_indications(record, _RESCUES))) or self._shares(record, _RESCUES))

    def is_not_taken(self, record: DrugRecord) -> bool:
        """Return whether ``record`` was not taken: it is usual, its dose is asked for, or it treats an overdose."""
        if record.key in self._usual:
            return True
        named = record.key in self._asked or self._is_in_section_of_other(record)
        return named and bool(self._taken) and record.key not in (self._taken or ())

    def _is_in_section_of_other(self, record: DrugRecord) -> bool:
        """Return whether the Overdosage section of another medicine of the question names ``record``."""
        name = re.compile(rf"\b{re.escape(record.generic_name)}\b", re.IGNORECASE)
        others = (one for one in self._records if one.key != record.key)
        return any(name.search(text) for other in others for text in _said(other, _SECTION))

    def _shares(self, record: DrugRecord, emergency: re.Pattern[str]) -> bool:
        """Return whether an indication that speaks of ``emergency`` shares a word with the question."""
        indications = " ".join(_indications(record, emergency))
        words = (word for word in re.findall(rf"\w{{{_LETTERS},}}", indications) if not _GENERAL.match(word))
        return any(word[:_LETTERS] in self._question for word in words if word != record.generic_name)


def has_section(record: DrugRecord) -> bool:
    """Return whether a label of ``record`` has an Overdosage section."""
    return bool(_said(record, _SECTION))


def note(kind: Literal["unnamed", "no_section", "self_harm"], language: str, name: str = "") -> JsonValue:
    """Return a row that has no quote and says whom to call."""
    said = _NOTES.get(language, _NOTES[_DEFAULT])[kind].format(name=name)
    return {"medicines": [name] if name else [], "mentions": 0, "note": said}


def overdosage_result(
    question: str,
    records: Sequence[DrugRecord],
    treatments: Treatments,
    *,
    members: Collection[str],
    above: bool,
    language: str,
) -> ToolResult:
    """Return the Overdosage section of each record's first label that has one, and the Dosage of treatments.

    ``members`` are the keys of records that were found by their class. Those whose section is the same as another's
    except for the name are left out.
    """
    found = _FoundSections(records, {"question": question, ABOVE: above})
    relevant = [record for record in records if treatments.is_treatment(record) or not treatments.is_not_taken(record)]
    if not relevant:
        found.pairs.append(note("unnamed", language))
    wordings: set[str] = set()
    for record in relevant:
        wording = "\n".join(_said(record, _SECTION)).lower().replace(record.generic_name.lower(), "{}")
        if record.key in members and wording in wordings:
            continue
        wordings.add(wording)
        treats = treatments.is_treatment(record)
        if (treats or not treatments.treat_reaction) and not found.add(record, [_TREATMENT if treats else _SECTION]):
            found.pairs.append(note("no_section", language, record.generic_name))
    return found.result()


def hypersensitivity_result(question: str, records: Sequence[DrugRecord], treatments: Treatments) -> ToolResult:
    """Return what the labels of the medicines say about hypersensitivity, and the Dosage of treatments.

    A medicine for anaphylaxis did not cause the reaction. If its dose is not asked for, it may have been overdosed.
    """
    found = _FoundSections(records, {"question": question})
    for record in records:
        if treatments.is_treatment(record):
            found.add(record, [_TREATMENT])
        elif any(_indications(record, _REACTIONS)):
            found.add(record, [_SECTION])
        elif not treatments.treat_reaction:
            found.add(record, _HYPERSENSITIVITY, _ALLERGIC)
    return found.result()


class _FoundSections:
    """Collects the sections found for a question for the result of the tool."""

    def __init__(self, records: Sequence[DrugRecord], data: Mapping[str, JsonValue]) -> None:
        self._passages: list[Passage] = []
        self._rows: list[JsonValue] = []
        self.pairs: list[JsonValue] = []
        self._subject = ", ".join(record.generic_name for record in records)
        self._data = data

    def add(self, record: DrugRecord, sections: Iterable[SectionName], about: re.Pattern[str] = _ANYTHING) -> bool:
        """Add the sentences that match ``about``, for each section of the first label that has one; return if any."""
        name, before = record.generic_name, len(self._rows)
        for section in sections:
            for label in record.labels:
                if said := [text for text in label.sections.get(section, ()) if about.search(text)]:
                    passage = section_passage(record, label, section)
                    self._passages.append(passage)
                    row: dict[str, JsonValue] = {"cite": passage.id, "label_of": name, "about": name}
                    self._rows.append({**row, "section": SECTION_TITLES[section], "label": {section: [*said]}})
                    break
        if added := len(self._rows) - before:
            self.pairs.append({"medicines": [name], "mentions": added, "note": ""})
        return added > 0

    def result(self) -> ToolResult:
        """Return what was found."""
        summary = Phrase(text="{count} sections", singular="{count} section", values={"count": len(self._passages)})
        data: JsonValue = {**self._data, "pairs": self.pairs, "results": self._rows}
        return ToolResult(data=data, passages=tuple(self._passages), summary=summary, subject=self._subject)


def _indications(record: DrugRecord, emergency: re.Pattern[str]) -> Iterable[str]:
    return (text.lower() for text in _said(record, "indications") if emergency.search(text))


def _said(record: DrugRecord, section: SectionName) -> Iterable[str]:
    return [text for label in record.labels for text in label.sections.get(section, ())]
