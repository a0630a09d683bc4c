"""Chooses the quotes of an answer: the best units that say something more, with what they cannot be read without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Final, NamedTuple

from chat_app.offline.extraction.drug_parts import ORGAN_DOSES, PATIENTS_OF
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import WEIGHTS, Features, Scored, scored
from chat_app.offline.reading.evidence import EvidencePassage, Quote
from tools.language.figures import has_amount
from tools.language.quotable_units import term_set


class Room(NamedTuple):
    """What ends an answer; ``scripts.fit_extraction`` fits it, and ``docs/measurements.md`` says how it was chosen."""

    worse: float
    """Units that score so much less than the best one are left out."""
    words: int
    """From so many words on, only the best units are added."""


ROOM: Final = Room(worse=5.0, words=50)
BEST: Final = 3
"""So many are added whatever their length: a long one does not take the room of the next best."""
SEVERAL: Final = 5
"""So many where the question asks for several things, such as contraindications."""
REPEATED: Final = 0.6
"""Units that share more of their terms than this say the same."""
ANSWERS_FROM: Final = 0.625
"""Share of the question that a quote with its headings must hold to count as an answer; fitted, see measurements.md."""
LIST_WORDS: Final = 80
"""Words up to which the items of a list follow the line that leads into it."""
OF_PATIENTS: Final = frozenset({*ORGAN_DOSES, *PATIENTS_OF, "pregnancy"})
"""Sections of a label that are about some patients alone."""
RELATED_FROM: Final = 0.15
"""Share of the question from which a unit is quoted beside others; less are common words of an unrelated unit."""
UNRELATED: Final = 2
"""So many are quoted where all hold less."""


@dataclass(frozen=True)
class Selection:
    """The quotes of an answer, best first; ``answers`` is False where they are only the closest that was found.

    ``shares_terms`` tells whether any unit holds a term of the question, quoted or not. ``warnings`` are what labels
    warn of in the patient's state.
    """

    quotes: tuple[Scored, ...] = ()
    answers: bool = False
    shares_terms: bool = False
    warnings: tuple[Quote, ...] = ()
    says_more: bool = False
    """Whether another sentence beside the best quote would answer as well."""

    def on_subject(self) -> Selection:
        """Return the selection without the quotes that only mention the subject, unless one of them answers."""
        return self if self.answers else replace(self, quotes=tuple(one for one in self.quotes if one.is_on_subject))


def select(
    question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS, *, doses: bool = True
) -> Selection:
    """Choose the best units of ``passages``, only those without an amount where ``doses`` is false.

    None are chosen when no unit holds a term of the question.
    """
    found = scored(question, passages, weights)
    return chosen_of(question, [each for each in found if doses or not has_amount(each.unit.text)])


def chosen_of(question: Question, everything: Sequence[Scored], room: Room = ROOM) -> Selection:
    """Choose the best of the scored units within ``room``."""
    sharing = [each for each in everything if each.features.own > 0 or each.features.above > 0]
    if not sharing:
        return Selection()
    titles_alone = not any(each.features.own or each.unit.table or each.features.group > 0 for each in sharing)
    quotes = () if titles_alone else _quotes(question, sharing, everything, room)
    if not quotes:
        # Titles alone hold a word of the question, or lines that lead into nothing: these are the closest passages.
        return Selection(tuple(sorted(sharing, key=lambda each: -each.score)[:UNRELATED]), shares_terms=True)
    answers = any(each.is_on_subject and each.held >= ANSWERS_FROM for each in quotes)
    warnings = ((one.unit, one.passage) for one in everything if _warns(question, one))
    beside = (one for one in sharing if one.passage is quotes[0].passage and one not in quotes)
    more = any(one.is_on_subject and one.held >= ANSWERS_FROM for one in beside)
    return Selection(quotes, answers, True, tuple(warnings), more)


def _warns(question: Question, each: Scored) -> bool:
    """Return whether a label warns of using its medicine in the state that the question tells of."""
    if each.passage.part not in {"boxed_warning", "contraindications"} or each.holds_patient is False:
        return False
    weights = {place: question.weights[place] or 1.0 for place in question.circumstances}
    return sum(weights[place] for place in weights.keys() & each.own) >= ANSWERS_FROM * sum(weights.values()) > 0


def _quotes(
    question: Question, sharing: Sequence[Scored], everything: Sequence[Scored], room: Room
) -> tuple[Scored, ...]:
    """Return the best of the units ``sharing`` terms with the question, with those of ``everything`` they need."""
    ranked = sorted(sharing, key=lambda each: -each.score)
    # On a medicine, units with a bound that the patient's values fulfil come first if they score well enough.
    doses = bool(question.subjects)
    enough = next((each for each in ranked if doses and each.fits), ranked[0]).score - room.worse
    ranked.sort(key=lambda each: not (doses and each.fits and each.score >= enough))
    placed = {each.place: each for each in everything}
    chosen: dict[int, Scored] = {}
    length = added = 0
    best = SEVERAL if question.asks_several else BEST
    related = [each for each in ranked if each.held >= RELATED_FROM]
    for each in related or ranked[:UNRELATED]:
        full = length >= room.words and added >= best
        if chosen and (full or each.score < enough):
            break
        table = [
            one for one in everything if question.asks_list and each.unit.table and one.unit.table == each.unit.table
        ]
        whole = table if sum(one.unit.words for one in table) <= room.words else []
        listed = _with_items(each, everything) if each.unit.leads else _together(each, placed)
        group = {one.place: one for one in whole or listed if one.place not in chosen}
        if not group or _repeats(question, each, chosen.values()):
            continue
        chosen.update(group)
        length += sum(one.unit.words for one in group.values())
        added += 1
    return tuple((chosen | _on_patients(question, ranked, chosen, placed, room.words)).values())


def _on_patients(
    question: Question, ranked: Sequence[Scored], chosen: Mapping[int, Scored], placed: Mapping[int, Scored], words: int
) -> dict[int, Scored]:
    """Return what each label says first of the asked patients if nothing of it was chosen, and the rest of a section.

    So is a guideline's first prohibition for them. A boxed warning on these patients is always quoted, and an asked
    section on them whole within ``words``: each of its sentences has its own bounds.
    """
    on_patients = [each for each in (*chosen.values(), *ranked) if _is_on_patients(question, each)]
    said = [each for each in on_patients if each.place in chosen or each.passage.part == "boxed_warning"]
    first = {each.passage.document: each for each in reversed(on_patients)}
    said += [each for each in first.values() if each.place not in chosen]
    banned = [each for each in (*chosen.values(), *ranked) if _forbids_patients(question, each)]
    said += [each for each in banned if each.place in chosen] or banned[:1]
    found = {one.place: one for each in said for one in _together(each, placed)}
    sections = {id(each.passage) for each in said if each.passage.part in question.sections & OF_PATIENTS}
    for section in sections:
        whole = [one for one in placed.values() if id(one.passage) == section and not one.is_aside]
        if sum(one.unit.words for one in whole) <= words:
            found.update((one.place, one) for one in whole)
    return found


def _forbids_patients(question: Question, each: Scored) -> bool:
    """Return whether ``each`` is a guideline's prohibition of a medicine for the asked patients and subject.

    In the state that a value tells of, it is one whatever else is asked, and in a label as well.
    """
    if each.is_aside or each.holds_patient is False:
        return False
    if question.forbids_in_state(each.unit):
        return True
    if each.passage.part or not each.is_on_subject:
        return False
    return each.features.group > 0 and each.held >= ANSWERS_FROM and question.forbids(each.unit)


def _is_on_patients(question: Question, each: Scored) -> bool:
    """Return whether the label of an asked medicine says ``each`` of the patients that are asked about."""
    if each.is_aside or not (question.medicines and each.passage.part):
        return False
    return each.features.group > 0 or each.passage.part in question.sections & OF_PATIENTS


def _with_items(each: Scored, everything: Sequence[Scored]) -> list[Scored]:
    """Return the line that leads into a list with its items, as many as ``LIST_WORDS`` allow; nothing without items."""
    items = [one for one in everything if one.passage is each.passage and one.unit.leans == one.place - each.place > 0]
    ends = accumulate((one.unit.words for one in items), initial=each.unit.words)
    fitting = [one for one, end in zip(items, islice(ends, 1, None), strict=True) if end <= LIST_WORDS]
    return [each, *fitting] if fitting else []


def _together(each: Scored, placed: Mapping[int, Scored]) -> list[Scored]:
    """A unit with the one it leans on or limits, and the exception that follows it."""
    back = each.unit.leans or int(each.unit.limits)
    before, after = placed.get(each.place - back), placed.get(each.place + 1)
    leads = [before] if before and back and before.passage is each.passage else []
    limits = [after] if after and after.unit.limits and after.passage is each.passage else []
    return [*leads, each, *limits]


def _repeats(question: Question, each: Scored, chosen: Iterable[Scored]) -> bool:
    """Return whether a chosen unit has nearly the same terms, and all that the question asks for."""
    own = term_set(each.unit.text)
    figures = {term for term in own if term[0].isdecimal()}
    others = (term_set(one.unit.text) for one in chosen)
    return any(
        len(own & it) > REPEATED * len(own | it) and figures <= it and question.held(own) <= question.held(it)
        for it in others
    )
