"""How binding a sentence is: whether a statement demands what its source only allows, or the reverse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chat_app.agent.statements.polarity import negations

_DEMANDS: Final = re.compile(r"\b(?:must|mandatory|obligatory|always|has to|have to|requires?|(?:is|are) required)\b")
_ALLOWS: Final = re.compile(
    r"\bconsider(?:ed|ation)?\b|\b(?:may|might|could|can)(?: also)? be \w+(?:ed|en|t)\b"
    r"|\b(?:is|are|be|seems?) (?:reasonable|optional|an option)\b|\boptional(?:ly)?\b"
)
_ADVISES: Final = re.compile(r"\b(?:should|ought to|recommend\w*|need\w*)\b")


def differs_in_obligation(statement: str, sources: Sequence[str]) -> bool:
    """Return whether one side demands what the other only allows; sentences with a negation are not compared."""
    binding = _binding(statement)
    if binding is None or any(map(negations, (statement, *sources))):
        return False
    return all(_binding(one) is (not binding) for one in sources)


def _binding(text: str) -> bool | None:
    """Return True for a sentence that only demands, False for one that only allows, None for any other."""
    text = text.casefold()
    demands, allows = (pattern.search(text) is not None for pattern in (_DEMANDS, _ALLOWS))
    return None if demands == allows or _ADVISES.search(text) else demands
