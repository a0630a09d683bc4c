"""What was typed, taken apart: the words that may name a medicine, without the question, form and strength."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from tools.drug_database.names import fold, word_list
from tools.drug_database.text import STOP

LONGEST: Final = 300
"""Characters of the typed text that are looked at; no name of a medicine is longer."""
FORMS: Final = word_list("forms")
NOISE: Final = STOP | FORMS | word_list("units") | word_list("asking")
_AMOUNT = re.compile(r"^\d+(?:[.,]\d+)*(?:mg|mcg|ug|g|gm|ml|l|iu|units?|meq|mmol|%|h|hr|hrs)?$")
_STRENGTH = re.compile(
    r"\d+(?:[.,]\d+)*\s*(?:mg|mcg|ug|g|gm|iu|units?|meq|mmol|%)(?:\s*/\s*(?:\d+(?:\.\d+)?\s*)?(?:ml|l|hr|h|g|actuation|day))?",
    re.IGNORECASE,
)


class Question(NamedTuple):
    """``whole`` is all that was typed, folded; ``words`` its words; ``core`` the words that are no noise."""

    whole: str
    words: tuple[str, ...]
    core: tuple[str, ...]
    trimmed: str
    """``whole`` without noise at its ends: ``phosphodiesterase 5 inhibitor drugs`` keeps its number."""
    strength: str
    """The first strength named, as typed; empty without one."""


def understand(typed: str) -> Question:
    """Takes any text; control characters count as spaces and only the first 300 characters are looked at."""
    start = typed[: LONGEST * 4]
    visible = "".join(" " if unicodedata.category(sign) in {"Cc", "Cf", "Cs"} else sign for sign in start)
    plain = " ".join(visible.split())[:LONGEST]
    strength = _STRENGTH.search(plain)
    words = tuple(fold(plain).split())
    core = tuple(word for word in words if word not in NOISE and not _AMOUNT.match(word))
    return Question(whole=" ".join(words), words=words, core=core, trimmed=_trimmed(words),
                    strength=strength[0] if strength else "")  # fmt: skip


def _trimmed(words: tuple[str, ...]) -> str:
    meant = [place for place, word in enumerate(words) if word not in NOISE]
    return " ".join(words[meant[0] : meant[-1] + 1]) if meant else ""
