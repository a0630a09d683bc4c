"""The output of ``check_drug_interactions``: the statements of every pair, each with its severity and its section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, groupby
from typing import NamedTuple

from pydantic import JsonValue

from tools.drug_database.labels.interaction_parties import Party, medicine, unlisted
from tools.drug_database.labels.interactions import Statement, pair_statements, single_statements
from tools.drug_database.labels.record_rendering import NO_LABEL, alias_notes, named_record, section_passage
from tools.drug_database.labels.severity import SEVERITIES
from tools.drug_database.names.name_keys import base_moieties, joined
from tools.drug_database.records.drug_record import SECTION_TITLES, DrugRecord
from tools.drug_database.records.queries import DrugSearchResult
from tools.language.figures import written_figures
from tools.types import Passage, Phrase, ToolResult

NOTHING_FOUND = (
    "No statement about this combination was found in either label. That is no evidence that the combination is safe."
)
_ONLY_RISKS = "No label names the other medicine. A risk that both share is quoted from each label that states it: {}."
_LISTED_RISK = "{} is listed among medicines with the risk {}; no loaded label of it states that."
_NOT_LISTED = "{} is not in the drug database: only the other label was searched, for that name."
_ONE_WAY = "{} has no label: only that of the other one was searched."
_NO_LABELS = "Neither {} nor {} is a medicine with a label here: nothing was searched."
_MEMBERS = "These labels were searched for the other class: {}."
_NO_RECORD = "No medicine of that name is in the drug database: ask which one is meant."


def interaction_result(found: Sequence[DrugSearchResult]) -> ToolResult:
    """Return what the labels of the named medicines say about each pair, or about one with others."""
    parties = list({_identity(party): party for party in map(party_of, found)}.values())
    passages: dict[str, Passage] = {}
    rows: list[_Row] = []
    pairs: list[JsonValue] = []
    if len(parties) == 1:
        rows += _rows(single_statements(parties[0]), parties, passages)
        pairs.append(_single(parties[0], rows))
    for one, other in combinations(parties, 2):
        statements = pair_statements(one, other)
        found_rows = _rows(statements, (one, other), passages)
        rows += found_rows
        pairs.append(_pair(one, other, statements, len(found_rows)))
    rows.sort(key=_Row.order)
    unknown = [
        result
        for result in found
        if named_record(result) is None and not result.absent and not unlisted(result.query.name).is_class
    ]
    data: dict[str, JsonValue] = {
        "pairs": pairs,
        "results": [row.data() for row in rows],
        "unknown": [{"name": result.query.name, "did_you_mean": list(result.did_you_mean)} for result in unknown],
        "note": " ".join([*alias_notes(found), *([_NO_RECORD] if unknown else [])]),
    }
    return ToolResult(data=data, passages=tuple(passages.values()), summary=_summary(rows))


def party_of(result: DrugSearchResult) -> Party:
    """Return the medicine that was found, with the labels of a named brand first; else a party of the bare name."""
    record = named_record(result)
    if record is None:
        return unlisted(result.query.name, [hit.record for hit in result.hits if hit.matched.how == "class"])
    return medicine(_brand_first(record, result.hits[0].matched.on))


def _brand_first(record: DrugRecord, name: str) -> DrugRecord:
    """Return the record with the labels of the brand that was named before its others."""
    labels = sorted(record.labels, key=lambda label: label.brand_name.casefold() != name.casefold())
    return record.model_copy(update={"labels": tuple(labels)})


def _identity(party: Party) -> str:
    return party.record.key if party.record else f"name:{party.name.casefold()}"


def _rows(statements: Iterable[Statement], parties: Iterable[Party], passages: dict[str, Passage]) -> list[_Row]:
    """One row for each run of statements of one severity in one section of one label."""
    known = [record for party in parties for record in (party.record, *party.members) if record]
    records = {record.generic_name: record for record in known}
    rows: list[_Row] = []
    for _, run in groupby(statements, key=_run):
        group = list(run)
        first = group[0]
        passage = section_passage(records[first.label_of], first.label, first.section)
        passages[passage.id] = passage
        rows.append(_Row(group, passage.id))
    return rows


class _Row(NamedTuple):
    """Statements that are shown together, and the passage they are cited by."""

    statements: Sequence[Statement]
    cite: str

    def order(self) -> tuple[bool, int]:
        """Shared risks last; the rest by severity over all pairs."""
        first = self.statements[0]
        return (first.how == "shared risk", SEVERITIES.index(first.severity))

    def data(self) -> dict[str, JsonValue]:
        first = self.statements[0]
        quotes = [one.quote for one in self.statements]
        return {
            "cite": self.cite,
            "label_of": first.label_of,
            "about": first.about,
            "severity": first.severity,
            "matched_by": first.how,
            "mentioned_as": list(dict.fromkeys(name for one in self.statements for name in one.mentioned_as)),
            "section": SECTION_TITLES[first.section],
            "figures": list(dict.fromkeys(figure for quote in quotes for figure in written_figures(quote))),
            "label": {first.section: list(quotes)},
        }


def _run(one: Statement) -> tuple[str, ...]:
    risk = one.mentioned_as if one.how == "shared risk" else ()
    return (one.severity, one.how, one.label_of, one.section, one.label.source.id, one.label.brand_name, *risk)


def _pair(one: Party, other: Party, statements: Sequence[Statement], rows: int) -> dict[str, JsonValue]:
    said = [statement for statement in statements if statement.how != "shared risk"]
    risks = dict.fromkeys(statement.mentioned_as[0] for statement in statements if statement.how == "shared risk")
    stated = {(statement.label_of, statement.mentioned_as[0]) for statement in statements if statement.mentioned_as}
    return {
        "medicines": [one.name, other.name],
        "labels_of": list(dict.fromkeys(statement.label_of for statement in statements)),
        "mentions": rows,
        "severity": said[0].severity if said else None,
        "shared_risks": list(risks),
        "note": _pair_note(one, other, said=bool(said), risks=list(risks), stated=stated),
    }


def _pair_note(
    one: Party, other: Party, *, said: bool, risks: Sequence[str], stated: Collection[tuple[str, str]]
) -> str:
    if one.record is None and other.record is None:
        members = [record.generic_name for party in (one, other) for record in party.members]
        searched = _MEMBERS.format(", ".join(members)) if members else _NO_LABELS.format(one.name, other.name)
        return f"{searched} {NOTHING_FOUND}" if members and not said else searched
    notes: list[str] = []
    shared = [name for name in _contents(one) if name in _contents(other)]
    if shared:
        notes.append(f"Both contain {joined(shared)}.")
    for party in (one, other):
        if party.record is None:
            notes.append((_ONE_WAY if party.is_class else _NOT_LISTED).format(party.name))
        elif not party.record.labels:
            notes.append(f"{party.name}: {NO_LABEL}")
    for party in (one, other):
        missing = [risk for risk in risks if (party.name, risk) not in stated]
        notes += [_LISTED_RISK.format(party.name, risk) for risk in missing]
    if not said:
        notes.append(_ONLY_RISKS.format(joined(risks)) if risks else NOTHING_FOUND)
    return " ".join(notes)


def _contents(party: Party) -> tuple[str, ...]:
    return base_moieties(party.record.ingredients) if party.record else ()


def _single(party: Party, rows: Sequence[_Row]) -> dict[str, JsonValue]:
    note = ""
    if party.record is None:
        note = _NO_RECORD
    elif not party.record.labels:
        note = f"{party.name}: {NO_LABEL}"
    elif not rows:
        note = f"The label of {party.name} has no statement about other medicines."
    severity = rows[0].statements[0].severity if rows else None
    return {"medicines": [party.name], "mentions": len(rows), "severity": severity, "shared_risks": [], "note": note}


def _summary(rows: Sequence[_Row]) -> Phrase:
    if not rows:
        return Phrase(text="no statement found in these labels")
    first = rows[0].statements[0]
    headline = "shared risks only" if first.how == "shared risk" else first.severity
    return Phrase(text=f"{headline} (label sections: {{count}})", values={"count": len(rows)})
