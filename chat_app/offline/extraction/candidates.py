"""Reads the units of the retrieved passages as candidates for quotes: which terms each holds, and whom it is about."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from chat_app.offline.extraction.about_document import is_about_document
from chat_app.offline.extraction.drug_parts import PATIENTS_OF
from chat_app.offline.extraction.opposite_sides import contradicts
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import EvidencePassage
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.inn_stems import names_medicine
from tools.language.quotable_units import Unit, squeeze, term_set, units
from tools.language.vocabulary.patient_values import fits_patient
from tools.language.vocabulary.populations import names_children, speaks_of


@dataclass(frozen=True)
class Candidate:
    unit: Unit
    passage: EvidencePassage
    place: int
    """Position among all units, in the order of passages and within them."""
    above: str
    """The words above the unit: the document, the section, the heading, the table's caption and header."""
    own: frozenset[int]
    """The question's terms that the unit holds."""
    headed: frozenset[int]
    """The question's terms in the words above the unit."""
    near: frozenset[int]
    """The question's other terms to which a word of the unit, or above it, is related."""
    first: frozenset[int]
    """The question's terms in the first cell of a row."""
    holds_patient: bool | None
    """Whether the patient's values are within its bounds; None without bounds."""
    on_state: bool
    """Whether it, its heading or its table's caption names the state in which a value of the patient is."""


def read_candidates(question: Question, passages: Sequence[EvidencePassage]) -> list[Candidate]:
    found: list[Candidate] = []
    seen: set[str] = set()
    for passage in passages:
        for unit in units(passage.text):
            lead = found[-unit.leans] if 0 < unit.leans <= len(found) and found[-unit.leans].unit.leads else None
            above = _above(unit, passage) + (f" {lead.unit.text}" if lead else "")
            key = "".join(unit.text.lower().split())
            aside = is_about_document(question.text, unit, passage)
            if key not in seen and not (aside or _of_others(question, f"{above} {unit.text}", unit, passage)):
                seen.add(key)
                own, headed = question.held(question.said_in(unit.text)), question.held(question.said_in(above))
                cells = _cells(unit)
                first = (
                    question.held(question.said_in(cells[0]) & term_set(unit.cells[0])) if unit.cells else frozenset()
                )
                own |= question.held(question.said_in(" ".join(cells)) & question.numbers.keys())
                fits = fits_patient(question.text, cells)
                own |= question.bounded_terms(" | ".join(cells)) if fits else frozenset[int]()
                near = question.nearly_held(question.said_in(unit.text, above)) - own - headed
                if any(speaks_of(f"{above} {unit.text}", group) for group in question.populations):
                    own |= question.group
                else:
                    own, headed, near = own - question.group, headed - question.group, near - question.group
                state = question.names_state(question.said_in(f"{unit.heading} {with_caption(unit)}"))
                found.append(Candidate(unit, passage, len(found), above, own, headed, near, first, fits, state))
    return found


def of_the_patient(
    question: Question, candidates: Sequence[Candidate], others: Container[int]
) -> tuple[set[int], set[int]]:
    """Return the places of the units whose bounds the patient's values fulfil, and of those to leave out.

    The first are about an asked medicine, or hold at least half as much of the question as the best unit. Bounds that
    leave the patient out are left out beside those of the same passage; those of a medicine that was not asked for
    always are.
    """
    held = [sum(question.weights[term] or 1.0 for term in each.own | each.headed) for each in candidates]
    enough = 0.0 if others else max(held, default=0.0) / 2
    fitting = {
        each.place
        for each in candidates
        if each.holds_patient and each.place not in others and held[each.place] >= enough
    }
    alternatives = {id(each.passage) for each in candidates if each.place in fitting}
    return fitting, {
        each.place
        for each in candidates
        if (each.holds_patient is False and id(each.passage) in alternatives)
        or (each.holds_patient is not None and each.place in others)
    }


def _cells(unit: Unit) -> list[str]:
    """The text, or the cells of a row, each behind the header of its column."""
    header = unit.table.header if unit.table else ()
    if not unit.cells or len(header) != len(unit.cells):
        return [*unit.cells] or [unit.text]
    return list(map(" ".join, zip(header, unit.cells, strict=True)))


def on_others(question: Question, candidates: Sequence[Candidate]) -> frozenset[int]:
    """The places of units that are about no drug of the question, and about no class of it.

    A unit is about a drug that it or the words above it name, or that its section of the passage named last. Where a
    row of a table names one, the other rows are about other drugs. So is a unit that names another drug, or whose
    table's caption does, below its class alone.
    """
    tables = {each.unit.table for each in candidates if _named(question.subjects, each.unit.text)}
    others: set[int] = set()
    section: tuple[int, str] | None = None
    about = False
    for place, each in enumerate(candidates):
        about = about and section == (id(each.passage), each.unit.heading)
        section = id(each.passage), each.unit.heading
        another = (
            each.unit.table is not None and each.unit.table in tables and not _named(question.medicines, each.above)
        ) or (
            _names_medicine(with_caption(each.unit)) and not _named(question.medicines or question.subjects, each.above)
        )
        if _named(question.subjects, each.unit.text) or (not another and _named(question.subjects, each.above)):
            about = True
        elif another or each.unit.table is not None:
            about = False
        if not about:
            others.add(place)
    return frozenset(others) if question.subjects and len(others) < len(candidates) else frozenset()


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
    """Return the text of a unit behind its table's caption."""
    return f"{unit.table.caption} {unit.text}" if unit.table else unit.text


def _named(names: Sequence[frozenset[str]], text: str) -> bool:
    return any(name <= term_set(text) for name in names)


def _above(unit: Unit, passage: EvidencePassage) -> str:
    """The words above a unit: the document, the section, the heading, the table's caption and header."""
    table = f"{unit.table.caption} {' '.join(unit.table.header)}" if unit.table else ""
    return squeeze(f"{passage.document} {passage.section} {passage.about} {unit.heading} {table}")


def _of_others(question: Question, text: str, unit: Unit, passage: EvidencePassage) -> bool:
    """Return whether a unit is about other patients; for a child, also a dose not stated for children."""
    patients = PATIENTS_OF.get(passage.part, frozenset())
    if patients and passage.part not in question.sections and patients.isdisjoint(question.populations):
        return True
    if passage.part == "pregnancy" and question.is_on_child:
        return True
    if passage.part in DOSE_SECTIONS and names_children(question.asked):
        return not (names_children(unit.text) or fits_patient(question.text, _cells(unit)))
    # A statement about the asked patient may name another, such as the infant of a breastfeeding mother.
    if any(speaks_of(unit.text, group) for group in question.populations):
        return False
    if contradicts(question.text, question.asked, unit.text):
        return True
    if any(speaks_of(text, group) for group in question.populations):
        return False
    return contradicts(question.text, question.asked, text) or (
        bool(question.populations) and question.on_group(text) < 0
    )
