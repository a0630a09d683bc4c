"""A passage as what can be quoted of it: sentences and list items under their headings, rows under their header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from tools.language.sentences import sentences as split_sentences
from tools.language.terms import terms

_CAPTION: Final = re.compile(r"^Table\s+\d", re.IGNORECASE)
_LEAD: Final = re.compile(r"^\s*(?:[-•*–■]\s+|\d{1,2}[.)]\s+)")
_CLOSED: Final = (".", "!", "?", ".”", '."', ".)")
_GOES_ON: Final = re.compile(
    r"^(?:then|next|after that|afterwards|otherwise|instead|if not|if so|in (?:this|that|these|those) cases?"
    r"|this|these|those|it|they|such|the (?:latter|same|former))\b",
    re.IGNORECASE,
)
"""A sentence that begins so is read with the one before it."""
_EXCEPTS: Final = re.compile(
    r"^(?:however|except|unless|but|exceptions?|do not|this does not|otherwise)\b", re.IGNORECASE
)
"""A sentence that begins so limits the one before it."""
_OPEN: Final = re.compile(
    r"\b(?:an?|and|are|as|at|be|by|for|from|in|is|of|on|or|than|that|the|to|was|were|when|which|with|below|above|least)$"
)
"""A line that ends so goes on in the next."""
_ANNOUNCES: Final = re.compile(r"\b(?:the following|as follows|these|those below)\b[^.:]*\.$", re.IGNORECASE)
"""A line that ends so leads into the list below it."""
_HEADING_WORDS: Final = 10
_LEAST_WORDS: Final = 4
_LEAST_LETTERS: Final = 12
_LONGEST: Final = 1200


@dataclass(frozen=True)
class Table:
    """The caption and the header above the rows of a table."""

    caption: str
    header: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A sentence, a list item or a table's row as ``cells``; ``heading`` is the last heading above it."""

    text: str
    heading: str = ""
    table: Table | None = None
    cells: tuple[str, ...] = ()
    leans: int = 0
    """How many units back the one is without which this one cannot be read; 0 for none."""
    limits: bool = False
    """True when it limits the unit before it, such as an exception."""
    leads: bool = False
    """True when it leads into a list, and says nothing without the items."""

    @property
    def words(self) -> int:
        """Return the number of words."""
        return len(self.text.split())


def squeeze(text: str) -> str:
    """White space runs made one space."""
    return " ".join(text.split())


@lru_cache(maxsize=50_000)
def ordered_terms(text: str) -> tuple[str, ...]:
    """Return the terms of ``text`` in order."""
    return tuple(terms(text))


@lru_cache(maxsize=50_000)
def term_set(text: str) -> frozenset[str]:
    """Return the distinct terms of a text."""
    return frozenset(ordered_terms(text))


@lru_cache(maxsize=2_000)
def units(text: str) -> tuple[Unit, ...]:
    """Return the quotable units of a passage in reading order, each an exact part of it but for white space."""
    found: list[Unit] = []
    heading, lead = "", -1
    table: Table | None = None
    for line in lines(text):
        plain = squeeze(line)
        if is_caption(line):
            table = Table(plain, ())
        elif "\t" in line:
            cells = tuple(squeeze(cell) for cell in line.split("\t"))
            if table is None or not table.header:
                table = Table(table.caption if table else "", cells)
            else:
                found.append(Unit(" ".join(cells), heading, table, cells))
        elif _is_heading(line):
            heading, table, lead = plain, None, -1
        else:
            table = None
            for unit in _sentences(line, heading):
                marked = _LEAD.match(line) is not None
                is_item = lead >= 0 and (marked or (not plain.endswith(".") and found[lead].text.endswith(":")))
                if is_item:
                    found[lead] = replace(found[lead], leads=True)
                found.append(replace(unit, leans=len(found) - lead) if is_item else unit)
            announces = plain.endswith(":") or _ANNOUNCES.search(plain) is not None
            lead = len(found) - 1 if announces and found else lead if _LEAD.match(line) else -1
    return tuple(found)


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``; list items and table rows are bounds, and lose their bullet or number."""
    return [sentence for line in lines(text) for sentence in split_sentences(squeeze(_LEAD.sub("", line)))]


def _sentences(line: str, heading: str) -> Iterator[Unit]:
    """Yield the sentences of one line, each with what ties it to the one before."""
    for place, sentence in enumerate(sentences(line)):
        if is_quotable(sentence):
            leans = int(place > 0 and _GOES_ON.match(sentence) is not None)
            yield Unit(sentence, heading, leans=leans, limits=place > 0 and _EXCEPTS.match(sentence) is not None)


def is_caption(line: str) -> bool:
    """Return True for the line that names the table below it."""
    plain = squeeze(line)
    return _CAPTION.match(plain) is not None and "\t" not in line and not plain.endswith(".")


def is_quotable(sentence: str) -> bool:
    """Return False for headings, lone numbers and fragments."""
    letters = sum(character.isalpha() for character in sentence)
    return len(sentence) <= _LONGEST and letters >= _LEAST_LETTERS and len(sentence.split()) >= _LEAST_WORDS


def lines(text: str) -> list[str]:
    """Return the lines of a passage, with those joined that a line break only wraps."""
    joined: list[str] = []
    for line in text.split("\n"):
        if not line.strip():
            joined.append("")
        elif joined and joined[-1] and _continues(joined[-1], line):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return [line for line in joined if line]


def _continues(line: str, following: str) -> bool:
    """Return whether ``following`` is the rest of a sentence that ``line`` began."""
    if "\t" in line or "\t" in following or line.rstrip().endswith(_CLOSED) or _LEAD.match(following):
        return False
    return following.lstrip()[0].islower() or _OPEN.search(line.rstrip(" ,").lower()) is not None


def _is_heading(line: str) -> bool:
    plain = squeeze(line)
    return (
        len(plain.split()) <= _HEADING_WORDS
        and not plain.endswith((".", "!", "?", ";", ":"))
        and not _LEAD.match(line)
        and plain[:1].isupper()
    )
