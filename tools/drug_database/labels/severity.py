"""Grades how strongly a label's sentence warns, by its wording alone.

The levels follow the verbs of FDA's labeling guidance (21 CFR 201.57): a use that is contraindicated, one to avoid, one
that needs another dose, and one to monitor. A sentence that only describes an effect is ``described``. The wordings
name no medicine.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal, get_args

from tools.drug_database.records.drug_record import SectionName
from tools.drug_database.records.shipped_data import Shipped, shipped
from tools.types import Frozen

Severity = Literal["contraindicated", "avoid", "adjust dose", "monitor", "described", "no effect stated"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)


class RiskWording(Frozen):
    """The wordings of a risk in labels, and the group of the vocabulary whose members carry it."""

    group: str
    wording: tuple[str, ...]


class LabelWording(Shipped):
    """``data/label_wording.json``: regular expressions for each level and risk, any of which suffices."""

    severity: dict[str, tuple[str, ...]]
    risks: dict[str, RiskWording]


LABEL_WORDING: Final = shipped("label_wording.json", LabelWording)


def any_wording(alternatives: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of several wordings, in any case."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


_WORDED: Final = {name: any_wording(wording) for name, wording in LABEL_WORDING.severity.items()}


def severity_of(sentence: str, section: SectionName) -> Severity:
    """Return the level of ``sentence``, which is in ``section`` of a label."""
    contraindicated = section == "contraindications" and not _says("not contraindicated", sentence)
    if contraindicated or _says("contraindicated", _without("not contraindicated", sentence)):
        return "contraindicated"
    if _says("avoid", _without("not avoid", sentence)):
        return "avoid"
    if _says("adjust dose", sentence) and not _says("no adjustment", sentence):
        return "adjust dose"
    if section == "boxed_warning" or _says("monitor", sentence):
        return "monitor"
    return "no effect stated" if _says("no effect", sentence) and not _says("effect", sentence) else "described"


def says_something(clause: str) -> bool:
    """Return whether ``clause`` warns or tells an effect by itself; an item of a list may only name a medicine."""
    return _says("effect", clause) or severity_of(clause, "interactions") != "described"


def _without(denied: str, sentence: str) -> str:
    return _WORDED[denied].sub(" ", sentence)


def _says(what: str, sentence: str) -> bool:
    return _WORDED[what].search(sentence) is not None
