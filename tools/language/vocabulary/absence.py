"""Which terms a text says to be absent: heart failure in "adults without heart failure", bleeding in "no bleeding"."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from tools.language.terms import terms
from tools.language.word_lists import word_list

_DENIES: Final = re.compile(
    r"\b(?:(?P<state>without|absence of|free (?:of|from)|ohne|sin)|(?P<noun>no|kein\w*)|(?P<part>non)(?=[ –-])"
    r"|not|never|nicht|nie|\w+n['’]t)\b",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(
    rf"[.,;:()|?!]|\b(?:and|but|und|aber|pero|{'|'.join(sorted(word_list('qualifiers') - {'or', 'oder', 'to'}))})\b",
    re.IGNORECASE,
)
_TO: Final = re.compile(r"\bto\b", re.IGNORECASE)
_OR: Final = re.compile(r"\b(?:n?or|oder|o)\b", re.IGNORECASE)
_COVERED: Final = 3
"""Terms that a negation of a noun covers, and each alternative that "or" joins to it; one of a verb covers one."""
_STATE_COVERED: Final = 5
"""The same for a state: "without moderate to severe rheumatic mitral stenosis"."""


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
        clause = _BREAK.split(text[found.end() :], maxsplit=1)[0]
        covered = _covered(clause if found["state"] else _TO.split(clause, maxsplit=1)[0], found)
        denied.update(covered)
        states.update(covered if found["state"] or found["part"] else ())
    return Absence(frozenset(denied), frozenset(states))


def _covered(clause: str, negation: re.Match[str]) -> list[str]:
    """Return the terms of ``clause`` that ``negation`` covers: those of each alternative, or of the next word."""
    if not (negation["state"] or negation["noun"]):
        return terms(clause.strip().partition(" ")[0])[:1]
    most = _STATE_COVERED if negation["state"] else _COVERED
    first, *others = _OR.split(clause)
    alternatives = takewhile(
        lambda one: one.split() and one.split()[0].lower() not in word_list("finite_verbs"), others
    )
    return [term for one in (first, *alternatives) for term in terms(one)[:most]]
