"""How names sound: spellings that are read alike in English become one.

``Xarelto`` and ``zarelto``, ``amrix`` and ``amriks``, ``phenytoin`` and ``fenitoin`` are each one sound. The rules are
those of English spelling, none is made for a medicine; they are plain replacements, so that they run over hundreds of
thousands of names at once.
"""

import re
from collections.abc import Sequence
from typing import Final

from tools.drug_database.names.name_keys import shipped
from tools.types import Frozen


class PhoneticRules(Frozen):
    """``data/phonetic_rules.json``: replacements in the order in which they are made."""

    source: str
    rules: tuple[tuple[str, str], ...]


_RULES: Final = shipped("phonetic_rules.json", PhoneticRules).rules
_DOUBLED: Final = re.compile(r"(.)\1+")


def sounds(names: Sequence[str]) -> list[str]:
    """Return the sound of each name; names are folded and hold neither spaces nor line ends."""
    text = "\n".join(("", *names, ""))
    for written, heard in _RULES:
        text = text.replace(written, heard)
    return _DOUBLED.sub(r"\1", text).replace("e\n", "\n")[1:-1].split("\n")
