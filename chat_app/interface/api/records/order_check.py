"""The check of ordered medicines: what labels say about each of them with every other medicine of the patient."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

from chat_app.interface.api.records.fhir_medicines import OrderedMedicine
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.labels.interaction_output import party_of
from tools.drug_database.labels.interaction_parties import Party, medicine
from tools.drug_database.labels.interactions import Statement, pair_statements
from tools.drug_database.labels.record_rendering import named_record
from tools.drug_database.labels.severity import SEVERITIES
from tools.language.folding import fold_name

MOST_PAIRS: Final = 300
_MOST_ORDERS: Final = 100


@dataclass(frozen=True, slots=True)
class PairFinding:
    """What labels say about two medicines, the most severe first; never empty."""

    one: Party
    other: Party
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """The result of a check."""

    findings: tuple[PairFinding, ...]
    """Pairs with a statement about their combination, the most severe first."""
    shared_risks: tuple[Statement, ...]
    """Risks that labels of medicines without such a statement have in common."""
    unknown: tuple[str, ...]
    """Names of medicines that are not in the drug database; an empty one is that of an unreadable order."""
    unlabelled: tuple[str, ...]
    """Medicines in the drug database without a label."""
    pairs: int
    left_out: int
    """Pairs beyond the limit, which were not checked."""


async def check_orders(
    drugs: DrugDatabase, ordered: Sequence[OrderedMedicine], others: Sequence[OrderedMedicine]
) -> OrderCheck:
    """Check each pair of ``ordered`` medicines, and each of these with each of ``others``. Raises ``ToolError``."""
    asked = [*ordered, *others][:_MOST_ORDERS]
    named = await asyncio.gather(*(_parties(drugs, one) for one in asked))
    new = _distinct(named[: len(ordered)])
    # Of a medicine that is taken already and ordered again, its order counts.
    held = _distinct(named[len(ordered) :], besides=new)
    pairs = [*combinations(new, 2), *product(new, held)]
    unread = len(ordered) + len(others) - len(asked)
    unknown = [next(iter(one.names), "") for one, found in zip(asked, named, strict=True) if not found]
    # Reading labels takes processor time, which other requests must not wait for.
    findings, risks = await asyncio.to_thread(_statements, pairs[:MOST_PAIRS])
    return OrderCheck(
        findings=findings,
        shared_risks=risks,
        unknown=tuple(dict.fromkeys(unknown)),
        unlabelled=tuple(party.name for party in (*new, *held) if party.record and not party.record.labels),
        pairs=len(pairs),
        left_out=max(0, len(pairs) - MOST_PAIRS) + unread * max(1, len(new)),
    )


async def _parties(drugs: DrugDatabase, ordered: OrderedMedicine) -> list[Party]:
    """Return the medicine by its code, or those that its first known name names; a near spelling is none."""
    for code in ordered.codes:
        found = await drugs.search(DrugQuery(name=code, limit=1))
        if named_record(found):
            return [party_of(found)]
    for name in ordered.names:
        found = await drugs.search(DrugQuery(name=name, limit=1))
        known = named_record(found) is not None
        # A product of several ingredients may be known by its whole name, and only some of them by theirs.
        is_whole = known and fold_name(found.hits[0].matched.on) == fold_name(name)
        several = [] if is_whole else await drugs.named(name)
        if len(several) > 1:
            return [medicine(record) for record in several]
        if known:
            return [party_of(found)]
    return []


def _distinct(named: Sequence[Sequence[Party]], besides: Sequence[Party] = ()) -> list[Party]:
    known = {party.name for party in besides}
    found = {party.name: party for parties in named for party in parties}
    return [party for name, party in found.items() if name not in known]


def _statements(pairs: Sequence[tuple[Party, Party]]) -> tuple[tuple[PairFinding, ...], tuple[Statement, ...]]:
    findings: list[PairFinding] = []
    risks: list[Statement] = []
    for one, other in pairs:
        said = pair_statements(one, other)
        stated = tuple(statement for statement in said if statement.how != "shared risk")
        if any(statement.severity != "no effect stated" for statement in stated):
            findings.append(PairFinding(one, other, stated))
        risks += [statement for statement in said if statement.how == "shared risk" and not stated]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.statements[0].severity))
    return tuple(findings), tuple(risks)
