"""How many emergencies and exposures are recognised, and how many other questions are taken for one."""

from collections.abc import Sequence
from pathlib import Path

from chat_app.evaluation.question_files import read_rows
from chat_app.safety.emergency_classifier import EXPOSURE, emergency_model, is_emergency
from chat_app.safety.emergency_features import DATA
from tools.types import Frozen

TEST: Path = DATA / "emergency_test.jsonl"
"""Questions that are not in the training set, in groups by author and kind."""


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
    self_harm: bool = False
    """An exposure in which nothing was taken yet: someone wants to harm themselves, or asks what is lethal."""
    reaction: bool = False
    """An allergic reaction to a usual amount: of a medicine, a food, a sting."""

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
    """Judge every example with the shipped classifiers."""
    groups = dict.fromkeys(one.group for one in examples)
    return EmergencyReport(
        **_figures("all", examples).model_dump(),
        groups=tuple(_figures(group, [each for each in examples if each.group == group]) for group in groups),
        missed=tuple(one.text for one in examples if one.emergency and not is_emergency(one.text)),
        alarmed=tuple(one.text for one in examples if not one.emergency and is_emergency(one.text)),
    )


def _figures(group: str, examples: Sequence[JudgedQuestion]) -> EmergencyFigures:
    exposures = emergency_model(EXPOSURE).recognises
    return EmergencyFigures(
        group=group,
        emergencies=sum(one.emergency for one in examples),
        recognised=sum(one.emergency and is_emergency(one.text) for one in examples),
        ordinary=sum(not one.emergency for one in examples),
        false_alarms=sum(not one.emergency and is_emergency(one.text) for one in examples),
        exposures=sum(one.exposure for one in examples),
        withheld=sum(one.exposure and exposures(one.text) for one in examples),
        illnesses=sum(one.illness for one in examples),
        answered=sum(one.illness and not exposures(one.text) for one in examples),
    )


def read_emergencies(file: Path | None = None) -> list[JudgedQuestion]:
    """Read the questions of ``file``, by default of the shipped test set. Raises ``SourceRejected``."""
    return read_rows(file or TEST, JudgedQuestion, '"text", "emergency" and "language"')
