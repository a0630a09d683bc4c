"""Finds the terms that a text says are absent: heart failure in "adults without heart failure"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from tools.language.terms import terms
from tools.language.word_lists import word_list

_DENIES: Final = re.compile(
    r"\b(?:(?P<state>without|absence of|free (?:of|from)|ohne|sin)|(?P<noun>no(?! longer)|kein\w*)"
    r"|(?P<part>non)(?=[ –-])|not|never|nicht|nie|\w+n['’]t)\b",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(
    rf"[.,;:()|?!]|\b(?:and|but|und|aber|pero|{'|'.join(sorted(word_list('qualifiers') - {'or', 'oder', 'to'}))})\b",
    re.IGNORECASE,
)
_ORGAN: Final = r"(?:(?:kidneys?|renal|liver|hepatic)(?= function)|kidneys|liver|niere\w*|leber\w*|riñones|hígado)"
_SOUND: Final = r"(?:normal\w*|fine|good|ok(?:ay)?|intakt\w*|intact\w*|preserved|healthy|gesund\w*|sano?s?)"
_UNIMPAIRED: Final = re.compile(
    rf"(?<!longer )(?<!not )\b{_SOUND} (?P<organ>{_ORGAN})(?: function)?\b"
    rf"|(?<!for )(?<!in )\b(?P<organ_is>{_ORGAN})(?: function)?:?(?: (?:is|are|was|were|ist|sind))?(?: all)? {_SOUND}\b"
    r"(?! or\b)(?!\W*\?)",
    re.IGNORECASE,
)
"""An organ that works, so that its failure is absent."""
_ASKS_WHY_NOT: Final = re.compile(
    r"\b(?:why|warum|wieso|por qué)\b"
    r"|\b(?:no|keine?) (?:\w+ ){0,2}?(?:dos(?:es?|age|ing)|adjust\w*|data|evidence|information|anpassung|daten)\b",
    re.IGNORECASE,
)
"""Asks for the reason of a denial, or whether nothing needs adjustment: what is denied is asked about."""
_TO: Final = re.compile(r"\bto\b", re.IGNORECASE)
_OR: Final = re.compile(r"\b(?:n?or|oder|o)\b", re.IGNORECASE)
_WORDS: Final = re.compile(r"([^\W_]+)")
_COVERED: Final = 3
"""Maximum number of terms that "no" covers, and as many in each alternative after "or"."""
_STATE_COVERED: Final = 5
"""Maximum for a state ("without moderate to severe rheumatic mitral stenosis")."""


class Absence(NamedTuple):
    """The terms that a text says are absent."""

    denied: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    """Those of ``denied`` that describe patients without a state, such as "adults without heart failure"."""


@lru_cache(maxsize=50_000)
def absence(text: str) -> Absence:
    """Return the terms that ``text`` denies."""
    denied: set[str] = set()
    states: set[str] = set()
    for found, _, covered in _denials(text):
        denied.update(covered)
        states.update(covered if found["state"] or found["part"] else ())
    for found in _UNIMPAIRED.finditer(text):
        denied.update(terms(found["organ"] or found["organ_is"]))
    return Absence(frozenset(denied), frozenset(states))


@lru_cache(maxsize=256)
def stated(text: str) -> str:
    """Return ``text`` without the words that it denies: "a woman" of "a woman, not pregnant"."""
    if _ASKS_WHY_NOT.search(text):
        return text
    rest, end = _UNIMPAIRED.sub("", text), 0
    kept: list[str] = []
    for found, clause, covered in _denials(rest):
        kept += (rest[end : found.end()], *(word for word in _WORDS.split(clause) if covered.isdisjoint(terms(word))))
        end = found.end() + len(clause)
    return "".join((*kept, rest[end:]))


def _denials(text: str) -> Iterator[tuple[re.Match[str], str, frozenset[str]]]:
    """Yield each negation of ``text`` with the rest of its clause, and the terms of it that the negation covers."""
    for found in _DENIES.finditer(text):
        clause = _BREAK.split(text[found.end() :], maxsplit=1)[0]
        yield found, clause, frozenset(_covered(clause, found))


def _covered(clause: str, negation: re.Match[str]) -> list[str]:
    """Return the terms of ``clause`` that ``negation`` covers; the negation of a verb covers only the next word."""
    clause = clause if negation["state"] else _TO.split(clause, maxsplit=1)[0]
    if not (negation["state"] or negation["noun"]):
        return terms(clause.strip().partition(" ")[0])[:1]
    most = _STATE_COVERED if negation["state"] else _COVERED
    first, *others = _OR.split(clause)
    alternatives = takewhile(
        lambda one: one.split() and one.split()[0].lower() not in word_list("finite_verbs"), others
    )
    return [term for one in (first, *alternatives) for term in terms(one)[:most]]
