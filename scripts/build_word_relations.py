"""Builds ``related.tsv`` and ``opposites.tsv`` of ``tools/language/vocabulary/related`` from the files of WordNet 3.0.

Run it with the folder that holds ``index.noun`` and its like (``/usr/share/wordnet`` of Debian's ``wordnet-base``):

    python -m scripts.build_word_relations /usr/share/wordnet

A word is related to its synonyms, to the words derived from it, to the noun that an adjective pertains to, and to
similar adjectives. Hypernyms and hyponyms are left out. Only the two most frequent senses of a part of speech
count, and of these the senses that hold at least 15 % of the word's uses in the tagged texts of WordNet.
Opposites are the antonyms of adjectives.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.language.terms import term, terms
from tools.language.vocabulary.clinical_vocabulary import is_english
from tools.language.vocabulary.opposites import FILE as OPPOSITES
from tools.language.vocabulary.related_words import FILE

_POS: Final = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_POS_OF_KEY: Final = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_DERIVED: Final = frozenset({"+", "\\"})
"""Pointers to derivationally related forms, to what an adjective pertains to, and to the adjective of an adverb."""
_SIMILAR: Final = "&"
_ANTONYM: Final = "!"
_SENSES: Final = 2
_LEAST_SHARE: Final = 0.15
_LONGEST: Final = 3
"""Words of a related phrase."""

Place = tuple[str, str]
"""Part of speech and offset of a group of synonyms."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A relation to another group; ``source`` and ``target`` number the words that it joins, 0 for all."""

    kind: str
    place: Place
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Synonyms:
    """A group of synonyms with its relations."""

    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]


def read_groups(folder: Path) -> dict[Place, Synonyms]:
    """Read the groups of synonyms of all parts of speech."""
    return {
        (pos, fields[0]): _group(fields)
        for name, pos in _POS.items()
        for fields in (line.partition(" | ")[0].split() for line in _lines(folder / f"data.{name}"))
    }


def _group(fields: list[str]) -> Synonyms:
    behind = 4 + 2 * int(fields[3], 16)
    words = tuple(re.sub(r"\(\w+\)$", "", word).replace("_", " ").lower() for word in fields[4:behind:2])
    starts = range(behind + 1, behind + 1 + 4 * int(fields[behind]), 4)
    pointers = (
        Pointer(kind, (pos, offset), *bytes.fromhex(joined))
        for kind, offset, pos, joined in (fields[start : start + 4] for start in starts)
    )
    return Synonyms(words, tuple(pointers))


def read_senses(folder: Path) -> dict[str, list[Place]]:
    """Read the frequent senses of each single word."""
    uses: dict[tuple[str, str, int], int] = {}
    for line in (folder / "cntlist.rev").read_text(encoding="latin-1").splitlines():
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        uses[word, _POS_OF_KEY[rest[0]], int(number) - 1] = int(count)
    found: dict[str, list[tuple[int, int, Place]]] = defaultdict(list)
    for name, pos in _POS.items():
        for fields in map(str.split, _lines(folder / f"index.{name}")):
            for rank, offset in enumerate(fields[-int(fields[2]) :]):
                found[fields[0]].append((rank, uses.get((fields[0], pos, rank), 0) + 1, (pos, offset)))
    return {
        word: [place for rank, count, place in senses if rank < _SENSES and count >= _LEAST_SHARE * total]
        for word, senses in found.items()
        if word.isalpha() and (total := sum(count for _, count, _ in senses))
    }


def related(word: str, places: Iterable[Place], groups: dict[Place, Synonyms]) -> Iterator[str]:
    """Yield the words and phrases that are related to ``word`` in the senses at ``places``."""
    for place in places:
        group = groups[place]
        yield from group.words
        own = group.words.index(word) + 1 if word in group.words else 0
        for pointer in group.pointers:
            others = groups[pointer.place].words
            if pointer.kind in _DERIVED and pointer.source in {0, own}:
                yield from others[pointer.target - 1 : pointer.target] if pointer.target else others
            elif pointer.kind == _SIMILAR:
                yield from others


def related_terms(folder: Path) -> dict[str, set[frozenset[str]]]:
    """Return for the term of each English word the terms of its related words and phrases."""
    groups = read_groups(folder)
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for word, places in read_senses(folder).items():
        if is_english(word):
            phrases = (other.split() for other in related(word, places, groups))
            forms = {frozenset(terms(" ".join(phrase))) for phrase in phrases if _is_whole(phrase)}
            found[term(word)] |= {form for form in forms if term(word) not in form}
    return found


def opposite_terms(folder: Path) -> set[tuple[str, str]]:
    """Return the terms of each pair of opposite adjectives, both ways."""
    groups = read_groups(folder)
    pairs = (
        (group.words[pointer.source - 1], groups[pointer.place].words[pointer.target - 1])
        for (pos, _), group in groups.items()
        for pointer in group.pointers
        if pos == "a" and pointer.kind == _ANTONYM
    )
    return {(term(one), term(other)) for one, other in pairs if is_english(one) and is_english(other)}


def _is_whole(phrase: Sequence[str]) -> bool:
    """Return whether every word is indexed: ``give up`` without ``up`` would mean something else."""
    return len(phrase) <= _LONGEST and all(map(is_english, phrase)) and len(terms(" ".join(phrase))) == len(phrase)


def _lines(file: Path) -> Iterator[str]:
    return (line for line in file.read_text(encoding="latin-1").splitlines() if not line.startswith("  "))


def main(folder: str) -> None:
    """Write the files."""
    lines = (
        f"{key}\t{';'.join(sorted(' '.join(sorted(form)) for form in forms))}\n"
        for key, forms in sorted(related_terms(Path(folder)).items())
        if forms
    )
    FILE.write_text("".join(lines), encoding="utf-8")
    opposites = sorted((one, other) for one, other in opposite_terms(Path(folder)) if one < other)
    OPPOSITES.write_text("".join(f"{one}\t{other}\n" for one, other in opposites), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
