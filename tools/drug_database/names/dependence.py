"""Removes substances from the names of states such as opioid withdrawal, in which they are not taken as a treatment."""

import re
from typing import Final

from tools.drug_database.names.name_keys import word_list

_STATES: Final = "|".join(sorted(word_list("dependence"), key=len, reverse=True))
_SUBSTANCE: Final = re.compile(rf"\b[^\W\d_][\w/]{{2,}}?[ -]?(?=(?:{_STATES})\b)", re.IGNORECASE)
"""``opioid withdrawal``, ``Alkoholentzug``."""


def without_substances(text: str) -> str:
    """Return ``text`` without the substance of a withdrawal or a dependence."""
    return _SUBSTANCE.sub("", text)
