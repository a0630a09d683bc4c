"""Recognizes questions on the library itself: what is loaded, and who issued it. No passage answers them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tools.language.folding import fold_name
from tools.language.word_lists import word_entries

_MOST_SUBJECT: Final = 3
"""Maximum number of words that name the subject of a guideline; a longer question asks for its content."""


class LibraryQuestion(NamedTuple):
    """A question on the library: which contents it asks for, and the subject of the asked guidelines."""

    guidelines: bool
    drugs: bool
    subject: str = ""


@lru_cache(maxsize=256)
def library_question(question: str) -> LibraryQuestion | None:
    """Return the question on the library that ``question`` is; None if it has words that ask for anything else."""
    spelt = re.findall(r"[^\W_]+", question)
    said = [fold_name(word) for word in spelt]
    words, known = _words(), frozenset[str]().union(*_words().values())
    other = [word for word in said if word not in known]
    held = {kind for kind, listed in words.items() if not listed.isdisjoint(said)}
    if not {"guidelines", "drugs"} & held or len(other) > _MOST_SUBJECT or len(set(other)) == len(said):
        return None
    subject = " ".join(word for word, folded in zip(spelt, said, strict=True) if folded in other)
    if "issued" in held and "guidelines" in held:
        return LibraryQuestion(guidelines=True, drugs=False, subject=subject)
    if other:
        # The subject must come last, after a preposition: "Do you have a guideline on migraine".
        at = said.index(other[0])
        named = said[at:] == other or set(said[at:]) <= {*other, *words["has"], *words["about"], *words["other"]}
        asks = "guidelines" in held and "drugs" not in held and {"has", "holds"} & held
        return LibraryQuestion(True, False, subject) if asks and named and said[at - 1] in words["about"] else None
    if "holds" in held or ("drugs" not in held and {"has", "list"} & held):
        sources = not {"source", "sources", "quelle", "quellen", "fuente", "fuentes"}.isdisjoint(said)
        return LibraryQuestion("guidelines" in held, "drugs" in held or sources)
    return None


@cache
def _words() -> Mapping[str, frozenset[str]]:
    return {kind: frozenset(listed.split()) for kind, listed in word_entries("library").items()}
