"""Makes a follow-up question stand alone, from the questions before it.

"What about in patients with kidney disease?" after "What are the contraindications for ACE inhibitors?" becomes
"What are the contraindications for ACE inhibitors in patients with kidney disease?". No word is made up: the
result is put together from what the user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.contrasts import opposite_of
from chat_app.offline.extraction.dialogue import Exchange
from chat_app.offline.extraction.drug_names import drug_classes, drug_names
from chat_app.offline.extraction.text import terms
from chat_app.offline.extraction.topics import Aspect, aspects

_LEAD: Final = re.compile(
    r"^\s*(?:(?:and|but|ok(?:ay)?|so|then|also|thanks|thank you)[,.!]?\s+)*"
    r"(?:what about|how about|what if|and(?: what)?(?: about)?|what of)\b\s*",
    re.IGNORECASE,
)
_CONNECTIVE: Final = re.compile(r"^\s*(?:and|but|also|or|so|then|what if)\b[,]?\s*", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|these|those|this|that)(?: (?:drugs?|medicines?|medications?|class|agents?))?\b"
    r"|\bthe (?:drug|medicine|medication|same|former|latter)\b",
    re.IGNORECASE,
)
_INTERROGATIVE: Final = re.compile(
    r"^\s*(?:what|which|when|who|how|why|where|is|are|do|does|can|should)\b", re.IGNORECASE
)
_PLACE: Final = re.compile(r"^(?:in|for|with|during|after|before|if|when|on|at|among|under|without)\b", re.IGNORECASE)
_POPULATIONS: Final = frozenset({Aspect.RENAL, Aspect.HEPATIC, Aspect.PREGNANCY})
"""Aspects that say in whom; they narrow a question instead of replacing what it asks."""
_PATIENT: Final = re.compile(
    r"^(?:the |a |my |this )?(?:patients?|person|people|someone) (?:is|are|has|have|who (?:is|are|has|have)) ",
    re.IGNORECASE,
)
_OFFER: Final = re.compile(re.escape(phrases.DID_YOU_MEAN).replace(re.escape("{names}"), "(.+?)"))
_YES: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|correct|right|exactly|that one|please|i (?:do|did))\b[^?]{0,30}$", re.IGNORECASE
)
_ENDING: Final = re.compile(r"[\s?.!]+$")


def standalone(turns: Sequence[Exchange]) -> str:
    """The last question of a conversation as one that can be searched for without the others."""
    resolved = answer = ""
    for turn in turns:
        question = turn.question.strip()
        resolved = _confirmed(question, resolved, answer) or _resolve(question, resolved)
        answer = turn.answer
    return resolved


def _confirmed(question: str, before: str, answer: str) -> str:
    """The question before with the name that "Did you mean ...?" offered, when ``question`` takes it up."""
    offered = _OFFER.search(answer)
    misspelt = drug_names(before)
    if offered is None or not misspelt:
        return ""
    names = re.split(r", | or ", offered.group(1))
    said = _ENDING.sub("", question).lower()
    chosen = next((name for name in names if name.lower() == re.sub(r"^yes\W+", "", said)), None)
    if chosen is None and _YES.match(question):
        chosen = names[0]
    return before.replace(misspelt[0], chosen, 1) if chosen else ""


def _resolve(question: str, before: str) -> str:
    if not before or not is_follow_up(question):
        return question
    rest = _ENDING.sub("", _CONNECTIVE.sub("", _LEAD.sub("", question)))
    if not rest:
        return before
    named, known = subjects(rest), subjects(before)
    if named and known and (_LEAD.match(question) or len(terms(rest)) <= len(_all_terms(named)) + 1):
        return _replace(before, known, named)
    if _PLACE.match(rest) or (not named and set(aspects(rest)) <= _POPULATIONS and _is_fragment(question)):
        return _narrowed(before, rest)
    if known and _PRONOUN.search(rest):
        return f"{_PRONOUN.sub(' and '.join(known), rest, count=1)}?"
    if known and not named:
        return f"{rest} ({', '.join(known)})?"
    if named:
        return f"{rest}?"
    return f"{_ENDING.sub('', before)}, {rest}?"


def _narrowed(before: str, rest: str) -> str:
    """``before`` asked of other patients: what ``rest`` says takes the place of its opposite, or is added."""
    rest = _PATIENT.sub("", rest)
    joined = rest if _PLACE.match(rest) else f"in {rest}"
    repeated = re.search(re.escape(" ".join(joined.split()[:2])) + r"\b", before, re.IGNORECASE)
    if repeated:
        return f"{before[: repeated.start()].rstrip()} {joined}?"
    opposite = opposite_of(rest)
    match = opposite.search(before) if opposite else None
    if match is None:
        return f"{_ENDING.sub('', before)} {joined}?"
    phrase = re.search(rf"\b(?:in|for|of|with)?\s*{re.escape(before[match.start() : match.end()])}[\w-]*", before)
    start, end = phrase.span() if phrase else match.span()
    return f"{_ENDING.sub('', before[:start] + before[end:])} {joined}?".replace("  ", " ")


def _is_fragment(question: str) -> bool:
    return _LEAD.match(question) is not None or len(question.split()) <= 4


def is_follow_up(question: str) -> bool:
    """True when ``question`` leans on what was asked before."""
    if _LEAD.match(question) or _CONNECTIVE.match(question):
        return True
    if _PLACE.match(question.strip()) and len(terms(question)) <= 5:
        return True
    named = subjects(question)
    if _PRONOUN.search(question) and not named:
        return True
    whole = _INTERROGATIVE.match(question) is not None
    most = 1 if whole else 2
    return not named and 1 <= len(terms(question)) <= most and len(question.split()) <= 6


def subjects(question: str) -> tuple[str, ...]:
    """The drugs and drug classes that a question is about."""
    return (*drug_names(question), *drug_classes(question))


def _all_terms(names: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(terms(name) for name in names))


def _replace(before: str, known: Sequence[str], named: Sequence[str]) -> str:
    first, *others = known
    result = before.replace(first, " and ".join(named), 1)
    for other in others:
        result = re.sub(rf"\s*(?:,|and|or)?\s*{re.escape(other)}", "", result, count=1)
    return result
