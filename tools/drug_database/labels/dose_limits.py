"""Compares the amount of a medicine that a question states with the highest dose of its labels."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tools.drug_database.records.drug_record import DOSE_SECTIONS, DrugRecord
from tools.language.figures import figures, placed_figures, placed_rates, with_decimal_points
from tools.language.measurement_units import UNITS, fold_figures, spellings
from tools.language.sentences import sentences

_KINDS: Final = frozenset({"mass", "activity"})
_CLAUSE: Final = re.compile(r"[;:?!()]|[.,](?!\d)|\b(?:and|with|plus|for|und|mit|für|y|con|para)\b", re.IGNORECASE)
_KILOGRAMS: Final = frozenset(spellings("kg"))
_GRAM: Final = 1e3
"""Factor of the largest unit of a dose. A mass in kg is a body weight."""
_BY_TIME: Final = re.compile(r"(?:/|\bper|\ba) ?(?:min|h)")
"""Follows an amount per kg that is the rate of an infusion, not a dose."""
_NEAR: Final = 12
"""Maximum number of characters between an amount and its frequency."""
_WEIGHT: Final = 70.0
"""Body weight in kg if the question states none; ``_EXCESS`` leaves room for heavier patients."""
_CHILD: Final = 40.0
"""Body weight in kg below which only doses per kg are compared, if a label has any."""
_EXCESS: Final = 2.0
"""Multiple of the highest daily dose of a label above which an amount counts as an overdose."""


class _Dose(NamedTuple):
    """A dose in a text, in the smallest unit of its kind."""

    kind: str
    amount: float
    """Amount taken on one day."""
    mean: float
    """Average daily amount; less than ``amount`` for a weekly dose."""
    rated: bool
    """Whether the text states a frequency."""
    by_weight: bool


def daily_amounts(text: str, weight: float = 0.0) -> dict[str, float]:
    """Return for each kind of unit the highest daily amount in ``text``; doses per kg are for ``weight`` kg."""
    return _highest((one.kind, one.amount) for one in _doses(text, weight))


def clauses_with_amounts(question: str) -> Iterable[str]:
    """Yield the clauses of ``question`` that state an amount."""
    return (clause for clause in _CLAUSE.split(with_decimal_points(question)) if daily_amounts(clause))


def stated_weight(question: str) -> float:
    """Return the highest body weight in kg that ``question`` states, or 0."""
    found = figures(with_decimal_points(question))
    return max((one.value for one in found if one.unit in _KILOGRAMS and not one.per), default=0.0)


def exceeds_labels(clause: str, records: Sequence[DrugRecord], weight: float = 0.0) -> bool:
    """Return whether ``clause`` names one medicine, with an amount far above every dose of its labels.

    The amount of one day is compared with the labels' highest amount of one day. An amount taken at least daily is also
    compared with the highest average, which finds a weekly dose that is taken every day. Labelled doses per kg are
    multiplied by ``weight`` in kg.
    """
    return len(records) == 1 and _exceeds(clause, records[0], weight, _EXCESS, unknown=math.inf)


def is_within_labels(clause: str, record: DrugRecord) -> bool:
    """Return whether the labels of ``record`` allow every amount in ``clause``; they do not where they tell no dose."""
    return not _exceeds(clause, record, 0.0, 1.0, unknown=0.0)


def _exceeds(clause: str, record: DrugRecord, weight: float, factor: float, *, unknown: float) -> bool:
    """Return whether ``clause`` states more than ``factor`` times the labels' doses; ``unknown`` is for other units."""
    labelled = _labelled(record, weight)
    highest = _highest((one.kind, one.amount) for one in labelled)
    means = _highest((one.kind, one.mean) for one in labelled)
    return any(
        one.amount > factor * highest.get(one.kind, unknown)
        or (one.rated and one.mean >= one.amount > factor * means.get(one.kind, unknown))
        for one in _doses(clause)
    )


def _labelled(record: DrugRecord, weight: float) -> list[_Dose]:
    """Return the doses of the labels; for a child only those per kg, if there are any."""
    texts = [
        text
        for label in record.labels
        for name, said in label.sections.items()
        if name in DOSE_SECTIONS
        for text in said
    ]
    found = [one for sentence in sentences("\n".join(texts)) for one in _doses(sentence, weight or _WEIGHT)]
    by_weight = [one for one in found if one.by_weight] if 0 < weight < _CHILD else []
    return by_weight or found


def _doses(text: str, weight: float = 0.0) -> Iterator[_Dose]:
    folded = fold_figures(text)
    for _, end, one in placed_figures(folded):
        kind, factor = UNITS.get(one.unit, ("", 0.0))
        scale = {"": 1.0, "day": 1.0, "kg": weight}.get(one.per, 0.0) if factor <= _GRAM else 0.0
        if kind in _KINDS and scale and not (one.per == "kg" and _BY_TIME.search(folded, end, end + 2 * _NEAR)):
            often = [rate.daily for start, _, rate in placed_rates(folded) if end <= start <= end + _NEAR]
            amount, rate = one.value * factor * scale, next(iter(often), 1.0)
            yield _Dose(kind, amount * max(1.0, rate), amount * rate, bool(often), one.per == "kg")


def _highest(amounts: Iterable[tuple[str, float]]) -> dict[str, float]:
    highest: dict[str, float] = {}
    for kind, amount in amounts:
        highest[kind] = max(highest.get(kind, 0.0), amount)
    return highest
