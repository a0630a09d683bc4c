"""Risks that two labels warn of independently, such as QT prolongation.

They are read from each label's own warnings; a sentence that denies the risk does not count. Where only one label
states it, the other medicine must belong to the vocabulary's group for the risk.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.severity import LABEL_WORDING, SEVERITIES, any_wording, severity_of
from tools.drug_database.records.drug_record import Label, SectionName

_SECTIONS: Final[tuple[SectionName, ...]] = ("boxed_warning", "contraindications", "warnings", "interactions")
RISKS: Final = LABEL_WORDING.risks
_WORDED: Final = {name: any_wording(risk.wording) for name, risk in RISKS.items()}
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
        quotes = (_quote(one, name), _quote(other, name))
        carried = [
            quote is not None or risk.group in party.groups for quote, party in zip(quotes, (one, other), strict=True)
        ]
        if all(carried) and any(quotes):
            found[name] = quotes
    return found


def _quote(party: Party, risk: str) -> RiskQuote | None:
    """Return the strongest sentence that states ``risk``; of equal ones, one about use with other medicines."""
    stated = [
        RiskQuote(label, section, sentence)
        for label in (party.record.labels if party.record else ())
        for section in _SECTIONS
        for sentence in label.sections.get(section, ())
        if states(sentence, risk)
    ]
    return min(stated, key=_order, default=None)


@lru_cache(maxsize=65_536)
def states(sentence: str, risk: str) -> bool:
    """Whether ``sentence`` states ``risk`` and does not deny it."""
    return any(not _DENIED.search(sentence[: match.start()]) for match in _WORDED[risk].finditer(sentence))


def _order(found: RiskQuote) -> tuple[bool, int]:
    return (
        _WITH_OTHERS.search(found.quote) is None,
        SEVERITIES.index(severity_of(found.quote, found.section)),
    )
