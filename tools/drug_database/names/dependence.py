"""Removes substances from the names of states such as opioid withdrawal, in which they are not taken as a treatment."""

import re
from typing import Final

from tools.drug_database.records.shipped_data import shipped_words

_STATES: Final = "|".join(sorted(shipped_words("dependence"), key=len, reverse=True))
_SUBSTANCE: Final = re.compile(rf"\b[^\W\d_][\w/]{{2,}}?[ -]?(?=(?:{_STATES})\b)", re.IGNORECASE)
"""``opioid withdrawal``, ``Alkoholentzug``."""


def without_substances(text: str) -> str:
    """Return ``text`` without the substance of a withdrawal or a dependence."""
    return _SUBSTANCE.sub("", text)
