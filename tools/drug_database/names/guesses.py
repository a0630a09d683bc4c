"""What a misspelt text may mean: medicines, aliases and classes that are spelt almost like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tools.drug_database.names.aliases import Aliases
from tools.drug_database.names.class_members import class_named
from tools.drug_database.names.foreign_names import english_ions, ions_of
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import NameCandidate, distinct, leading, named
from tools.drug_database.names.spelling import ENOUGH, Spelling, closeness
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import is_known_word

_LONG_WORD: Final = 5
_MOST_WORDS: Final = 8
"""Single words and pairs of words of a long question that are tried."""
_SURE_WORD: Final = 80.0
"""A single word of a question has to come nearer than a whole name that was typed alone."""
_SURE_IONS: Final = 90.0
"""A single word has to come nearer than that to the name of a salt."""
_CLASS_LEAD: Final = 2.0
"""Points by which a class has to be nearer than any name."""
_MEANINGS: Final = 3


class Guess(NamedTuple):
    """Records that may be meant, best first, all of them by spelling; ``names`` is what to ask for."""

    candidates: tuple[NameCandidate, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Return the score of the best guess; 0 without one."""
        return self.candidates[0].score if self.candidates else 0.0


def guess(index: NameIndex, aliases: Aliases, text: str, *, least: float = ENOUGH) -> Guess:
    """Return what ``text`` as a whole may be a misspelling of; nothing for ordinary words."""
    words = fold_name(text).split()
    if all(map(is_known_word, words)):
        return Guess()
    near = [*index.spellings.near(text, least=least), *aliases.spellings.near(text, least=least)]
    by_name = sorted((one for one in near if same_ions(words, one.name)), key=lambda one: -one.score)
    by_class = sorted(
        [
            *index.class_spellings.near(text, least=max(least, ENOUGH), most=3),
            *aliases.class_spellings.near(text, least=max(least, ENOUGH), most=3),
        ],
        key=lambda one: -one.score,
    )
    if by_class and (not by_name or by_class[0].score > by_name[0].score + _CLASS_LEAD):
        return _class_guess(index, aliases, by_class[0])
    return _name_guess(index, aliases, by_name[:20])


def same_ions(words: Sequence[str], name: str) -> bool:
    """Return whether every ion of ``name`` is spelt in ``words``: potassium is no slip of calcium.

    A typed word that is an ion itself spells no other one.
    """
    typed, meant = ions_of(" ".join(words)), english_ions(name)
    if not typed and not meant:
        return True
    if len(words) == 1 and not typed and len(meant) > 1:
        return closeness(words[0], fold_name(name).replace(" ", "")) >= _SURE_IONS
    free = [word for word in words if not ions_of(word)]
    missing = [ion for ion in meant - typed if not any(closeness(word, ion) >= _SURE_WORD for word in free)]
    return not missing and (typed <= meant or not meant)


def guess_words(index: NameIndex, aliases: Aliases, words: Sequence[str]) -> Guess:
    """Guess at single and neighbouring words of a question, the nearest first."""
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    texts = [text for text in (*words, *pairs) if len(text) >= _LONG_WORD][:_MOST_WORDS]
    guesses = [guess(index, aliases, text, least=_SURE_WORD) for text in texts]
    return merged(sorted(guesses, key=lambda one: -one.score))


def merged(guesses: Iterable[Guess]) -> Guess:
    """Join guesses, each record once."""
    found = [one for one in guesses if one.candidates]
    names = dict.fromkeys(name for one in found for name in one.names)
    return Guess(distinct(candidate for one in found for candidate in one.candidates), tuple(names))


def _name_guess(index: NameIndex, aliases: Aliases, spellings: Iterable[Spelling]) -> Guess:
    found: dict[int, NameCandidate] = {}
    names: list[str] = []
    for spelling in spellings:
        meanings = [(known.entry, known.name) for known in leading(index, index.exact(spelling.name))]
        if not meanings:
            meanings = [(one.entry, one.on) for one in named(index, aliases, spelling.name)[0]]
        new = [(entry, on) for entry, on in meanings[:_MEANINGS] if entry not in found]
        names += [on for _, on in new[:1]]
        found |= {entry: NameCandidate(entry, "spelling", on, spelling.score) for entry, on in new}
    return Guess(tuple(found.values()), tuple(dict.fromkeys(names))[:5])


def _class_guess(index: NameIndex, aliases: Aliases, spelling: Spelling) -> Guess:
    members = class_named(index, aliases, spelling.name)
    named_so = index.class_names.get(spelling.name, spelling.name)
    return Guess(tuple(one._replace(how="spelling", score=spelling.score) for one in members), (named_so,))
