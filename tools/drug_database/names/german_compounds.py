"""Separates a medicine's name from the rest of a German compound: ``Prednisolon-Dosis`` for ``Prednisolondosis``."""

import re
from functools import lru_cache
from typing import Final

from tools.drug_database.names.aliases import aliases, is_known_word
from tools.drug_database.names.name_resolution import known_name
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import translations

_SHORTEST_NAME, _SHORTEST_REST = 5, 4
_LONG: Final = re.compile(rf"\b[^\W\d_]{{{_SHORTEST_NAME + _SHORTEST_REST},}}\b")


def with_separate_names(text: str) -> str:
    """Return ``text`` with a hyphen after the name of a medicine or class that begins an unknown German compound."""
    return _LONG.sub(lambda found: _separate(found[0]), text)


@lru_cache(maxsize=20_000)
def _separate(word: str) -> str:
    folded = fold_name(word)
    if len(folded) != len(word) or is_known_word(folded) or _is_name(folded):
        return word
    for cut in range(len(word) - _SHORTEST_REST, _SHORTEST_NAME - 1, -1):
        if any(translations([folded[cut:]], "de")) and _is_name(folded[:cut]):
            return f"{word[:cut]}-{word[cut:].capitalize()}"
    return word


def _is_name(folded: str) -> bool:
    return bool(known_name(folded) or aliases().drug_class(folded) or aliases().international(folded))
