"""A passage as what can be quoted of it: sentences under their headings, and rows under their table's header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chat_app.offline.extraction.text import LEAD, sentences, squeeze
from chat_app.offline.extraction.vocabulary import word_list

_CAPTION: Final = re.compile(r"^Table\s+\d", re.IGNORECASE)
_CLOSED: Final = (".", "!", "?", ".”", '."', ".)")
_HEADING_WORDS: Final = 10
_LEAST_WORDS: Final = 4
_LEAST_LETTERS: Final = 12
_LONGEST: Final = 700


@dataclass(frozen=True)
class Table:
    """What stands above the rows of a table."""

    caption: str
    header: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A sentence, or a table's row as ``cells``; ``heading`` is the last heading above it in its passage."""

    text: str
    heading: str = ""
    table: Table | None = None
    cells: tuple[str, ...] = ()


def units(text: str) -> list[Unit]:
    """The quotable units of a passage in reading order; every text is an exact stretch of it but for white space."""
    found: list[Unit] = []
    heading = ""
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
            heading, table = plain, None
        else:
            table = None
            found += [Unit(sentence, heading) for sentence in sentences(line) if is_quotable(sentence)]
    return found


def is_caption(line: str) -> bool:
    """True for the line that names the table below it."""
    plain = squeeze(line)
    return _CAPTION.match(plain) is not None and "\t" not in line and not plain.endswith(".")


def is_quotable(sentence: str) -> bool:
    """False for headings, lone numbers and stretches that are no sentence."""
    letters = sum(character.isalpha() for character in sentence)
    return len(sentence) <= _LONGEST and letters >= _LEAST_LETTERS and len(sentence.split()) >= _LEAST_WORDS


def lines(text: str) -> list[str]:
    """The lines of a passage, with those joined that a line break only wraps."""
    joined: list[str] = []
    for line in text.split("\n"):
        if not line.strip():
            joined.append("")
        elif joined and joined[-1] and _goes_on(joined[-1], line):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return [line for line in joined if line]


def _goes_on(line: str, following: str) -> bool:
    """True when ``following`` is the rest of a sentence that ``line`` began."""
    if "\t" in line or "\t" in following or line.rstrip().endswith(_CLOSED) or LEAD.match(following):
        return False
    first = following.lstrip()[0]
    last = line.rsplit(maxsplit=1)[-1].lower().strip(",")
    return first.islower() or (last in word_list("stop") or last in {"below", "above", "least", "than"})


def _is_heading(line: str) -> bool:
    plain = squeeze(line)
    return (
        len(plain.split()) <= _HEADING_WORDS
        and not plain.endswith((".", "!", "?", ";"))
        and not LEAD.match(line)
        and plain[:1].isupper()
    )
