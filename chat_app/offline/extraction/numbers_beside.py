"""Finds parts of a question that mean nothing without the word beside them, such as the 4 of "stage 4"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tools.language.figures import figures
from tools.language.quotable_units import term_set
from tools.language.vocabulary.opposites import KINDS
from tools.language.word_lists import word_list

_PAIR: Final = re.compile(r"(?<![\d./])(\d{2,3}) ?/ ?(\d{2,3})(?![\d./])")
_DIGIT: Final = re.compile(
    r"(?P<before>[^\W\d_][^\W_]*)\W{1,3}(?P<number>\d)\b(?![.,]\d)(?:\W{1,3}(?P<after>[^\W\d_]+))?"
)
NAME_IN_CAPITALS: Final = re.compile(r"\b[A-Z]{2,}(?:-[A-Z]{2,})+\b")
"""A name of several words in capitals, such as that of a score."""
NEVER: Final = re.compile(r"(?!)")
"""Matches no text."""
_STEM_LETTERS: Final = 3
"""Number of first letters by which a word beside a number is recognized in its other forms."""


def numbers_beside(text: str, also: Mapping[str, Sequence[str]]) -> dict[str, re.Pattern[str]]:
    """Return a pattern for each stem of ``text`` that must be beside its neighbour to count as held.

    These are single digits that follow the word they belong to, the two parts of a pair such as a blood pressure, and
    the parts of a name in capitals, one of which is a function word: the bleeding of "HAS-BLED". Other numbers, as in
    "for 3 months", count wherever they are. ``also`` has other words for each stem of ``text``.
    """
    names = (match[0] for match in NAME_IN_CAPITALS.finditer(text))
    found = {
        stem: re.compile(rf"\b{re.escape(name)}\b")
        for name in names
        if not word_list("stop").isdisjoint(name.lower().split("-"))
        for stem in term_set(name)
    }
    for match in _DIGIT.finditer(text):
        if _belongs(match):
            after = rf"|{match['number']}\W{{1,3}}{_in_any_form(match['after'], also)}" if match["after"] else ""
            pattern = rf"\b(?:{_in_any_form(match['before'], also)}\W{{1,3}}{match['number']}\b{after})"
            found[match["number"]] = re.compile(pattern, re.IGNORECASE)
    for pair in _PAIR.finditer(text):
        found |= dict.fromkeys(also.keys() & set(pair.groups()), re.compile(rf"\b{pair[1]} ?/ ?{pair[2]}\b"))
    return found


def _belongs(match: re.Match[str]) -> bool:
    """Return whether a number belongs to the word before it, and is not an amount of the unit after it."""
    amount = match["after"] and any(figure.unit for figure in figures(f"{match['number']} {match['after']}"))
    return match["before"].lower() not in word_list("stop") and not amount


def kind_terms(text: str) -> frozenset[str]:
    """Return the terms of the numbered kinds that ``text`` names, such as those of "type 1 diabetes"."""
    return frozenset[str]().union(*(term_set(match[0]) for match in _kinds(text)))


def with_new_kinds(text: str, added: str) -> str:
    """Return ``text`` with the numbered kinds of ``added`` in place of its own: "type 1" in place of "type 2"."""
    for match in _kinds(added):
        named = rf"\b({re.escape(match['before'])}\W{{1,3}})\d\b"
        text = re.sub(named, rf"\g<1>{match['number']}", text, flags=re.IGNORECASE)
    return text


def _kinds(text: str) -> list[re.Match[str]]:
    return [match for match in _DIGIT.finditer(text) if not KINDS.isdisjoint(term_set(match["before"]))]


def _in_any_form(word: str, also: Mapping[str, Sequence[str]]) -> str:
    """Return a pattern for ``word`` and its translations in any of their forms."""
    if word.isdecimal():
        return rf"{word}\b"
    words = (word, *(other for stem in term_set(word) for other in also.get(stem, ()) if other.isalpha()))
    return rf"(?:{'|'.join(re.escape(one[:_STEM_LETTERS]) for one in words)})\w*"
