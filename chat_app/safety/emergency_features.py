"""The features of a question for the emergency classifier: shortened words, pairs of them, and letter sequences."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from tools.drug_database.names.foreign_names import international_key, international_keys
from tools.drug_database.names.overdosage_wording import may_be_one_dose, tells_of_taking
from tools.language.figures import LATIN_COUNTS
from tools.language.folding import fold_name
from tools.language.measurement_units import UNITS
from tools.language.vocabulary.patient_values import critical_values

DATA: Final = Path(__file__).parent / "data"
NAMES: Final = DATA / "medicine_names.txt"
"""Words of names of medicines, which ``scripts.train_emergencies`` collects."""
MEDICINE: Final = "{drug}"
"""The feature of every name of a medicine."""
_TOKEN: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|')*|\d+(?:[.,]\d+)*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WINDOW: Final = 3
"""Sentences that are judged together: in a long text an emergency is told in a few of them."""
_STEM: Final = 6
"""Letters that are kept of a word, so that its endings do not matter."""
_LETTERS: Final = 5
"""Letters of a sequence. Compound and misspelt words share sequences with the words that they are made of."""
_SHORTEST_NAME: Final = 5
_SHORTEST_REST: Final = 4
"""Letters of what a German compound has behind a name."""
_MAGNITUDES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
"""Bounds between which numbers count as the same: a pulse of 34 is not one of 54."""
_TENFOLD: Final = "#tenfold"
_VALUES: Final = {True: "#critical", False: "#measured", None: "#bound"}
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_ONCE: Final = frozenset(name for name, count in LATIN_COUNTS.items() if count == 1)
_UNITS: Final = frozenset(name for name, (kind, _) in UNITS.items() if kind in {"mass", "volume", "activity"})
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'"})


def features(text: str) -> frozenset[str]:
    """Return the shortened words of ``text``, its pairs of adjacent ones and its letter sequences.

    Of a number only its magnitude counts, or that it may be a year, which tells of the past; of a medicine's name only
    that it is one. Of two adjacent numbers it counts whether one is ten or a hundred times the other, and of measured
    values, such as a pulse, whether they are critical. The "od" of a prescription ("5 mg od") counts as "bd", another
    frequency; elsewhere, and behind a large amount, it is an overdose.
    """
    tokens = _TOKEN.findall(text.translate(_APOSTROPHES).lower())
    found = _with_frequencies([part for one in tokens for part in _without_name(one)])
    words = [_magnitude(one) if one[0].isdecimal() else one[:_STEM] for one in found]
    sequences = (sequence for one in found if len(one) >= _LETTERS and one[0].isalpha() for sequence in _sequences(one))
    numbers = [_value(one) for one in found if one[0].isdecimal()]
    tenfold = [_TENFOLD for one, other in pairwise(numbers) if _is_tenfold(one, other)]
    values = [_VALUES[critical] for critical in critical_values(text)]
    return frozenset((*words, *map(" ".join, pairwise(("^", *words, "$"))), *sequences, *tenfold, *values))


def _with_frequencies(words: list[str]) -> list[str]:
    """Return ``words`` with "bd" for an "od" behind an amount, or behind a name of a medicine and a number.

    It is kept behind an amount that is no usual dose ("paracetamol 16 g od"), and beside words that tell of taking:
    "swallowed 20 amlodipine 10 mg od".
    """
    often = [
        "bd" if word in _ONCE and _is_prescribed(one, other) else word
        for one, other, word in zip(["^", "^", *words], ["^", *words], words, strict=False)
    ]
    return words if often != words and tells_of_taking(" ".join(often)) else often


def _is_prescribed(one: str, other: str) -> bool:
    """Return whether the adjacent words ``one`` and ``other`` are an amount of one usual dose, or a name and one."""
    if one == MEDICINE and other[0].isdecimal():
        return may_be_one_dose(_value(other))
    return one[0].isdecimal() and other in _UNITS and may_be_one_dose(_value(one), other)


@lru_cache(maxsize=65_536)
def _without_name(word: str) -> tuple[str, ...]:
    """Return ``word`` with ``MEDICINE`` for a name, also for one that a German compound begins with."""
    if len(word) < _SHORTEST_NAME or not word[0].isalpha():
        return (word,)
    if international_key(fold_name(word)) in _name_keys():
        return (MEDICINE,)
    ends = range(len(word) - _SHORTEST_REST, _SHORTEST_NAME, -1)
    end = next((end for end in ends if word[:end] in _names() or f"{word[:end]}e" in _names()), None)
    return (word,) if end is None else (MEDICINE, word[end:])


@cache
def _names() -> frozenset[str]:
    return frozenset(NAMES.read_text(encoding="utf-8").split())


@cache
def _name_keys() -> frozenset[str]:
    return frozenset(international_keys(sorted(_names())))


def _magnitude(number: str) -> str:
    if _YEAR.fullmatch(number):
        return "#year"
    return f"#{bisect_right(_MAGNITUDES, _value(number))}"


def _value(number: str) -> float:
    whole, *decimals = re.split("[.,]", number)
    # Three digits behind a point or comma are thousands.
    return float(f"{whole}{''.join(decimals)}" if len(number) > len(whole) + 3 else f"{whole}.{''.join(decimals)}")


def _is_tenfold(one: float, other: float) -> bool:
    less, more = sorted((one, other))
    return less > 0 and any(math.isclose(more, factor * less) for factor in (10, 100))


def _sequences(word: str) -> Iterable[str]:
    marked = f"<{word}>"
    return (f"~{marked[start : start + _LETTERS]}" for start in range(len(marked) - _LETTERS + 1))


def windows(text: str) -> Iterable[str]:
    """Return the sentences of ``text`` and its runs of three, so that no question behind an emergency outweighs it."""
    return (*_sentences(text), *runs(text))


def runs(text: str) -> tuple[str, ...]:
    """Return the runs of three sentences of ``text``, so that each is judged beside those around it; at least one."""
    sentences = _sentences(text)
    starts = range(max(1, len(sentences) - _WINDOW + 1))
    return tuple(" ".join(sentences[start : start + _WINDOW]) for start in starts)


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part.strip()]
