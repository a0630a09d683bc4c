"""German and Spanish names of substances, read by composition and by the endings of international names.

``Kaliumchlorid`` and ``cloruro de potasio`` are an ion and an ion, ``Metoprololsuccinat`` a substance and its salt,
``amoxicilina`` an international nonproprietary name with a Spanish ending. Names are compared by a key: their sound
without the endings in which the languages differ. Ions are never compared by edit distance.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from tools.drug_database.names.name_keys import salt_words, shipped
from tools.drug_database.names.spelling import sounds
from tools.language.folding import fold_name
from tools.types import Frozen

_SHORTEST: Final = 4
"""Letters of a key; shorter ones belong to too many names."""
_ENDINGS: Final = re.compile(r"(?:ium|um|[aeo]+)$")
_SPANISH_IDE: Final = re.compile(r"uro$")
_SPANISH_START: Final = re.compile(r"^es(?=[bcdfgmnpqtv])")
_ACID: Final = re.compile(r"^(?P<stem>.{3,}?)(?:in)?saure$|^acido (?P<spanish>.{3,})ico$")
_MOST_WORDS: Final = 4


class ForeignWords(Frozen):
    """``data/foreign_names.json``: parts of names that no spelling rule leads to English."""

    source: str
    cations: dict[str, str]
    anions: dict[str, str]
    spellings: tuple[tuple[str, str], ...]
    joining: frozenset[str]


@cache
def foreign_words() -> ForeignWords:
    """Return the shipped parts of German and Spanish names."""
    return shipped("foreign_names.json", ForeignWords)


@lru_cache(maxsize=65_536)
def international_key(folded: str) -> str:
    """Return the key that spellings of one international name share: ``morfina``, ``Morphin`` and ``morphine``."""
    return international_keys([folded])[0]


def international_keys(names: Sequence[str]) -> list[str]:
    """Return ``international_key`` of many names at once; names are folded."""
    if not names:
        return []
    spelt = [_SPANISH_START.sub("s", _SPANISH_IDE.sub("ide", name)) for name in names]
    for written, usual in foreign_words().spellings:
        spelt = [name.replace(written, usual) for name in spelt]
    return [_ENDINGS.sub("", sound) for sound in sounds([name.replace(" ", "") for name in spelt])]


@cache
def _salts() -> Mapping[str, str]:
    """Return English anions, salts and esters by the key of their name."""
    metals = {*foreign_words().cations.values(), *salt_words().elements}
    english = {international_key(name): name for name in sorted(salt_words().endings - metals, reverse=True)}
    return {**english, **{international_key(name): anion for name, anion in foreign_words().anions.items()}}


@cache
def _salt_keys() -> tuple[str, ...]:
    return tuple(_salts())


@cache
def _cations() -> tuple[str, ...]:
    return tuple(sorted(foreign_words().cations, key=len, reverse=True))


def english_ions(folded: str) -> frozenset[str]:
    """Return the ions and salt parts that an English name holds."""
    return _english_ions().intersection(folded.split())


def ions_of(folded: str) -> frozenset[str]:
    """Return the ions and salt parts that a name holds, in English, whichever of the languages it is written in."""
    found: set[str] = set()
    for word in folded.split():
        found.update(part for part in _parts(word) or (word,) if part in _english_ions())
    return frozenset(found)


@cache
def _english_ions() -> frozenset[str]:
    words = salt_words()
    foreign = foreign_words()
    return frozenset(words.endings | words.elements | {*foreign.cations.values(), *foreign.anions.values()})


def salt_in_english(text: str) -> str:
    """Return the English name of a German or Spanish salt that consists of ions alone; empty for another text."""
    form = next(english_forms(text), "")
    salt = len(ions_of(form)) > 1 and all(word in _english_ions() for word in form.split())
    return form if salt and form != fold_name(text) else ""


def english_forms(text: str) -> Iterator[str]:
    """Yield English names that ``text`` may be in German or Spanish, the likeliest first; none for other text."""
    folded = fold_name(text)
    yield from _acids(folded)
    words = [word for word in folded.split() if word not in foreign_words().joining]
    if not words or len(words) > _MOST_WORDS:
        return
    split = [_parts(word) for word in words]
    parts = [part for word, found in zip(words, split, strict=True) for part in (found or (word,))]
    if any(split):
        yield from _ordered(parts)


def _acids(folded: str) -> Iterator[str]:
    """Yield ``folic acid`` for ``Folsäure`` and for ``ácido fólico``."""
    acid = _ACID.match(folded)
    if acid:
        yield f"{acid['stem'] or acid['spanish']}ic acid"


def _ordered(parts: Sequence[str]) -> Iterator[str]:
    """Yield the parts in English order: substance or metal before the acid's ion, both orders for an organic ion."""
    anions = [part for part in parts if part in _salts().values()]
    others = [part for part in parts if part not in anions]
    cations = [part for part in others if part in foreign_words().cations.values()]
    bases = [part for part in others if part not in cations]
    orders = ([*bases, *cations, *anions], [*cations, *bases, *anions], bases)
    yield from dict.fromkeys(" ".join(order) for order in orders if order)
    if not anions and len(bases) == 1 and bases[0].endswith("at"):
        yield f"{bases[0]}e"


@lru_cache(maxsize=65_536)
def _parts(word: str) -> tuple[str, ...]:
    """Return the metal, substance and salt that one German or Spanish word joins; empty when it joins none.

    An English word is no such: ``chloride`` stays itself.
    """
    if word in _english_ions() and word not in foreign_words().cations:
        return ()
    cations = foreign_words().cations
    if word in cations:
        return (cations[word],)
    if salt := _salts().get(international_key(word)):
        return (salt,)
    for cation in _cations():
        rest = word.removeprefix(cation)
        if rest != word and len(rest) >= _SHORTEST:
            return (cations[cation], *(_parts(rest) or (rest,)))
        base = word.removesuffix(cation)
        if base != word and len(base) >= _SHORTEST and word.endswith("natrium"):
            return (*(_parts(base) or (base,)), cations[cation])
    return _with_salt(word)


def _with_salt(word: str) -> tuple[str, ...]:
    """Return substance and salt of a word such as ``metoprololsuccinat``."""
    if not international_key(word).endswith(_salt_keys()):
        return ()
    for place in range(_SHORTEST, len(word) - _SHORTEST + 1):
        if salt := _salts().get(international_key(word[place:])):
            return (word[:place], salt)
    return ()


def by_international_key(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the record of each international key that leads to one alone; ``names`` are folded, with their records."""
    pairs = list(names)
    owners: dict[str, set[int]] = {}
    for key, (_, entry) in zip(international_keys([name for name, _ in pairs]), pairs, strict=True):
        if len(key) >= _SHORTEST:
            owners.setdefault(key, set()).add(entry)
    return {key: next(iter(found)) for key, found in owners.items() if len(found) == 1}
