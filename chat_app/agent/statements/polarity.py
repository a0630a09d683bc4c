"""Negation and opposites: whether a statement says the reverse of a sentence that it resembles."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.stemming import stem
from tools.language.terms import terms

_NEGATORS: Final = re.compile(
    r"\b(?:no|not|never|without|absence|neither|nor|cannot|none|unless|avoid\w*|contraindicat\w*|against|withhold\w*|withheld"
    r"|refrain\w*|prohibit\w*|unnecessary|inappropriate|ineffective|unsafe)\b|n['’]t\b"
)
_NO_NEGATION: Final = re.compile(
    r"\b(?:with or without|whether or not|not only|no(?:t)? (?:more|less|later|earlier|fewer|longer) than"
    r"|not exceed\w*|not be exceeded"
    r"|(?:not|never) (?:be |been )?"
    r"(?:avoid\w*|contraindicat\w*|withh\w+|unnecessary|inappropriate|ineffective|unsafe))\b"
)
_BREAK: Final = re.compile(r"[.;:]|\b(?:but|however|although|whereas|while)\b")
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCOPE: Final = 6
"""Terms behind a negator that it covers."""
_BACKWARD: Final = re.compile(r"\b(?:contraindicat\w*|avoid(?:ed|ance)?|withheld|unnecessary|inappropriate|unsafe)\b")


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _WORD.findall(text.casefold())))


_PAIRS: Final = (
    (
        "increase increases increased increasing raise raises raised raising rise rises elevate elevated"
        " enhance enhances enhanced augment potentiate potentiates potentiated strengthen",
        "decrease decreases decreased decreasing lower lowers lowered lowering reduce reduces reduced reducing"
        " reduction diminish diminished lessen fall fell drop decline attenuate attenuated weaken weakened blunt",
    ),
    (
        "improve improves improved improving",
        "impair impairs impaired impairing worsen worsens worsened worsening reduce reduces",
    ),
    ("prolong prolongs prolonged", "shorten shortens shortened"),
    ("inhibitor inhibitors inhibit inhibits inhibited", "inducer inducers induce induces induced"),
    ("start started starting initiate begin", "stop stopped stopping discontinue discontinued cease"),
    ("continue continued", "stop stopped discontinue discontinued"),
    ("higher", "lower"),
    ("high", "low"),
    ("maximum", "minimum"),
    ("effective", "ineffective"),
    ("safe", "unsafe"),
    ("acute", "chronic"),
    ("oral orally", "intravenous intravenously"),
    ("systolic", "diastolic"),
    ("mild", "severe"),
    ("adults adult", "children child"),
    ("men", "women"),
    ("better", "worse"),
    ("positive", "negative"),
    ("always", "rarely"),
    ("allow allowed permit", "forbid forbidden prohibit"),
    ("indicated", "contraindicated"),
)
_FUNCTION_PAIRS: Final = (
    ("more", "less fewer"),
    ("greater", "less smaller lower"),
    ("above over", "below under"),
    ("before", "after"),
    ("always", "never"),
    ("with", "without"),
    ("likely", "unlikely"),
)
"""Opposites that only count where one is in the place of the other."""
_OPPOSITES: Final = tuple((frozenset(terms(one)), frozenset(terms(other))) for one, other in _PAIRS)
_SWAPS: Final = tuple((_stems(one), _stems(other)) for one, other in (*_PAIRS, *_FUNCTION_PAIRS))
_PREFIX: Final = re.compile("^(?:hyper|hypo)")


class Polarity(NamedTuple):
    """What a sentence says of each term: denied, affirmed, or both in different places."""

    negations: int
    denied: frozenset[str]
    affirmed: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        """All terms of the sentence."""
        return self.denied | self.affirmed


@lru_cache(maxsize=4_096)
def polarity(sentence: str) -> Polarity:
    """Return the number of negations and the terms inside and outside of their scope."""
    text = _NO_NEGATION.sub(lambda found: " " * len(found[0]), sentence.casefold())
    negations, denied, affirmed = 0, set[str](), set[str]()
    for clause in _BREAK.split(text):
        parts = _NEGATORS.split(clause)
        negations += len(parts) - 1
        backward = _BACKWARD.search(clause) is not None
        for position, part in enumerate(parts):
            words = terms(part)
            covered = words[:_SCOPE] if position else (words[-_SCOPE:] if backward else [])
            denied.update(covered)
            affirmed.update(word for word in words if word not in covered)
    return Polarity(negations, frozenset(denied), frozenset(affirmed))


def reverses(statement: str, source: str) -> bool:
    """Return whether ``statement`` denies what ``source`` affirms, or affirms what it denies."""
    one, other = polarity(statement), polarity(source)
    if (one.negations - other.negations) % 2:
        shared = one.terms & other.terms
        flipped = (one.denied & (other.affirmed - other.denied)) | (other.denied & (one.affirmed - one.denied))
        if flipped & shared:
            return True
    return opposed(one.terms, other.terms) or _swapped(statement, source)


def _swapped(statement: str, source: str) -> bool:
    """Return whether ``statement`` has an opposite in the place of a word of ``source``."""
    said, found = (Counter(map(stem, _WORD.findall(text.casefold()))) for text in (statement, source))
    more, less = (said - found).keys(), (found - said).keys()
    for pair in _SWAPS:
        for here, there in (pair, pair[::-1]):
            if more & here and less & there and not (more & there or less & here):
                return True
    # "Sensitivity" beside "hypersensitivity" is another name, not the opposite.
    added, missing = ({_PREFIX.sub("", word) for word in words if _PREFIX.match(word)} for words in (more, less))
    return not added.isdisjoint(missing)


def opposed(statement: frozenset[str], source: frozenset[str]) -> bool:
    """Return whether the statement has one word of a pair of opposites where the source has only the other."""
    for pair in _OPPOSITES:
        for here, there in (pair, pair[::-1]):
            if statement & here and not statement & there and source & there and not source & here:
                return True
    return False
