"""How many emergencies are recognised, and how many ordinary questions are taken for one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chat_app.safety.emergency_classifier import emergency_model
from chat_app.safety.emergency_features import DATA
from chat_app.safety.emergency_training import JudgedQuestion, read_examples
from tools.types import Frozen

TEST: Path = DATA / "emergency_test.jsonl"
"""Questions written apart from the training set."""


class EmergencyReport(Frozen):
    """The figures, and every question that was judged wrongly."""

    emergencies: int
    recognised: int
    ordinary: int
    false_alarms: int
    missed: tuple[str, ...]
    alarmed: tuple[str, ...]


def evaluate_emergencies(examples: Sequence[JudgedQuestion]) -> EmergencyReport:
    """Judge every example with the shipped classifier."""
    model = emergency_model()
    judged = [(one, model.is_emergency(one.text)) for one in examples]
    missed = tuple(one.text for one, alarm in judged if one.emergency and not alarm)
    alarmed = tuple(one.text for one, alarm in judged if alarm and not one.emergency)
    emergencies = sum(one.emergency for one in examples)
    return EmergencyReport(
        emergencies=emergencies,
        recognised=emergencies - len(missed),
        ordinary=len(examples) - emergencies,
        false_alarms=len(alarmed),
        missed=missed,
        alarmed=alarmed,
    )


def read_emergencies(file: Path | None = None) -> list[JudgedQuestion]:
    """Read a JSON-lines file of ``text``, ``emergency`` and ``language``; the shipped test set without one."""
    return read_examples((file or TEST).read_text(encoding="utf-8"))
