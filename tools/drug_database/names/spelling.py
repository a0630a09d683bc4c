"""Finds names spelt almost like the typed text.

The score is 100 for the same spelling. It is the weighted sum of four similarities: an edit distance that counts
swapped letters once (OSA) and Jaro-Winkler, which tolerates errors late in a word, each of the spellings and of the
phonetic keys. Names are compared without spaces. Only names that share most pairs of letters with the typed text are
compared, so that the cost grows slowly with the number of names.

The phonetic keys follow English spelling and have no rule for a single medicine: ``Xarelto`` and ``zarelto``, or
``phenytoin`` and ``fenitoin``, have the same key. The rules are plain replacements, so that they run over hundreds of
thousands of names at once.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from tools.drug_database.names.name_keys import Shipped, shipped
from tools.language.folding import fold_name

ENOUGH: Final = 76.0
"""Score below which the typed text is unlikely to be a misspelling of a name."""
PERHAPS: Final = 62.0
"""Score below which a name is not worth suggesting; about two wrong letters of five."""
_COMPARED: Final = 250
"""Maximum number of names that are compared."""
_SHORTEST: Final = 4
"""Minimum number of letters; a shorter name with a wrong letter may be another name."""
_LONGEST: Final = 120
"""Number of letters that are compared."""
_LETTERS: Final = 64
"""Number of codes for letters; its square is the number of different pairs."""
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
    return float(_scores(typed, phonetic_keys([typed])[0], [name], phonetic_keys([name]))[0])


def _scores(typed: str, key: str, names: Sequence[str], keys: Sequence[str]) -> NDArray[np.float64]:
    compared: list[tuple[str, Sequence[str], Any]] = [
        (typed, names, OSA.normalized_similarity),
        (typed, names, JaroWinkler.normalized_similarity),
        (key, keys, OSA.normalized_similarity),
        (key, keys, JaroWinkler.normalized_similarity),
    ]
    parts = [
        weight * process.cdist([one], others, scorer=scorer, dtype=np.float64)[0]
        for weight, (one, others, scorer) in zip(_WEIGHTS, compared, strict=True)
    ]
    return np.asarray(np.stack(parts).sum(axis=0), dtype=np.float64)


class Spellings:
    """Names that may be misspelt; read-only, so that threads can share it.

    ``names`` are folded; ``products`` has the number of products of each name's medicine.
    """

    def __init__(self, names: Sequence[str], products: Sequence[int] | None = None) -> None:
        self.names = names
        self._squeezed = [name.replace(" ", "")[:_LONGEST] for name in names]
        self._keys = phonetic_keys(self._squeezed)
        self._common = _COMMON_NAME * np.log10(1.0 + np.asarray(products or [0] * len(names), dtype=np.float32))
        self._starts, self._holders, self._sizes = _pairs_of(self._keys)

    def near(self, text: str, *, least: float = ENOUGH, most: int = 20) -> list[Spelling]:
        """Return the names closest to ``text``, best first; none with a score below ``least``."""
        typed = fold_name(text).replace(" ", "")[:_LONGEST]
        if len(typed) < _SHORTEST or not self.names:
            return []
        key = phonetic_keys([typed])[0]
        alike = self._alike(key)
        scores = _scores(typed, key, [self._squeezed[n] for n in alike], [self._keys[n] for n in alike])
        found = [
            Spelling(self.names[number], float(score + self._common[number]))
            for number, score in zip(alike, scores, strict=True)
            if score >= least
        ]
        found.sort(key=lambda spelling: (-spelling.score, len(spelling.name), spelling.name))
        return found[:most]

    def _alike(self, key: str) -> list[int]:
        """Return the numbers of the names that share most pairs of letters with ``key`` for their length."""
        wanted = np.unique(_pair_codes(_codes(f"\n{key}\n")))
        lists = [self._holders[self._starts[pair] : self._starts[pair + 1]] for pair in wanted]
        shared = np.bincount(np.concatenate(lists), minlength=len(self.names))
        # One wrong letter changes two pairs. A name that shares less than a sixth of them is another name.
        some = np.flatnonzero(shared >= max(1, len(wanted) // 6))
        if len(some) > _COMPARED:
            part = shared[some] / (self._sizes[some] + len(wanted))
            some = some[np.argpartition(part, len(some) - _COMPARED)[-_COMPARED:]]
        return [int(number) for number in some]


def _codes(text: str) -> NDArray[np.int64]:
    """Return the code of each letter, digit or other sign, below ``_LETTERS``; a line end is 0."""
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    codes = 37 + points % 27
    letter, digit = (points >= ord("a")) & (points <= ord("z")), (points >= ord("0")) & (points <= ord("9"))
    codes[letter] = points[letter] - ord("a") + 1
    codes[digit] = points[digit] - ord("0") + 27
    codes[points == ord("\n")] = 0
    return codes


def _pair_codes(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return codes[:-1] * _LETTERS + codes[1:]


def _pairs_of(names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return an index of the names by pair of letters.

    The second array has the numbers of the names with each pair, one pair after the other; the first has the position
    where each pair starts in it. The third has the number of pairs of each name.
    """
    codes = _codes("\n".join(("", *names, "")))
    owner = np.cumsum(codes[:-1] == 0) - 1
    count = max(1, len(names))
    both = np.unique(_pair_codes(codes) * count + owner)
    pairs, holders = both // count, (both % count).astype(np.int32)
    starts = np.searchsorted(pairs, np.arange(_LETTERS * _LETTERS + 1))
    return starts, holders, np.bincount(holders, minlength=count)
