"""Aligns a statement with the sentence that it repeats, and finds words that replace or change places with others."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.figures import COUNTS
from tools.language.terms import terms

_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_FILLERS: Final = frozenset(
    ("a", "an", "the", "and", "or", "is", "are", "was", "were", "be", "been", "it", "they", "this", "these", "also")
)
_ORDER: Final = re.compile(
    r"\b((?<!other )than|versus|compared (?:to|with)|instead of|rather than|outweighs?|from|to"
    r"|(?:first,? )?(?:and )?(?:then|followed by)|first,? and"
    r"|(?:over|before|prior to|after|following)(?! (?:\w+ )?\d(?![^.;,]{0,20} of\b)))\b"
)
"""Words between two parts that cannot change places, unless an amount follows ("after 3 days")."""
_OPENING: Final = re.compile(r"^(before|after|following|prior to) ([^,]+), (.+)")
"""Matches a sentence such as "Before X, Y", which is compared as "Y before X"."""
_COMPARING: Final = frozenset(
    ("than", "versus", "compared to", "compared with", "instead of", "rather than", "outweigh", "outweighs", "over")
)
"""The words of ``_ORDER`` that compare; the others, except "to", tell an order."""


class Substitution(NamedTuple):
    """Words of a statement, and the words of the sentence that they replace."""

    said: tuple[str, ...]
    found: tuple[str, ...]


def substitutions(statement: str, sentence: str) -> tuple[Substitution, ...]:
    """Return the words of ``statement`` that replace words of ``sentence``."""
    said, found = _tokens(statement), _tokens(sentence)
    codes = SequenceMatcher(None, said, found, autojunk=False).get_opcodes()
    changes = [
        Substitution(said[start:end], found[first:last]) for kind, start, end, first, last in codes if kind != "equal"
    ]
    return tuple(one for one in changes if one.said and one.found)


def exchanges(statement: str, sentence: str) -> bool:
    """Return whether two things have exchanged their sides of a comparison or an order."""
    for word, left, right in _sides(statement):
        pairs = [(before - after, after - before) for other, before, after in _sides(sentence) if other == word]
        crossed = [bool(left & last and right & first) for first, last in pairs]
        kept = [bool(left & first and right & last) for first, last in pairs]
        if any(crossed) and not any(one and not other for one, other in zip(kept, crossed, strict=True)):
            return True
    return False


@lru_cache(maxsize=4_096)
def _sides(text: str) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Return for each word of a comparison or order the terms before and after it, up to the next such word."""
    found: list[tuple[str, frozenset[str], frozenset[str]]] = []
    for clause in text.casefold().split(";"):
        first, *others = _ORDER.split(_OPENING.sub(r"\3 \1 \2", clause.strip()))
        left, last = frozenset(terms(first) if others else ()), ""
        for word, part in zip(others[::2], others[1::2], strict=True):
            right = frozenset(terms(part))
            if word != "from" and (word != "to" or last == "from"):
                sides = (right, left) if word in ("after", "following") else (left, right)
                kind = "than" if word in _COMPARING else "to" if word == "to" else "before"
                found.append((kind, *sides))
            left, last = right, word
    return tuple(found)


def numbers(text: str) -> list[str]:
    """Return the numbers of ``text`` in order, as written."""
    return [token for token in _tokens(text) if _number(token) is not None]


def other_number(change: Substitution) -> str:
    """Return the number that replaces another one; empty for other substitutions."""
    said, found = (_number(words[0]) if len(words) == 1 else None for words in change)
    return change.said[0] if None not in (said, found) and said != found else ""


def _number(word: str) -> float | None:
    return float(word.replace(",", "")) if word[0].isdigit() and word.count(".") < 2 else COUNTS.get(word)


@lru_cache(maxsize=1_024)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token for token in _TOKEN.findall(text.casefold()) if token not in _FILLERS)
