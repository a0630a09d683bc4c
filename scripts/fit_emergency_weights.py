"""Logistic regression over the features of many questions, by gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from chat_app.safety.emergency_features import features

BIAS: Final = ""
"""The name of what all questions have."""
_PENALTY: Final = 1e-5
_RATE: Final = 0.05
_STEPS: Final = 500

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


class Numbers:
    """The features that were seen, in the order in which they were."""

    def __init__(self) -> None:
        """Start with what all questions have."""
        self.names: dict[str, int] = {BIAS: 0}

    def of(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the features of ``text``, in an order that does not change from run to run."""
        found = (self.names.setdefault(name, len(self.names)) for name in sorted(features(text)))
        return (self.names[BIAS], *found)


def fitted(
    rows: Sequence[tuple[int, ...]], held: Sequence[bool], asked: Sequence[int], rarest: int
) -> Iterable[tuple[int, float]]:
    """Yield the weight of each number that is in ``rarest`` or more questions, by Adam on all of them at once.

    A row stands for a question that was ``asked`` as often and belongs to the class if ``held``.
    """
    sizes = np.array([len(row) for row in rows])
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(sizes.sum()))
    counts, wanted = np.array(asked, np.float32), np.array(held, np.float32)
    kept = np.bincount(flat, weights=np.repeat(counts, sizes)) >= rarest
    kept[0] = True
    of_row = np.repeat(np.arange(len(rows)), sizes)[kept[flat]]
    flat = (np.cumsum(kept) - 1)[flat[kept[flat]]]
    weights = _descended(flat, of_row, counts, wanted)
    return zip(np.flatnonzero(kept).tolist(), weights.tolist(), strict=True)


def _descended(flat: Places, of_row: Places, counts: Floats, wanted: Floats) -> Floats:
    by_column = np.argsort(flat, kind="stable")
    of_column = of_row[by_column]
    starts, column_starts = (np.cumsum(each) - each for each in (np.bincount(of_row), np.bincount(flat)))
    penalty = np.full(len(column_starts), _PENALTY, np.float32)
    penalty[0] = 0
    weights, mean, square = (np.zeros(len(penalty), np.float32) for _ in range(3))
    for step in range(1, _STEPS + 1):
        scores = np.add.reduceat(weights[flat], starts)
        errors = counts * (1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0))) - wanted)
        gradient = np.add.reduceat(errors[of_column], column_starts) / counts.sum() + penalty * weights
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient * gradient - square)
        weights -= _RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights
