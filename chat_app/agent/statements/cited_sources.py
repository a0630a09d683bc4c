"""Reads cited passages once for all statements, and aligns a statement with their sentences and rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final

from tools.language.figures import with_decimal_points
from tools.language.inn_stems import has_drug_stem
from tools.language.quotable_units import Unit, term_set, units
from tools.language.sentences import sentences
from tools.language.terms import clean, term, terms
from tools.types import Passage

Ingredients = Callable[[str], frozenset[str]]
"""The ingredients of the medicine that a word names; empty for any other word."""
FEWEST_TERMS: Final = 4
"""Minimum number of terms of a statement that repeats a sentence or is unrelated to its sources."""
_VERBATIM: Final = 0.85
"""Share of a statement's terms in a sentence from which the statement repeats it."""
_RESEMBLES: Final = 0.6
"""Share of a statement's terms in a sentence from which the statement resembles it."""
_TIED: Final = 0.05
"""Difference of two shares up to which both sentences are compared with the statement."""
_NEAREST: Final = 3
_MARKUP: Final = re.compile(r"\*\*|__|`|(?<!\\)\||\u2063|\\(?=[\[\]|])")
_MAY_MARK: Final = re.compile(r"[*_`|\\\u2063]")
_ROW: Final = re.compile(r"^ *\| *(?:(?P<rule>[-:| ]+)\|(?:\n|$)|(?P<cells>.*[^|\s]) *\| *$)", re.MULTILINE)
_LEAD: Final = re.compile(r"^(?:\s*(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s+)+")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_CODE: Final = re.compile(r"\b[a-z]{2,}\d[a-z\d]*\b")
"""The name of an enzyme, a gene or a score, such as CYP3A4."""
_CLAUSE: Final = re.compile(
    r";|\b(?:but|however|although|whereas|while)\b|, (?=(?:and|or) (?:an?|are|in|is|it|the|they)\b)|\.(?= )"
)
_PART: Final = re.compile(
    r"[,;:]|\b(?:and|or|but|whereas|while|versus|vs|than|with|before|after|until|instead of|rather than|then|not"
    r"|compared (?:to|with)|followed by)\b|\.(?= )"
)
_SPAN: Final = re.compile(r"(?<=\d)[.,–-](?=\d)")
"""A sign inside a number or a range, which is one word."""


class SourceUnit:
    """A statement, or a sentence, clause or row of a source, with its terms."""

    def __init__(self, text: str, row: Unit | None = None) -> None:
        self.text, self.row = text, row
        self.above = row.table.text if row and row.table else ""
        """The caption and header above a row; empty for a sentence."""
        self.terms = frozenset(terms(text))
        self.all_terms = self.terms | term_set(self.above) if self.above else self.terms

    @cached_property
    def words(self) -> frozenset[str]:
        """The words with at least four letters, in lower case."""
        return frozenset(words(self.text))

    @cached_property
    def clauses(self) -> tuple[SourceUnit, ...]:
        """The clauses of a sentence; a row is one."""
        split = [part for part in _CLAUSE.split(self.text) if part.strip()] if self.row is None else ()
        return tuple(map(SourceUnit, split)) if len(split) > 1 else (self,)

    @cached_property
    def parts(self) -> tuple[frozenset[str], ...]:
        """The terms of the parts within which words belong together; a range is one term."""
        split = _pairs(self.row) if self.row else _PART.split(self.text.casefold())
        return tuple(frozenset(terms(_SPAN.sub("x", part))) for part in split)


def _pairs(row: Unit) -> Iterator[str]:
    """Yield the cells of ``row`` with their label and with their headers, and the caption."""
    label, *others = row.cells
    yield from (f"{label} {cell}" for cell in others)
    header, caption = (row.table.header, row.table.caption) if row.table else ((), "")
    yield from (f"{head} {cell}" for head, cell in zip(header, row.cells, strict=False))
    yield caption


class CitedSource:
    """A passage with its units; its context is the title, the headings and the list numbers."""

    def __init__(self, text: str, context: str) -> None:
        self.text = text
        self.quotable = units(text) if "\t" in text else ()
        """The quotable units of a passage with a table."""
        rows = {unit.text: unit for unit in self.quotable if unit.table}
        parts = sentences(text)
        self.units = [SourceUnit(one, rows.get(one)) for one in map(plain, parts)]
        leads = (lead[0] for part in parts if (lead := _LEAD.match(part)))
        self.context = " . ".join((*leads, context))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of all units and of the context."""
        return frozenset(terms(self.context)).union(*(unit.terms for unit in self.units))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and codes of all units and of the context."""
        text = " . ".join((*(unit.text for unit in self.units), self.context))
        return frozenset((*words(text), *codes(text)))


class AlignedStatement:
    """A statement with its sources, and those of their sentences and rows that it resembles or repeats."""

    def __init__(self, statement: str, sources: Sequence[CitedSource], ingredients: Ingredients | None) -> None:
        self.text, self.sources = statement, sources
        self.unit = SourceUnit(statement)
        self.terms = self.unit.terms
        self.units = [unit for source in sources for unit in source.units]
        self.ingredients_of: Ingredients = ingredients or (lambda _: frozenset())
        most = max(len(self.terms), 1)
        shares = [len(self.terms & unit.all_terms) / most for unit in self.units]
        best = max(shares, default=0.0)
        least = max(_RESEMBLES, best - _TIED)
        self.alike = [unit for unit, share in zip(self.units, shares, strict=True) if share >= least]
        self.repeated = self.alike if best >= _VERBATIM and len(self.terms) >= FEWEST_TERMS else []
        self._shares = shares
        self._names: dict[SourceUnit, frozenset[str]] = {}

    @cached_property
    def nearest(self) -> list[SourceUnit]:
        """The units that the statement resembles, or else those with most of its terms."""
        ranked = sorted(zip(self._shares, self.units, strict=True), key=lambda one: -one[0])
        return self.alike or [unit for _, unit in ranked[:_NEAREST]]

    @cached_property
    def known(self) -> frozenset[str]:
        """The terms of all sources."""
        return frozenset[str]().union(*(source.terms for source in self.sources))

    @cached_property
    def medicines(self) -> dict[str, frozenset[str]]:
        """The words of the statement that name a medicine, with its ingredients if they are known."""
        return self.medicines_in(words(self.text))

    def medicines_in(self, found: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return those of the words ``found`` that name a medicine, with its ingredients if they are known."""
        return {word: parts for word in found if (parts := self.ingredients_of(word)) or has_drug_stem(word)}

    def names(self, unit: SourceUnit) -> frozenset[str]:
        """Return the medicines that ``unit`` names, by the terms of their ingredients."""
        if unit not in self._names:
            found = self.medicines if unit is self.unit else self.medicines_in(unit.words)
            self._names[unit] = frozenset(term(one) for word, parts in found.items() for one in parts or (word,))
        return self._names[unit]


def cited_source(passage: Passage, *, decimal_points: bool) -> CitedSource:
    """Return ``passage`` as it is read for all statements; ``decimal_points`` replace decimal commas."""
    context = f"{passage.title}. {passage.version}. {passage.section}"
    return _cited_source(passage.text, context, passage.kind == "calculation", decimal_points)


@lru_cache(maxsize=512)
def _cited_source(text: str, context: str, is_calculation: bool, decimal_points: bool) -> CitedSource:
    text = text.replace("\n", "\n\n") if is_calculation else text  # Each of its lines is a paragraph.
    text = _ROW.sub(_cells, text) if "|" in text else text
    return CitedSource(with_decimal_points(text) if decimal_points else text, context)


def _cells(row: re.Match[str]) -> str:
    """Return a row of a Markdown table with tabs between its cells; empty for the line below its header."""
    return "" if row["rule"] else re.sub(r"\s*\|\s*", "\t", row["cells"])


def plain(text: str) -> str:
    """Return ``text`` as one line without Markdown and the mark of a list item, quote or heading before it."""
    text = _LEAD.sub("", text)
    return clean(_MARKUP.sub(" ", text) if _MAY_MARK.search(text) else text)


def words(text: str) -> list[str]:
    """Return the words of ``text`` with at least four letters, in lower case."""
    return _WORD.findall(text.casefold())


def codes(text: str) -> list[str]:
    """Return the names of enzymes, genes and scores in ``text``, such as CYP3A4, in lower case."""
    return _CODE.findall(text.casefold())
