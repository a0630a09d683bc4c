"""Whether a cited statement is found in its source: its figures, units, negations and names, without a model.

The statement is aligned with the sentences and rows of the passages that it cites. Figures and names may stand
anywhere in these passages, or, when the statement repeats a sentence almost word for word, in that sentence. Negation
is compared with the sentences that resemble the statement most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from chat_app.agent.statements.alignment import exchanges, numbers, other_number, substitutions
from chat_app.agent.statements.bindings import SourceUnit, exchanged, misbound
from chat_app.agent.statements.obligation import differs_in_obligation
from chat_app.agent.statements.polarity import negations, polarity, reverses
from chat_app.agent.statements.row_check import misplaced, rows_below_negation
from chat_app.events import SupportReason
from tools.language.figures import UNITS, Figure, compare, equals, figures, rates, with_decimal_points
from tools.language.inn_stems import has_drug_stem
from tools.language.sentences import sentences
from tools.language.terms import clean, stem, term, terms
from tools.language.vocabulary.common_words import rareness
from tools.language.vocabulary.text_language import language_of
from tools.types import Passage

Ingredients = Callable[[str], frozenset[str]]
"""The ingredients of the medicine that a word names; empty for any other word."""
_REASONS: Final[dict[str, SupportReason]] = {"number": "number", "unit": "unit", "bound": "negation"}
_MARKUP: Final = re.compile(r"\*\*|__|`|(?<!\\)\||\u2063|\\(?=[\[\]|])")
_MAY_MARK: Final = re.compile(r"[*_`|\\\u2063]")
_LEAD: Final = re.compile(r"^(?:\s*(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s+)+")
_START_LETTERS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_CODE: Final = re.compile(r"\b[a-z]{2,}\d[a-z\d]*\b")
"""The name of an enzyme, a gene or a score, such as CYP3A4."""
_ENGLISH: Final = re.compile(r"\b(?:the|of|and|to|is|are|be|for|with|by|or|should|not)\b", re.IGNORECASE)
"""Words that need no further look at the language of a statement."""
_VERBATIM: Final = 0.85
"""Share of a statement's terms in one sentence from which it counts as repeated."""
_RESEMBLES: Final = 0.6
_FEWEST_TERMS: Final = 4
_UNRELATED: Final = 0.25
_SHORT: Final = 2
"""Words that a substitution of a name has at most."""
_RARE: Final = 5
"""Letters that a word which is no common one has at least."""


class Problem(NamedTuple):
    """Why a statement is not found in its source, and the words that are not."""

    reason: SupportReason
    detail: str


class _Source:
    """A passage; its title and headings count for figures, names and terms."""

    def __init__(self, text: str, context: str) -> None:
        self._text, self._context = text, context
        parts = (_plain(_LEAD.sub("", part)) for part in sentences(text))
        self.units = tuple(SourceUnit(part, frozenset(terms(part))) for part in parts)

    @cached_property
    def whole(self) -> str:
        return f"{_plain(self._text)} . {self._context}"

    @cached_property
    def words(self) -> frozenset[str]:
        folded = self.whole.casefold()
        return frozenset((*_WORD.findall(folded), *_CODE.findall(folded)))


def unsupported(
    statement: str, passages: Sequence[Passage], ingredients: Ingredients | None = None
) -> tuple[Problem, ...]:
    """Return what of ``statement`` is not found in ``passages``; empty when it is supported."""
    plain = _plain(_LEAD.sub("", statement))
    is_english = _ENGLISH.search(plain) is not None or language_of(plain) == "en"
    texts = [_text(passage) for passage in passages]
    if not is_english:
        plain, *texts = map(with_decimal_points, (plain, *texts))
    contexts = [f"{passage.title}. {passage.version}. {passage.section}" for passage in passages]
    sources = list(map(_source, texts, contexts))
    units = [unit for source in sources for unit in source.units]
    if any(unit.text == plain for unit in units):
        return ()
    said = frozenset(terms(plain))
    if not passages or len(said) < 2:
        return ()
    shares = [len(said & unit.terms) / len(said) for unit in units]
    best = max(shares, default=0.0)
    alike = [unit for unit, share in zip(units, shares, strict=True) if share >= max(_RESEMBLES, best - 0.05)]
    if any(_shortens(plain, unit.text) for unit in alike):
        return ()
    repeated = alike if best >= _VERBATIM and len(said) >= _FEWEST_TERMS else []
    found = [*_figures(plain, sources, repeated, alike), *_names(plain, sources, repeated, ingredients)]
    if not found:
        moved = misbound(plain, alike, units) or exchanged(plain, alike, units)
        found += [Problem("number", one) for one in moved]
    if not found:
        found += _misplaced_in_tables(plain, texts, ingredients)
    headed = frozenset[str]().union(*map(rows_below_negation, texts))
    comparable = [unit.text for unit in alike if unit.text not in headed]
    if is_english and comparable and reverses(plain, comparable):
        # With the other bound as well it is the same again: what must not be above 50 is at most 50.
        scopes = (scope for text in (plain, *(unit.text for unit in alike)) for scope in polarity(text).scopes)
        denied = frozenset[str]().union(*scopes)
        kept = [one for one in found if one.reason != "negation" or denied.isdisjoint(terms(one.detail))]
        found = kept if kept != found else [*found, Problem("negation", plain)]
    elif is_english and alike and not found:
        found += _misplaced(plain, repeated, sources)
        resembling = [unit.text for unit in alike]
        if all(exchanges(plain, one) for one in resembling) or differs_in_obligation(plain, resembling):
            found.append(Problem("wording", plain))
    if is_english and not found and not alike and len(said) >= _FEWEST_TERMS:
        known = frozenset(terms(" ".join(source.whole for source in sources)))
        found += [Problem("wording", plain)] if len(said & known) / len(said) < _UNRELATED else []
    return tuple(found)


def _text(passage: Passage) -> str:
    """Return the text of ``passage``; the lines of a calculation are not wrapped, so each is a paragraph."""
    return passage.text.replace("\n", "\n\n") if passage.kind == "calculation" else passage.text


def _shortens(statement: str, sentence: str) -> bool:
    """Return whether ``statement`` only leaves out words of ``sentence``, none of them a figure or a negation."""
    omitted, rest = list[str](), sentence.split()
    for word in statement.split():
        if word not in rest:
            return False
        place = rest.index(word)
        omitted += rest[:place]
        rest = rest[place + 1 :]
    omitted += rest
    text = " ".join(omitted)
    changed = set(figures(statement)).difference(figures(sentence))
    counted = (*changed, *figures(text, words=True), *rates(text), *UNITS.keys() & set(omitted))
    return not counted and negations(statement) == negations(sentence)


def _plain(text: str) -> str:
    return clean(_MARKUP.sub(" ", text) if _MAY_MARK.search(text) else text)


_source = lru_cache(maxsize=512)(_Source)


def _figures(
    statement: str, sources: Sequence[_Source], repeated: Sequence[SourceUnit], alike: Sequence[SourceUnit]
) -> list[Problem]:
    said = [one for one in figures(statement, words=True) if one.unit or one.value != 1]
    units = [unit for source in sources for unit in source.units]
    problems = [Problem("unit", words) for words in _other_rates(statement, units)]
    if not said:
        return problems
    near = [figure for unit in alike for figure in figures(unit.text, words=True)]
    own_terms = frozenset(terms(statement))
    for figure in said:
        difference = compare(figure, near)
        if difference != "same" and (not repeated or not near or _adds_figures(statement, repeated)):
            difference = compare(figure, [each for source in sources for each in figures(source.whole, words=True)])
        if difference in {"same", "bound"} and not repeated and (own := _beside_most(own_terms, figure, units)):
            difference = compare(figure, own)
        if difference != "same":
            problems.append(Problem(_REASONS[difference], str(figure)))
    return problems


def _beside_most(said: frozenset[str], figure: Figure, units: Iterable[SourceUnit]) -> list[Figure]:
    """Return the figures of the units with most of the terms ``said`` among those that hold ``figure``."""
    found = ((len(said & unit.terms), figures(unit.text, words=True)) for unit in units)
    held = [(share, here) for share, here in found if any(equals(figure, one) for one in here)]
    most = max((share for share, _ in held), default=0)
    return [one for share, here in held if share == most for one in here]


def _misplaced(statement: str, repeated: Sequence[SourceUnit], sources: Sequence[_Source]) -> list[Problem]:
    """Return the numbers and words that are in the place of others in each sentence that the statement repeats."""
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
    """Return whether ``word``, in no list of common words, is in none of the sources, in any form."""
    if any(word in source.words for source in sources) or len(word) < _RARE:
        return False
    if rareness(word) < 1 or rareness(stem(word)) < 1:
        return False
    near = (other for source in sources for other in source.words if other[:_START_LETTERS] == word[:_START_LETTERS])
    return term(word) not in map(term, near)


def _other_rates(statement: str, units: Sequence[SourceUnit]) -> list[str]:
    """Return the rates of the statement that are not beside most of its words, where another rate is."""
    here = [rate.daily for rate in rates(statement)]
    found = [(unit, daily) for unit in units if here and (daily := [rate.daily for rate in rates(unit.text)])]
    other: list[str] = []
    for rate in rates(statement):
        said = frozenset(terms(statement)).difference(terms(rate.words))
        most = {True: -1, False: -1}
        for unit, daily in found:
            # Twice in the statement and once beside another one is one too many.
            holds = daily.count(rate.daily) >= (here.count(rate.daily) if len(daily) >= len(here) else 1)
            most[holds] = max(most[holds], len(said & unit.terms))
        if most[False] > most[True] and (most[True] < 0 or most[False] >= _RESEMBLES * len(said)):
            other.append(rate.words)
    return other


def _adds_figures(statement: str, repeated: Sequence[SourceUnit]) -> bool:
    """Return whether the statement has more figures than each sentence that it repeats: one is from elsewhere."""
    return all(len(figures(statement)) > len(figures(unit.text)) for unit in repeated)


def _names(
    statement: str, sources: Sequence[_Source], repeated: Sequence[SourceUnit], ingredients: Ingredients | None
) -> list[Problem]:
    codes = sorted(set(_CODE.findall(statement.casefold())))
    problems = [Problem("name", code) for code in codes if not any(_holds_code(source, code) for source in sources)]
    look_up: Ingredients = ingredients or (lambda _: frozenset())
    said = dict.fromkeys(_WORD.findall(statement.casefold()))
    named = _medicines(said, ingredients)
    if not named:
        return problems
    known = frozenset[str]().union(*(source.words for source in sources))
    near = known
    if repeated and any(_replaced(unit.text, said, look_up) for unit in repeated):
        near = frozenset[str]().union(*(_WORD.findall(unit.text.casefold()) for unit in repeated))
    return problems + [
        Problem("name", word)
        for word, parts in named.items()
        if word not in near and not (parts and any(parts & look_up(other) for other in near))
    ]


def _misplaced_in_tables(statement: str, texts: Sequence[str], ingredients: Ingredients | None) -> list[Problem]:
    """Return what ``statement`` takes from rows that it is not about, in each of ``texts``."""

    def names(text: str) -> frozenset[str]:
        return frozenset(_medicines(_WORD.findall(text.casefold()), ingredients))

    others = [". ".join((*texts[:place], *texts[place + 1 :])) for place in range(len(texts))]
    return [
        Problem(reason, detail)
        for text, beside in zip(texts, others, strict=True)
        for reason, detail in misplaced(statement, text, names, beside=beside)
    ]


def _medicines(words: Iterable[str], ingredients: Ingredients | None) -> dict[str, frozenset[str]]:
    """Return those of ``words`` that name a medicine, with its ingredients where they are known."""
    look_up: Ingredients = ingredients or (lambda _: frozenset())
    return {word: parts for word in words if (parts := look_up(word)) or has_drug_stem(word)}


def _holds_code(source: _Source, code: str) -> bool:
    """Return whether ``source`` names ``code``, or what an abbreviation such as "SGLT2i" inhibits."""
    return code in source.words or code.removesuffix("i") in source.words


def _replaced(sentence: str, said: Collection[str], look_up: Ingredients) -> bool:
    """Return whether ``sentence`` names a medicine that the statement, which repeats it, does not."""
    lacking = (word for word in _WORD.findall(sentence.casefold()) if word not in said)
    return any(look_up(word) or has_drug_stem(word) for word in lacking)
