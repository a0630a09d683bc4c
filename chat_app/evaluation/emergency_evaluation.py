"""How many emergencies and exposures are recognised, and how many other questions are taken for one."""

from collections.abc import Sequence
from pathlib import Path

from chat_app.evaluation.question_files import read_rows
from chat_app.safety.emergency_classifier import EXPOSURE, emergency_model
from chat_app.safety.emergency_features import DATA
from tools.types import Frozen

TEST: Path = DATA / "emergency_test.jsonl"
"""Questions written apart from the training set.

The groups ``blind`` and ``unseen`` were written before the last training, and nothing of them is in the training set.
``doses`` are ordinary questions about the doses of the demonstration drugs, ``pairs`` ordinary ones about combinations.
"""


class JudgedQuestion(Frozen):
    """A question of a training or test set."""

    text: str
    emergency: bool
    language: str
    draws: int = 1
    """Times that a template is filled."""
    group: str = ""
    """The part of a test set that it is counted with; in the training set, of the questions written one by one."""
    illness: bool = False
    """An emergency without an exposure: no self-harm, and no harm from something taken, given or breathed in."""

    @property
    def exposure(self) -> bool:
        """Return whether it is an emergency whose answer must not quote a usual dose."""
        return self.emergency and not self.illness


class EmergencyFigures(Frozen):
    """The counts of a group of questions."""

    group: str
    emergencies: int
    recognised: int
    ordinary: int
    false_alarms: int
    exposures: int
    withheld: int
    """Exposures recognised as such, so that no usual dose is quoted."""
    illnesses: int
    answered: int
    """Other emergencies that are not taken for an exposure, so that all sources are searched."""


class EmergencyReport(EmergencyFigures):
    """The counts of all questions and of each group, and every question that was judged wrongly."""

    groups: tuple[EmergencyFigures, ...]
    missed: tuple[str, ...]
    alarmed: tuple[str, ...]


def evaluate_emergencies(examples: Sequence[JudgedQuestion]) -> EmergencyReport:
    """Judge every example with the shipped classifier."""
    model = emergency_model()
    judged = [(one, model.recognises(one.text)) for one in examples]
    groups = dict.fromkeys(one.group for one in examples)
    return EmergencyReport(
        **_figures("all", judged).model_dump(),
        groups=tuple(_figures(group, [each for each in judged if each[0].group == group]) for group in groups),
        missed=tuple(one.text for one, alarm in judged if one.emergency and not alarm),
        alarmed=tuple(one.text for one, alarm in judged if alarm and not one.emergency),
    )


def _figures(group: str, judged: Sequence[tuple[JudgedQuestion, bool]]) -> EmergencyFigures:
    emergencies = [alarm for one, alarm in judged if one.emergency]
    ordinary = [alarm for one, alarm in judged if not one.emergency]
    model = emergency_model(EXPOSURE)
    exposures = [model.recognises(one.text) for one, _ in judged if one.exposure]
    illnesses = [not model.recognises(one.text) for one, _ in judged if one.illness]
    return EmergencyFigures(
        group=group,
        emergencies=len(emergencies),
        recognised=sum(emergencies),
        ordinary=len(ordinary),
        false_alarms=sum(ordinary),
        exposures=len(exposures),
        withheld=sum(exposures),
        illnesses=len(illnesses),
        answered=sum(illnesses),
    )


def read_emergencies(file: Path | None = None) -> list[JudgedQuestion]:
    """Read the questions of ``file``, by default of the shipped test set. Raises ``SourceRejected``."""
    return read_rows(file or TEST, JudgedQuestion, '"text", "emergency" and "language"')
