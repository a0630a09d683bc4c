"""Removes substances that a patient does not take from a question: allergens, and those of a withdrawal."""

import re
from typing import Final

from tools.drug_database.names.query_words import NOISE
from tools.drug_database.records.shipped_data import shipped_words
from tools.language.folding import fold_name
from tools.language.vocabulary.common_words import LANGUAGES, is_function_word

_ALLERGY: Final = "|".join(sorted(shipped_words("allergy"), key=len, reverse=True))
_WORD: Final = r"[^\W\d_][\w/-]{2,}"
_AND: Final = "and|or|und|oder|y|o"
_TO: Final = r"(?:to|of|gegen|gegenüber|auf|von|al?)(?: (?:an?|the|all|any|other|die|den|das|el|la|los|las))?"
_AFTER: Final = re.compile(
    rf"\b(?:{_ALLERGY})(?: reactions?)? {_TO} (?P<names>{_WORD}(?: (?!(?:{_AND}) ){_WORD})?)"
    rf"(?: (?:{_AND}) (?P<other>{_WORD}))?",
    re.IGNORECASE,
)
"""``allergic to aspirin``."""
_BEFORE: Final = re.compile(
    rf"\b(?P<names>[^\W\d_][\w/]{{2,}}?)(?P<other>)[ -]?(?!anaph)(?:{_ALLERGY})\b"
    r"(?!-type| (?:reactions?|rhinitis|conjunctivitis))",
    re.IGNORECASE,
)
"""``penicillin allergy``, ``Penicillinallergie``."""
_TOLD: Final = re.compile(rf"(?<=, )(?P<names>{_WORD})(?P<other>) anaph\w+(?=\W*(?:[,;.?!]|$))", re.IGNORECASE)
"""``pneumonia, penicillin anaphylaxis``; before other words ("epinephrine anaphylaxis dose") the medicine treats it."""

_STATES: Final = "|".join(sorted(shipped_words("dependence"), key=len, reverse=True))
_WITHDRAWN: Final = re.compile(rf"\b[^\W\d_][\w/]{{2,}}?[ -]?(?=(?:{_STATES})\b)", re.IGNORECASE)
"""``opioid withdrawal``, ``Alkoholentzug``."""


def without_allergens(text: str) -> str:
    """Return ``text`` without the names of allergens."""
    for pattern in (_AFTER, _BEFORE, _TOLD):
        text = pattern.sub(_without_names, text)
    return text


def allergens(text: str) -> list[str]:
    """Return the names of allergens in ``text``."""
    left = without_allergens(text).split()
    return [word for word in text.split() if word not in left]


def _without_names(found: re.Match[str]) -> str:
    """Return the words of a match after its names; the whole match if its first word is not a name."""
    names, other = found["names"].split(), found["other"] or ""
    named = next((place for place, word in enumerate(names) if _is_no_name(word)), len(names))
    rest = [*names[named:], *([other] if named < len(names) or _is_no_name(other) else [])]
    return f" {' '.join(rest)}" if named else found[0]


def _is_no_name(word: str) -> bool:
    return fold_name(word) in NOISE or any(is_function_word(word.lower(), language) for language in LANGUAGES)


def without_withdrawn(text: str) -> str:
    """Return ``text`` without the substance of a withdrawal or a dependence."""
    return _WITHDRAWN.sub("", text)
