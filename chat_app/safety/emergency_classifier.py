"""Decides whether a question tells of an immediate danger to life, and of which kind.

An emergency is an overdose, poisoning, self-harm, anaphylaxis, collapse, stroke and the like; an exposure is one in
which something was taken, given or breathed in, or self-harm, in which nothing need have been taken yet; a reaction is
an allergic one to a usual amount. Each is a linear model over ``emergency_features``: the sum of the weights of a
question's features, as a probability. ``scripts.train_emergencies`` fits the weights; ``asclepius eval emergencies``
measures them on questions that were written apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Final, Literal

from chat_app.safety.emergency_features import DATA, MEDICINE, features, runs, windows
from tools.drug_database.names.overdosage_wording import speaks_of_overdose, tells_of_taking
from tools.language.vocabulary.patient_values import critical_values
from tools.types import Frozen

EMERGENCY: Final[Path] = DATA / "emergency_weights.json"
EXPOSURE: Final[Path] = DATA / "exposure_weights.json"
INTENT: Final[Path] = DATA / "self_harm_weights.json"
REACTION: Final[Path] = DATA / "reaction_weights.json"
LEAST_WITH_EXCESS: Final = 0.05
"""Probability of an emergency from which an amount far above every labelled dose of a medicine is an overdose."""
_LEAST_WITH_CRITICAL: Final = 0.4
"""Probability from which a question with a critical value is an emergency. Instead of 0.55 it adds 2 of the 458
emergencies with such a value in the test sets, and false alarms for 2 of the 58 ordinary questions."""
_SURE: Final = 0.35
"""Probability of an exposure below which it is doubtful. In the test set 1,447 of 1,452 recognised ones have more."""
_SURE_UNNAMED: Final = 0.5
"""The same where no medicine is named. When it was chosen, 3 of 845 exposures had less, and 21 of 48 other ones."""
_SURE_OF_MEDICINE_BEFORE: Final = 0.9
"""The same from which a question that names no medicine is about the one asked about before. Of the acute illnesses
that are taken for exposures without a medicine, 24 of 34 in the test set have less, of the exposures 92 of 574."""
_SURE_INTENT: Final = 0.7
"""Probability of an emergency from which intended self-harm hides the sources; a less probable one withholds doses."""
_LONGEST: Final = 20_000
EmergencyKind = Literal["exposure", "reaction", "self_harm", "illness"]
"""A substance taken, given or inhaled; an allergic reaction to one; intended self-harm; any other emergency."""


class EmergencyModel(Frozen):
    """The weights of one trained classifier."""

    bias: float
    threshold: float
    weights: dict[str, float]

    def probability(self, text: str, parts: Callable[[str], Iterable[str]] = windows) -> float:
        """Return the probability of the most alarming of the ``parts`` of ``text``."""
        return max((self._of(features(part)) for part in parts(text[:_LONGEST])), default=0.0)

    def recognises(self, text: str) -> bool:
        """Return whether ``text`` belongs to the class that the classifier was trained for."""
        return self.probability(text) >= self.threshold

    def recognises_whole(self, text: str) -> bool:
        """Return whether ``text`` as a whole belongs to the class, whatever a part of it alone tells."""
        return self._of(features(text[:_LONGEST])) >= self.threshold

    def _of(self, found: frozenset[str]) -> float:
        return 0.5 + 0.5 * math.tanh((self.bias + sum(self.weights.get(name, 0.0) for name in found)) / 2.0)


@cache
def emergency_model(weights: Path = EMERGENCY) -> EmergencyModel:
    """Return a shipped classifier."""
    return EmergencyModel.model_validate(json.loads(weights.read_text(encoding="utf-8")))


def emergency_kind(text: str) -> EmergencyKind | None:
    """Return the kind of emergency that ``text`` tells of; None for an ordinary question."""
    probability = emergency_model().probability(text)
    if probability < least_probability(text):
        return None
    if emergency_model(INTENT).recognises_whole(text):
        return "self_harm" if probability >= _SURE_INTENT else "exposure"
    exposure = emergency_model(EXPOSURE)
    if not exposure.recognises(text):
        return "illness"
    if emergency_model(REACTION).recognises_whole(text):
        return "reaction"
    least = _SURE if MEDICINE in features(text) else _SURE_UNNAMED
    return "exposure" if exposure.probability(text) >= least or tells_of_taking(text) else "illness"


def is_emergency(text: str) -> bool:
    """Return whether ``text`` describes an emergency."""
    return emergency_model().probability(text) >= least_probability(text)


def least_probability(text: str) -> float:
    """Return the probability from which ``text`` is an emergency.

    In a long text some run of sentences looks alarming by chance. The Bonferroni correction divides the accepted error,
    which is one minus the threshold, by the number of runs.
    """
    judged = text[:_LONGEST]
    least = _LEAST_WITH_CRITICAL if any(critical_values(judged)) else emergency_model().threshold
    return 1.0 - (1.0 - least) / len(runs(judged))


def is_sure_exposure(text: str) -> bool:
    """Return whether an exposure in ``text`` is probable enough to be answered by Overdosage sections first.

    Sentences are judged with those around them, because one alone may be misread.
    """
    return emergency_model(EXPOSURE).probability(text, runs) >= _SURE


def may_tell_of_medicine_before(text: str) -> bool:
    """Return whether ``text`` is on an overdose, a reaction or something taken, which a question before may name."""
    return (
        tells_of_taking(text)
        or speaks_of_overdose(text)
        or emergency_kind(text) == "reaction"
        or emergency_model(EXPOSURE).probability(text) >= _SURE_OF_MEDICINE_BEFORE
    )
