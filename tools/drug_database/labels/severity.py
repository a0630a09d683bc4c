"""How strongly a label's sentence warns, by its wording alone.

The levels follow the verbs of FDA's labeling guidance (21 CFR 201.57): a use that is contraindicated, one to avoid, one
that needs another dose, and one to monitor. A sentence that only describes an effect is ``described``; one that denies
an effect is no warning. The wording is general: no medicine is named here.
"""

import re
from typing import Final, Literal, get_args

from tools.drug_database.records import SectionName

Severity = Literal["contraindicated", "avoid", "adjust dose", "monitor", "described", "no effect stated"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

_NEVER = re.compile(
    r"\bcontra-?indicat\w*|\bmust (?:not|never)\b|\bshould never\b|\bmust be avoided\b"
    r"|\bkontraindiziert\b|\bgegenangezeigt\b|\bdarf nicht\b|\bdürfen nicht\b",
    re.IGNORECASE,
)
_NOT_NEVER = re.compile(r"\b(?:not|no longer|nor) (?:absolutely |strictly )?contra-?indicat", re.IGNORECASE)
_AVOID = re.compile(
    r"\bavoid(?:ed|ing|ance)?\b|\b(?:not|never) (?:be )?(?:recommended|advised|advisable)\b|\bnot recommend\b"
    r"|\bshould not (?:generally |usually |ordinarily )?(?:be )?(?:us|tak|giv|administ|co-?admin|combin|receiv|start"
    r"|initiat|prescrib|treat|undergo|drink|consum)\w*"
    r"|\bdo not (?:use|take|give|co-?administer|administer|initiate|start|combine|drink|prescribe|inject|mix)\b"
    r"|\bwithh(?:eld|old)\b|\b(?:consider|use) (?:an )?alternative|\bdiscontinued?\b|\bstop (?:taking|using)\b"
    r"|\bnicht empfohlen\b|\bvermeiden\b|\bvermieden\b",
    re.IGNORECASE,
)
_DOSE = re.compile(
    r"\b(?:dos(?:e|es|age|ing)|strength)\b[^.;]{0,80}\b(?:adjust\w*|reduc\w*|lower\w*|decreas\w*|increas\w*|halv\w*"
    r"|titrat\w*|limit\w*|modif\w*|not exceed\w*)\b"
    r"|\b(?:adjust\w*|reduc\w*|lower|decreas\w*|halv\w*|limit\w*|titrat\w*|modif\w*)\b[^.;]{0,60}"
    r"\b(?:dos(?:e|es|age)|strength)\b"
    r"|\b(?:not|never) exceed\b|\bmaximum (?:recommended )?(?:daily )?dos|\bhalf (?:the|of the) (?:usual )?dos"
    r"|\b(?:at least|within) \w+ (?:hours?|minutes) (?:before|after|apart|prior)|\bhours (?:before|after|apart)\b"
    r"|\bDosis\b",
    re.IGNORECASE,
)
_NO_CHANGE = re.compile(
    r"\b(?:no|not|without)\b[^.;]{0,60}\b(?:adjust\w*|modif\w*)|\b(?:adjust\w*|modif\w*)[^.;]{0,40}\b(?:not|unnecessary)\b",
    re.IGNORECASE,
)
_MONITOR = re.compile(
    r"\bmonitor\w*|\bcaution\w*|\bcareful\w*|\bclosely\b|\bobserv(?:e|ation)\b|\bbe observed\b|\bcheck\w*"
    r"|\bmeasure[ds]?\b|\bwatch\b|\bperiodic\w*|\bsupervis\w*|\bassess\w*|\bfrequent(?:ly)?\b|\bwarn(?:ed)?\b|\brisks?\b"
    r"|\bshould be (?:considered|weighed|alert|aware)\b|\büberwach\w*|\bVorsicht\b|\bkontrollier\w*",
    re.IGNORECASE,
)

_NO_EFFECT = re.compile(
    r"\b(?:no|not|without|neither|nor)\b[^.;,]{0,60}\b(?:affect|effect|interact|alter|chang|influenc|differ|modif|interfer)\w*"
    r"|\bun(?:affected|altered|changed)\b",
    re.IGNORECASE,
)
_EFFECT = re.compile(
    r"\b(?:but|however|although|except|while|whereas|unless)\b|\b(?:rais|increas|elevat|lower|reduc|decreas|potentiat|enhanc"
    r"|prolong|impair|antagoni[sz])\w*",
    re.IGNORECASE,
)


def severity_of(sentence: str, section: SectionName) -> Severity:
    """Return the level of ``sentence``, which is in ``section`` of a label."""
    if _NOT_NEVER.search(sentence) is None and (section == "contraindications" or _NEVER.search(sentence)):
        return "contraindicated"
    if _AVOID.search(sentence):
        return "avoid"
    if _DOSE.search(sentence) and not _NO_CHANGE.search(sentence):
        return "adjust dose"
    if section == "boxed_warning" or _MONITOR.search(sentence):
        return "monitor"
    return "no effect stated" if _NO_EFFECT.search(sentence) and not _EFFECT.search(sentence) else "described"


def says_something(clause: str) -> bool:
    """Return whether ``clause`` warns or tells an effect by itself; the item of a list only names a medicine."""
    return _EFFECT.search(clause) is not None or severity_of(clause, "interactions") != "described"
