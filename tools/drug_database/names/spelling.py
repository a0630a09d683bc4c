"""Finds names spelt almost like the typed text.

The score is 100 for the same spelling. It is the weighted sum of four similarities: an edit distance that counts
swapped letters once (OSA) and Jaro-Winkler, which tolerates errors late in a word, each of the spellings and of the
phonetic keys. Names are compared without spaces.

The phonetic keys follow English spelling and have no rule for a single medicine: ``Xarelto`` and ``zarelto``, or
``phenytoin`` and ``fenitoin``, have the same key. The rules are plain replacements, so that they run over hundreds of
thousands of names at once.
"""

import math
import re
from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.folding import fold_name

ENOUGH: Final = 76.0
"""Score below which the typed text is unlikely to be a misspelling of a name."""
PERHAPS: Final = 62.0
"""Score below which a name is not worth suggesting; about two wrong letters of five."""
_COMPARED: Final = 250
"""Maximum number of names that are compared in full, those with the closest phonetic keys."""
_ALIKE: Final = 0.4
"""Similarity of the keys below which the names are not compared further."""
_SHORTEST: Final = 4
"""Minimum number of letters; a shorter name with a wrong letter may be another name."""
_LONGEST: Final = 120
"""Number of letters that are compared."""
_COMMON_NAME: Final = 0.5
"""Points for each factor of ten in a medicine's number of products; they only order names that are equally close."""
_WEIGHTS: Final = (50.0, 20.0, 20.0, 10.0)


class PhoneticRules(Shipped):
    """``data/phonetic_rules.json``: replacements in the order in which they are made."""

    rules: tuple[tuple[str, str], ...]


_RULES: Final = shipped("phonetic_rules.json", PhoneticRules).rules
_DOUBLED: Final = re.compile(r"(.)\1+")


def phonetic_keys(names: Sequence[str]) -> list[str]:
    """Return the phonetic key of each name; names are folded and have neither spaces nor line ends."""
    text = "\n".join(("", *names, ""))
    for written, spoken in _RULES:
        text = text.replace(written, spoken)
    return _DOUBLED.sub(r"\1", text).replace("e\n", "\n")[1:-1].split("\n")


class Spelling(NamedTuple):
    """A folded name and its score, 0 to 100; a common name gets up to two points more."""

    name: str
    score: float


def closeness(typed: str, name: str) -> float:
    """Return the score of two names without spaces, 0 to 100."""
    return _score(typed, name, *phonetic_keys([typed, name]))


def _score(typed: str, name: str, typed_key: str, name_key: str) -> float:
    similarities = (
        OSA.normalized_similarity(typed, name),
        JaroWinkler.normalized_similarity(typed, name),
        OSA.normalized_similarity(typed_key, name_key),
        JaroWinkler.normalized_similarity(typed_key, name_key),
    )
    return float(sum(map(mul, _WEIGHTS, similarities)))


class Spellings:
    """Names that may be misspelt; read-only, so that threads can share it.

    ``names`` are folded; ``products`` has the number of products of each name's medicine.
    """

    def __init__(self, names: Sequence[str], products: Sequence[int] | None = None) -> None:
        self.names = names
        self._squeezed = [name.replace(" ", "")[:_LONGEST] for name in names]
        self._keys = phonetic_keys(self._squeezed)
        self._products = products or [0] * len(names)

    def near(self, text: str, *, least: float = ENOUGH, most: int = 20) -> list[Spelling]:
        """Return the names closest to ``text``, best first; none with a score below ``least``."""
        typed = fold_name(text).replace(" ", "")[:_LONGEST]
        if len(typed) < _SHORTEST:
            return []
        (key,) = phonetic_keys([typed])
        nearest = process.extract(
            key, self._keys, scorer=OSA.normalized_similarity, score_cutoff=_ALIKE, limit=_COMPARED
        )
        found: list[Spelling] = []
        for name_key, _, number in nearest:
            score = _score(typed, self._squeezed[number], key, name_key)
            if score >= least:
                common = _COMMON_NAME * math.log10(1 + self._products[number])
                found.append(Spelling(self.names[number], score + common))
        found.sort(key=lambda spelling: (-spelling.score, len(spelling.name), spelling.name))
        return found[:most]
