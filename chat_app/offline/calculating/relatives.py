"""Finds statements of a question about the patient's relatives, which are not inputs of a calculator."""

import re
from typing import Final

_SPOUSE: Final = r"(?:wife|husband|partner|frau|mann)\b"
_KIN: Final = (
    r"(?:(?:grand)?(?:mother|father|parent)s?|m[uo]m|dad|brothers?|sisters?|siblings?|sons?|daughters?|uncles?|aunts?"
    r"|cousins?|relatives?|(?:groß)?(?:mutter|vaters?|eltern)|oma|opa|brüder|bruders?|schwestern?|geschwistern?"
    r"|sohn(?:es)?|töchter|tochter|onkels?|tanten?|cousine?|verwandte[nr]?)\b(?! of (?:\d|two|three|four|five))"
)
_RELATION: Final = rf"(?:{_KIN}|{_SPOUSE})"
_WHOSE: Final = r"(?:his|her|their|whose|seine?[mnrs]?|ihre?[mnrs]?|deren|dessen)"
_THE: Final = r"(?:the|an?|de[rsmn]|die|eine?[mnrs]?)"
_ABOUT: Final = r"(?:in|of|for|bei|beim|von|vom|für|des|der|zur?)"
RELATIVE: Final = re.compile(rf"\b{_WHOSE} {_RELATION}")
"""A relative of the person who is called "he" or "she"."""
OF_RELATIVE: Final = re.compile(rf" {_ABOUT} (?:(?:{_THE}|{_WHOSE}) )?(?:{_RELATION}|family\b|familie\b)")
"""Follows a finding of a relative."""
_TOLD: Final = re.compile(
    rf"\b(?P<patient>{_ABOUT} (?:{_THE} )?|(?:my|our|mein\w*|unser\w*) (?:[\w-]+ ){{0,4}}?)?"
    rf"(?:(?:{_WHOSE} )?{_KIN}|{_WHOSE} {_SPOUSE}|family history\b|fhx?\b|familienanamnese\b) ?:?"
    r"(?:(?!\b(?:he|she|er|sie|himself|herself|selbst|patient(?:in)?)\b)[^.,;?!()])*"
)
"""Matches a relative with the statement about them; ``patient`` has words that may make the relative the patient."""
_OF_SOMEBODY: Final = re.compile(
    rf"\b(?P<relation>{_RELATION}) (?:of (?:an?|the|this|that|my|our)|(?:von )?(?:einer|einem|eines|der|des|dem)) "
    r"[^.,;:?]*"
)
_POSSESSIVE: Final = re.compile(
    rf"\b(?:an?|the|this|that|my) (?:(?!\b(?:an?|the|this|that|my|of)\b)[^.,;:?])*?['’]s (?={_RELATION})"
)
"""The possessor in "a diabetic's husband", whose findings are not the patient's."""


def without_relatives(text: str) -> str:
    """Return folded ``text`` without its statements on relatives; "the husband of a diabetic" becomes "the husband"."""
    words = _OF_SOMEBODY.sub(r"\g<relation>", _POSSESSIVE.sub("", text))
    return _TOLD.sub(lambda told: told[0] if told["patient"] else " ", words)
