"""How names sound: spellings that are read alike in English become one.

``Xarelto`` and ``zarelto``, ``amrix`` and ``amriks``, ``phenytoin`` and ``fenitoin`` are each one sound. The rules are
those of English spelling, none is made for a medicine; they are plain replacements, so that they run over hundreds of
thousands of names at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_RULES: Final = (
    ("\nx", "\nz"),
    ("\nps", "\ns"),
    ("\npn", "\nn"),
    ("\nkn", "\nn"),
    ("\nwr", "\nr"),
    ("\nmn", "\nn"),
    ("ph", "f"),
    ("qu", "kv"),
    ("x", "ks"),
    ("sch", "sk"),
    ("sce", "se"),
    ("sci", "si"),
    ("scy", "si"),
    ("ck", "k"),
    ("ch", "k"),
    ("ce", "se"),
    ("ci", "si"),
    ("cy", "si"),
    ("c", "k"),
    ("q", "k"),
    ("dg", "j"),
    ("ge", "je"),
    ("gi", "ji"),
    ("gy", "ji"),
    ("z", "s"),
    ("ae", "e"),
    ("oe", "e"),
    ("ee", "e"),
    ("ea", "e"),
    ("oo", "u"),
    ("ou", "u"),
    ("y", "i"),
    ("w", "v"),
    ("h", ""),
)
_DOUBLED: Final = re.compile(r"(.)\1+")


def sounds(names: Sequence[str]) -> list[str]:
    """Return the sound of each name; names are folded and hold neither spaces nor line ends."""
    text = "\n".join(("", *names, ""))
    for written, heard in _RULES:
        text = text.replace(written, heard)
    return _DOUBLED.sub(r"\1", text).replace("e\n", "\n")[1:-1].split("\n")
