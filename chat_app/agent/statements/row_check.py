"""Finds figures and names that a statement about one row of a table takes from another row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from chat_app.agent.statements.polarity import negations
from chat_app.events import SupportReason
from tools.language.figures import COUNTS, Figure, equals, figures
from tools.language.quotable_units import Table, Unit, term_set, units

_ALTERNATIVES: Final = re.compile(r",|;|\bor\b|\band\b")
_PART: Final = re.compile(r";|\b(?:and|or|then|with)\b")


class _TableRows(NamedTuple):
    """The cells of a table's rows, the text around it, and the terms of its headers, all and those of one alone."""

    rows: tuple[tuple[str, ...], ...]
    around: str
    header: tuple[frozenset[str], ...]
    heads: tuple[frozenset[str], ...]

    def in_other_column(self, part: str, own: Iterable[tuple[str, ...]]) -> Iterator[str]:
        """Yield the figures of ``part`` if it names columns, but has only figures of like columns not named."""
        terms, said = term_set(part), figures(part)
        named = {place for place, head in enumerate(self.header) if place and self.heads[place] and head <= terms}
        cells = [(place, figures(cell, words=True)) for row in own for place, cell in enumerate(row[: len(self.heads)])]
        if any(_holds(found, figure) for figure in said for place, found in cells if place in named):
            return
        for figure in said if named else ():
            there = {place for place, found in cells if _holds(found, figure)}
            kinds = {place: {one.unit for one in found} for place, found in cells}
            apart = all(place and self.heads[place].isdisjoint(terms) for place in there)
            if there and apart and all(kinds.get(one) == kinds[two] for one in named for two in there):
                yield str(figure)

    def named_in(self, terms: frozenset[str]) -> list[tuple[str, ...]]:
        """Return the rows whose first cell is in ``terms``, or else those with a unique part of it in ``terms``."""
        whole = [row for row in self.rows if _is_in(row[0], terms)]
        if whole:
            return whole
        parts = [[part for part in _ALTERNATIVES.split(row[0]) if part.strip()] for row in self.rows]
        known = Counter(term_set(part) for of_row in parts for part in of_row)
        return [
            row
            for row, of_row in zip(self.rows, parts, strict=True)
            if any(_is_in(part, terms) and known[term_set(part)] == 1 for part in of_row)
        ]


def _is_in(label: str, terms: frozenset[str]) -> bool:
    own = term_set(label)
    return bool(own) and own <= terms


@lru_cache(maxsize=512)
def _tables(passage: str) -> tuple[_TableRows, ...]:
    """Return the tables of ``passage``, whose cells are separated by tabs."""
    found = units(passage) if "\t" in passage else ()
    return tuple(_table(heads, rows, found) for heads, rows in groupby(found, lambda unit: unit.table) if heads)


def _table(heads: Table, rows: Iterable[Unit], everything: Sequence[Unit]) -> _TableRows:
    beside = (unit.text for unit in everything if unit.table != heads)
    of_columns = [term_set(head) for head in heads.header]
    count = Counter(term for head in of_columns for term in head)
    unique = tuple(frozenset(term for term in head if count[term] == 1) for head in of_columns)
    return _TableRows(tuple(row.cells for row in rows), ". ".join((_above(heads), *beside)), tuple(of_columns), unique)


def _above(table: Table) -> str:
    return f"{table.caption}. {'. '.join(table.header)}"


@lru_cache(maxsize=512)
def cells_of_rows(passage: str) -> dict[str, tuple[str, ...]]:
    """Return for each row of ``passage`` its cells with their label, its cells with their header, and the caption."""
    return {
        row.text: (
            *(f"{row.cells[0]} {cell}" for cell in row.cells[1:]),
            *(f"{head} {cell}" for head, cell in zip(row.table.header, row.cells, strict=False)),
            row.table.caption,
        )
        for row in (units(passage) if "\t" in passage else ())
        if row.table and row.cells
    }


@lru_cache(maxsize=512)
def rows_below_negation(passage: str) -> frozenset[str]:
    """Return the rows of ``passage`` below a caption or header with a negation, which their text lacks."""
    found = units(passage) if "\t" in passage else ()
    return frozenset(unit.text for unit in found if unit.table and negations(_above(unit.table)))


def misplaced(
    statement: str, passage: str, names: Callable[[str], frozenset[str]], *, beside: str
) -> Iterator[tuple[SupportReason, str]]:
    """Yield each figure and name of ``statement`` that is only in rows that the statement is not about.

    A statement is about the rows whose first cell it names. ``names`` returns the names of medicines in a text;
    ``beside`` is the text of the other passages that the statement cites.
    """
    counts = {str(COUNTS[word]) for word in statement.casefold().split() if word in COUNTS}
    said = term_set(statement) | counts
    for table in _tables(passage):
        own = table.named_in(said)
        if not own:
            continue
        held = Counter(term for row in table.rows for term in term_set(" ".join(row)))
        meant = {term for term in said if held[term] == 1 and not term.isdigit()}
        foreign = [". ".join(row) for row in table.rows if row not in own]
        others = ". ".join(row for row in foreign if meant.isdisjoint(term_set(row)))
        here = ". ".join((table.around, beside, *(cell for row in own for cell in row)))
        stated, elsewhere = figures(here, words=True), figures(others, words=True)
        for figure in figures(statement):
            if _holds(elsewhere, figure) and not _holds(stated, figure):
                yield "number", str(figure)
        for part in _PART.split(statement):
            for other in table.in_other_column(part, own):
                yield "number", other
        for name in (names(statement) & names(". ".join(foreign))) - names(here):
            yield "name", name


def _holds(found: Sequence[Figure], figure: Figure) -> bool:
    return any(equals(figure, one) for one in found)
