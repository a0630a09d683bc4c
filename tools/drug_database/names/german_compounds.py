"""Separates the parts of German compounds: ``Prednisolon-Dosis`` for ``Prednisolondosis``."""

import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

from tools.drug_database.names.aliases import aliases, is_known_word
from tools.drug_database.names.name_resolution import known_name
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import compound_parts, translations

_SHORTEST_NAME, _SHORTEST_REST = 5, 4
_LONG: Final = re.compile(rf"\b[^\W\d_]{{{_SHORTEST_NAME + _SHORTEST_REST},}}\b")


def with_separate_parts(text: str) -> str:
    """Return ``text`` with hyphens between the parts of each German compound that the vocabulary does not list.

    They are words of the clinical vocabulary. The name of a medicine or class is separated only if the word is unknown.
    """
    return _LONG.sub(lambda found: _separate(found[0]), text)


@lru_cache(maxsize=20_000)
def _separate(word: str) -> str:
    folded = fold_name(word)
    if len(folded) != len(word) or _is_name(folded):
        return word
    parts = compound_parts(folded)
    # Insulin resistance is no question on insulin.
    if parts and not any(map(_is_name, parts)):
        ends = accumulate(parts, lambda at, part: folded.index(part, at) + len(part), initial=0)
        starts = [folded.index(part, end) for part, end in zip(parts, ends, strict=False)]
        return "-".join(word[one:other].capitalize() for one, other in pairwise([*starts, len(word)]))
    if is_known_word(folded):
        return word
    for cut in range(len(word) - _SHORTEST_REST, _SHORTEST_NAME - 1, -1):
        if any(translations([folded[cut:]], "de")) and _is_name(folded[:cut]):
            return f"{word[:cut]}-{word[cut:].capitalize()}"
    return word


def _is_name(folded: str) -> bool:
    return bool(known_name(folded) or aliases().drug_class(folded) or aliases().international(folded))
