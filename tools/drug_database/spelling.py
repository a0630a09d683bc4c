"""Names that are spelt almost like what was typed.

A score of 100 is the same spelling. It mixes edit distance with neighbouring letters swapped counted once (OSA) and
Jaro-Winkler, which forgives an error late in a word; names are compared without spaces.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rapidfuzz.distance import OSA, JaroWinkler

from tools.drug_database.index import NameIndex

ENOUGH: Final = 76.0
"""Below this a name is no likely misspelling of what was typed."""
_CANDIDATES: Final = 400
_SHORTEST: Final = 3


class Spelling(NamedTuple):
    """A name of the index, folded, and how near its spelling comes (0 to 100)."""

    name: str
    score: float


def closeness(typed: str, name: str) -> float:
    """How near two names without spaces are, 0 to 100."""
    edits = OSA.normalized_similarity(typed, name)
    return 100.0 * (0.7 * edits + 0.3 * JaroWinkler.normalized_similarity(typed, name))


def near_names(index: NameIndex, text: str, *, most: int = 20) -> list[Spelling]:
    """The names nearest to ``text`` (folded), best first; none below ``ENOUGH``."""
    typed = text.replace(" ", "")
    if len(typed) < _SHORTEST:
        return []
    found = [Spelling(name, closeness(typed, name.replace(" ", ""))) for name in index.similar(text, most=_CANDIDATES)]
    good = [spelling for spelling in found if spelling.score >= ENOUGH]
    good.sort(key=lambda spelling: (-spelling.score, len(spelling.name), spelling.name))
    return good[:most]
