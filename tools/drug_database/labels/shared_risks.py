"""Finds risks that two labels warn of independently, such as QT prolongation.

A sentence of a label counts if it says that the label's medicine causes the risk. It does not count if it denies the
risk, means a state of the patient, or is about another medicine's levels or weaker effect. If only one label states the
risk, the other medicine must belong to the vocabulary's group for it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.severity import LABEL_WORDING, SEVERITIES, any_wording, severity_of
from tools.drug_database.records.drug_record import Label, SectionName
from tools.language.folding import fold_name

_SECTIONS: Final[tuple[SectionName, ...]] = ("boxed_warning", "contraindications", "warnings", "interactions")
_ON_OTHERS: Final = frozenset[SectionName](("contraindications", "interactions"))
"""Sections in which a sentence that names another medicine is about use with it."""
RISKS: Final = LABEL_WORDING.risks
_WORDED: Final = {name: any_wording(risk.wording) for name, risk in RISKS.items()}
_DENIED = re.compile(
    r"\b(?:no|not|without|neither|never|did not|does not|lack of|other than)\b[^.;:]{0,60}$", re.IGNORECASE
)
_ELSEWHERE = re.compile(
    r"\b(?:rais|ris|increas|elevat|lower|reduc|decreas|higher|greater)\w*\b[^.;]{0,60}"
    r"\b(?:(?<!potassium )levels?|concentrations?|exposure|clearance|metabolism)\b"
    r"|\blevels? (?:rise|increase|fall)"
    r"|\b(?:antagoni[sz]|oppos|counteract|interfer|revers)(?:e|es|ed|ing|s)?\b"
    r"|\binto the eye\b|\bintra-?(?:vitreal|ocular|cameral)",
    re.IGNORECASE,
)
"""A risk that is not of the medicine itself: changed levels, a weakened effect, a use in the eye."""
_OF_PATIENT = re.compile(
    r"\b(?:avoid|caution|weigh(?!t)|correct|stop|discontinu|withh|favou?r|predispos|susceptib)\w*\b"
    r"(?:(?!\b(?:caus|rais|increas|prolong|add|worsen|lead|result|produc|induc|risk of)).)*$",
    re.IGNORECASE,
)
_CIRCUMSTANCE = re.compile(
    r"\b(?:during|under|recurrent|pre-?existing|underlying|uncorrected|history of|particularly|especially)\b"
    r"[^.;,]{0,40}$",
    re.IGNORECASE,
)
"""Words before a state that the patient already has."""
_CAUSES = re.compile(r"(?<!that )(?<!which )\b(?:caus|worsen|produc|induc|prolong)\w*(?: \w+){0,5} $")
_PARTS = re.compile(r", (?:and|but|while|whereas)\b")
_NEAR: Final = 60
"""Number of characters after a risk in which its cause may be named."""
_OTHER = re.compile(r"\bother\b(?! than)", re.IGNORECASE)
_WITH_OTHERS = re.compile(
    r"\b(?:other|concomitant\w*|concurrent\w*|co-?administ\w*|combin\w*|drugs|agents)\b", re.IGNORECASE
)


class RiskQuote(NamedTuple):
    """A sentence in which a label states a risk of its own medicine."""

    label: Label
    section: SectionName
    quote: str


def shared_risks(one: Party, other: Party) -> Mapping[str, tuple[RiskQuote | None, RiskQuote | None]]:
    """Return the risks that both medicines carry, with the clearest sentence of either label.

    A medicine carries a risk if its label states it, or if the vocabulary lists the medicine in the risk's group. At
    least one label must state the risk; the other sentence may be None.
    """
    found = {name: (_quote(one, name), _quote(other, name)) for name in RISKS}
    return {
        name: (first, second)
        for name, (first, second) in found.items()
        if (first or second)
        and (first or RISKS[name].group in one.groups)
        and (second or RISKS[name].group in other.groups)
    }


def _quote(party: Party, risk: str) -> RiskQuote | None:
    """Return the strongest sentence that states ``risk``, if possible one about use with other medicines."""
    stated = [
        RiskQuote(label, section, sentence)
        for label in (party.record.labels if party.record else ())
        for section in _SECTIONS
        for sentence in label.sections.get(section, ())
        if states(sentence, risk) and _is_own(party, section, sentence, risk)
    ]
    return min(stated, key=_order, default=None)


@lru_cache(maxsize=65_536)
def states(sentence: str, risk: str) -> bool:
    """Return whether ``sentence`` states ``risk`` and does not deny it."""
    return any(_stated(sentence, risk))


def _stated(text: str, risk: str) -> Iterator[re.Match[str]]:
    return (match for match in _WORDED[risk].finditer(text) if not _DENIED.search(text[: match.start()]))


def _is_own(party: Party, section: SectionName, sentence: str, risk: str) -> bool:
    """Return whether ``sentence`` says that the medicine itself causes ``risk``.

    A sentence on use with other medicines must name the medicine as the cause, or a class with this risk to which the
    medicine belongs: most other medicines are named because their levels change.
    """
    terms = label_terms()
    group = RISKS[risk].group
    is_one = group in party.groups or _OTHER.search(sentence) is not None
    adds = is_one and bool(terms.groups_in(sentence) & terms.group_named(group))
    return any(
        not (_ELSEWHERE.search(part) or _CIRCUMSTANCE.search(part[: match.start()]))
        and (adds or ((alone or _is_cause(party, part, match)) and not _OF_PATIENT.search(part[: match.start()])))
        for clause in sentence.split(";")
        for alone in [section not in _ON_OTHERS or not party.names_another(clause)]
        for part in _PARTS.split(clause)
        for match in _stated(part, risk)
    )


def _is_cause(party: Party, part: str, risk: re.Match[str]) -> bool:
    """Return whether ``part`` of a sentence names the medicine after the risk, or begins with it as the cause."""
    before, after = fold_name(part[: risk.start()]) + " ", fold_name(part[risk.end() :])[:_NEAR]
    begins = before[:_NEAR] if _CAUSES.search(before) else ""
    return any(name in after or begins.startswith(name) or f" of {name} " in begins for name in party.own)


def _order(found: RiskQuote) -> tuple[bool, int]:
    return _WITH_OTHERS.search(found.quote) is None, SEVERITIES.index(severity_of(found.quote, found.section))
