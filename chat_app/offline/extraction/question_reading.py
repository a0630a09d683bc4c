"""Reads a question: its terms with synonyms and related words, its patients, and the label sections it asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Final

from chat_app.offline.extraction.drug_parts import ASKING, ORGAN_DOSES, asked_sections, words_of_use
from chat_app.offline.extraction.numbers_beside import NEVER, kind_terms, numbers_beside
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import WeightedTerm
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.name_resolution import known_name
from tools.drug_database.names.not_taken import allergens, excluded, without_allergens, without_exceptions
from tools.language.question_words import ASKS_FOR_MEDICINE, everyday_terms
from tools.language.quotable_units import ordered_terms, term_set
from tools.language.vocabulary.absence import absence, stated
from tools.language.vocabulary.clinical_vocabulary import abbreviation_meanings
from tools.language.vocabulary.patient_values import abnormal_values, patient_age, value_names, without_values
from tools.language.vocabulary.populations import GESTATION, NAMED, YOUNG, Population, populations_asked
from tools.language.vocabulary.related_words import related_forms

_ADULT: Final = 18
_ANOTHER: Final = re.compile(
    r"(?<!\bas )(?<!\ban )(?<!\bals )(?<!\bcomo )\balternativ(?:es?|en?|as?)\b(?! (?:form|rout|dos|nam|brand|way)\w*)"
    r"|\b(?:what|which)(?: \w+){0,2} else(?:\W*$| (?:can|could|should|may|would|to) (?:(?:i|we|you|be) )?"
    r"(?:add|give|given|offer|prescribe|take|tried|try|use|used)\b)|\bnext (?:step|line|drug|agent|choice|option)"
    r"|(?<!\bas )(?<!\bas a )\b(?:(?:second|third)[- ]line|add[- ]on)\b(?! (?:therapy|treatment)\b)"
    r"|\b(?:what|which) next\b"
    r"|\bwhat (?:to|(?:should|do|can|could) \w+) add\b|\badd what\b|\bals nächstes\b|\bwas (?:sonst|dazu)\b"
    r"|\b(?:switch|chang|replac|swap)\w*(?: \w+){0,3}? (?:to|with|by|for)(?: what)?\W*$|\bumstellen auf(?: was)?\W*$",
    re.IGNORECASE,
)
_OF_LABEL: Final = re.compile(
    r"\b(?:dos[ei]\w*|interact\w*|monitor\w*|level\w*|wechselwirk\w*|spiegel)\b", re.IGNORECASE
)
"""Asks for a part of a label of the medicine that is named."""
_INSTEAD: Final = re.compile(r"\binstead\b(?! of)|\bstattdessen\b|\ben su lugar\b", re.IGNORECASE)
_OPEN: Final = re.compile(r"\b(?:what|which|welche\w*|was|qu[eé]|cu[aá]l\w*)\b(?! about)", re.IGNORECASE)


def asks_for_another(question: str) -> bool:
    """Return whether ``question`` asks for a medicine other than those of the patient: "on lisinopril, switch to?".

    "Can she have verapamil instead?" names the other one.
    """
    if _OF_LABEL.search(question):
        return False
    is_open = not medicines_in(question) or _OPEN.search(question) is not None
    return bool(_ANOTHER.search(question) or (is_open and _INSTEAD.search(question)))


def medicines_in(text: str) -> list[str]:
    """Return the names of the medicines that words of ``text`` name, loaded or not."""
    return list(dict.fromkeys(filter(None, map(known_name, re.findall(r"[^\W\d_][\w-]+", text)))))


def _populations_in(text: str, also: Iterable[Sequence[str]], wording: str) -> frozenset[Population]:
    """Return the groups of patients that ``text`` asks about, in its own words or the synonyms of these.

    Children in the description of an adult are the patient's own, or it is the patient's childhood.
    """
    found = frozenset(populations_asked(" ".join([stated(text), *(form for forms in also for form in forms)])))
    is_adult = wording != text and (patient_age(text) or 0) >= _ADULT
    return found - (frozenset(YOUNG) - set(populations_asked(stated(wording)))) if is_adult else found


def _in_all_words(text: str, also: Iterable[Sequence[str]], populations: Collection[Population]) -> str:
    """Return ``text`` with the synonyms of its words and the names of young patients appended."""
    # "A 3-month-old" is an infant, and texts use that word.
    young = (name for name in YOUNG if name in populations)
    return " ".join([text, *(form for forms in also for form in forms), *young])


def _named_in(notes: str) -> frozenset[str]:
    """Return the terms of ``notes`` on missing medicines, except the words that such notes always use."""
    return term_set(notes) - term_set(f"{ASKING} name database")


def _is_unread(stem: str) -> bool:
    """Return whether ``stem`` is a number, a letter, or an abbreviation that may mean several things."""
    return stem.isdecimal() or len(stem) == 1 or len(abbreviation_meanings(stem)) > 1


def _sections_in(text: str, wording: str, asked: str, newest: str, partners: Collection[str]) -> frozenset[str]:
    """Return the label sections that are asked for; with a failing organ the doses for it, not the usual ones.

    A case states the values of any organ, which count if a dose is asked for. The terms ``partners``, such as milk
    taken with a medicine, ask for no section.
    """
    named = value_names(text).split()
    values = asked_sections(" ".join(spelt for name in named for spelt in (name, *abbreviation_meanings(name))))
    found = asked_sections(stated(newest), partners) if newest != text else frozenset[str]()
    found = found or asked_sections(asked.replace(wording, stated(wording), 1), partners)
    if wording != text:
        return found | values if "dosage" in found else found
    found |= values
    return found if found.isdisjoint(ORGAN_DOSES) else found - {"dosage"}


def _related_words(
    stems: Sequence[str],
    forms: Sequence[Sequence[frozenset[str]]],
    classes: Iterable[tuple[str, str]],
    unknown: Collection[int],
    told: Mapping[str, WeightedTerm],
) -> Mapping[str, Sequence[tuple[frozenset[str], int]]]:
    """Return for each stem the related words and phrases that contain it, each with the index of the term.

    Related are a medicine's classes, broader words, and the single words of a form that is a phrase; the last not for
    an ``unknown`` medicine, since one ingredient of a combination is another medicine.
    """
    found: dict[str, list[tuple[frozenset[str], int]]] = defaultdict(list)
    of = [(term_set(name), term_set(one)) for name, one in classes]
    for place, stem in enumerate(stems):
        phrases = () if place in unknown else (form for form in forms[place] if len(form) > 1)
        parts = (frozenset({part}) for form in phrases for part in form)
        groups = (group for name, group in of if name in forms[place] and group)
        broader = filter(None, map(term_set, told[stem].related if stem in told else ()))
        for form in (*related_forms(stem), *parts, *groups, *broader):
            found[min(form)].append((form, place))
    return found


def read_question(
    text: str,
    known: Iterable[WeightedTerm] = (),
    *,
    newest: str = "",
    subjects: Iterable[str] = (),
    medicines: Iterable[str] = (),
    classes: Iterable[tuple[str, str]] = (),
    notes: Iterable[str] = (),
    in_case: bool = False,
) -> Question:
    """Read the terms, the patients and the kind of answer of a question.

    Args:
        text: The question, complete in itself.
        known: The terms as the searches read them. Words that the searches left out only ask, and are left out here.
        newest: The user's last message, if ``text`` was completed from the questions before it.
        subjects: Names and classes of the drugs that the question names, and of what else is taken with them.
        medicines: The names among them.
        classes: Pairs of a medicine's name and a class that it belongs to.
        notes: Notes of the drug search on medicines that it does not have.
        in_case: Whether ``text`` describes a patient, and only the ``newest`` words ask.
    """
    # Values are left out of a text without ß, but the searches keep it, as do German documents.
    told = {term.term.casefold(): term for term in known}
    stems = _asked_stems(text, told)
    names, later = _stems_of(subjects), bool(newest) and not label_terms().names_any(newest)
    beside, without = _allergens_beside(text, names, told=later), _with_members(excluded(newest or text))
    stems = _without_allergy(stems, text, newest) if beside and later else stems
    stems = _without_exceptions(stems, newest or text)

    def places(chosen: Container[str]) -> frozenset[int]:
        return frozenset(place for place, stem in enumerate(stems) if stem in chosen)

    names = tuple(name for name in names if name not in without)
    another = asks_for_another(newest or text) if names else bool(without)
    named, present = ((), names) if another else (names, beside)
    unknown = places(_named_in(" ".join(notes)))
    denied = absence(text).denied.difference(*named)
    also = {stem: (*told[stem].also, *({told[stem].term} - {stem})) if stem in told else () for stem in stems}
    wording, asking = (newest, set(ordered_terms(newest))) if in_case else (text, also.keys())
    others = {stem: others for stem, others in also.items() if stem not in denied}
    populations = _populations_in(text, others.values(), wording)
    asked = _in_all_words(wording, (forms for stem, forms in others.items() if stem in asking), populations)
    forms = tuple((frozenset({stem}), *_stems_of(others)) for stem, others in also.items())
    abnormal = abnormal_values(text)
    valued = term_set(" ".join(name for name, _ in abnormal))
    return Question(
        wording,
        text,
        forms,
        weights=tuple(told[stem].weight if stem in told else None for stem in stems),
        related=_related_words(stems, forms, classes, unknown, told),
        asked=asked,
        subjects=named,
        medicines=() if another else _stems_of(medicines),
        present=present,
        excluded=without,
        asks_another=another,
        unknown=unknown,
        sections=_sections_in(text, wording, asked, newest, frozenset[str]().union(*named)),
        populations=populations,
        group=places(_group_terms(text, populations)),
        absent=denied.union(*(form for each in forms if each[0] <= denied for form in each if len(form) == 1)),
        denied=frozenset(place for place, each in enumerate(forms) if each[0] <= denied),
        everyday=places(everyday_terms(text).union(filter(_is_unread, stems)) - valued),
        states=tuple(term_set(called) for _, called in abnormal),
        numbers=numbers_beside(text, also) | {stem: NEVER for stem in valued if len(stem) == 1},
        kinds=places(kind_terms(text)),
        inherited=places(set(stems).difference(ordered_terms(newest))) if newest else frozenset(),
        asks_only=newest if set(stems).isdisjoint(ordered_terms(newest)) else "",
    )


def _allergens_beside(text: str, named: Collection[frozenset[str]], *, told: bool) -> tuple[frozenset[str], ...]:
    """Return what the patient is allergic to, with the members of a class; none if the question is on the allergy.

    It is not if the allergy was ``told`` before the question.
    """
    denied = absence(text).denied
    names = [name for name in allergens(text) if not term_set(name) <= denied]
    found = _with_members(names)
    beside = told or ASKS_FOR_MEDICINE.search(without_allergens(text)) or not set(named) <= set(_stems_of(names))
    return tuple(one for one in found if one not in named) if beside else ()


def _with_members(names: Sequence[str]) -> tuple[frozenset[str], ...]:
    """Return the stems of each of ``names`` and of the members of the classes among them."""
    known = label_terms()
    called = {drug_class for name in names if (alias := aliases().drug_class(name)) for drug_class in alias.classes}
    groups = {group for name in (*names, *called) for group in known.group_named(name)}
    return _stems_of((*names, *called, *known.members_of(groups)))


def _without_allergy(stems: Sequence[str], text: str, newest: str) -> list[str]:
    """Return ``stems`` without the allergens that ``newest``, which names no medicine, does not ask about."""
    allergy = term_set(" ".join(allergens(text))).difference(ordered_terms(newest))
    return [stem for stem in stems if stem not in allergy]


def _without_exceptions(stems: list[str], text: str) -> list[str]:
    """Return ``stems`` without those of the medicines other than which ``text`` asks for one."""
    excepted = term_set(text) - term_set(without_exceptions(text))
    return [stem for stem in stems if stem not in excepted] or stems


def _group_terms(text: str, populations: Collection[Population]) -> frozenset[str]:
    """Return the terms of the words with which ``text`` names the groups of patients."""
    words = [match[0] for name in populations for match in NAMED[name].finditer(text)]
    return term_set(" ".join([*words, *GESTATION.findall(text)]))


def _stems_of(names: Iterable[str]) -> tuple[frozenset[str], ...]:
    return tuple(filter(None, map(term_set, names)))


def _asked_stems(text: str, told: Collection[str]) -> list[str]:
    """Return the stems of ``text`` that the searches used (``told``), without those that only ask about a use."""
    stems = [stem for stem in dict.fromkeys(ordered_terms(without_values(text))) if stem in told or not told]
    asking = words_of_use(text)
    return [stem for stem in stems if stem not in asking] or stems
