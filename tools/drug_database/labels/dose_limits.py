"""Compares the amount of a medicine that a question states with the highest dose of its labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tools.drug_database.records.drug_record import DOSE_SECTIONS, DrugRecord
from tools.language.figures import UNITS, fold, placed_figures, placed_rates, with_decimal_points
from tools.language.sentences import sentences

_KINDS: Final = frozenset({"mass", "activity"})
_CLAUSE: Final = re.compile(r"[;:?!()]|[.,](?!\d)|\b(?:and|with|plus|for|und|mit|für|y|con|para)\b", re.IGNORECASE)
_GRAM: Final = 1e3
"""Factor of the largest unit of a dose; a mass in kg is the weight of a body."""
_NEAR: Final = 12
"""Letters between an amount and how often it is taken."""
_WEIGHT: Final = 100.0
"""Body weight in kg at which a dose per kg is compared; a label states no heavier patient's dose."""
_EXCESS: Final = 2.0
"""Multiple of the highest daily dose of a label above which an amount counts as an overdose."""


def daily_amounts(text: str, weight: float = 0.0) -> dict[str, float]:
    """Return for each kind of unit the highest daily amount in ``text``, one per kg for a body of ``weight`` kg."""
    folded, found = fold(text), dict[str, float]()
    for _, end, one in placed_figures(folded):
        kind, factor = UNITS.get(one.unit, ("", 0.0))
        scale = {"": 1.0, "day": 1.0, "kg": weight}.get(one.per, 0.0) if factor <= _GRAM else 0.0
        if kind in _KINDS and scale:
            often = [rate.daily for start, _, rate in placed_rates(folded) if end <= start <= end + _NEAR]
            found[kind] = max(found.get(kind, 0.0), one.value * factor * scale * max((1.0, *often[:1])))
    return found


def clauses_with_amounts(question: str) -> Iterable[str]:
    """Yield the clauses of ``question`` that state an amount; each is compared with the medicine that it names."""
    return (clause for clause in _CLAUSE.split(with_decimal_points(question)) if daily_amounts(clause))


def exceeds_labels(clause: str, records: Sequence[DrugRecord]) -> bool:
    """Return whether ``clause`` names one medicine, with an amount far above every dose of its labels."""
    if len(records) != 1:
        return False
    highest = highest_doses(records[0])
    return any(amount > _EXCESS * highest[kind] for kind, amount in daily_amounts(clause).items() if kind in highest)


def highest_doses(record: DrugRecord) -> dict[str, float]:
    """Return for each kind of unit the highest daily dose that a label of ``record`` states."""
    highest: dict[str, float] = {}
    for label in record.labels:
        stated = (text for name, texts in label.sections.items() if name in DOSE_SECTIONS for text in texts)
        for sentence in sentences("\n".join(stated)):
            for kind, amount in daily_amounts(sentence, _WEIGHT).items():
                highest[kind] = max(highest.get(kind, 0.0), amount)
    return highest
