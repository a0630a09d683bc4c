"""The output of ``check_drug_interactions``: the labels' statements on every pair, with severity and section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import Final, NamedTuple

from pydantic import JsonValue

from tools.drug_database.labels.interaction_parties import Party, medicine, unlisted
from tools.drug_database.labels.interactions import Statement, member_statements, pair_statements, single_statements
from tools.drug_database.labels.pair_notes import PairNotes
from tools.drug_database.labels.record_rendering import alias_notes, named_record, section_passage
from tools.drug_database.labels.severity import SEVERITIES, Severity
from tools.drug_database.names.aliases import aliases
from tools.drug_database.records.drug_record import SECTION_TITLES, DrugRecord
from tools.drug_database.records.queries import DrugSearchResult
from tools.language.figures import written_figures
from tools.types import Passage, Phrase, ToolResult

MOST: Final = 16
"""Medicines whose pairs are checked at once."""
_ON_OTHERS: Final = ("shared risk", "class member")
"""Kinds of statements that are quoted without a severity."""
_Pair = dict[str, JsonValue]


def interaction_result(found: Sequence[DrugSearchResult], language: str = "en") -> ToolResult:
    """Return what the labels say about each pair of the named medicines, or about a single one with others.

    Only the notes are in ``language``.
    """
    notes = PairNotes(language)
    read = [parties_of(result, notes) for result in found[:MOST]]
    readings = list({tuple(map(_identity, parties)): parties for parties in read}.values())
    passages: dict[str, Passage] = {}
    rows: list[_Row] = []
    checked: list[_Pair] = []
    if len(readings) == 1:
        checked += [_single(party, rows, passages, notes) for party in readings[0]]
    for one, other in _combined(readings):
        statements = pair_statements(one, other) or member_statements(one, other)
        found_rows = _rows(statements, (one, other), passages)
        rows += found_rows
        checked.append(_pair((one, other), statements, len(found_rows), notes))
    rows.sort(key=_Row.order)
    checked.sort(key=_pair_order)
    pairs: list[JsonValue] = [*checked]
    pairs += _left_out([result.query.name for result in found], notes)
    unknown = [
        result
        for result in found
        if _record(result) is None and not result.absent and not unlisted(result.query.name).is_class
    ]
    data: dict[str, JsonValue] = {
        "pairs": pairs,
        "results": [row.data() for row in rows],
        "unknown": [{"name": result.query.name, "did_you_mean": list(result.did_you_mean)} for result in unknown],
        "note": " ".join([*alias_notes(found), *([notes.no_record()] if unknown else [])]),
    }
    return ToolResult(data=data, passages=tuple(passages.values()), summary=_summary(rows))


def _combined(readings: Sequence[Sequence[Party]]) -> Iterator[tuple[Party, Party]]:
    """Yield the pairs of different medicines, but not of two meanings of one name."""
    for first, second in combinations(readings, 2):
        yield from ((one, other) for one in first for other in second if _identity(one) != _identity(other))


def parties_of(result: DrugSearchResult, notes: PairNotes) -> list[Party]:
    """Return the medicine that was found, or every meaning of an ambiguous abbreviation."""
    first = party_of(result)
    if first.record and named_record(result) is None:
        return [replace(first, note=notes.read_as(result.query.name, result.did_you_mean[0]))]
    on = result.hits[0].matched.on if first.record else ""
    alias = aliases().name(on)
    if alias is None or len(alias.names) == 1:
        return [first]
    meant = [hit.record for hit in result.hits if (hit.matched.how, hit.matched.on) == ("synonym", on)]
    for record in meant:
        if record.generic_name == alias.foreign.get(notes.language):
            return [replace(medicine(record), note=notes.read_as(on, record.generic_name))]
    note = notes.meanings(on, [record.generic_name for record in meant], alias.note)
    return [replace(medicine(record), note=note) for record in meant] or [first]


def party_of(result: DrugSearchResult) -> Party:
    """Return the medicine that was found, with the labels of a named brand first; else a party of the bare name."""
    record = _record(result)
    if record is None:
        return unlisted(result.query.name, [hit.record for hit in result.hits if hit.matched.how == "class"])
    named = result.hits[0].matched.on.casefold()
    labels = sorted(record.labels, key=lambda label: label.brand_name.casefold() != named)
    return medicine(record.model_copy(update={"labels": tuple(labels)}))


def _record(result: DrugSearchResult) -> DrugRecord | None:
    """Return the medicine that was named, if necessary by a misspelling that can only mean its name."""
    meant = result.did_you_mean[0] if result.misspelt else ""
    return named_record(result) or next((hit.record for hit in result.hits if hit.matched.on == meant), None)


def _identity(party: Party) -> str:
    return party.record.key if party.record else f"name:{party.name.casefold()}"


def _rows(statements: Iterable[Statement], parties: Iterable[Party], passages: dict[str, Passage]) -> list[_Row]:
    """Return one row for each run of statements of one severity in one section of one label."""
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

    @property
    def severity(self) -> Severity | None:
        """Return how strongly the statements warn of the combination; None if they are not on these two medicines."""
        first = self.statements[0]
        return None if first.how in _ON_OTHERS else first.severity

    def order(self) -> tuple[bool, bool, int]:
        """Return the sort key: by severity over all pairs, with shared risks last."""
        first = self.statements[0]
        return (first.how in _ON_OTHERS, first.yields, SEVERITIES.index(first.severity))

    def data(self) -> dict[str, JsonValue]:
        first = self.statements[0]
        quotes = [one.quote for one in self.statements]
        return {
            "cite": self.cite,
            "label_of": first.label_of,
            "about": first.about,
            "severity": self.severity,
            "matched_by": first.how,
            "mentioned_as": list(dict.fromkeys(name for one in self.statements for name in one.mentioned_as)),
            "section": SECTION_TITLES[first.section],
            "figures": list(dict.fromkeys(figure for quote in quotes for figure in written_figures(quote))),
            "label": {first.section: list(quotes)},
        }


def _run(one: Statement) -> tuple[str, ...]:
    risk = one.mentioned_as if one.how == "shared risk" else ()
    return (one.severity, one.how, one.label_of, one.section, one.label.source.id, one.label.brand_name, *risk)


def _pair_order(pair: _Pair) -> tuple[int, bool]:
    """Return the sort key of a pair: by severity, then pairs with other quotes, then pairs without a statement."""
    return ((*SEVERITIES, None).index(pair["severity"]), not pair["mentions"])


def _pair(parties: tuple[Party, Party], statements: Sequence[Statement], rows: int, notes: PairNotes) -> _Pair:
    said = [statement for statement in statements if statement.how not in _ON_OTHERS]
    risks = dict.fromkeys(statement.mentioned_as[0] for statement in statements if statement.how == "shared risk")
    stated = {(statement.label_of, statement.mentioned_as[0]) for statement in statements if statement.mentioned_as}
    return {
        "medicines": [party.name for party in parties],
        "labels_of": list(dict.fromkeys(statement.label_of for statement in statements)),
        "mentions": rows,
        "severity": said[0].severity if said else None,
        "shared_risks": list(risks),
        "note": notes.pair(parties, said, risks=list(risks), stated=stated, members=_members(statements)),
    }


def _members(statements: Sequence[Statement]) -> tuple[str, ...]:
    """Return the medicines that labels name instead of one of the pair."""
    named = (name for statement in statements if statement.how == "class member" for name in statement.mentioned_as)
    return tuple(dict.fromkeys(named))


def _left_out(names: Sequence[str], notes: PairNotes) -> list[JsonValue]:
    """Return the pairs that were not checked because too many medicines were given."""
    pairs = ((one, other) for place, one in enumerate(names) for other in names[max(MOST, place + 1) :])
    note = notes.left_out(MOST)
    unread: dict[str, JsonValue] = {"mentions": 0, "severity": None, "shared_risks": [], "note": note}
    return [{"medicines": [one, other], **unread} for one, other in pairs]


def _single(party: Party, rows: list[_Row], passages: dict[str, Passage], notes: PairNotes) -> _Pair:
    """Add the rows of one medicine alone, and return its entry among the pairs."""
    own = _rows(single_statements(party), [party], passages)
    rows += own
    return {
        "medicines": [party.name],
        "mentions": len(own),
        "severity": own[0].severity if own else None,
        "shared_risks": [],
        "note": notes.single(party, said=bool(own)),
    }


def _summary(rows: Sequence[_Row]) -> Phrase:
    if not rows:
        return Phrase(text="no statement found in these labels")
    gravest = rows[0].severity or "shared risks only"
    return Phrase(text=f"{gravest} (label sections: {{count}})", values={"count": len(rows)})
