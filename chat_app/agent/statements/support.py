"""Checks whether the figures, units, negations and names of a cited statement are in its source, without a model.

The statement is aligned with the sentences and rows of the passages that it cites. Its figures and names may be
anywhere in these passages; if it repeats a sentence almost word for word, they must be in that sentence. Negations are
compared with the sentences that resemble the statement most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from chat_app.agent.statements.alignment import exchanges, numbers, other_number, substitutions
from chat_app.agent.statements.bindings import exchanged, misbound
from chat_app.agent.statements.cited_sources import (
    FEWEST_TERMS,
    AlignedStatement,
    CitedSource,
    Ingredients,
    SourceUnit,
    cited_source,
    codes,
    plain,
)
from chat_app.agent.statements.polarity import differs_in_obligation, has_negation, polarity, reverses
from chat_app.agent.statements.replaced_words import crossed, replaced
from chat_app.agent.statements.row_check import misplaced
from chat_app.events import SupportReason
from tools.language.figures import Figure, Rate, compare, equals, figures, rates, with_decimal_points
from tools.language.terms import stem, term, terms
from tools.language.vocabulary.common_words import rareness
from tools.language.vocabulary.text_language import language_of
from tools.types import Passage

_REASONS: Final[dict[str, SupportReason]] = {"number": "number", "unit": "unit", "bound": "negation"}
_START_LETTERS: Final = 3
_ENGLISH: Final = re.compile(
    r"\b(?:the|of|and|to|is|are|be|for|with|by|or|should|not|from|than|when|after|before|without|which"
    r"|were|daily|every)\b",
    re.IGNORECASE,
)
"""Words that only English has."""
_ENOUGH: Final = 0.6
"""Minimum share of a statement's words beside another rate."""
_UNRELATED: Final = 0.25
_SHORT: Final = 2
"""Maximum number of words of a substitution of a name."""
_RARE: Final = 5
"""Minimum length of an uncommon word."""


class Problem(NamedTuple):
    """Why a statement is not supported by its source, and the words concerned."""

    reason: SupportReason
    detail: str


def unsupported(
    statement: str, passages: Sequence[Passage], ingredients: Ingredients | None = None
) -> tuple[Problem, ...]:
    """Return the problems of ``statement``; empty if ``passages`` support it."""
    said = plain(statement)
    is_english = _ENGLISH.search(said) is not None or language_of(said) == "en"
    said = said if is_english else with_decimal_points(said)
    sources = list(dict.fromkeys(cited_source(passage, decimal_points=not is_english) for passage in passages))
    aligned = AlignedStatement(said, sources, ingredients)
    if not passages or len(aligned.terms) < 2 or any(unit.text == said for unit in aligned.units):
        return ()
    found = [*_figures(aligned), *_names(aligned)]
    found = found or [Problem("number", one) for one in misbound(aligned) or exchanged(aligned)]
    found = found or [Problem(*one) for one in misplaced(aligned)]
    if is_english:
        found = _with_wording(aligned, found)
        if not found and (any(replaced(aligned)) or crossed(aligned)):
            found = [Problem("wording", said)]
    return tuple(found)


def _with_wording(aligned: AlignedStatement, found: list[Problem]) -> list[Problem]:
    """Return the problems ``found``, with those of the wording: a reverse, another order, or an unrelated statement."""
    alike = [unit.text for unit in aligned.alike]
    # The text of a row lacks a negation in the caption or header above it.
    comparable = [unit.text for unit in aligned.alike if not has_negation(unit.above)]
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
    return [Problem("wording", aligned.text)] if unrelated and len(aligned.terms) >= FEWEST_TERMS else []


def _figures(aligned: AlignedStatement) -> list[Problem]:
    here = rates(aligned.text)
    problems = [Problem("unit", rate.words) for rate in here if _is_other_rate(rate, here, aligned)]
    said = figures(aligned.text, words=True)
    near = [figure for unit in aligned.alike if said for figure in figures(unit.text, words=True)]
    ranked = _ranked(aligned.units, aligned.terms) if said else []
    for figure in said:
        if not figure.unit and figure.value == 1:
            continue
        difference = compare(figure, near)
        if difference != "same" and (not near or _adds_figures(aligned)):
            difference = compare(figure, _stated(aligned.sources, ranked))
        if difference in {"same", "bound"} and not aligned.repeated and (own := _beside_most(figure, ranked)):
            difference = compare(figure, own)
        if difference != "same":
            problems.append(Problem(_REASONS[difference], str(figure)))
    return problems


def _adds_figures(aligned: AlignedStatement) -> bool:
    """Return whether the statement has more figures than each sentence that it repeats, if it repeats any."""
    return all(len(figures(aligned.text)) > len(figures(unit.text)) for unit in aligned.repeated)


def _stated(sources: Sequence[CitedSource], ranked: Iterable[tuple[int, SourceUnit]]) -> Iterator[Figure]:
    """Yield the figures of the sources, the ``ranked`` units first."""
    for text in (*(unit.text for _, unit in ranked), *(source.context for source in sources)):
        yield from figures(text, words=True)


def _beside_most(figure: Figure, ranked: Iterable[tuple[int, SourceUnit]]) -> list[Figure]:
    """Return the figures of the highest of the ``ranked`` units with ``figure``."""
    for _, units in groupby(ranked, lambda one: one[0]):
        here = [figures(unit.text, words=True) for _, unit in units]
        if held := [own for own in here if any(equals(figure, one) for one in own)]:
            return [one for own in held for one in own]
    return []


def _ranked(units: Iterable[SourceUnit], said: frozenset[str]) -> list[tuple[int, SourceUnit]]:
    """Return ``units`` with their number of the terms ``said``, the highest first."""
    return sorted(((len(said & unit.terms), unit) for unit in units), key=lambda one: -one[0])


def _misplaced(aligned: AlignedStatement) -> list[Problem]:
    """Return the numbers and words that replace others in each sentence that the statement repeats."""
    problems: list[Problem] = []
    statement, known = aligned.text, aligned.repeated[0].words
    foreign = {word for word in aligned.unit.words if word not in known and _is_foreign(word, aligned.sources)}
    for unit in aligned.repeated:
        if not foreign and numbers(statement) == numbers(unit.text):
            return []
        changes = substitutions(statement, unit.text)
        said = (word for one in changes if max(map(len, one)) <= _SHORT for word in one.said)
        problems = [Problem("number", number) for one in changes if (number := other_number(one))]
        problems += [Problem("name", word) for word in said if word in foreign]
        if not problems:
            return []
    return problems


def _is_foreign(word: str, sources: Sequence[CitedSource]) -> bool:
    """Return whether ``word`` is uncommon and in none of the sources, in any form."""
    if len(word) < _RARE or rareness(word) < 1 or rareness(stem(word)) < 1:
        return False
    if any(word in source.words for source in sources):
        return False
    near = (other for source in sources for other in source.words if other[:_START_LETTERS] == word[:_START_LETTERS])
    return term(word) not in map(term, near)


def _is_other_rate(rate: Rate, here: Sequence[Rate], aligned: AlignedStatement) -> bool:
    """Return whether the sources have another rate than ``rate`` beside more of the statement's words.

    ``here`` are the rates of the statement. A unit must have the rate as often as the statement.
    """
    said = aligned.terms.difference(terms(rate.words))
    times = [one.daily for one in here].count(rate.daily)
    rival = -1
    for shared, unit in _ranked(aligned.units, said):
        if rival > shared and rival >= _ENOUGH * len(said):
            return True
        daily = [one.daily for one in rates(unit.text)]
        if daily.count(rate.daily) >= (times if len(daily) >= len(here) else 1):
            return False
        rival = max(rival, shared) if daily else rival
    return rival >= 0


def _names(aligned: AlignedStatement) -> list[Problem]:
    """Return the codes and medicines of the statement that its sources do not name."""
    near = frozenset[str]().union(*(unit.words for unit in aligned.alike))
    medicines = {word: parts for word, parts in aligned.medicines.items() if word not in near}
    named = sorted(set(codes(aligned.text)))
    known = frozenset[str]().union(*(source.words for source in aligned.sources)) if medicines or named else near
    # The source may write "SGLT2" where the statement writes "SGLT2i".
    named = [code for code in named if known.isdisjoint((code, code.removesuffix("i")))]
    if medicines and not any(aligned.medicines_in(unit.words - aligned.unit.words) for unit in aligned.repeated):
        near = known
    for word, parts in medicines.items():
        if word not in near and not (parts and any(parts & aligned.ingredients_of(other) for other in near)):
            named.append(word)
    return [Problem("name", one) for one in named]
