"""From what was typed to the records it may mean, by name, class and spelling; no I/O.

The surest reading wins: an exact name (or a curated alias), then a class, then names inside a longer question, then a
near spelling. A near spelling is marked as such and never presented as the name that was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tools.drug_database.aliases import Aliases, ClassAlias, singular
from tools.drug_database.index import Known, NameIndex, NameKind
from tools.drug_database.names import base_moiety, fold
from tools.drug_database.queries import How
from tools.drug_database.question import NOISE, Question
from tools.drug_database.spelling import Spelling, near_names
from tools.drug_database.text import stem

_LONGEST_NAME: Final = 8
"""Words of the longest name that is looked for inside a question."""
_SURE_SPELLING: Final = 88.0
_HOW: Final[dict[NameKind, How]] = {
    "generic": "exact", "substance": "exact", "ingredient": "exact", "brand": "brand", "synonym": "synonym",
}  # fmt: skip


class Candidate(NamedTuple):
    """A record that may be meant: its number in the index, how it was found and on which of its names."""

    entry: int
    how: How
    on: str
    score: float


class Reading(NamedTuple):
    """``candidates`` best first, each record once."""

    candidates: tuple[Candidate, ...] = ()
    did_you_mean: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Span(NamedTuple):
    start: int
    end: int
    found: tuple[Candidate, ...]
    note: str


def read(index: NameIndex, aliases: Aliases, question: Question) -> Reading:
    """What ``question`` most likely names."""
    if not question.words:
        return Reading()
    core = " ".join(question.core)
    for text in dict.fromkeys(filter(None, (question.whole, question.trimmed, core))):
        named, note = _named(index, aliases, text)
        if named:
            return Reading(_distinct(named), notes=_with_combinations(index, named, note))
        members = classed(index, aliases, text)
        if members:
            return Reading(members)
    spans = _spans(index, aliases, question)
    covered = {place for span in spans for place in range(span.start, span.end)}
    open_words = [word for place, word in enumerate(question.words) if place not in covered and word in question.core]
    if spans and not open_words:
        return _from_spans(index, spans)
    spellings = near_names(index, core) if core else []
    if spans and not (spellings and spellings[0].score >= _SURE_SPELLING):
        return _from_spans(index, spans)
    if not spellings:
        spellings = _word_spellings(index, question)
    return _from_spellings(index, spellings)


def _named(index: NameIndex, aliases: Aliases, text: str) -> tuple[list[Candidate], str]:
    """Records whose name ``text`` is, and a warning about the name."""
    alias = aliases.name(text)
    meanings = list(index.exact(text)) or ([] if alias else list(index.exact(base_moiety(text))))
    found = [_candidate(known) for known in meanings]
    if alias is None or (meanings and meanings[0].kind in {"generic", "substance"}):
        return _leading(index, meanings, found), ""
    by_alias = [
        Candidate(known.entry, "synonym", alias.alias, 97.0)
        for name in alias.names
        for known in _leading_meanings(index, _meanings(index, name))
    ]
    return [*by_alias, *found], alias.note


def _meanings(index: NameIndex, name: str) -> Sequence[Known]:
    """The meanings of a name that an alias gives, such as ``sulfamethoxazole and trimethoprim``."""
    found = index.exact(name)
    together = None if found else index.ingredient_set(re.split(r",| and ", name))
    return found if together is None else [Known(together, "generic", index.generics[together])]


def _candidate(known: Known) -> Candidate:
    return Candidate(known.entry, _HOW[known.kind], known.name, 100.0)


def _leading(index: NameIndex, meanings: Sequence[Known], found: list[Candidate]) -> list[Candidate]:
    """A generic name means its own record; combinations that contain it are named in a note instead."""
    return [_candidate(known) for known in _leading_meanings(index, meanings)] if meanings else found


def _leading_meanings(index: NameIndex, meanings: Sequence[Known]) -> list[Known]:
    own = [known for known in meanings if known.kind != "ingredient"]
    if not own:
        return sorted(meanings, key=lambda known: index.prominence(known.entry), reverse=True)
    if own[0].kind == "generic":
        return [known for known in own if known.kind == "generic"]
    if own[0].kind == "substance":
        fewest = len(index.ingredients[own[0].entry])
        return [known for known in own if known.kind == "substance" and len(index.ingredients[known.entry]) == fewest]
    return own


def _with_combinations(index: NameIndex, found: Sequence[Candidate], note: str) -> tuple[str, ...]:
    notes = [note] if note else []
    first = found[0]
    if first.how != "brand" and len(index.ingredients[first.entry]) == 1:
        base = base_moiety(index.ingredients[first.entry][0])
        others = sorted(index.containing.get(base, ()), key=index.prominence, reverse=True)
        if others:
            names = ", ".join(index.generics[number] for number in others[:5])
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            notes.append(f"Also in combination products: {names}{more}.")
    return tuple(notes)


def classed(index: NameIndex, aliases: Aliases, text: str) -> tuple[Candidate, ...]:
    """The members of the class that ``text`` names, the most common first."""
    alias = aliases.drug_class(text)
    if alias is not None:
        found = _alias_members(index, alias)
        if found:
            return found
    folded = fold(text)
    for form in (folded, singular(folded), f"{singular(folded)}s"):
        if form in index.members:
            return _members(index, [form])
    return _members(index, _by_words(index, folded))


def _alias_members(index: NameIndex, alias: ClassAlias) -> tuple[Candidate, ...]:
    by_class = [one for name in alias.classes for one in _members(index, [fold(name)])]
    by_name = [
        Candidate(known.entry, "class", alias.alias, 95.0)
        for name in alias.names
        for known in _meanings(index, name)
        if known.kind == "generic"
    ]
    return _distinct([*by_class, *by_name])


def _by_words(index: NameIndex, folded: str) -> list[str]:
    """Class names that hold every word of the text, the shortest first."""
    wanted = {stem(word) for word in folded.split()}
    if not wanted or max(map(len, wanted)) < 4:
        return []
    fitting = [name for name in index.class_names if wanted <= {stem(word) for word in name.split()}]
    return sorted(fitting, key=lambda name: (not index.class_names[name].endswith("[EPC]"), len(name)))[:1]


def _members(index: NameIndex, names: Iterable[str]) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    for name in names:
        on = index.class_names.get(name, name)
        found += [Candidate(number, "class", on, 95.0) for number in index.members.get(name, ())]
    found.sort(key=lambda one: (len(index.ingredients[one.entry]) > 1, *_less(index.prominence(one.entry))))
    return _distinct(found)


def _less(prominence: tuple[bool, int]) -> tuple[bool, int]:
    return (not prominence[0], -prominence[1])


def _spans(index: NameIndex, aliases: Aliases, question: Question) -> list[_Span]:
    """The longest names inside the question, from left to right, without overlap."""
    words = question.words
    spans: list[_Span] = []
    start = 0
    while start < len(words):
        ends = range(min(len(words), start + _LONGEST_NAME), start, -1)
        tried = (_span(index, aliases, words[start:end], start) for end in ends)
        span = next((one for one in tried if one), None)
        if span:
            spans.append(span)
        start = span.end if span else start + 1
    return spans


def _span(index: NameIndex, aliases: Aliases, part: Sequence[str], start: int) -> _Span | None:
    if all(word in NOISE for word in part) or (len(part) == 1 and len(part[0]) < 3):
        return None
    found, note = _named(index, aliases, " ".join(part))
    return _Span(start, start + len(part), tuple(found), note) if found else None


def _from_spans(index: NameIndex, spans: Sequence[_Span]) -> Reading:
    if len(spans) > 1:
        ingredients = [name for span in spans for name in index.ingredients[span.found[0].entry]]
        together = index.ingredient_set(ingredients)
        if together is not None:
            return Reading((Candidate(together, "exact", index.generics[together], 99.0),))
    notes = tuple(dict.fromkeys(span.note for span in spans if span.note))
    found = [one for span in spans for one in span.found[:1]] + [one for span in spans for one in span.found[1:]]
    if len(spans) == 1:
        notes = _with_combinations(index, found, spans[0].note)
    return Reading(_distinct(found), notes=notes)


def _word_spellings(index: NameIndex, question: Question) -> list[Spelling]:
    """Near spellings of single words, for a misspelt name inside a question."""
    found = [spelling for word in question.core if len(word) >= 5 for spelling in near_names(index, word, most=10)]
    return sorted(found, key=lambda spelling: -spelling.score)


def _from_spellings(index: NameIndex, spellings: Sequence[Spelling]) -> Reading:
    found: list[Candidate] = []
    names: list[str] = []
    for spelling in spellings:
        meanings = _leading_meanings(index, index.exact(spelling.name))
        names.append(meanings[0].name)
        found += [Candidate(known.entry, "spelling", known.name, spelling.score) for known in meanings[:3]]
    return Reading(_distinct(found), did_you_mean=tuple(dict.fromkeys(names))[:5])


def _distinct(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    by_entry: dict[int, Candidate] = {}
    for one in candidates:
        by_entry.setdefault(one.entry, one)
    return tuple(by_entry.values())
