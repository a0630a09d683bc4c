"""Steps of reading a question: its synonyms, its related words, and the label sections it asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from chat_app.offline.extraction.drug_parts import ASKING, ORGAN_DOSES, asked_sections
from chat_app.offline.reading.evidence import WeightedTerm
from tools.drug_database.names.name_resolution import known_name
from tools.language.quotable_units import term_set
from tools.language.vocabulary.absence import stated
from tools.language.vocabulary.clinical_vocabulary import abbreviation_meanings
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.populations import YOUNG, Population, populations_asked
from tools.language.vocabulary.related_words import related_forms

_ANOTHER: Final = re.compile(
    r"(?<!\bas )(?<!\ban )(?<!\bals )(?<!\bcomo )\balternativ(?:es?|en?|as?)\b(?! (?:form|rout|dos|nam|brand|way)\w*)"
    r"|\b(?:what|which)(?: \w+){0,2} else\b|\b(?:what|which) (?:now|next)\b|\b(?:second|third)[- ]line\b"
    r"|\bnext (?:step|line|drug|agent|choice|option)|\bwhat (?:to|(?:should|do|can|could) \w+) add\b|\badd what\b"
    r"|\badd[- ]on\b|\bals nächstes\b|\bwas (?:sonst|dazu)\b|\bumstellen auf(?: was)?\W*$"
    r"|\b(?:switch|chang|replac|swap)\w*(?: \w+){0,3}? (?:to|with|by|for)(?: what)?\W*$",
    re.IGNORECASE,
)
_INSTEAD: Final = re.compile(r"\binstead\b(?! of)|\bstattdessen\b|\ben su lugar\b", re.IGNORECASE)
_OPEN: Final = re.compile(r"\b(?:what|which|welche\w*|was|qu[eé]|cu[aá]l\w*)\b(?! about)", re.IGNORECASE)
_YES_OR_NO: Final = re.compile(
    r"^\W*(?:is|are|can|could|should|would|may|do|does|ist|sind|kann|soll\w*|darf|es|son|puede\w*)\b", re.IGNORECASE
)


def asks_for_another(question: str) -> bool:
    """Return whether ``question`` asks for a medicine other than those of the patient: "on lisinopril, switch to?".

    "Can she have verapamil instead?" names the other one.
    """
    named, is_open = medicines_in(question), _OPEN.search(question) is not None
    if not named or is_open:
        return len(named) < 2 and bool(_ANOTHER.search(question) or _INSTEAD.search(question))
    return len(named) < 2 and not _YES_OR_NO.match(question) and _ANOTHER.search(question) is not None


def medicines_in(text: str) -> list[str]:
    """Return the names of the medicines that words of ``text`` name, loaded or not."""
    return list(dict.fromkeys(filter(None, map(known_name, re.findall(r"[^\W\d_][\w-]+", text)))))


def in_all_words(text: str, also: Iterable[Sequence[str]]) -> tuple[str, frozenset[Population]]:
    """Return ``text`` with the synonyms of its words appended, and the groups of patients that it asks about."""
    synonyms = [form for forms in also for form in forms]
    asked = " ".join([text, *synonyms])
    populations = frozenset(populations_asked(" ".join([stated(text), *synonyms])))
    # "A 3-month-old" is an infant, and texts use that word.
    return " ".join([asked, *(name for name in YOUNG if name in populations)]), populations


def named_in(notes: str) -> frozenset[str]:
    """Return the terms of ``notes`` on missing medicines, except the words that such notes always use."""
    return term_set(notes) - term_set(f"{ASKING} name database")


def is_unread(stem: str) -> bool:
    """Return whether ``stem`` is a number, a letter, or an abbreviation that may mean several things."""
    return stem.isdecimal() or len(stem) == 1 or len(abbreviation_meanings(stem)) > 1


def sections_in(text: str, asked: str, newest: str, partners: Collection[str]) -> frozenset[str]:
    """Return the label sections that are asked for; with a failing organ the doses for it, not the usual ones.

    The terms ``partners``, such as milk taken with a medicine, ask for no section.
    """
    named = value_names(text).split()
    values = " ".join(spelt for name in named for spelt in (name, *abbreviation_meanings(name)))
    found = asked_sections(stated(newest), partners) if newest != text else frozenset[str]()
    found = (found or asked_sections(asked.replace(text, stated(text), 1), partners)) | asked_sections(values)
    return found if found.isdisjoint(ORGAN_DOSES) else found - {"dosage"}


def related_words(
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
