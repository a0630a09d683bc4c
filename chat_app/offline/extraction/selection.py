"""Chooses the quotes of an answer: the best units that add something, each with the units it cannot be read without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, NamedTuple

from chat_app.offline.extraction.candidates import sections_alone
from chat_app.offline.extraction.drug_parts import CAUTIONS, ORGAN_DOSES, PATIENTS_OF, section_terms
from chat_app.offline.extraction.question import Question
from chat_app.offline.extraction.scoring import WEIGHTS, Features, Scored, scored
from chat_app.offline.reading.evidence import EvidencePassage, Quote
from tools.language.figures import has_amount
from tools.language.quotable_units import term_set


class Room(NamedTuple):
    """Limits of an answer; ``scripts.fit_extraction`` fits them, and ``docs/measurements.md`` says how."""

    worse: float
    """Maximum difference to the best unit's score."""
    words: int
    """Number of words after which no units beyond the best are added."""


ROOM: Final = Room(worse=5.0, words=50)
BEST: Final = 3
"""Number of units that are added whatever their length, so that a long one does not exclude the next best."""
SEVERAL: Final = 5
"""The same number if several things are asked for, such as contraindications, or a case is described."""
REPEATED: Final = 0.6
"""Share of common terms above which two units say the same."""
ANSWERS_FROM: Final = 0.625
"""Minimum share of the question's terms that a quote with its headings must hold to count as an answer; fitted."""
LIST_WORDS: Final = 80
"""Maximum number of words of a list with the line that leads into it."""
OF_PATIENTS: Final = frozenset({*ORGAN_DOSES, *PATIENTS_OF, "pregnancy"})
"""Sections of a label about only some patients."""
_BANS: Final = CAUTIONS - {"warnings"}
"""Sections on patients who must not have a medicine."""
RELATED_FROM: Final = 0.15
"""Minimum share of the question's terms in a quote. A unit with less has only common words of the question."""
UNRELATED: Final = 2
"""Number of units that are quoted if all hold less."""


@dataclass(frozen=True)
class Selection:
    """The quotes of an answer, best first."""

    quotes: tuple[Scored, ...] = ()
    answers: bool = False
    """Whether the quotes answer the question; otherwise they are only the closest that was found."""
    shares_terms: bool = False
    """Whether any unit, quoted or not, holds a term of the question."""
    warnings: tuple[Quote, ...] = ()
    """Warnings of labels for the patient's state."""
    says_more: bool = False
    """Whether the passage of the best quote has another unit that would answer as well."""

    def on_subject(self) -> Selection:
        """Return the selection without quotes that only mention the subject, unless the selection answers."""
        return self if self.answers else replace(self, quotes=tuple(one for one in self.quotes if one.is_on_subject))


def select(
    question: Question, passages: Sequence[EvidencePassage], weights: Features = WEIGHTS, *, doses: bool = True
) -> Selection:
    """Choose the best units of ``passages``; if ``doses`` is false, only among those without an amount.

    The selection is empty if no unit holds a term of the question.
    """
    found = scored(question, passages, weights)
    return chosen_of(question, [each for each in found if doses or not has_amount(each.unit.text)])


def chosen_of(question: Question, everything: Sequence[Scored], room: Room = ROOM) -> Selection:
    """Choose the best of the scored units within ``room``."""
    sharing = [each for each in everything if each.features.own > 0 or each.features.above > 0]
    if not sharing:
        return Selection()
    quotes = _quotes(question, sharing, everything, room)
    if not quotes:
        # Only lines that lead into a list without items hold a word of the question.
        return Selection(tuple(sorted(sharing, key=lambda each: -each.score)[:UNRELATED]), shares_terms=True)
    beside = (one for one in sharing if one.passage is quotes[0].passage and one not in quotes)
    return Selection(
        quotes,
        answers=any(map(clearly_answers, quotes)),
        shares_terms=True,
        warnings=tuple((one.unit, one.passage) for one in everything if _warns(question, one)),
        says_more=any(map(clearly_answers, beside)),
    )


def clearly_answers(each: Scored) -> bool:
    """Return whether a unit answers the question, and is not only the closest."""
    return each.is_on_subject and each.share >= ANSWERS_FROM


def bans_as_told(question: Question, each: Scored) -> bool:
    """Return whether a label's warning names something that was told about the patient before the dose was asked for.

    A related word counts only if the medicine was told, too: what was told may be what another one was given for.
    """
    held = each.own | each.near if question.names_before else each.own
    return each.passage.part in _BANS and not question.told_before.isdisjoint(held)


def _warns(question: Question, each: Scored) -> bool:
    """Return whether a label warns of using its medicine in the circumstances of the question's patient."""
    if each.passage.part not in _BANS or each.holds_patient is False:
        return False
    return holds_circumstances(question, each.own)


def holds_circumstances(question: Question, held: Set[int]) -> bool:
    """Return whether the terms ``held`` are most of those in ``circumstances``, if there are any."""
    weights = question.weights_of(question.circumstances)
    return sum(weights[place] for place in weights.keys() & held) >= ANSWERS_FROM * sum(weights.values()) > 0


def _quotes(
    question: Question, sharing: Sequence[Scored], everything: Sequence[Scored], room: Room
) -> tuple[Scored, ...]:
    """Return the best of the units ``sharing`` terms with the question, each with the units it needs."""
    ranked = sorted(sharing, key=lambda each: -each.score)
    # If a medicine is asked about, units with bounds that fit the patient come first if they score well enough. If only
    # a section of its label is asked for, the units of this section come first; the warnings if nothing speaks of what
    # the patient has.
    fitting = {each.place for each in ranked if question.subjects and each.fits}
    leading = cautions = _cautions(question, ranked)
    enough = next((each for each in ranked if each.place in fitting | leading), ranked[0]).score - room.worse
    asked = sections_alone(question)
    leading = leading or {each.place for each in ranked if each.passage.part in asked}
    ranked.sort(key=lambda each: (each.place not in fitting or each.score < enough, each.place not in leading))
    placed = {each.place: each for each in everything}
    chosen: dict[int, Scored] = {}
    length = added = 0
    best = SEVERAL if question.asks_several or question.is_of_case else BEST
    related = [each for each in ranked if each.share >= RELATED_FROM]
    for each in related or ranked[:UNRELATED]:
        full = length >= room.words and added >= best
        if chosen and (full or each.score < enough):
            break
        table = [
            one for one in everything if question.asks_list and each.unit.table and one.unit.table == each.unit.table
        ]
        whole = table if sum(one.unit.words for one in table) <= room.words else []
        listed = _with_items(each, everything) if each.unit.introduces_list else _together(each, placed)
        group = {one.place: one for one in whole or listed if one.place not in chosen}
        if not group or _repeats(question, each, chosen.values()):
            continue
        chosen.update(group)
        length += sum(one.unit.words for one in group.values())
        added += 1
    asked_of = [each for each in ranked if each.passage.part in question.sections and not cautions]
    if question.told_before:
        chosen.update((one.place, one) for each in asked_of[:1] for one in _together(each, placed))
    return tuple((chosen | _on_patients(question, ranked, chosen, placed, room.words)).values())


def _cautions(question: Question, found: Sequence[Scored]) -> set[int]:
    """Return the places of the warnings that come first for what ``question`` tells beside a medicine.

    They are the contraindications that speak of what was told before a dose was asked for. If no unit speaks of what is
    told, they are all warnings, since a label may say it in other words: "bullous pemphigoid" for "blisters".
    """
    if banned := {each.place for each in found if bans_as_told(question, each)}:
        return banned
    held = frozenset[int]().union(*(each.all_held | each.near for each in found))
    if not held.isdisjoint(question.circumstances):
        return set()
    parts = (CAUTIONS if question.told_before else question.searched_sections) - question.sections
    return {each.place for each in found if each.passage.part in parts}


def _on_patients(
    question: Question, ranked: Sequence[Scored], chosen: Mapping[int, Scored], placed: Mapping[int, Scored], words: int
) -> dict[int, Scored]:
    """Return the statements on the asked patients that an answer must not leave out, with the units they need.

    - Every boxed warning on these patients, and the first of each medicine if only its side effects are asked for.
    - The first statement of each label on them, and the first prohibition for them, if none of these was chosen.
    - The whole of an asked section on them within ``words``, since each of its sentences has its own bounds.
    """
    on_patients = [each for each in (*chosen.values(), *ranked) if _is_on_patients(question, each)]
    said = [each for each in on_patients if each.place in chosen or each.passage.part == "boxed_warning"]
    first = {each.passage.document: each for each in reversed(on_patients)}
    said += first.values()
    if _asks_harms(question):
        boxed = (each for each in reversed(ranked) if each.passage.part == "boxed_warning")
        said += {each.passage.document: each for each in boxed}.values()
    said += [each for each in (*chosen.values(), *ranked) if _forbids_patients(question, each)][:1]
    found = {one.place: one for each in said for one in _together(each, placed)}
    sections = {id(each.passage) for each in said if each.passage.part in question.sections & OF_PATIENTS}
    for section in sections:
        whole = [one for one in placed.values() if id(one.passage) == section and not one.is_aside]
        if sum(one.unit.words for one in whole) <= words:
            found.update((one.place, one) for one in whole)
    return found


def _asks_harms(question: Question) -> bool:
    """Return whether the question asks for side effects and says nothing else but medicines and groups of patients."""
    beside = question.beyond_names - question.group
    return (
        bool(question.medicines)
        and "warnings" in question.sections
        and beside <= question.held(section_terms("warnings"))
    )


def _forbids_patients(question: Question, each: Scored) -> bool:
    """Return whether ``each`` forbids a medicine for the asked patients.

    A prohibition in a state that a value of the patient indicates always counts. Others count in guidelines only, and
    only if they answer the question.
    """
    if each.is_aside:
        return False
    if question.forbids_in_state(each.unit):
        return True
    return not each.passage.part and each.features.group > 0 and clearly_answers(each) and question.forbids(each.unit)


def _is_on_patients(question: Question, each: Scored) -> bool:
    """Return whether ``each`` is what the label of an asked medicine says about the asked patients."""
    if each.is_aside or not (question.medicines and each.passage.part):
        return False
    return each.features.group > 0 or each.passage.part in question.sections & OF_PATIENTS


def _with_items(each: Scored, everything: Sequence[Scored]) -> list[Scored]:
    """Return the line that leads into a list and as many items as ``LIST_WORDS`` allow; nothing if no item fits."""
    items = [one for one in everything if one.passage is each.passage and one.unit.leans == one.place - each.place > 0]
    lengths = accumulate((one.unit.words for one in items), initial=each.unit.words)
    fitting = [one for one, length in zip(items, list(lengths)[1:], strict=True) if length <= LIST_WORDS]
    return [each, *fitting] if fitting else []


def _together(each: Scored, placed: Mapping[int, Scored]) -> list[Scored]:
    """Return a unit with the one it leans on or limits, and with the exception that follows it."""
    before, after = placed.get(each.place - each.unit.back), placed.get(each.place + 1)
    leads = [before] if before and each.unit.back and before.passage is each.passage else []
    limits = [after] if after and after.unit.limits and after.passage is each.passage else []
    return [*leads, each, *limits]


def _repeats(question: Question, each: Scored, chosen: Iterable[Scored]) -> bool:
    """Return whether a chosen unit has nearly the same terms, all figures of this one and the same question terms."""
    own = term_set(each.unit.text)
    figures = {term for term in own if term[0].isdecimal()}
    others = (term_set(one.unit.text) for one in chosen)
    return any(
        len(own & it) > REPEATED * len(own | it) and figures <= it and question.held(own) <= question.held(it)
        for it in others
    )
