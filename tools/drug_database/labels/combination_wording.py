"""Recognizes how labels say that two medicines are taken together, and mentions of medicines that are not taken."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from tools.drug_database.labels.label_terms import PhraseIndex, Tokens, label_terms, tokens

CLAUSES: Final = tuple(map(re.compile, (r";|, (?:and|but|while|whereas)\b", ";")))
"""Separators between parts of a sentence that may be about different medicines, the finer division first."""
_TOGETHER: Final = re.compile(
    r"\bconcomitant\w*|\bconcurrent\w*|\bco-?\s?administ\w*|\bcombin\w*|\btogether with\b|\badded to\b"
    r"|\b(?:taking|receiving|treated)\b"
    r"|(?<!like )(?<!unlike )(?<!as with )(?<!than )\bother\b(?! than)|\bco-?prescri\w*"
    r"|\buse[ds]? with\b|\balso contain\w*|\bduplicat\w*|\binteract\w*",
    re.IGNORECASE,
)
_UNTIL_VERB: Final = r"(?:(?!\b(?:is|are|was|were|may|must|can|should)\b)[^,;.()])*"
_EXCEPTED: Final = re.compile(rf"\b(?:other than|except(?: for)?|apart from)\b{_UNTIL_VERB}", re.IGNORECASE)
_ASIDE: Final = re.compile(
    r"\bwithout (?!\w+ing\b)(?!known|any |clinical|signific|evidence)[^,;.()]*"
    r"|\b(?:hypersensitivity|allerg(?:y|ic)|anaphyla(?:xis|ctic)|reactions?)(?: reactions?)?\b"
    r"(?:(?!\b(?:with|within|after)\b)[^.;])*?\b(?:to|of)\b"
    r"[^.;]*?(?=,? (?:and |or )?(?:with|in|after|within)\b|[.;]|$)|\b[\w-]+-allergic\b"
    r"|\b(?:in|with|immune-mediated|history of) [\w-]+-induced\b"
    r"|\babrupt(?:ly)? (?:stop|discontinu|withdraw|cessation|reduc)\w*[^;.]*?(?=,? (?:and |or )?with\b|[.;]|$)"
    rf"|\bthan with\b{_UNTIL_VERB}",
    re.IGNORECASE,
)
"""Mentions of a medicine that is not taken: it is missing ("without"), the patient is allergic to it, it is stopped, it
caused a disease, or an effect is compared with its effect."""
_WITH: Final = "with"
_OF: Final = "of"
_BEFORE_OWN: Final = frozenset((_WITH, "by"))
_SECOND: Final = frozenset((("further",), ("additional",), (_WITH, "another")))
"""Words that add a second medicine of the class after them."""
_SEEN: Final = frozenset(("reported", "seen", "observed", "associated", "history", "known"))
_AFFECTED: Final = frozenset(("effect", "level", "concentration", "exposure", "toxicity", "metabolism", "clearance"))
_PREPOSITIONS: Final = _BEFORE_OWN | frozenset(
    (_OF, "from", "in", "on", "to", "for", "after", "within", "through", "because", "during", "than", "as")
)


def is_together(sentence: str) -> bool:
    """Return whether ``sentence`` is about medicines that are taken together."""
    return _TOGETHER.search(sentence) is not None


def exceptions(sentence: str) -> Iterator[str]:
    """Yield the exceptions in ``sentence``, such as "other than fenofibrate" in "fibrates other than fenofibrate"."""
    return (match[0] for match in _EXCEPTED.finditer(sentence))


def without_asides(sentence: str) -> str:
    """Return ``sentence`` without mentions of medicines that are not taken."""
    return _ASIDE.sub(" ", sentence)


def is_second_medicine(sentence: str, own: PhraseIndex[str], group: str) -> bool:
    """Return whether the class ``group`` in ``sentence`` means another medicine than the one with the ``own`` names.

    A preposition joins the two: "Antipsychotics should be avoided with metoclopramide" is about two medicines, although
    labels call metoclopramide an antipsychotic. "Celecoxib, like other NSAIDs" is about one.
    """
    for words in map(tokens, CLAUSES[0].split(sentence)):
        names = [(start, end) for start, end, _ in own.find(words)]
        for start, end in label_terms().places_of(group, words):
            if any(words[max(0, start - len(second)) : start] == second for second in _SECOND):
                return True
            if any(_joins(words, name, start) for name in names if end <= name[0] or name[1] <= start):
                return True
    return False


def _joins(words: Tokens, name: tuple[int, int], place: int) -> bool:
    """Return whether a preposition joins the medicine at ``name`` and the class at ``place``."""
    if place < name[0]:
        before = words[name[0] - 1]
        return before in _BEFORE_OWN or (before == _OF and place == 0)
    between = words[name[1] : place]
    after = [*takewhile(lambda word: word not in _PREPOSITIONS, reversed(between))]
    pair = between[: len(between) - len(after)][-2:]
    noun, link = " ".join(pair[:-1]), " ".join(pair[-1:])
    return (link == _WITH and noun not in _SEEN) or (link == _OF and noun in _AFFECTED)
