"""Tells a unit that treats a condition from one that mentions it: a drug's caution in gout is no treatment of gout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from chat_app.offline.extraction.followups import subjects
from chat_app.offline.extraction.text import STOP, terms, words
from chat_app.offline.extraction.units import Unit
from chat_app.offline.extraction.vocabulary import word_list

_ASKS_FOR_CARE: Final = re.compile(
    r"\btreat|\btherap|\bmanag(?:e|ed|ing|ement)\b|\bfirst[ -](?:line|choice)\b|\bof choice\b|\bdiagnos"
    r"|\b(?:drugs?|medicines?|medications?|antibiotics?) (?:for|in|against)\b",
    re.IGNORECASE,
)
_ASKS_OTHERWISE: Final = re.compile(
    r"^\s*(?:at|when|whom?|whose|where|why|if|is|are|can|should|does|do"
    r"|how (?:long|often|much|many|soon|quickly)|(?:which|what) (?:patients?|adults|people|children|dose))\b",
    re.IGNORECASE,
)
"""Asks when, for whom or how much, which sentences answer that do not name the condition again."""
_PART: Final = re.compile(r"[,;:()?!/–—]|\.(?=\s|$)")
_LEADS_IN: Final = frozenset(
    {"in", "for", "with", "of", "against", "having", "has", "have", "without", "treat", "manage", "diagnose"}
)
_CIRCUMSTANCE: Final = frozenset({"in", "for", "with", "during", "on"})
_STATES: Final = terms("pregnancy")
"""Of the terms that name no condition those that name a circumstance."""
_NEAR: Final = 4
"""Words between what leads in and the condition: "in patients with a first severe attack of"."""
_LONGEST: Final = 4
_OPENING: Final = 2
_DIAGNOSIS: Final = terms("diagnosis")
_TREATMENT: Final = terms("treatment dose")
_CARE: Final = _TREATMENT | _DIAGNOSIS
_ASIDE: Final = re.compile(
    r"\bcaution|\bhistory of\b|\brisks?\b|\bcaus(?:e|es|ed|ing)\b|\badverse\b|\bmore likely\b|\bscreen|\bcontraindicat",
    re.IGNORECASE,
)
"""What is said of a condition where it is not the one to be treated."""


@lru_cache(maxsize=256)
def conditions(question: str) -> tuple[frozenset[str], ...]:
    """The terms of each condition whose care ``question`` asks for.

    None where it asks for something else, or of a drug.
    """
    if _ASKS_FOR_CARE.search(question) is None or _ASKS_OTHERWISE.search(question) or subjects(question):
        return ()
    found = (terms(phrase) - _general() for _, phrase in _phrases(question))
    return tuple(named for named in found if named)


def cares_for(question: str, unit: Unit, above: frozenset[str]) -> bool:
    """False for a unit that only mentions the condition whose care ``question`` asks for.

    True when it stands under that condition (``above`` are the terms of its headings), or says itself that it is about
    such patients; and where the question asks for no condition's care.
    """
    wanted = conditions(question)
    if not wanted:
        return True
    care = _DIAGNOSIS & terms(question) or _TREATMENT
    if unit.cells and care.isdisjoint(above | terms(unit.text)):
        return False
    if any(condition <= above for condition in wanted):
        return True
    if unit.cells:
        return any(condition <= terms(unit.cells[0]) for condition in wanted)
    if _ASIDE.search(unit.text) or not _DIAGNOSIS & care <= terms(unit.text):
        return False
    return any(_is_led_in(condition, unit.text) for condition in wanted)


@lru_cache(maxsize=256)
def circumstances(question: str) -> tuple[frozenset[str], ...]:
    """The terms of each circumstance that ``question`` names: "in pregnancy", "with a mechanical heart valve"."""
    found = (terms(phrase) - (_general() - _STATES) for led, phrase in _phrases(question) if led)
    named = (frozenset(term for term in each if not term.isdigit()) for each in found)
    return tuple(each for each in named if each)


def _phrases(question: str) -> Iterator[tuple[bool, str]]:
    """The words of ``question`` between its small words, each run with whether "in", "for" or the like leads it in."""
    for part in _PART.split(question):
        led, run = False, list[str]()
        for word in (*part.split(), ""):
            if word and word.lower() not in STOP:
                run.append(word)
                continue
            if run:
                yield led, " ".join(run)
            led = word.lower() in _CIRCUMSTANCE or (led and not run)
            run = []


def _is_led_in(condition: frozenset[str], text: str) -> bool:
    """True for "in patients with gout" and "Acute gout is treated with", not for "headache, gout and nausea"."""
    opens = bool(_CARE & terms(text))
    for number, part in enumerate(_PART.split(text)):
        said = words(part)
        for start in _places(condition, said):
            if _LEADS_IN & set(said[max(0, start - _NEAR) : start]) or (opens and number == 0 and start <= _OPENING):
                return True
    return False


def _places(condition: frozenset[str], said: Sequence[str]) -> Iterator[int]:
    """Where in ``said`` the words of ``condition`` begin."""
    for start in range(len(said)):
        for end in range(start + 1, start + 1 + _LONGEST):
            if condition <= terms(" ".join(said[start:end])):
                if not condition <= terms(" ".join(said[start + 1 : end])):
                    yield start
                break


@cache
def _general() -> frozenset[str]:
    """Terms that a question on care is put with, and that name no condition."""
    return terms(
        "treat treated treatment therapy manage managed management first-line first choice drug medicine medication "
        "antibiotic diagnosis diagnosed diagnostic test criteria new best current standard effective usual dose "
        "adult adults child children infant adolescent older elderly women men woman man pregnancy pregnant patient "
        "outpatients inpatients hospital acute severe mild moderate stage step grade disease disorder syndrome "
        "comorbidity nocomorbidity high low risk level levels target goal"
    ) | terms(" ".join(word_list("weak")))
