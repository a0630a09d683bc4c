"""Cards of CDS Hooks: what the labels of two medicines say about each other, quoted, with their sources.

A card never says that a combination is safe. A pair without a statement gives no card; medicines that could not be
checked give one card that names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from chat_app.interface.api.records.order_check import OrderCheck, PairFinding
from chat_app.interface.markdown.markdown_text import literal
from tools.drug_database import DataSource
from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.interactions import Statement
from tools.drug_database.labels.severity import Severity
from tools.drug_database.names.name_keys import joined
from tools.drug_database.records import SECTION_TITLES

Indicator = Literal["info", "warning", "critical"]
INDICATORS: Final[dict[Severity, Indicator]] = {
    "contraindicated": "critical",
    "avoid": "warning",
    "adjust dose": "warning",
    "monitor": "info",
    "described": "info",
}
_LONGEST_SUMMARY: Final = 139
_QUOTES: Final = 3
"""Statements quoted from one label; the page has the rest."""
_MOST_NAMED: Final = 20
_OURS: Final = "Asclepius"
_NO_LIST: Final = "The record system sent no list of active medications: only the new orders were checked."
_NO_STATEMENT: Final = "The label of {} has no statement about {}."
_NO_LABEL: Final = "No label of {} is loaded."
_NOT_SAFE: Final = "That is no evidence that a combination is safe."


class CardSource(BaseModel):
    """Where a card's information comes from."""

    label: str
    url: str | None = None


class CardLink(BaseModel):
    """A link of a card."""

    label: str
    url: str
    type: Literal["absolute"] = "absolute"


class Card(BaseModel):
    """A card as the specification defines it."""

    uuid: UUID = Field(default_factory=uuid4)
    summary: str
    indicator: Indicator
    detail: str
    source: CardSource
    links: list[CardLink] = Field(default_factory=list[CardLink])


def cards_of(check: OrderCheck, page_link: Callable[[str], str], *, active_given: bool) -> list[Card]:
    """Return the cards of a check, the most urgent first.

    Args:
        check: The check.
        page_link: Returns the address of the page with a question filled in.
        active_given: Whether the record system sent the active medications.
    """
    cards = [_pair_card(finding, page_link) for finding in check.findings]
    if check.shared_risks:
        cards.append(_risk_card(check.shared_risks))
    if unchecked := _unchecked(check, active_given=active_given):
        cards.append(unchecked)
    return cards


def _pair_card(finding: PairFinding, page_link: Callable[[str], str]) -> Card:
    one, other, first = finding.one, finding.other, finding.statements[0]
    parts = [_label_part(one, other, finding.statements), _label_part(other, one, finding.statements)]
    if first.label_of != one.name:
        parts.reverse()
    question = f"What do the labels say about {one.name} with {other.name}?"
    links = [CardLink(label=f"Ask about {one.name} with {other.name}", url=page_link(question))]
    sources = {statement.label.source.url: statement.label.source for statement in finding.statements}
    links += [CardLink(label=source.title, url=url) for url, source in sources.items() if _is_web(url)]
    return Card(
        summary=_short(f"{one.name} + {other.name}: {first.severity} (label of {first.label_of})"),
        indicator=INDICATORS[first.severity],
        detail="\n\n".join(parts),
        source=_source(first.label.source),
        links=links,
    )


def _label_part(of: Party, about: Party, statements: Sequence[Statement]) -> str:
    """Quote what the label of one medicine says about the other."""
    said = [statement for statement in statements if statement.label_of == of.name]
    if not said:
        has_label = of.record is not None and of.record.labels
        return (_NO_STATEMENT if has_label else _NO_LABEL).format(literal(of.name), literal(about.name))
    more = len(said) - _QUOTES
    lines = [f"**Label of {literal(of.name)}**", *map(_quoted, said[:_QUOTES])]
    return "\n\n".join([*lines, *([f"Further statements in this label: {more}."] if more > 0 else [])])


def _quoted(statement: Statement) -> str:
    source = statement.label.source
    called = [] if statement.how == "name" else [f"names: {joined(statement.mentioned_as)}"]
    where = ", ".join([SECTION_TITLES[statement.section], statement.severity, *called])
    origin = ", ".join(filter(None, (source.title, source.date)))
    return f"{literal(where)}:\n\n> {literal(statement.quote)}\n\n{literal(origin)}"


def _risk_card(statements: Sequence[Statement]) -> Card:
    by_risk: dict[str, dict[str, Statement]] = defaultdict(dict)
    for statement in statements:
        by_risk[statement.mentioned_as[0]].setdefault(statement.label_of, statement)
    parts = [
        "\n\n".join([f"**{literal(risk)}**", *(f"{literal(name)}: {_quoted(one)}" for name, one in quoted.items())])
        for risk, quoted in by_risk.items()
    ]
    first = statements[0].label.source
    return Card(
        summary=_short(f"Several of these medicines carry the same risk: {joined(list(by_risk))}"),
        indicator="info",
        detail="\n\n".join(["No label names the other medicine.", *parts]),
        source=_source(first),
    )


def _unchecked(check: OrderCheck, *, active_given: bool) -> Card | None:
    """Return the card of what could not be checked; None when everything was."""
    lines = [] if active_given else [_NO_LIST]
    if check.unknown:
        lines.append(f"Not in the drug database: {_named(check.unknown)}.")
    if check.unlabelled:
        lines.append(f"Without a loaded label: {_named(check.unlabelled)}.")
    if check.left_out:
        lines.append(f"Combinations beyond the limit of one check: {check.left_out}.")
    if not lines:
        return None
    return Card(
        summary="Not all medicines could be checked for interactions",
        indicator="info",
        detail="\n\n".join([*lines, _NOT_SAFE]),
        source=CardSource(label=_OURS),
    )


def _named(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return literal(", ".join([*names[:_MOST_NAMED], *more]))


def _source(source: DataSource) -> CardSource:
    return CardSource(label=source.title, url=source.url if _is_web(source.url) else None)


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SUMMARY else text[: _LONGEST_SUMMARY - 1].rstrip() + "…"
