"""Risks that two labels warn of independently, such as QT prolongation.

They are read from each label's own warnings; a sentence that denies the risk does not count. Where only one label
states it, the other medicine must belong to the vocabulary's group for the risk.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.severity import SEVERITIES, severity_of
from tools.drug_database.records import Label, SectionName

_SECTIONS: Final[tuple[SectionName, ...]] = ("boxed_warning", "contraindications", "warnings", "interactions")


class Risk(NamedTuple):
    """How labels word a risk, and the group of the vocabulary whose members carry it."""

    wording: re.Pattern[str]
    group: str


RISKS: Final[Mapping[str, Risk]] = {
    name: Risk(re.compile(wording, re.IGNORECASE), group)
    for name, group, wording in (
        ("QT prolongation", "QT-prolonging drug", r"\bQTc?\b|\btorsades?\b"),
        (
            "bleeding",
            "Drug that affects bleeding",
            r"(?<!vaginal )(?<!uterine )(?<!breakthrough )(?<!menstrual )\bbleed(?:ing|s)?\b|\bha?emorrhag\w+",
        ),
        ("serotonin syndrome", "Serotonergic drug", r"\bserotonin (?:syndrome|toxicity)|\bserotonergic\b"),
        (
            "high potassium",
            "Drug that raises potassium",
            r"\bhyperkala?emi\w+|\b(?:increase\w*|rais\w+|elevat\w+)[^.;]{0,20} (?:serum )?potassium",
        ),
        ("low potassium", "Drug that lowers potassium", r"\bhypokala?emi\w+|\bpotassium (?:loss|depletion)"),
        (
            "central nervous system depression",
            "CNS depressant",
            r"\b(?:CNS|central nervous system)[ -](?:and respiratory )?depress\w+|\brespiratory depress\w+"
            r"|\bsedati\w+|\bsomnolen\w+|\bdrows\w+",
        ),
        ("low blood pressure", "Antihypertensive", r"\bhypotensi(?:on|ve)\b|\bfall in blood pressure"),
        (
            "kidney damage",
            "Nephrotoxic drug",
            r"\bnephrotox\w+|\b(?:renal|kidney) (?:failure|injury)"
            r"|\b(?:worsen|deteriorat|impair|reduc)\w*(?: in| of)? (?:renal|kidney) function",
        ),
        ("anticholinergic effects", "Anticholinergic", r"\banticholinergic|\bantimuscarinic|\burinary retention"),
        ("slow heart rate", "Drug that slows the heart", r"\bbradycardi\w+|\b(?:AV|atrioventricular|heart) block"),
    )
}
_DENIED = re.compile(r"\b(?:no|not|without|neither|never|did not|does not|lack of)\b[^.;:]{0,60}$", re.IGNORECASE)
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

    A medicine carries a risk when its label states it, or when the vocabulary lists the medicine in the risk's group.
    At least one label must state the risk; the other sentence is None when its label does not.
    """
    found: dict[str, tuple[RiskQuote | None, RiskQuote | None]] = {}
    for name, risk in RISKS.items():
        quotes = (_of(one, name), _of(other, name))
        carried = [
            quote is not None or risk.group in party.groups for quote, party in zip(quotes, (one, other), strict=True)
        ]
        if all(carried) and any(quotes):
            found[name] = quotes
    return found


def _of(party: Party, risk: str) -> RiskQuote | None:
    return risk_quote(party.record.labels, risk) if party.record else None


def risk_quote(labels: Sequence[Label], risk: str) -> RiskQuote | None:
    """Return the strongest sentence that states ``risk``; of equal ones, one about use with other medicines."""
    stated = [
        RiskQuote(label, section, sentence)
        for label in labels
        for section in _SECTIONS
        for sentence in label.sections.get(section, ())
        if states(sentence, risk)
    ]
    return min(stated, key=_order, default=None)


@lru_cache(maxsize=65_536)
def states(sentence: str, risk: str) -> bool:
    """Whether ``sentence`` states ``risk`` and does not deny it."""
    return any(not _DENIED.search(sentence[: match.start()]) for match in RISKS[risk].wording.finditer(sentence))


def _order(found: RiskQuote) -> tuple[bool, int]:
    return (
        _WITH_OTHERS.search(found.quote) is None,
        SEVERITIES.index(severity_of(found.quote, found.section)),
    )
