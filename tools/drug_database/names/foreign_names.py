"""Translates German and Spanish names of substances by their parts and by the endings of international names.

``Kaliumchlorid`` and ``cloruro de potasio`` consist of two ions, ``Metoprololsuccinat`` of a substance and its salt;
``amoxicilina`` is an international nonproprietary name with a Spanish ending. Names are compared by a key, which is
their phonetic key without the endings in which the languages differ. Ions are never compared by edit distance.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from tools.drug_database.names.name_keys import salt_words
from tools.drug_database.names.spelling import phonetic_keys
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.language.folding import fold_name

_SHORTEST: Final = 4
"""Minimum length of a key; shorter ones belong to too many names."""
_ENDINGS: Final = re.compile(r"(?:ium|um|[aeo]+)$")
_SPANISH_IDE: Final = re.compile(r"uro$")
_SPANISH_START: Final = re.compile(r"^es(?=[bcdfgmnpqtv])")
_ACID: Final = re.compile(r"^(?P<stem>.{3,}?)(?:in)?saure$|^acido (?P<spanish>.{3,})ico$")
"""``Folsäure`` and ``ácido fólico``."""
_MOST_WORDS: Final = 4


class ForeignWords(Shipped):
    """``data/foreign_names.json``: parts of names that spelling rules do not turn into English."""

    cations: dict[str, str]
    anions: dict[str, str]
    spellings: tuple[tuple[str, str], ...]
    joining: frozenset[str]


_WORDS: Final = shipped("foreign_names.json", ForeignWords)
_CATIONS: Final = sorted(_WORDS.cations, key=len, reverse=True)
_ENGLISH_IONS: Final = (
    salt_words().endings | salt_words().elements | {*_WORDS.cations.values(), *_WORDS.anions.values()}
)


@lru_cache(maxsize=65_536)
def international_key(folded: str) -> str:
    """Return the key that the spellings of one international name share: ``morfina``, ``Morphin``, ``morphine``."""
    return international_keys([folded])[0]


def international_keys(names: Sequence[str]) -> list[str]:
    """Return ``international_key`` of many names at once; names are folded."""
    if not names:
        return []
    spelt = [_SPANISH_START.sub("s", _SPANISH_IDE.sub("ide", name)) for name in names]
    for written, usual in _WORDS.spellings:
        spelt = [name.replace(written, usual) for name in spelt]
    return [_ENDINGS.sub("", key) for key in phonetic_keys([name.replace(" ", "") for name in spelt])]


def _salts() -> dict[str, str]:
    metals = {*_WORDS.cations.values(), *salt_words().elements}
    english = {international_key(name): name for name in sorted(salt_words().endings - metals, reverse=True)}
    return english | {international_key(name): anion for name, anion in _WORDS.anions.items()}


_SALTS: Final = _salts()
"""English anions, salts and esters by the key of their name."""


def english_ions(folded: str) -> frozenset[str]:
    """Return the ions and salt parts in an English name."""
    return _ENGLISH_IONS.intersection(folded.split())


def ions_of(folded: str) -> frozenset[str]:
    """Return the English names of the ions and salt parts in an English, German or Spanish name."""
    return _ENGLISH_IONS.intersection(part for word in folded.split() for part in _parts(word) or (word,))


def salt_in_english(text: str) -> str:
    """Return the English name of a German or Spanish salt that consists only of ions; empty for other text."""
    form = next(english_forms(text), "")
    salt = len(ions_of(form)) > 1 and _ENGLISH_IONS.issuperset(form.split())
    return form if salt and form != fold_name(text) else ""


def english_forms(text: str) -> Iterator[str]:
    """Yield the English names that the German or Spanish ``text`` may mean, the likeliest first."""
    folded = fold_name(text)
    if acid := _ACID.match(folded):
        yield f"{acid['stem'] or acid['spanish']}ic acid"
    words = [word for word in folded.split() if word not in _WORDS.joining]
    if not words or len(words) > _MOST_WORDS:
        return
    split = [_parts(word) for word in words]
    parts = [part for word, found in zip(words, split, strict=True) for part in (found or (word,))]
    if any(split):
        yield from _ordered(parts)


def _ordered(parts: Sequence[str]) -> Iterator[str]:
    """Yield the parts in the orders that English may use: substance and metal before the ion of the acid."""
    anions = [part for part in parts if part in _SALTS.values()]
    others = [part for part in parts if part not in anions]
    cations = [part for part in others if part in _WORDS.cations.values()]
    bases = [part for part in others if part not in cations]
    orders = ([*bases, *cations, *anions], [*cations, *bases, *anions], bases)
    yield from dict.fromkeys(" ".join(order) for order in orders if order)
    if not anions and len(bases) == 1 and bases[0].endswith("at"):
        yield f"{bases[0]}e"


@lru_cache(maxsize=65_536)
def _parts(word: str) -> tuple[str, ...]:
    """Return the metal, substance and salt in one German or Spanish word; empty for an English word and any other."""
    cations = _WORDS.cations
    if word in cations:
        return (cations[word],)
    if word in _ENGLISH_IONS:
        return ()
    if salt := _SALTS.get(international_key(word)):
        return (salt,)
    for cation in _CATIONS:
        rest = word.removeprefix(cation)
        if rest != word and len(rest) >= _SHORTEST:
            return (cations[cation], *(_parts(rest) or (rest,)))
        base = word.removesuffix(cation)
        if base != word and len(base) >= _SHORTEST and word.endswith("natrium"):
            return (*(_parts(base) or (base,)), cations[cation])
    return _with_salt(word)


def _with_salt(word: str) -> tuple[str, ...]:
    """Return the substance and salt of a word such as ``metoprololsuccinat``."""
    if not international_key(word).endswith(tuple(_SALTS)):
        return ()
    for place in range(_SHORTEST, len(word) - _SHORTEST + 1):
        if salt := _SALTS.get(international_key(word[place:])):
            return (word[:place], salt)
    return ()


def by_international_key(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the record of each international key that only one record has.

    ``names`` are folded names, each with the number of its record.
    """
    pairs = list(names)
    owners: dict[str, set[int]] = defaultdict(set)
    for key, (_, entry) in zip(international_keys([name for name, _ in pairs]), pairs, strict=True):
        if len(key) >= _SHORTEST:
            owners[key].add(entry)
    return {key: entries.pop() for key, entries in owners.items() if len(entries) == 1}
