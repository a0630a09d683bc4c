"""Turns the units of the retrieved passages into candidates for quotes.

A unit is a sentence, a list item or a table row. A candidate records which of the question's terms the unit holds, and
whether it is about the patient and the medicine of the question. Terms are given by their index in the question.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from chat_app.offline.extraction.about_document import is_about_document
from chat_app.offline.extraction.answer_kinds import FORBIDDEN, FORBIDDEN_USE
from chat_app.offline.extraction.drug_parts import PATIENTS_OF, section_terms
from chat_app.offline.extraction.opposite_sides import contradicts
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import EvidencePassage
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.inn_stems import names_medicine
from tools.language.quotable_units import Unit, squeeze, term_set, units
from tools.language.vocabulary.patient_values import fits_patient
from tools.language.vocabulary.populations import names_children

_MISSED: Final = term_set("missed skipped forgot forgotten")
_MISSED_DOSE: Final = re.compile(
    r"\b(?:missed|skipped|forgotten) (?:\w+ )?doses?\b|\bmiss(?:es)? (?:a|the|one) (?:\w+ )?dose\b"
    r"|\bdoses? (?:is|are|was|were) (?:missed|skipped|forgotten)\b",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(r"\b(?:no more than|not (?:to )?exceed) \d", re.IGNORECASE)
"""A limit of a label that does not say "maximum"."""


@dataclass(frozen=True)
class Candidate:
    """A unit that may be quoted, and the question's terms that it holds."""

    unit: Unit
    passage: EvidencePassage
    place: int
    """Index among all candidates, in reading order."""
    above: str
    """The words above the unit: the document, the section, the heading, the table's caption and header."""
    own: frozenset[int]
    """Terms in the unit itself."""
    headed: frozenset[int]
    """Terms in the words above the unit."""
    near: frozenset[int]
    """Other terms for which the unit or the words above it have a related word."""
    first: frozenset[int]
    """Terms in the first cell of a row."""
    holds_patient: bool | None
    """Whether the patient's values are within the unit's bounds; None where it gives no bounds."""
    states: int
    """How many states that values of the patient indicate the unit, its heading or its table's caption names."""

    @property
    def all_held(self) -> frozenset[int]:
        """Return the terms that the unit or the words above it hold."""
        return self.own | self.headed


def read_candidates(question: Question, passages: Sequence[EvidencePassage]) -> list[Candidate]:
    """Return the units of ``passages`` without repeats, descriptions of the document, and units on other patients."""
    found: list[Candidate] = []
    seen: set[str] = set()
    alone = sections_alone(question)
    for passage in passages:
        for unit in units(passage.text):
            above = _above(unit, passage)
            key = "".join(unit.text.lower().split())
            if (
                key not in seen
                and not is_about_document(question.text, unit, passage)
                and not _is_on_other_patients(question, unit, passage, above)
                and not _is_on_missed_dose(question, unit)
                and not _is_avoided(question, unit)
            ):
                seen.add(key)
                found.append(_candidate(question, unit, passage, len(found), above, alone=passage.part in alone))
    return found


def _candidate(
    question: Question, unit: Unit, passage: EvidencePassage, place: int, above: str, *, alone: bool
) -> Candidate:
    cells = _cells(unit)
    fits = fits_patient(question.patient, cells)
    own, headed = (question.held(question.said_in(text)) - question.asserted(text) for text in (unit.text, above))
    # The header of its column may be the word without which a number tells nothing.
    own |= question.held(question.said_in(" ".join(cells)) & question.numbers.keys())
    if alone:
        # All of a section on dosage is about the dose; a sentence that has the word is no better.
        own |= headed
    if passage.part and _LIMIT.search(unit.text):
        own |= question.held(term_set("maximum"))
    if fits:
        own |= question.bounded_terms(" | ".join(cells))
    first = question.held(question.said_in(cells[0]) & term_set(unit.cells[0])) if unit.cells else frozenset[int]()
    near = question.nearly_held(question.said_in(unit.text, above)) - own - headed
    if question.names_group(f"{above} {unit.text}"):
        own |= question.group
    else:
        own, headed, near = own - question.group, headed - question.group, near - question.group
    states = question.states_in(question.said_in(f"{unit.heading} {with_caption(unit)}"))
    return Candidate(unit, passage, place, above, own, headed, near, first, fits, states)


def fits_and_misfits(
    question: Question, candidates: Sequence[Candidate], on_other_drugs: Container[int]
) -> tuple[set[int], set[int]]:
    """Return the places of the candidates with bounds that fit the patient's values, and of those to leave out.

    A candidate fits if it names an asked medicine or its class below the document's title, or, if none is asked, holds
    at least half as much of the question as the best one.
    Left out are candidates whose bounds exclude the patient, if another one of their passage fits, and all candidates
    with bounds that are about other medicines.
    """
    held = [sum(question.weights_of(each.all_held).values()) for each in candidates]
    enough = 0.0 if on_other_drugs else max(held, default=0.0) / 2
    bounded = [each for each in candidates if each.holds_patient is not None]
    fitting = {
        each.place
        for each in bounded
        if each.holds_patient
        and each.place not in on_other_drugs
        and held[each.place] >= enough
        and _names_asked(question, each)
    }
    fitting_passages = {id(candidates[place].passage) for place in fitting}
    return fitting, {
        each.place
        for each in bounded
        if each.place in on_other_drugs or (not each.holds_patient and id(each.passage) in fitting_passages)
    }


def _names_asked(question: Question, each: Candidate) -> bool:
    """Return whether a candidate is of the label of an asked medicine, or names one or its class; True if none is."""
    if not question.subjects or each.passage.part:
        return True
    names = frozenset[int]().union(*map(question.held, question.subjects))
    stems = question.said_in(f"{each.unit.heading} {with_caption(each.unit)}")
    return not names.isdisjoint(question.held(stems) | question.nearly_held(stems))


def _cells(unit: Unit) -> list[str]:
    """Return the text, or each cell of a row after the header of its column."""
    header = unit.table.header if unit.table else ()
    if not unit.cells or len(header) != len(unit.cells):
        return [unit.text]
    return list(map(" ".join, zip(header, unit.cells, strict=True)))


def places_on_other_drugs(question: Question, candidates: Sequence[Candidate]) -> frozenset[int]:
    """Return the places of the candidates that are about no asked drug and no class of one.

    A candidate is about the drug that it or the words above it name, otherwise about the drug that its section of the
    passage named last. If a row of a table names an asked drug, the other rows are about other drugs. A unit below the
    name of a class is about another drug if it or its table's caption names one.
    """
    if not question.subjects:
        return frozenset()
    tables = {each.unit.table for each in candidates if _named(question.subjects, each.unit.text)} - {None}
    others: set[int] = set()
    section: tuple[int, str] | None = None
    about = False
    for place, each in enumerate(candidates):
        about = about and section == (id(each.passage), each.unit.heading)
        section = id(each.passage), each.unit.heading
        other_row = each.unit.table in tables and not _named(question.medicines, each.above)
        another = other_row or (
            _names_medicine(with_caption(each.unit)) and not _named(question.medicines or question.subjects, each.above)
        )
        if _named(question.subjects, each.unit.text) or (not another and _named(question.subjects, each.above)):
            about = True
        elif another or each.unit.table is not None:
            about = False
        if not about:
            others.add(place)
    return frozenset(others) if len(others) < len(candidates) else frozenset()


def _names_medicine(text: str) -> bool:
    return names_medicine(text) or bool(label_terms().members_in(text))


def names_any(unit: Unit) -> bool:
    """Return whether a unit, or its table's caption, names a medicine or a class of medicines."""
    return label_terms().names_any(with_caption(unit))


def names_others(question: Question, unit: Unit) -> bool:
    """Return whether a unit names medicines, but no asked one and no class of it."""
    text = with_caption(unit)
    return _names_medicine(text) and not _named(question.subjects, text)


def with_caption(unit: Unit) -> str:
    """Return the text of a unit after its table's caption."""
    return f"{unit.table.caption} {unit.text}" if unit.table else unit.text


def _named(names: Sequence[frozenset[str]], text: str) -> bool:
    return any(name <= term_set(text) for name in names)


def _above(unit: Unit, passage: EvidencePassage) -> str:
    table = unit.table.text if unit.table else ""
    return squeeze(f"{passage.document} {passage.section} {passage.about} {unit.heading} {table}")


def sections_alone(question: Question) -> frozenset[str]:
    """Return the asked sections if ``question`` says nothing besides medicines and them: "apixaban dose".

    The usual dose is not among them in a question on an overdose.
    """
    names = question.held(frozenset[str]().union(*map(section_terms, question.sections)))
    if not question.medicines or not question.beyond_names <= names:
        return frozenset()
    return question.sections - ({"dosage"} if "overdosage" in question.sections else set[str]())


def missed_terms(question: Question) -> frozenset[int]:
    """Return the terms of a question about a missed dose. A usual dose does not answer it."""
    return question.held(_MISSED)


def _is_on_missed_dose(question: Question, unit: Unit) -> bool:
    """Return whether a unit says what to do after a missed dose, of which the question does not speak."""
    return _MISSED_DOSE.search(unit.text) is not None and not missed_terms(question)


def _is_avoided(question: Question, unit: Unit) -> bool:
    """Return whether a medicine to give is asked for, and a row tells to avoid one in what the patient has."""
    header = unit.table.header if unit.table else ()
    if not question.asks_medicine or FORBIDDEN.search(question.asked) or len(header) != len(unit.cells):
        return False
    cells = dict(zip(header, unit.cells, strict=True))
    avoided = " ".join(cell for title, cell in cells.items() if FORBIDDEN_USE.search(title))
    allowed = " ".join(cell for title, cell in cells.items() if not FORBIDDEN_USE.search(title))
    held = question.held(question.said_in(avoided)) - question.held(question.said_in(allowed))
    return question.names_group(avoided) or bool(held - question.everyday)


def is_on_present(question: Question, unit: Unit) -> bool:
    """Return whether a unit names only medicines that the patient takes, if another is asked for, or cannot have."""
    if unit.cells and _named(question.excluded, unit.cells[0]):
        return True
    known = frozenset[str]().union(*question.present, *question.excluded)
    words = unit.text.split()
    others = [word for word in words if not term_set(word) & known]
    return len(others) < len(words) and not label_terms().names_any(" ".join(others))


def _is_on_other_patients(question: Question, unit: Unit, passage: EvidencePassage, above: str) -> bool:
    """Return whether a unit is about other patients; for a child, that includes a dose not stated for children."""
    patients = PATIENTS_OF.get(passage.part, frozenset())
    if patients and passage.part not in question.sections and patients.isdisjoint(question.populations):
        return True
    if passage.part == "pregnancy" and question.is_on_child:
        return True
    if passage.part in DOSE_SECTIONS and names_children(question.asked):
        return not (names_children(unit.text) or fits_patient(question.patient, _cells(unit)))
    # A statement about the asked patient may name another, such as the infant of a breastfeeding mother.
    if question.names_group(unit.text):
        return False
    if contradicts(question.patient, question.asked, unit.text):
        return True
    text = f"{above} {unit.text}"
    if question.names_group(text):
        return False
    return contradicts(question.patient, question.asked, text) or (
        bool(question.populations) and question.on_group(text) < 0
    )
