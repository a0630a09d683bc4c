"""The parts of a drug record that questions ask for, and a record's label as passages to quote from.

Questions say "side effects" for the label section "warnings". Each part therefore lists the words that ask for it; they
count as words of the section's heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.reading.evidence import EvidencePassage, EvidenceRecord
from tools.language.quotable_units import term_set
from tools.language.vocabulary.clinical_vocabulary import translations
from tools.language.vocabulary.common_words import Language
from tools.language.vocabulary.populations import YOUNG, Population
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

PRODUCTS: Final = "products"
BRANDS: Final = "brands"
DRUG_CLASS: Final = "class"
_RECORD: Final = {
    PRODUCTS: "formulations strengths forms products available database",
    BRANDS: "brand brands trade sold",
    DRUG_CLASS: "class",
}
"""Fields of a record that only the drug database has, with the words that ask for them."""
RECORD_TERMS: Final = term_set(" ".join(_RECORD.values()))
_LABEL: Final = {
    "boxed_warning": "boxed box black warning warns",
    "indications": "indicated indications approved use uses used treat treats conditions",
    "dosage": "dose doses dosage dosing dosed much viel cuánto cuánta amount regimen maximum max start starting started"
    " loading how given taken titrate usual standard",
    "contraindications": "contraindicated contraindications avoid allergy allergic hypersensitivity"
    " forbidden cannot never safe allowed permitted banned use given",
    "warnings": "warnings warn precautions caution careful watch concerns adverse side effects reactions safe safety"
    " risk risks harm danger toxicity",
    "monitoring": "monitor monitored monitoring check checked laboratory follow-up",
    "interactions": "interactions interact combined combine combination mix together",
    "renal_dosing": "renal kidney dose dosing much egfr creatinine clearance dialysis ckd",
    "hepatic_dosing": "hepatic liver dose dosing much cirrhosis pugh",
    "pregnancy": "pregnancy pregnant trimester safe",
    "lactation": "lactation breastfeeding breastfed nursing milk safe",
    "pediatric_use": "pediatric children child infant newborn adolescent safe",
    "geriatric_use": "geriatric elderly older",
    "overdosage": "overdose overdosage poisoning toxicity antidote",
}
"""Sections of a label with the words that ask for them."""
ORGAN_DOSES: Final = frozenset({"renal_dosing", "hepatic_dosing"})
PATIENTS_OF: Final[dict[str, frozenset[Population]]] = {
    "lactation": frozenset({"breastfeeding"}),
    "pediatric_use": frozenset(YOUNG),
    "geriatric_use": frozenset({"older patients"}),
}
"""Sections about only some patients, with these patients."""
_SECTIONS_OF: Final = {
    word: [part for part, words in _LABEL.items() if word in term_set(words)]
    for word in term_set(" ".join(_LABEL.values()))
}
_NOT_USED: Final = re.compile(
    r"\b(?:not|never|cannot|(?:ca|could|do|does|is|are|may|must|should|would|wo)n?['’]?t)(?: to)?(?: be)? "
    r"(?:use|give|take|start|prescribe|have|get)[dnr]?\b|\breasons? (?:not|against)\b",
    re.IGNORECASE,
)
_USED: Final = re.compile(
    r"\b(?:can|could|may|should|(?:okay|ok|safe|allowed) to)(?: [\w-]+){0,4}?(?: be)? "
    r"(used?|given?|taken?|prescribed?|have|get)\b",
    re.IGNORECASE,
)
"""A question whether something may be used. Its verb only asks."""
_ONSET: Final = re.compile(
    r"\b(since|seit(?:dem)?|desde)((?: [\w'’-]+){0,4}?)"
    r" (start(?:s|ed|ing)?|begin(?:ning)?|beg[au]n|beginn|begonnen|comenz\w+|empez\w+|inici\w+)\b",
    re.IGNORECASE,
)
"""Tells since when the patient has a complaint: "since metformin was started"."""
_BEGUN: Final = re.compile(
    r"\b(?:started|begun|began|commenced|begonnen|angefangen)\b(?=(?: [\w'’-]+){0,4}?"
    r" (?:(?:\d+|an?|one|two|three|few|couple of) (?:hour|day|wk|week|month)s? ago|yesterday|recently"
    r"|last (?:night|week|month)|this (?:morning|week|month))\b)|(?<=\brecently )started\b|(?<=\bjust )started\b",
    re.IGNORECASE,
)
"""Tells when a medicine was begun: "started on it 3 weeks ago"."""
HARMS: Final = frozenset({"interactions", "contraindications", "warnings", "boxed_warning"})
"""Sections on the harm a medicine may do; statements on a pair of medicines are quoted from them."""
CAUTIONS: Final = HARMS - {"interactions"}
"""Sections on patients who must not have a medicine, or need care with it."""
_CHECKS: Final = "blood laboratory test value frequency often daily weekly monthly annually"
"""Words for what is checked and how often. They do not name the subject of a question."""
ASKING: Final = "tell look find search give list show information drug medicine medication patient safe"


def record_parts(question: str) -> tuple[str, ...]:
    """Return the fields of a record that ``question`` asks for, in any language."""
    words, language = re.findall(r"[^\W_]+", question.lower()), language_of(question)
    meant = translations(words, language) if language != "en" else ()
    asked = term_set(" ".join([question, *(term for one in meant for term in one.terms)]))
    return tuple(part for part, words in _RECORD.items() if asked & term_set(words))


def asked_sections(question: str, but: Collection[str] = ()) -> frozenset[str]:
    """Return the sections of a label that ``question`` asks for by terms other than ``but``.

    A word that several sections share asks for the one that the question's other words ask for, too. A question when a
    medicine must not be used asks for its contraindications.
    """
    words = term_set(_BEGUN.sub("", _ONSET.sub(r"\2", question))).difference(but)
    named = [_SECTIONS_OF[word] for word in words if word in _SECTIONS_OF]
    if _NOT_USED.search(question):
        named = [["contraindications"], *(parts for parts in named if "indications" not in parts)]
    votes = {part: sum(1 / len(parts) for parts in named if part in parts) for part in _LABEL}
    return frozenset(max(parts, key=votes.__getitem__) for parts in named)


@cache
def section_terms(part: str) -> frozenset[str]:
    """Return the terms that ask for a section of a label."""
    return term_set(_LABEL.get(part, ""))


def words_of_use(question: str) -> frozenset[str]:
    """Return the terms of ``question`` that only ask whether something is used, or tell since when it is."""
    banned = (match[0] for match in _NOT_USED.finditer(question))
    onset = (f"{match[1]} {match[3]}" for match in _ONSET.finditer(question))
    return term_set(" ".join([*banned, *onset, *_BEGUN.findall(question), *_USED.findall(question)]))


def tells_onset(question: str) -> bool:
    """Return whether ``question`` tells since when the patient has a complaint."""
    return _ONSET.search(question) is not None or _BEGUN.search(question) is not None


def only_parts(text: str) -> bool:
    """Return whether ``text`` has only words that name parts of a record or a label, or that ask, in any language."""
    words = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", text.lower()))
    known = term_set(" ".join([*_RECORD.values(), *_LABEL.values(), ASKING, _CHECKS, *word_list("asking")]))
    for meant in translations(words, language_of(text)):
        if any(term_set(one) <= known for one in meant.terms):
            words[meant.start : meant.end] = [""] * (meant.end - meant.start)
    return bool(term_set(text)) and term_set(" ".join(words)) <= known


def label_passages(record: EvidenceRecord, language: Language = "en") -> list[EvidencePassage]:
    """Return one passage for each section of a drug's label, with its heading in ``language``."""
    remarks = "; ".join(phrases.filled(one.phrase, language, one.names, one.joint) for one in record.scope)
    name = f"{record.name} ({remarks})" if remarks else record.name
    names = " ".join((*record.names, *record.drug_classes))
    return [
        EvidencePassage(
            "\n".join(sentences),
            cite=record.cites.get(section, record.cite),
            document=record.name,
            about=f"{names} label {_LABEL.get(section, '')}",
            title=phrases.LABEL.format(name=name, section=phrases.section_name(section, language)),
            part=section,
        )
        for section, sentences in record.label.items()
        if sentences
    ]
