"""Recognizes medicines by the stems of international nonproprietary names, with which most of them end."""

import re
from functools import lru_cache

from tools.language.word_lists import word_list

_ENDINGS = tuple(word_list("inn_stems"))
_BEGINNINGS = ("cef",)
_STEM = re.compile(rf"^(?:[a-z]{{2,}}(?:{'|'.join(_ENDINGS)})|(?:{'|'.join(_BEGINNINGS)})[a-z]{{3,}})$")


@lru_cache(maxsize=65_536)
def has_drug_stem(word: str) -> bool:
    """Return whether ``word`` ends in a stem of nonproprietary names, or begins with ``cef``."""
    folded = word.casefold()
    return (folded.endswith(_ENDINGS) or folded.startswith(_BEGINNINGS)) and _STEM.match(folded) is not None


def names_medicine(text: str) -> bool:
    """Return whether a word of ``text`` has a stem of nonproprietary names."""
    return any(map(has_drug_stem, re.findall(r"[^\W\d_]+", text)))
