"""Cards of CDS Hooks: what the labels of two medicines say about each other, quoted, with their sources.

A card never says that a combination is safe. A pair without a statement gives no card; medicines that could not be
checked give one card that names them.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from chat_app.agent.citations.reference_formats import web_address
from chat_app.interface.api.records.order_check import OrderCheck, PairFinding
from chat_app.interface.i18n.translation import Language, say
from chat_app.interface.markdown.markdown_text import literal, short
from tools.drug_database import DataSource
from tools.drug_database.labels.interaction_parties import Party
from tools.drug_database.labels.interactions import Statement
from tools.drug_database.labels.severity import Severity
from tools.drug_database.names.name_keys import joined

Indicator = Literal["info", "warning", "critical"]
INDICATORS: Final[dict[Severity, Indicator]] = {
    "contraindicated": "critical",
    "avoid": "warning",
    "adjust dose": "warning",
    "monitor": "info",
    "described": "info",
    "no effect stated": "info",
}
_LONGEST_SUMMARY: Final = 139
_QUOTES: Final = 3
"""Statements quoted from one label; the page has the rest."""
_MOST_NAMED: Final = 20
_OURS: Final = "Asclepius"


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


def cards_of(
    check: OrderCheck, page_link: Callable[[str], str], language: Language, *, active_given: bool
) -> list[Card]:
    """Return the cards of a check, the most urgent first.

    ``active_given`` tells whether the record system sent the active medications.
    """
    cards = [_pair_card(finding, page_link, language) for finding in check.findings]
    if check.shared_risks:
        cards.append(_risk_card(check.shared_risks, language))
    if unchecked := _unchecked(check, language, active_given=active_given):
        cards.append(unchecked)
    return cards


def _pair_card(finding: PairFinding, page_link: Callable[[str], str], language: Language) -> Card:
    one, other, first = finding.one, finding.other, finding.statements[0]
    parts = [_label_part(*pair, finding.statements, language) for pair in ((one, other), (other, one))]
    if first.label_of != one.name:
        parts.reverse()
    severity = say(language, f"severity.{first.severity}")
    question = say(language, "cds.question", one=one.name, other=other.name)
    links = [CardLink(label=say(language, "cds.ask", one=one.name, other=other.name), url=page_link(question))]
    sources = {statement.label.source.url: statement.label.source for statement in finding.statements}
    links += [CardLink(label=source.title, url=url) for url, source in sources.items() if web_address(url)]
    summary = say(language, "cds.pair", one=one.name, other=other.name, severity=severity, label=first.label_of)
    return Card(
        summary=short(summary, _LONGEST_SUMMARY),
        indicator=INDICATORS[first.severity],
        detail="\n\n".join(parts),
        source=_source(first.label.source),
        links=links,
    )


def _label_part(of: Party, about: Party, statements: Sequence[Statement], language: Language) -> str:
    """Quote what the label of one medicine says about the other."""
    name = literal(of.name)
    said = [statement for statement in statements if statement.label_of == of.name]
    if not said:
        if of.record is not None and of.record.labels:
            return say(language, "cds.no_statement", name=name, about=literal(about.name))
        return say(language, "cds.no_label", name=name)
    more = len(said) - _QUOTES
    lines = [f"**{say(language, 'cds.label', name=name)}**", *(_quoted(one, language) for one in said[:_QUOTES])]
    return "\n\n".join([*lines, *([say(language, "cds.more", more=more)] if more > 0 else [])])


def _quoted(statement: Statement, language: Language) -> str:
    source, names = statement.label.source, joined(statement.mentioned_as)
    called = [] if statement.how == "name" else [say(language, "cds.names", names=names)]
    where = [
        say(language, f"section.{statement.section}"),
        say(language, f"severity.{statement.severity}"),
        *called,
    ]
    origin = ", ".join(filter(None, (source.title, source.date)))
    return f"{literal(', '.join(where))}:\n\n> {literal(statement.quote)}\n\n{literal(origin)}"


def _risk_card(statements: Sequence[Statement], language: Language) -> Card:
    by_risk: dict[str, dict[str, Statement]] = defaultdict(dict)
    for statement in statements:
        by_risk[statement.mentioned_as[0]].setdefault(statement.label_of, statement)
    parts = [
        "\n\n".join(
            [f"**{literal(risk)}**", *(f"{literal(name)}: {_quoted(one, language)}" for name, one in quoted.items())]
        )
        for risk, quoted in by_risk.items()
    ]
    return Card(
        summary=short(say(language, "cds.same_risk", risks=", ".join(by_risk)), _LONGEST_SUMMARY),
        indicator="info",
        detail="\n\n".join([say(language, "cds.not_named"), *parts]),
        source=_source(statements[0].label.source),
    )


def _unchecked(check: OrderCheck, language: Language, *, active_given: bool) -> Card | None:
    """Return the card of what could not be checked; None when everything was."""
    lines = [] if active_given else [say(language, "cds.no_list")]
    if check.unknown:
        named = [name or say(language, "cds.unnamed") for name in check.unknown]
        lines.append(say(language, "cds.unknown", names=_named(named)))
    if check.unlabelled:
        lines.append(say(language, "cds.unlabelled", names=_named(check.unlabelled)))
    if check.left_out:
        lines.append(say(language, "cds.left_out", pairs=check.left_out))
    if not lines:
        return None
    return Card(
        summary=say(language, "cds.unchecked"),
        indicator="info",
        detail="\n\n".join([*lines, say(language, "cds.not_safe")]),
        source=CardSource(label=_OURS),
    )


def _named(names: Sequence[str]) -> str:
    more = [f"+ {len(names) - _MOST_NAMED}"] if len(names) > _MOST_NAMED else []
    return literal(", ".join([*names[:_MOST_NAMED], *more]))


def _source(source: DataSource) -> CardSource:
    return CardSource(label=source.title, url=web_address(source.url) or None)
