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
from tools.language.figures import Figure, equals, figures
from tools.language.quotable_units import Table, Unit, term_set, units

_ALTERNATIVES: Final = re.compile(r",|;|\bor\b|\band\b")


class _TableRows(NamedTuple):
    """A table of a passage: the cells of its rows, and the text around them."""

    rows: tuple[tuple[str, ...], ...]
    around: str

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
    return _TableRows(tuple(row.cells for row in rows), ". ".join((_above(heads), *beside)))


def _above(table: Table) -> str:
    return f"{table.caption}. {'. '.join(table.header)}"


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
    said = term_set(statement)
    for table in _tables(passage):
        own = table.named_in(said)
        if not own:
            continue
        others = ". ".join(cell for row in table.rows if row not in own for cell in row)
        here = ". ".join((table.around, beside, *(cell for row in own for cell in row)))
        stated, elsewhere = figures(here, words=True), figures(others, words=True)
        for figure in figures(statement):
            if _holds(elsewhere, figure) and not _holds(stated, figure):
                yield "number", str(figure)
        for name in (names(statement) & names(others)) - names(here):
            yield "name", name


def _holds(found: Sequence[Figure], figure: Figure) -> bool:
    return any(equals(figure, one) for one in found)
