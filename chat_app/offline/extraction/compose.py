"""Puts the answer together: extracts with their citations, grouped under fixed phrases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chat_app.offline.extraction import drugs, phrases
from chat_app.offline.extraction.draft import Draft
from chat_app.offline.extraction.evidence import Calculated, Evidence, Fields, Passage
from chat_app.offline.extraction.selection import Quote, select
from chat_app.offline.extraction.units import Unit
from chat_app.offline.wire.model import Answer

_MOST_BESIDE_A_RECORD: Final = 3
"""Guideline sentences beside what a drug's record already says."""


def compose(question: str, evidence: Evidence) -> Answer:
    """The answer to ``question`` from ``evidence``; what was searched and found empty is said."""
    draft = Draft()
    drugs.lookups(draft, question, evidence.lookups)
    drugs.pairs(draft, evidence.pairs)
    quotes = select(question, evidence.passages, most=_MOST_BESIDE_A_RECORD if draft.text else None)
    if quotes:
        _quotes(draft, quotes)
    for output in evidence.fields:
        _fields(draft, output)
    for calculated in evidence.calculations:
        _calculated(draft, calculated)
    _empty_handed(draft, evidence, quoted=bool(quotes))
    return draft.answer()


def _quotes(draft: Draft, quotes: Sequence[Quote]) -> None:
    from_files = all(quote.passage.file_id for quote in quotes)
    draft.block(phrases.FROM_FILES if from_files else phrases.FROM_GUIDELINES)
    group: object = None
    for quote in _in_order(quotes):
        unit, first = quote.unit, _group(quote) != group
        if first and unit.table is not None:
            _open(draft, unit)
        if _fits(unit):
            draft.row(unit.cells, quote.passage)
        else:
            # A row that left cells empty cannot be put under the columns again: its cells are given as they come.
            draft.quote("; ".join(unit.cells) or unit.text, quote.passage, first=first and not _goes_on(group, quote))
        group = _group(quote)


def _open(draft: Draft, unit: Unit) -> None:
    """What stands above the first row of a table."""
    if unit.table is not None and _fits(unit):
        draft.head(unit.table)
    elif unit.table is not None and unit.table.caption:
        draft.block(unit.table.caption)


def _fits(unit: Unit) -> bool:
    """True when each cell of a row stands under a column of the header."""
    return unit.table is not None and len(unit.cells) == len(unit.table.header)


def _in_order(quotes: Sequence[Quote]) -> list[Quote]:
    """The best quote's passage first, in reading order, then the next best; rows of one table stand together."""
    best: dict[object, float] = {}
    for quote in quotes:
        best[_group(quote)] = max(best.get(_group(quote), 0.0), quote.score)
    return sorted(quotes, key=lambda quote: (-best[_group(quote)], str(_group(quote)), quote.place))


def _group(quote: Quote) -> object:
    """What is shown together: the rows of a table, those that fit its header apart; the sentences of a passage."""
    return (quote.unit.table, _fits(quote.unit)) if quote.unit.table else quote.passage.rank


def _goes_on(group: object, quote: Quote) -> bool:
    """True when a sentence follows those of another passage: one list holds them all."""
    return isinstance(group, int) and quote.unit.table is None


def _calculated(draft: Draft, calculated: Calculated) -> None:
    draft.block(calculated.needs or f"**{calculated.title}**")
    for index, line in enumerate(() if calculated.needs else calculated.lines):
        draft.quote(line, Passage(line, cite=calculated.cite), first=index == 0)


def _fields(draft: Draft, output: Fields) -> None:
    draft.block(phrases.FIELDS.format(tool=output.tool))
    for index, (name, value) in enumerate(output.pairs):
        draft.quote(f"{name}: {value}" if name else value, Passage(value, cite=output.cite), first=index == 0)


def _empty_handed(draft: Draft, evidence: Evidence, *, quoted: bool) -> None:
    """Says what was searched without success, and that nothing answers when that is so."""
    answered = bool(draft.text)
    asked_back = False
    if evidence.searched_documents and not quoted:
        draft.block(phrases.NOTHING_IN_FILES if evidence.hosted else phrases.NOTHING_IN_GUIDELINES)
    silent: list[str] = []
    for lookup in evidence.lookups:
        if not lookup.records:
            draft.block(phrases.NO_RECORD.format(name=lookup.asked))
        elif lookup.is_guess:
            draft.block(phrases.NO_NAME.format(name=lookup.asked))
        elif not answered and lookup.records[0].name not in silent:
            silent.append(lookup.records[0].name)
            draft.block(phrases.NOTHING_IN_RECORD.format(name=silent[-1]))
        if lookup.suggestions and not lookup.is_exact:
            draft.block(phrases.DID_YOU_MEAN.format(names=phrases.listed(list(lookup.suggestions[:3]), "or")))
            asked_back = True
    for tool, message in evidence.failures:
        draft.block(phrases.FAILED.format(tool=tool, message=message))
    if not (answered or asked_back or evidence.failures):
        draft.block(phrases.NO_ANSWER)
