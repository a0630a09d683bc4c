"""Checks whether the figures, units, negations and names of a cited statement are in its source, without a model.

The statement is aligned with the sentences and rows of the passages that it cites. Its figures and names may be
anywhere in these passages; if it repeats a sentence almost word for word, they must be in that sentence. Negations are
compared with the sentences that resemble the statement most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from chat_app.agent.statements.alignment import exchanges, numbers, other_number, substitutions
from chat_app.agent.statements.bindings import SourceUnit, exchanged, misbound
from chat_app.agent.statements.passage_markup import passage_text, plain
from chat_app.agent.statements.polarity import differs_in_obligation, polarity, reverses
from chat_app.agent.statements.replaced_words import clauses, crossed, parts, replaced
from chat_app.agent.statements.row_check import cells_of_rows, misplaced, rows_below_negation
from chat_app.events import SupportReason
from tools.language.figures import Figure, compare, equals, figures, rates, with_decimal_points
from tools.language.inn_stems import has_drug_stem
from tools.language.quotable_units import term_set
from tools.language.sentences import sentences
from tools.language.terms import stem, term, terms
from tools.language.vocabulary.common_words import rareness
from tools.language.vocabulary.text_language import language_of
from tools.types import Passage

Ingredients = Callable[[str], frozenset[str]]
"""The ingredients of the medicine that a word names; empty for any other word."""
_REASONS: Final[dict[str, SupportReason]] = {"number": "number", "unit": "unit", "bound": "negation"}
_LEAD: Final = re.compile(r"^(?:\s*(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s+)+")
_START_LETTERS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_CODE: Final = re.compile(r"\b[a-z]{2,}\d[a-z\d]*\b")
"""The name of an enzyme, a gene or a score, such as CYP3A4."""
_ENGLISH: Final = re.compile(r"\b(?:the|of|and|to|is|are|be|for|with|by|or|should|not)\b", re.IGNORECASE)
"""Words that only English has."""
_VERBATIM: Final = 0.85
"""Share of a statement's terms in a sentence from which the statement repeats it."""
_RESEMBLES: Final = 0.6
_NEAREST: Final = 3
_FEWEST_TERMS: Final = 4
_UNRELATED: Final = 0.25
_SHORT: Final = 2
"""Maximum number of words of a substitution of a name."""
_RARE: Final = 5
"""Minimum length of an uncommon word."""


class Problem(NamedTuple):
    """Why a statement is not supported by its source, and the words concerned."""

    reason: SupportReason
    detail: str


class _Source:
    """A passage with its figures, terms and words, which include those of its title and headings."""

    def __init__(self, text: str, context: str) -> None:
        self.rows = cells_of_rows(text)
        parts = [(part, _LEAD.sub("", part)) for part in sentences(text)]
        texts = (plain(said) for _, said in parts)
        self.units = tuple(SourceUnit(part, frozenset(terms(part))) for part in texts)
        leads = (part.removesuffix(said) for part, said in parts if said != part)
        self._texts = (*(unit.text for unit in self.units), " . ".join((*leads, context)))

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figure for text in self._texts for figure in figures(text, words=True))

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(terms(self._texts[-1])).union(*(unit.terms for unit in self.units))

    @cached_property
    def clauses(self) -> tuple[SourceUnit, ...]:
        return tuple(one for unit in self.units for one in ((unit,) if unit.text in self.rows else clauses(unit)))

    @cached_property
    def words(self) -> frozenset[str]:
        folded = " . ".join(self._texts).casefold()
        return frozenset((*_WORD.findall(folded), *_CODE.findall(folded)))


class _Aligned:
    """A statement with its sources, and those of their sentences and rows that it resembles or repeats."""

    def __init__(self, statement: str, sources: Sequence[_Source]) -> None:
        self.text, self.sources = statement, sources
        self.terms = frozenset(terms(statement))
        self.units = [unit for source in sources for unit in source.units]
        self.rows = {row: cells for source in sources for row, cells in source.rows.items()}
        shares = [len(self.terms & self._read(unit)) / max(len(self.terms), 1) for unit in self.units]
        best = max(shares, default=0.0)
        least = max(_RESEMBLES, best - 0.05)
        self.alike = [unit for unit, share in zip(self.units, shares, strict=True) if share >= least]
        ranked = sorted(zip(shares, self.units, strict=True), key=lambda one: -one[0])
        self.nearest = self.alike or [unit for _, unit in ranked[:_NEAREST]]
        self.repeated = self.alike if best >= _VERBATIM and len(self.terms) >= _FEWEST_TERMS else []

    def _read(self, unit: SourceUnit) -> frozenset[str]:
        return unit.terms.union(*map(term_set, self.rows[unit.text])) if unit.text in self.rows else unit.terms

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.terms for source in self.sources))


def unsupported(
    statement: str, passages: Sequence[Passage], ingredients: Ingredients | None = None
) -> tuple[Problem, ...]:
    """Return the problems of ``statement``; empty if ``passages`` support it."""
    said = plain(_LEAD.sub("", statement))
    is_english = _ENGLISH.search(said) is not None or language_of(said) == "en"
    texts = [passage_text(passage) for passage in passages]
    if not is_english:
        said, *texts = map(with_decimal_points, (said, *texts))
    contexts = [f"{passage.title}. {passage.version}. {passage.section}" for passage in passages]
    aligned = _Aligned(said, list(map(_source, texts, contexts)))
    if any(unit.text == said for unit in aligned.units) or not passages or len(aligned.terms) < 2:
        return ()
    found = [*_figures(aligned), *_names(aligned, ingredients)]
    if not found:
        moved = misbound(said, aligned.alike, aligned.units) or exchanged(said, aligned.alike, aligned.units)
        found = [Problem("number", one) for one in moved] or _misplaced_in_tables(said, texts, ingredients)
    if is_english:
        found = _with_wording(aligned, found, texts) or _rearranged(aligned, ingredients)
    return tuple(found)


def _rearranged(aligned: _Aligned, ingredients: Ingredients | None) -> list[Problem]:
    """Return the words that replace, or change places with, others of their kind."""

    @cache
    def names(text: str) -> frozenset[str]:
        found = _medicines(_WORD.findall(text.casefold()), ingredients)
        return frozenset(map(term, (each for word, parts in found.items() for each in parts or (word,))))

    source = [clause for each in aligned.sources for clause in each.clauses]
    nearest = (aligned.rows.get(unit.text) or parts(unit.text) for unit in aligned.nearest)
    moved = [*replaced(aligned.text, source, aligned.known, names), crossed(aligned.text, nearest, names)]
    return [Problem("wording", aligned.text)] if any(moved) else []


def _with_wording(aligned: _Aligned, found: list[Problem], texts: Sequence[str]) -> list[Problem]:
    """Return the problems ``found``, with those of the wording: a reverse, another order, or an unrelated statement."""
    alike = [unit.text for unit in aligned.alike]
    headed = frozenset[str]().union(*map(rows_below_negation, texts))
    comparable = [text for text in alike if text not in headed]
    if comparable and reverses(aligned.text, comparable):
        # A negation together with the opposite bound keeps the meaning: what must not be above 50 is at most 50.
        denied = frozenset[str]().union(*(scope for text in (aligned.text, *alike) for scope in polarity(text).scopes))
        kept = [one for one in found if one.reason != "negation" or denied.isdisjoint(terms(one.detail))]
        return kept if kept != found else [*found, Problem("negation", aligned.text)]
    if found:
        return found
    if alike:
        moved = _misplaced(aligned) if aligned.repeated else []
        other = all(exchanges(aligned.text, one) for one in alike) or differs_in_obligation(aligned.text, alike)
        return [*moved, Problem("wording", aligned.text)] if other else moved
    unrelated = len(aligned.terms & aligned.known) < _UNRELATED * len(aligned.terms)
    return [Problem("wording", aligned.text)] if unrelated and len(aligned.terms) >= _FEWEST_TERMS else []


_source = lru_cache(maxsize=512)(_Source)


def _figures(aligned: _Aligned) -> list[Problem]:
    problems = [Problem("unit", words) for words in _other_rates(aligned)]
    near = [figure for unit in aligned.alike for figure in figures(unit.text, words=True)]
    for figure in figures(aligned.text, words=True):
        if not figure.unit and figure.value == 1:
            continue
        difference = compare(figure, near)
        if difference != "same" and (not aligned.repeated or not near or _adds_figures(aligned)):
            difference = compare(figure, [each for source in aligned.sources for each in source.figures])
        if difference in {"same", "bound"} and not aligned.repeated and (own := _beside_most(figure, aligned)):
            difference = compare(figure, own)
        if difference != "same":
            problems.append(Problem(_REASONS[difference], str(figure)))
    return problems


def _beside_most(figure: Figure, aligned: _Aligned) -> list[Figure]:
    """Return the figures of the units with ``figure`` that have most of the statement's terms."""
    for _, units in groupby(_ranked(aligned.units, aligned.terms), lambda one: one[0]):
        here = [figures(unit.text, words=True) for _, unit in units]
        if held := [own for own in here if any(equals(figure, one) for one in own)]:
            return [one for own in held for one in own]
    return []


def _ranked(units: Iterable[SourceUnit], said: frozenset[str]) -> list[tuple[int, SourceUnit]]:
    """Return ``units`` with their number of the terms ``said``, the highest first."""
    return sorted(((len(said & unit.terms), unit) for unit in units), key=lambda one: -one[0])


def _misplaced(aligned: _Aligned) -> list[Problem]:
    """Return the numbers and words that replace others in each sentence that the statement repeats."""
    statement, sources, repeated = aligned.text, aligned.sources, aligned.repeated
    problems: list[Problem] = []
    known = frozenset[str]().union(*(_WORD.findall(unit.text.casefold()) for unit in repeated[:1]))
    foreign = {word for word in _WORD.findall(statement.casefold()) if word not in known and _is_foreign(word, sources)}
    for unit in repeated:
        if not foreign and numbers(statement) == numbers(unit.text):
            return []
        changes = substitutions(statement, unit.text)
        words = (word for one in changes if max(map(len, one)) <= _SHORT for word in one.said)
        problems = [Problem("number", number) for one in changes if (number := other_number(one))]
        problems += [Problem("name", word) for word in words if word in foreign]
        if not problems:
            return []
    return problems


def _is_foreign(word: str, sources: Sequence[_Source]) -> bool:
    """Return whether ``word`` is uncommon and in none of the sources, in any form."""
    if len(word) < _RARE or rareness(word) < 1 or rareness(stem(word)) < 1:
        return False
    if any(word in source.words for source in sources):
        return False
    near = (other for source in sources for other in source.words if other[:_START_LETTERS] == word[:_START_LETTERS])
    return term(word) not in map(term, near)


def _other_rates(aligned: _Aligned) -> list[str]:
    """Return the rates of the statement if another rate is beside more of its words in the sources."""
    here = [rate.daily for rate in rates(aligned.text)]
    other: list[str] = []
    for rate in rates(aligned.text):
        said = aligned.terms.difference(terms(rate.words))
        most = {True: -1, False: -1}
        for shared, unit in _ranked(aligned.units, said):
            if most[True] < 0 and (daily := [each.daily for each in rates(unit.text)]):
                # The unit must have the rate as often as the statement.
                holds = daily.count(rate.daily) >= (here.count(rate.daily) if len(daily) >= len(here) else 1)
                most[holds] = max(most[holds], shared)
        if most[False] > most[True] and (most[True] < 0 or most[False] >= _RESEMBLES * len(said)):
            other.append(rate.words)
    return other


def _adds_figures(aligned: _Aligned) -> bool:
    """Return whether the statement has more figures than each sentence that it repeats."""
    return all(len(figures(aligned.text)) > len(figures(unit.text)) for unit in aligned.repeated)


def _names(aligned: _Aligned, ingredients: Ingredients | None) -> list[Problem]:
    folded, sources = aligned.text.casefold(), aligned.sources
    codes = sorted(set(_CODE.findall(folded)))
    problems = [Problem("name", code) for code in codes if not any(_holds_code(source, code) for source in sources)]
    said = dict.fromkeys(_WORD.findall(folded))
    near = frozenset[str]().union(*(_WORD.findall(unit.text.casefold()) for unit in aligned.alike))
    named = _medicines((word for word in said if word not in near), ingredients)
    if not named:
        return problems
    look_up: Ingredients = ingredients or (lambda _: frozenset())
    if not any(_replaced(unit.text, said, look_up) for unit in aligned.repeated):
        near = frozenset[str]().union(*(source.words for source in sources))
    return problems + [
        Problem("name", word)
        for word, parts in named.items()
        if word not in near and not (parts and any(parts & look_up(other) for other in near))
    ]


def _misplaced_in_tables(statement: str, texts: Sequence[str], ingredients: Ingredients | None) -> list[Problem]:
    """Return the figures and names that ``statement`` takes from rows that it is not about, in each of ``texts``."""

    def names(text: str) -> frozenset[str]:
        return frozenset(_medicines(_WORD.findall(text.casefold()), ingredients))

    others = [". ".join((*texts[:place], *texts[place + 1 :])) for place in range(len(texts))]
    return [
        Problem(reason, detail)
        for text, beside in zip(texts, others, strict=True)
        for reason, detail in misplaced(statement, text, names, beside=beside)
    ]


def _medicines(words: Iterable[str], ingredients: Ingredients | None) -> dict[str, frozenset[str]]:
    """Return those of ``words`` that name a medicine, with its ingredients if they are known."""
    look_up: Ingredients = ingredients or (lambda _: frozenset())
    return {word: parts for word in words if (parts := look_up(word)) or has_drug_stem(word)}


def _holds_code(source: _Source, code: str) -> bool:
    """Return whether ``source`` names ``code``, or what an abbreviation such as "SGLT2i" inhibits."""
    return code in source.words or code.removesuffix("i") in source.words


def _replaced(sentence: str, said: Collection[str], look_up: Ingredients) -> bool:
    """Return whether ``sentence`` names a medicine that is not among the words ``said``."""
    lacking = (word for word in _WORD.findall(sentence.casefold()) if word not in said)
    return any(look_up(word) or has_drug_stem(word) for word in lacking)
