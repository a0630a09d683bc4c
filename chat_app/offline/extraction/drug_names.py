"""Finds the drugs and the drug classes that a question names.

A word is taken for a drug when it is in the vocabulary, when it ends as international nonproprietary names do
(WHO's stems), when it is a near miss of a vocabulary word, or when it stands where a drug's name must stand.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from rapidfuzz import fuzz, process

from chat_app.offline.extraction.text import STOP
from chat_app.offline.extraction.vocabulary import word_list

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z]")
_STEMS: Final = re.compile(
    r"(?:pril|sartan|olol|alol|ilol|statin|formin|gliptin|gliflozin|glutide|glitazone|glinide|azole|prazole|mycin|micin"
    r"|cillin|floxacin|dipine|parin|xaban|gatran|grel|zepam|zolam|oxetine|triptan|tidine|setron|dronate|vir|mab|nib"
    r"|cycline|thiazide|semide|lukast|terol|tropium|sone|solone|caine|profen|oxicam|barbital|phylline|fibrate|penem"
    r"|bactam|virine|vudine|ciclib|rafenib|tinib|limus|trexate|dopa|gepant|oxacin|conazole|tadine|zosin|steride)$"
)
_NOT_DRUGS: Final = word_list("not_drugs")
_CLASSES: Final = (
    r"ACE[ -]inhibitors?",
    r"\bACEIs?\b",
    r"angiotensin[- ]converting[- ]enzyme inhibitors?",
    r"angiotensin(?: II)?[ -]receptor blockers?",
    r"\bARBs?\b",
    r"beta[ -]?blockers?",
    r"calcium[ -]channel blockers?",
    r"\bCCBs?\b",
    r"thiazides?(?:[ -](?:type|like))?(?: diuretics?)?",
    r"loop diuretics?",
    r"\bdiuretics?\b",
    r"mineralocorticoid receptor antagonists?",
    r"\bMRAs?\b",
    r"\bstatins?\b",
    r"SGLT-?2 inhibitors?",
    r"DPP-?4 inhibitors?",
    r"GLP-?1(?: receptor agonists?| RAs?| agonists?)?",
    r"sulfonylureas?",
    r"sulphonylureas?",
    r"thiazolidinediones?",
    r"biguanides?",
    r"\bSSRIs?\b",
    r"\bSNRIs?\b",
    r"tricyclic antidepressants?",
    r"benzodiazepines?",
    r"opioids?",
    r"\bNSAIDs?\b",
    r"proton[ -]pump inhibitors?",
    r"\bPPIs?\b",
    r"H2 (?:blockers?|antagonists?)",
    r"macrolides?",
    r"fluoroquinolones?",
    r"cephalosporins?",
    r"penicillins\b",
    r"tetracyclines\b",
    r"aminoglycosides?",
    r"inhaled corticosteroids?",
    r"\bICS\b",
    r"corticosteroids?",
    r"\bLABAs?\b",
    r"\bSABAs?\b",
    r"\bLAMAs?\b",
    r"antihistamines?",
    r"anticoagulants?",
    r"\b[DN]OACs?\b",
    r"antiplatelets?(?: drugs?| agents?)?",
    r"vitamin K antagonists?",
    r"antifungals?",
    r"antivirals?",
    r"antipsychotics?",
    r"anticonvulsants?",
    r"antiepileptics?",
    r"bisphosphonates?",
    r"triptans\b",
    r"alpha[ -]?blockers?",
    r"nitrates\b",
    r"fibrates\b",
    r"leukotriene receptor antagonists?",
)
_CLASS: Final = re.compile("|".join(_CLASSES), re.IGNORECASE)
# Where a name must stand: "formulations of X", "dose of X", "X dosing", "is X safe", "does X interact".
_PLACES: Final = (
    r"(?:formulations?|strengths?|forms?|brands?|brand names?|dos(?:e|es|age|ing)|contraindications?|indications?"
    r"|side effects?|warnings?|interactions?|label|tablets?|capsules?) (?:of|for|to|with) (?:the drug |oral )?{name}",
    r"(?:look up|tell me about|information (?:on|about)|what is|what's|do you have|is there) {name}"
    r"(?= *(?:\?|$|\.|in\b))",
    r"(?:is|are|can|does|do|should|has) {name} (?:safe|contraindicated|available|come|interact|be|used|indicated|have)",
    r"{name} (?:dos(?:e|es|age|ing)|tablets?|capsules?|formulations?|strengths?|contraindications?|interactions?"
    r"|side effects?|label)\b",
    r"(?:interactions? between|combin\w+|give|giving|prescribe|prescribing|take|taking) {name} (?:and|with)\b",
)
_NAME: Final = r"([A-Za-z][A-Za-z-]{3,})"
_PLACED: Final = tuple(re.compile(place.format(name=_NAME), re.IGNORECASE) for place in _PLACES)
_COMMON: Final = word_list("common")
_NEAR: Final = 84


def drug_names(question: str) -> tuple[str, ...]:
    """The drugs that ``question`` names, as it spells them, in order and without repeats."""
    classes = [match.span() for match in _CLASS.finditer(question)]
    found: list[tuple[int, str]] = []
    for match in _WORD.finditer(question):
        inside = any(start <= match.start() < end for start, end in classes)
        if not inside and _is_drug(match.group()):
            found.append((match.start(), match.group()))
    if not found:
        found = _placed(question, classes)
    names: dict[str, str] = {}
    for _, name in sorted(found):
        names.setdefault(name.lower(), name)
    return tuple(names.values())


def drug_classes(question: str) -> tuple[str, ...]:
    """The drug classes that ``question`` names, as it spells them."""
    names = {match.group().lower(): match.group() for match in _CLASS.finditer(question)}
    return tuple(names.values())


@lru_cache(maxsize=50_000)
def _is_drug(word: str) -> bool:
    name = word.lower()
    if name in STOP or name in _NOT_DRUGS or name in _COMMON:
        return False
    if name in word_list("drugs"):
        return True
    if len(name) >= 7 and _STEMS.search(name):
        return True
    return len(name) >= 7 and _near_miss(name)


@cache
def _sorted_vocabulary() -> list[str]:
    return sorted(name for name in word_list("drugs") if len(name) >= 6)


def _near_miss(name: str) -> bool:
    return process.extractOne(name, _sorted_vocabulary(), scorer=fuzz.ratio, score_cutoff=_NEAR) is not None


def _placed(question: str, classes: list[tuple[int, int]]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for pattern in _PLACED:
        for match in pattern.finditer(question):
            name = match.group(1)
            inside = any(start <= match.start(1) < end for start, end in classes)
            if not inside and name.lower() not in STOP and name.lower() not in _COMMON | _NOT_DRUGS:
                found.append((match.start(1), name))
    return found
