"""What a question is about: the aspects it asks for, and the label sections that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Final

from chat_app.offline.extraction.text import terms


class Aspect(Enum):
    """One thing that can be asked about a drug. The value is its plain name in an answer."""

    FORMULATIONS = "formulations"
    BOXED_WARNING = "boxed warning"
    CONTRAINDICATIONS = "contraindications"
    ALLERGY = "allergy"
    RENAL = "renal dosing"
    HEPATIC = "hepatic dosing"
    PREGNANCY = "pregnancy"
    INTERACTIONS = "interactions"
    DOSAGE = "dosage"
    WARNINGS = "warnings"
    INDICATIONS = "indications"
    BRANDS = "brand names"
    DRUG_CLASS = "drug class"


_PATTERNS: Final = (
    (
        Aspect.FORMULATIONS,
        r"formulations?\b|\bstrengths?\b|dosage forms?\b|\bforms?\b|\bcomes? in\b|\bproducts?\b"
        r"|\btablets? (?:sizes?|available)|\bavailable (?:as|in)\b|\bin (?:our|the|your) database\b",
    ),
    (Aspect.BRANDS, r"\bbrands?\b|\btrade names?\b|\bsold as\b|\bgeneric (?:name|of|for)\b"),
    (Aspect.DRUG_CLASS, r"\b(?:drug |what |which )class\b|\bclass of drug|\bkind of drug\b|\btype of drug\b"),
    (Aspect.BOXED_WARNING, r"\bbox(?:ed)?[ -]?warnings?\b|\bblack[ -]box\b"),
    (
        Aspect.CONTRAINDICATIONS,
        r"contra-?indicat|\bwho should not\b|\bshould not (?:be )?(?:use|take|given)"
        r"|\b(?:must|should|may|can|cannot)\b[^?.]*\bnot\b|\bavoid",
    ),
    (Aspect.ALLERGY, r"\ballerg|\bhypersensitiv"),
    (Aspect.RENAL, r"\brenal|\bkidney|\begfr\b|\bckd\b|\bdialysis\b|creatinine clearance|\bcrcl\b"),
    (Aspect.HEPATIC, r"\bhepatic|\bliver\b|\bcirrhosis\b|child-pugh"),
    (Aspect.PREGNANCY, r"pregnan|\blactation\b|breast-?feeding|\bteratogen"),
    (
        Aspect.INTERACTIONS,
        r"\binteract|\btogether with\b|\bcombin|\balong with\b|\bat the same time\b"
        r"|\btake .+ with\b|\bgiven? with\b|\bco-?administ",
    ),
    (
        Aspect.DOSAGE,
        r"\bdos(?:e|es|age|ing|ed)\b|\bhow much\b|\bmg\b|\btitrat|\bmaximum\b"
        r"|\bhow (?:is|should) .+ taken",
    ),
    (
        Aspect.WARNINGS,
        r"side[ -]?effects?|\badverse\b|\bwarnings?\b|\bprecautions?\b|\bsafety\b|\bmonitor|\brisks?\b"
        r"|\btoxicity\b|\bcough\b|\bangio-?o?edema\b",
    ),
    (
        Aspect.INDICATIONS,
        r"\bindicat(?:ed|ion|ions)\b|\bused for\b|\buse of\b|\bwhat is .+ for\b|\bapproved for\b"
        r"|\btreats?\b",
    ),
)
_COMPILED: Final = tuple((aspect, re.compile(pattern, re.IGNORECASE)) for aspect, pattern in _PATTERNS)

_DOSE: Final = re.compile(r"\bdos(?:e|es|ing)\b", re.IGNORECASE)
_USE: Final = re.compile(r"(?<!contra)(?<!contra-)indicat(?:ed|ion)|\bused for\b", re.IGNORECASE)

SECTIONS: Final[dict[Aspect, tuple[str, ...]]] = {
    Aspect.BOXED_WARNING: ("boxed_warning",),
    Aspect.CONTRAINDICATIONS: ("contraindications", "boxed_warning"),
    Aspect.ALLERGY: ("contraindications", "boxed_warning", "warnings"),
    Aspect.RENAL: ("renal_dosing",),
    Aspect.HEPATIC: ("hepatic_dosing",),
    Aspect.PREGNANCY: ("pregnancy",),
    Aspect.INTERACTIONS: ("interactions",),
    Aspect.DOSAGE: ("dosage",),
    Aspect.WARNINGS: ("warnings", "boxed_warning"),
    Aspect.INDICATIONS: ("indications",),
}
OVERVIEW: Final = ("indications", "dosage", "contraindications", "boxed_warning")
"""The sections that answer a question that names a drug and nothing else."""


@cache
def asking_terms() -> frozenset[str]:
    """The terms of words that name an aspect, and so add nothing to it."""
    return terms(
        "contraindications avoid dose dosage dosing interactions combination indications indicated approved warnings "
        "precautions safety risk side effects adverse reactions boxed black box label formulations strengths forms "
        "products brand trade class safe used given must not kidney liver pregnancy "
        "breastfeeding renal impairment impaired failure function drug medicine"
    )


def aspects(question: str) -> tuple[Aspect, ...]:
    """The aspects that ``question`` asks for, in the order of the list above."""
    found = [aspect for aspect, pattern in _COMPILED if pattern.search(question)]
    if Aspect.CONTRAINDICATIONS in found and Aspect.INDICATIONS in found and not _asks_for_use(question):
        found.remove(Aspect.INDICATIONS)
    if Aspect.FORMULATIONS in found and Aspect.DOSAGE in found and not _DOSE.search(question):
        found.remove(Aspect.DOSAGE)
    return tuple(found)


def _asks_for_use(question: str) -> bool:
    return _USE.search(question) is not None


def only_database(found: Iterable[Aspect]) -> bool:
    """True when the aspects are fields of a drug record, which no guideline holds."""
    wanted = set(found)
    return bool(wanted) and wanted <= {Aspect.FORMULATIONS, Aspect.BRANDS, Aspect.DRUG_CLASS}
