"""Compares negation, opposites and obligation: does a statement say the reverse of a sentence that it resembles?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import permutations
from typing import Final, NamedTuple

from tools.language.figures import LESS, MORE
from tools.language.terms import term, terms
from tools.language.word_lists import word_lines

_NEGATORS: Final = re.compile(
    r"\b(?:(?P<near>without|absence|lack(?:ing)?|unless|except|neither|nor|non|no)"
    r"|(?P<around>contraindicat(?:ed|ion)|avoid(?:ed|ance)|withheld|unnecessary|inappropriate|unsafe|prohibited"
    r"|un(?:affected|altered|changed|clear|known|likely)"
    r"|(?:not|never|cannot)(?= (?:be |been )?[a-z]+(?:ed|en)\b))"
    r"|not|never|cannot|none|avoid\w*|(?<!, )against|withhold\w*|refrain\w*|prohibit\w*|ineffective|instead of"
    r"|rather than)\b|n['’]t\b"
)
"""Words that negate the terms up to a comma (``near``), those on both sides (``around``), or those after them."""
_NO_NEGATION: Final = re.compile(
    r"\b(?:(?:with|for) (?:or|and|and/or) (?:without|against)(?: (?!no|not|never|cannot)[\w-]+){0,8}"
    r"|whether or not|not only|neither(?=.* nor )|no(?:t)? (?:more|less|later|earlier|fewer|longer|higher|lower) than"
    r"|not (?:above|before|below|over|under|(?:to )?exceed(?:ing)?)"
    r"|(?:not|never) (?:be |been )?"
    r"(?:avoid\w*|contraindicat\w*|withh\w+|unnecessary|inappropriate|ineffective|unsafe))\b"
)
"""Words that only seem to negate, and alternatives such as "with or without fever"."""
_EXCEPTION: Final = re.compile(r"(?<=[a-z]),? (?:unless|except)\b")
"""The start of an exception, which a statement may leave out."""
_BREAK: Final = re.compile(
    r"[.;:()]|\b(?:but|however|although|whereas|while)\b|, (?=(?:the|an?|this|it|they|these|there)\b)"
)
_SCOPE: Final = 6
"""Maximum number of terms that a negation covers."""
_VERBATIM: Final = 0.9
"""Share of common terms from which the negations of two sentences are compared by the terms that they cover."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_LIMIT: Final = re.compile(
    rf"\bat (?:least|most)\b|\d\S*(?: [\w/%]+){{0,2}}(?: \([^)]*\))? (?:or|and) (?:{LESS}|{MORE})\b"
    rf"|\b(?:{LESS}|{MORE})(?: than)? (?=\d)"
)
"""The words of a bound, which are compared with its figure."""
_OPPOSED_PARTS: Final = tuple(pair for parts in (("hyper", "hypo"), ("tachy", "brady"), ("poly", "oligo"),
    ("poly", "olig"), ("macro", "micro"), ("uni", "bi"), ("pre", "post"), ("intra", "extra"), ("cytosi", "cytopenia"),
    ("philia", "penia")) for pair in permutations(parts))  # fmt: skip
_DEMANDS: Final = re.compile(r"\b(?:must|mandatory|obligatory|always|has to|have to|requires?|(?:is|are) required)\b")
_ALLOWS: Final = re.compile(
    r"\bconsider(?:ed|ation)?\b|\b(?:may|might|could|can)(?: also)? be \w+(?:ed|en|t)\b"
    r"|\b(?:is|are|be|seems?) (?:reasonable|optional|an option)\b|\boptional(?:ly)?\b"
)
_CAUTION: Final = re.compile(r"\bcaution", re.IGNORECASE)
_FORBIDS: Final = re.compile(r"\b(?:contraindicated|must not|should not|do not)\b", re.IGNORECASE)
_ADVISES: Final = re.compile(r"\b(?:should|ought to|recommend\w*|need\w*)\b")


class Polarity(NamedTuple):
    """The terms that a sentence denies and affirms. A term that occurs twice may be both."""

    denied: frozenset[str]
    affirmed: frozenset[str]
    scopes: tuple[frozenset[str], ...]
    """The terms that each negation covers."""


@lru_cache(maxsize=4_096)
def polarity(sentence: str) -> Polarity:
    """Return the terms inside and outside the scope of a negation; two negations cancel each other."""
    text = _NO_NEGATION.sub(" ", sentence.casefold())
    signs: dict[bool, set[str]] = {True: set(), False: set()}
    scopes: dict[tuple[str, tuple[bool, bool]], frozenset[str]] = {}
    for clause in _BREAK.split(text):
        words: list[str] = []
        negated: list[tuple[int, tuple[bool, bool], range]] = []
        start = 0
        for found in _NEGATORS.finditer(clause):
            words += terms(clause[start : found.start()])
            follows = clause[found.end() :].lstrip(" -").partition(" " if found[0] == "non" else ",")[0]
            near = len(terms(follows)) if found["near"] else _SCOPE
            # A negation at the end of its clause covers the terms before it: "studies are lacking".
            first = len(words) - (_SCOPE if found["around"] or not near else 0)
            kind = found["near"] is not None, found["around"] is not None
            negated.append((len(words), kind, range(first, len(words) + min(near, _SCOPE))))
            start = found.end()
        words += terms(clause[start:])
        for head, kind, scope in negated:
            scopes["".join(words[head : head + 1]), kind] = frozenset(words[max(scope.start, 0) : scope.stop])
        for place, word in enumerate(words):
            signs[sum(place in scope for _, _, scope in negated) % 2 == 1].add(word)
    return Polarity(frozenset(signs[True]), frozenset(signs[False]), tuple(scopes.values()))


def reverses(statement: str, sources: Sequence[str]) -> bool:
    """Return whether ``statement`` says the reverse of ``sources``, by a negation or by the opposite of a word.

    Both together keep the meaning: what must not be stopped is continued.
    """
    for source in sources:
        words = opposites(statement, source)
        if len(words) <= 1 and bool(words) == _denies(statement, source):
            return False
    return True


def _denies(statement: str, source: str) -> bool:
    """Return whether one of the two sentences has an additional negation of shared terms.

    If both have as many negations but few common words, the negations count as the same.
    """
    if not has_negation(statement):
        if not has_negation(source):
            return False
        source = _EXCEPTION.split(source.casefold(), maxsplit=1)[0]
    one, other = polarity(statement), polarity(source)
    said = one.denied | one.affirmed
    shared = said & (other.denied | other.affirmed)
    if len(one.scopes) == len(other.scopes) and len(shared) < _VERBATIM * len(said):
        return False
    turning = sum(not scope.isdisjoint(shared) for each in (one, other) for scope in each.scopes)
    if turning % 2 == 0:
        return False
    return not shared <= (one.denied & other.denied) | (one.affirmed & other.affirmed)


@lru_cache(maxsize=4_096)
def has_negation(sentence: str) -> bool:
    """Return whether ``sentence`` has a word that negates."""
    return _NEGATORS.search(sentence.casefold()) is not None


def opposites(statement: str, source: str) -> frozenset[str]:
    """Return the words of ``statement`` that replace a word of ``source`` by its opposite."""
    said, found = _counts(statement), _counts(source)
    more = [word for word, count in said.items() if count > found.get(word, 0)]
    less = {word for word, count in found.items() if count > said.get(word, 0)}
    if not (more and less):
        return frozenset()
    here = {side: word for word in more for side in contrasts().get(word, ())}
    there = {side for word in less for side in contrasts().get(word, ())}
    lines = {line for line, _ in there}.difference(line for line, _ in there.intersection(here))
    contrasted = {word for (line, _), word in here.items() if line in lines}
    return frozenset(contrasted.union(word for word in more if not less.isdisjoint(_turned(word))))


@lru_cache(maxsize=4_096)
def _counts(text: str) -> Counter[str]:
    """Count the terms of ``text``, including stop words, without negations and bounds."""
    plain = _LIMIT.sub(" ", text.casefold())
    return Counter(map(term, _WORD.findall(_NEGATORS.sub(" ", plain) if has_negation(text) else plain)))


@lru_cache(maxsize=65_536)
def _turned(word: str) -> tuple[str, ...]:
    """Return the forms of ``word`` with the opposite prefix or ending."""
    turned = [word.replace(one, other) for one, other in _OPPOSED_PARTS if one in word]
    return (f"un{word}", *turned, *([word.removeprefix("un")] if word.startswith("un") else []))


@cache
def contrasts() -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return for each word its contrasts, as the number of the line in the list and the word's side in it."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, line in enumerate(word_lines("opposites")):
        for side, words in enumerate(line.split("|")):
            for word in _counts(words):
                found[word].append((number, side))
    return found


def is_contrast(word: str, found: frozenset[str], said: frozenset[str]) -> bool:
    """Return whether ``found`` has an opposite of ``word`` that is not in ``said``, and no synonym of ``word``."""
    own = contrasts()[word]
    lines = {line for line, _ in own}
    there = {side for other in found for side in contrasts().get(other, ())}
    other = (line for one in found - said for line, _ in contrasts().get(one, ()))
    return there.isdisjoint(own) and not lines.isdisjoint(other)


def differs_in_obligation(statement: str, sources: Sequence[str]) -> bool:
    """Return whether one side demands what the other only allows; False if a sentence has a negation."""
    binding, is_cautious = _binding(statement), _CAUTION.search(statement) is not None
    if binding is None and not is_cautious:
        return False
    if any(map(has_negation, (_NO_NEGATION.sub(" ", one.casefold()) for one in (statement, *sources)))):
        return is_cautious and all(_FORBIDS.search(one) and not _CAUTION.search(one) for one in sources)
    return binding is not None and all(_binding(one) is (not binding) for one in sources)


def _binding(text: str) -> bool | None:
    """Return True for a sentence that demands, False for one that allows, None for any other and for both."""
    text = text.casefold()
    demands, allows = (pattern.search(text) is not None for pattern in (_DEMANDS, _ALLOWS))
    return None if demands == allows or _ADVISES.search(text) else demands
