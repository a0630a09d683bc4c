"""Names of medicines that the shipped vocabularies know, whether or not a medicine of that name is loaded."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from tools.drug_database.names.aliases import Aliases
from tools.drug_database.names.foreign_names import international_keys, salt_in_english
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_resolution import named
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import is_known_word

_LONG_ENOUGH: Final = 6
"""Letters of a name that is known in its German or Spanish spelling as well."""


def known_name(aliases: Aliases, text: str) -> str:
    """Return the name under which the vocabularies know the medicine ``text``; empty for any other text."""
    alias = aliases.name(text)
    if alias is not None:
        return alias.alias if alias.kind != "abbreviation" else ""
    squeezed = fold_name(text).replace(" ", "")
    exact, by_key = _substances(aliases)
    if squeezed in exact:
        return exact[squeezed]
    if len(squeezed) >= _LONG_ENOUGH and not all(map(is_known_word, fold_name(text).split())):
        (key,) = international_keys([squeezed])
        alias = aliases.international(text)
        return by_key.get(key) or (alias.alias if alias else salt_in_english(text))
    return ""


def not_loaded(index: NameIndex, aliases: Aliases, text: str) -> str:
    """Return the known name of the medicine ``text`` where no record has it; empty for any other text."""
    name = known_name(aliases, text)
    return name if name and not named(index, aliases, name)[0] else ""


@cache
def _substances(aliases: Aliases) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the substances by their name without spaces, and by what their spellings in other languages share."""
    exact = {name.replace(" ", ""): name for name in sorted(aliases.substances)}
    long = [name for name in exact if len(name) >= _LONG_ENOUGH]
    return exact, {key: exact[name] for key, name in zip(international_keys(long), long, strict=True)}
