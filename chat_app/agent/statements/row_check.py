"""Finds figures and names that a statement about one row of a table takes from another row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, groupby
from typing import Final

from chat_app.agent.statements.cited_sources import AlignedStatement, CitedSource, words
from chat_app.events import SupportReason
from tools.language.figures import COUNTS, Figure, equals, figures
from tools.language.quotable_units import Table, Unit, term_set

_ALTERNATIVES: Final = re.compile(r",|;|\bor\b|\band\b")
_PART: Final = re.compile(r";|\b(?:and|or|then|with)\b")


class _TableRows:
    """The rows of a table, with the terms of its labels and headers, and the texts around it."""

    def __init__(self, table: Table, rows: Sequence[Unit], around: Sequence[str]) -> None:
        self.rows = rows
        self.around = (table.caption, *table.header, *around)
        self._header = tuple(map(term_set, table.header))
        count = Counter(chain.from_iterable(self._header))
        self._heads = [frozenset(term for term in head if count[term] == 1) for head in self._header]
        self._labels = [term_set(row.cells[0]) for row in rows]
        parts = [[term_set(part) for part in _ALTERNATIVES.split(row.cells[0])] for row in rows]
        known = Counter(chain.from_iterable(parts))
        self._parts = [[part for part in of_row if part and known[part] == 1] for of_row in parts]

    @cached_property
    def held(self) -> Counter[str]:
        """The number of rows with each term."""
        return Counter(term for row in self.rows for term in term_set(row.text))

    def named_in(self, terms: frozenset[str]) -> list[Unit]:
        """Return the rows whose first cell is in ``terms``, or else those with a unique part of it in ``terms``."""
        whole = [row for row, label in zip(self.rows, self._labels, strict=True) if label and label <= terms]
        alternatives = zip(self.rows, self._parts, strict=True)
        return whole or [row for row, parts in alternatives if any(part <= terms for part in parts)]

    def in_other_column(self, part: str, own: Iterable[Unit]) -> Iterator[str]:
        """Yield the figures of ``part`` if it names columns, but has only figures of like columns not named."""
        terms = term_set(part)
        named = {place for place, head in enumerate(self._header) if place and self._heads[place] and head <= terms}
        if not named:
            return
        said = figures(part)
        placed = [one for row in own for one in enumerate(row.cells[: len(self._heads)])]
        cells = [(place, figures(cell, words=True)) for place, cell in placed]
        if any(_holds(found, figure) for figure in said for place, found in cells if place in named):
            return
        for figure in said:
            there = {place for place, found in cells if _holds(found, figure)}
            kinds = {place: {one.unit for one in found} for place, found in cells}
            apart = all(place and self._heads[place].isdisjoint(terms) for place in there)
            if there and apart and all(kinds.get(one) == kinds[two] for one in named for two in there):
                yield str(figure)


@lru_cache(maxsize=512)
def _tables(source: CitedSource) -> tuple[_TableRows, ...]:
    grouped = groupby(source.quotable, lambda unit: unit.table)
    return tuple(
        _TableRows(table, list(rows), [unit.text for unit in source.quotable if unit.table != table])
        for table, rows in grouped
        if table
    )


def misplaced(aligned: AlignedStatement) -> Iterator[tuple[SupportReason, str]]:
    """Yield each figure and name of a statement that is only in rows that the statement is not about.

    A statement is about the rows whose first cell it names.
    """
    counts = {str(COUNTS[word]) for word in aligned.text.casefold().split() if word in COUNTS}
    for source in aligned.sources:
        beside = [other.text for other in aligned.sources if other is not source]
        for table in _tables(source):
            if own := table.named_in(aligned.terms | counts):
                here = (*table.around, *beside, *(cell for row in own for cell in row.cells))
                yield from _of_other_rows(aligned, table, own, here)


def _of_other_rows(
    aligned: AlignedStatement, table: _TableRows, own: Sequence[Unit], here: Sequence[str]
) -> Iterator[tuple[SupportReason, str]]:
    """Yield the figures and names that are in other rows than ``own``, and in none of the texts ``here``."""
    foreign = [row for row in table.rows if row not in own]
    meant = {term for term in aligned.terms if table.held[term] == 1 and not term.isdigit()}
    others = [cell for row in foreign if meant.isdisjoint(term_set(row.text)) for cell in row.cells]
    for figure in figures(aligned.text):
        if _is_in(others, figure) and not _is_in(here, figure):
            yield "number", str(figure)
    for part in _PART.split(aligned.text):
        for other in table.in_other_column(part, own):
            yield "number", other
    for name in aligned.medicines:
        if any(name in words(row.text) for row in foreign) and not any(name in words(text) for text in here):
            yield "name", name


def _is_in(texts: Iterable[str], figure: Figure) -> bool:
    return any(_holds(figures(text, words=True), figure) for text in texts)


def _holds(found: Sequence[Figure], figure: Figure) -> bool:
    return any(equals(figure, one) for one in found)
