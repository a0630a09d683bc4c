"""Which terms a text says to be absent: heart failure in "adults without heart failure", bleeding in "no bleeding"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.terms import terms
from tools.language.word_lists import word_list

_DENIES: Final = re.compile(
    r"\b(?:(?P<state>without|absence of|free (?:of|from)|ohne|sin)|(?P<noun>no|kein\w*)|(?P<part>non)(?=[ –-])"
    r"|not|never|nicht|nie|\w+n['’]t)\b",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(
    rf"[.,;:()|?!]|\b(?:and|but|or|und|aber|oder|pero|{'|'.join(sorted(word_list('qualifiers')))})\b", re.IGNORECASE
)
_COVERED: Final = 3
"""Terms that a negation of a noun covers; one of a verb covers one."""


class Absence(NamedTuple):
    """The terms that are not there; ``states`` are those of which a text says so to tell for whom it is."""

    denied: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()


@lru_cache(maxsize=50_000)
def absence(text: str) -> Absence:
    """Return the terms that ``text`` denies."""
    denied: set[str] = set()
    states: set[str] = set()
    for found in _DENIES.finditer(text):
        noun = found["state"] or found["noun"]
        clause = _BREAK.split(text[found.end() :], maxsplit=1)[0]
        covered = terms(clause if noun else clause.strip().partition(" ")[0])[: _COVERED if noun else 1]
        denied.update(covered)
        states.update(covered if found["state"] or found["part"] else ())
    return Absence(frozenset(denied), frozenset(states))
