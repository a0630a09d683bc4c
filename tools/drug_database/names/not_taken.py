"""Removes substances that a patient does not take from a question.

These are allergens, medicines other than which one is asked for, and the substances of a withdrawal.
"""

import re
from typing import Final

from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.name_resolution import known_name
from tools.drug_database.names.query_words import NOISE
from tools.drug_database.records.shipped_data import shipped_words
from tools.language.folding import fold_name
from tools.language.inn_stems import names_medicine
from tools.language.question_words import ASKS_FOR_MEDICINE
from tools.language.vocabulary.common_words import LANGUAGES, is_function_word

_ALLERGY: Final = "|".join(sorted(shipped_words("allergy"), key=len, reverse=True))
_WORD: Final = r"[^\W\d_][\w/-]{2,}"
_AND: Final = "and|or|und|oder|y|o"
_TO: Final = r"(?:to|of|gegen|gegenüber|auf|von|al?)(?: (?:an?|the|all|any|other|die|den|das|el|la|los|las))?"
_NAMES: Final = rf" (?P<names>{_WORD}(?: (?!(?:{_AND}) ){_WORD})?)(?: (?:{_AND}) (?P<other>{_WORD}))?"
_AFTER: Final = re.compile(rf"\b(?:{_ALLERGY})(?: reactions?)? {_TO}{_NAMES}", re.IGNORECASE)
"""``allergic to aspirin``."""
_BEFORE: Final = re.compile(
    rf"\b(?P<names>[^\W\d_][\w/]{{2,}}?)(?P<other>)[ -]?(?!anaph)(?:{_ALLERGY})\b"
    r"(?!-type| (?:reactions?|rhinitis|conjunctivitis))",
    re.IGNORECASE,
)
"""``penicillin allergy``, ``Penicillinallergie``."""
_TOLD: Final = re.compile(rf"(?<=, )(?P<names>{_WORD})(?P<other>) anaph\w+(?=\W*(?:[,;.?!]|$))", re.IGNORECASE)
"""``pneumonia, penicillin anaphylaxis``; before other words ("epinephrine anaphylaxis dose") the medicine treats it."""

_ARTICLE: Final = r"(?: (?:an?|the|all|any|de[nrm]|die|das|eine[mnr]?|el|l[ao]s?|una?))?"
_EXCEPT: Final = re.compile(
    r"\b(?:(?:other|else|different) than|(?:apart|aside) from|different (?:from|to)|any\w* but|besides|excluding"
    r"|except(?:ing)?(?: for)?|(?:that|which)(?:['’]s| is| are)(?: not|n['’]t)|(?:that|which) (?:is|are)n['’]?t"
    r"|au(?:ß|ss)er|abgesehen von|excepto|aparte de|que no sean?)"
    rf"{_ARTICLE}{_NAMES}",
    re.IGNORECASE,
)
"""``anything other than ibuprofen``."""
_CANNOT: Final = re.compile(
    r"\b(?:(?:not|cannot|\w+n['’]?t|unable to|no puede)(?: \w+ly)? (?:take|have|tolerate|use|tomar|tolerar)"
    r"|(?:verträgt|vertrug|darf|kann) (?:kein\w*|nicht))"
    rf"{_ARTICLE}(?!(?: [\w-]+){{1,2}} (?:with|together|while|during|before|after|if|when|until|in|mit|bei)\b){_NAMES}",
    re.IGNORECASE,
)
"""``cannot take NSAIDs``; "which drugs can you not take ibuprofen with" is on ibuprofen."""

_STATES: Final = "|".join(sorted(shipped_words("dependence"), key=len, reverse=True))
_WITHDRAWN: Final = re.compile(rf"\b[^\W\d_][\w/]{{2,}}?[ -]?(?=(?:{_STATES})\b)", re.IGNORECASE)
"""``opioid withdrawal``, ``Alkoholentzug``."""


def without_allergens(text: str) -> str:
    """Return ``text`` without the names of allergens."""
    for pattern in (_AFTER, _BEFORE, _TOLD):
        text = pattern.sub(_without_names, text)
    return text


def without_exceptions(text: str) -> str:
    """Return ``text`` without the medicines other than which it asks for one: "anything other than ibuprofen"."""
    return _EXCEPT.sub(_without_medicines, text)


def without_excluded(text: str) -> str:
    """Return ``text`` without them, and without those that the patient cannot take, if it asks for a medicine."""
    rest = without_exceptions(text)
    asks = _CANNOT.sub(_without_medicines, rest)
    return asks if ASKS_FOR_MEDICINE.search(asks) else rest


def allergens(text: str) -> list[str]:
    """Return the names of allergens in ``text``."""
    return _left_out(text, without_allergens(text))


def excluded(text: str) -> list[str]:
    """Return the names of the medicines that :func:`without_excluded` leaves out of ``text``."""
    return _left_out(text, without_excluded(text))


def _left_out(text: str, rest: str) -> list[str]:
    left = rest.split()
    return [word for word in text.split() if word not in left]


def _without_medicines(found: re.Match[str]) -> str:
    names = found["names"], *found["names"].split()
    is_medicine = any(known_name(name) or names_medicine(name) or aliases().drug_class(name) for name in names)
    return _without_names(found) if is_medicine else found[0]


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
