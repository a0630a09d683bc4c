"""The baseline that answers have to beat: the sentences that share the rarest words with the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tools.language.quotable_units import term_set, units
from tools.types import Passage

_HEADING = 0.5
"""Of the weight of a term that only the section or the heading holds."""
_FIGURE = 0.05
_RANK = 0.02


def naive_quotes(question: str, passages: Sequence[Passage], most: int = 5) -> list[str]:
    """Return the ``most`` best sentences or rows of ``passages``, by the rarity of the question's terms they hold."""
    asked = term_set(question)
    found = [(rank, passage, unit) for rank, passage in enumerate(passages) for unit in units(passage.text)]
    counts = Counter(term for _, _, unit in found for term in asked & term_set(unit.text))
    rarity = {term: math.log(1 + len(found) / (1 + counts[term])) for term in asked}
    total = sum(rarity.values())

    def score(rank: int, passage: Passage, text: str, heading: str) -> float:
        own = asked & term_set(text)
        above = (asked - own) & term_set(f"{passage.section} {heading}")
        held = sum(rarity[term] for term in own) + _HEADING * sum(rarity[term] for term in above)
        return held + total * (_FIGURE * any(map(str.isdigit, text)) - _RANK * rank)

    ranked = sorted(found, key=lambda each: -score(each[0], each[1], each[2].text, each[2].heading))
    return list(dict.fromkeys(unit.text for _, _, unit in ranked))[:most]
