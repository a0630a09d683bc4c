"""Splits a passage into quotable units: sentences and list items with their heading, rows with their header."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Final

from tools.language.figures import has_amount
from tools.language.quotes import CLOSED, is_quotable
from tools.language.sentences import BULLETS, is_closed
from tools.language.sentences import sentences as split_sentences
from tools.language.terms import terms
from tools.language.word_lists import word_list

_CAPTION: Final = re.compile(r"^Table\s+\d", re.IGNORECASE)
_LEAD: Final = re.compile(rf"^\s*(?:[{BULLETS}*–-]\s+|\d{{1,2}}[.)]\s+)")
_GOES_ON: Final = re.compile(
    r"^(?:in (?:this|that|these|those) cases?|this|these|those|it|they|such|the (?:latter|same|former))\b",
    re.IGNORECASE,
)
"""The start of a sentence that is read with the one before it."""
_CONTINUES: Final = re.compile(
    r"^(?:then|next|after that|afterwards|thereafter|subsequently|finally|lastly|(?:second|third|fourth|last)(?:ly)?,"
    r"|otherwise|instead(?! of)|(?:if|when) (?:not|so|it|they|this|these|he|she)"
    r"|(?:if|when|falls|wenn) [^,.;]{1,60}, (?:it|they|this|these|he|she|er|sie|es)"
    r"|dann|danach|anschließend|schließlich|zuletzt|sonst|andernfalls|stattdessen"
    r"|(?:falls|wenn) (?:nicht|ja|er|sie|es|dies|diese))\b",
    re.IGNORECASE,
)
"""The start of a sentence with the next step or the other case of the one before it. Neither is shown alone."""
_EXCEPTS: Final = re.compile(r"^(?:however|except|unless|but|exceptions?|do not|this does not)\b", re.IGNORECASE)
"""The start of a sentence that limits the one before it."""
_OPEN: Final = re.compile(
    r"\b(?:an?|and|are|as|at|be|by|for|from|in|is|of|on|or|than|that|the|to|was|were|when|which|with|below|above|least)$"
)
"""The end of a line whose sentence continues in the next line."""
_ANNOUNCES: Final = re.compile(r"\b(?:the following|as follows|these|those below)\b[^.:]*\.$", re.IGNORECASE)
"""The end of a line that leads into the list below it."""
_NAME_WORDS: Final = 30
"""Maximum number of words of a title or an address."""
_BOUND: Final = re.compile("[<>≤≥]")
_KEY: Final = re.compile(r"(?:^|[;.]\s)[A-Z][A-Za-z]*[A-Z][A-Za-z0-9-]*(?:,|:| =| [–-]) [a-z][^;.]*(?=[;.]|$)")
"""An abbreviation with its meaning, as below a table: "CHD, coronary heart disease;"."""
_OPENING: Final = word_list("negations") | word_list("conditions") | word_list("qualifiers")
_HEADING_WORDS: Final = 10
_SECTION_NUMBER: Final = re.compile(r"^(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})+\.?|1?\d|20)\s+(?=[^\W\d_])")
_EDITION: Final = re.compile(r"^(?:version|versión|edition|edición|revision|fassung|ausgabe|stand)\W*\d", re.IGNORECASE)
_ORDER: Final = re.compile(r"^(?:do not|don['’]t|never)\b", re.IGNORECASE)
_LIST_WORDS: Final = 60
"""Maximum number of words of a list that is one unit because some of its items are too short to be read alone."""
_LONGEST: Final = 1200
"""Maximum number of characters of a unit."""


@dataclass(frozen=True)
class Table:
    """The caption and the header above the rows of a table."""

    caption: str
    header: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the words above the rows."""
        return f"{self.caption} {' '.join(self.header)}"


@dataclass(frozen=True)
class Unit:
    """A sentence, a list item or a table row."""

    text: str
    heading: str = ""
    """The last heading above the unit."""
    table: Table | None = None
    cells: tuple[str, ...] = ()
    """The cells of a row."""
    leans: int = 0
    """Distance, in units, to an earlier unit without which this one cannot be read; 0 for none."""
    limits: bool = False
    """Whether the unit limits the one before it, such as an exception."""
    introduces_list: bool = False
    """Whether the unit leads into a list, and says nothing without the items."""

    @property
    def back(self) -> int:
        """Return how many units before this one the unit is that it needs to be read with; 0 if none."""
        return self.leans or int(self.limits)

    @property
    def words(self) -> int:
        """Return the number of words."""
        return len(self.text.split())


def squeeze(text: str) -> str:
    """Replace each run of white space by one space, and remove it at the ends."""
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
    """Return the quotable units of a passage in reading order, each verbatim except for white space."""
    found: list[Unit] = []
    heading, lead = "", -1
    table: Table | None = None
    in_list = False
    rows = lines(text)
    while rows:
        line, plain = rows[0], squeeze(rows[0])
        leads, headed = _leads(rows, in_list=in_list), is_heading(line)
        items = _items_of_whole(rows, leads=leads, in_list=in_list)
        rows = rows[1 + len(items) :]
        in_list = bool(_is_item(line) or items or (in_list and not plain.endswith(CLOSED) and not headed))
        if is_table_caption(line) and not items:
            table = Table(plain, ())
        elif "\t" in line:
            cells = tuple(squeeze(cell) for cell in line.split("\t"))
            if table is None or not table.header:
                table = Table(table.caption if table else "", cells)
            else:
                found.append(Unit(" ".join(cells), heading, table, cells))
        else:
            table = None
            if headed:
                heading, lead = _without_number(plain), -1
            if items or not headed:
                lead = _add_line(found, [line, *items], heading, lead, leads=leads and not items)
    return tuple(found)


def _add_line(found: list[Unit], line: Sequence[str], heading: str, lead: int, *, leads: bool) -> int:
    """Add the units of a line and of the items that are read with it.

    ``lead`` is the index of the unit that leads into this line, or -1. Return the index for the next line.
    """
    marked = _LEAD.match(line[0]) is not None
    is_item = lead >= 0 and (marked or (not squeeze(line[0]).endswith(".") and found[lead].text.endswith(":")))
    for place, text in enumerate(said := _joined_sentences(line)):
        is_last = place == len(said) - 1
        whole = (is_last and (leads or len(line) > 1)) or (len(said) == 1 and is_item and marked)
        says = is_quotable(text) and (marked or is_item or not _is_name(text))
        if (says or (whole and any(map(str.isalpha, text)))) and len(text) <= _LONGEST:
            goes_on = place > 0 and _GOES_ON.match(text) is not None
            leans = len(found) - lead if is_item else int(goes_on)
            limits = place > 0 and _EXCEPTS.match(text) is not None
            if is_item:
                found[lead] = replace(found[lead], introduces_list=True)
            # A unit that ends with a colon is incomplete even if no item follows.
            found.append(
                Unit(
                    text, heading, leans=leans, limits=limits, introduces_list=leads and is_last and text.endswith(":")
                )
            )
    return len(found) - 1 if leads and found else lead if marked else -1


def _joined_sentences(line: Sequence[str]) -> list[str]:
    """Return the sentences of a line, joined with the next steps, the other cases and the items that belong to them."""
    joined: list[str] = []
    for sentence in sentences(line[0]):
        if joined and _CONTINUES.match(sentence) and len(joined[-1]) + len(sentence) < _LONGEST:
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    if len(line) > 1:
        joined[-1:] = [squeeze(" ".join([*joined[-1:], *line[1:]]))]
    return joined


def _is_name(text: str) -> bool:
    """Return whether ``text`` is a title, an address, or a list of abbreviations.

    Words of a figure are not sentences either, but they count as quotable. They are long, or have an amount or a bound.
    """
    if ";" in text and len(_KEY.findall(text)) > 1:
        return True
    if is_closed(text):
        return False
    words = [word.strip(".,;:()").lower() for word in text.split()]
    if len(words) > _NAME_WORDS or not word_list("finite_verbs").isdisjoint(words):
        return False
    return not (has_amount(text) or _BOUND.search(text))


def _items_of_whole(rows: Sequence[str], *, leads: bool, in_list: bool) -> list[str]:
    """Return the list items below the first line that are one unit with it.

    There are such items if the line is incomplete without them, or if the list is short and one of its items too short
    to be read alone.
    """
    first = rows[0]
    if len(rows) < 2 or "\t" in first or not _is_item(rows[1]):
        return []
    items = list(takewhile(_is_item, rows[1:]))
    if not (leads or is_heading(first) or (_is_item(first) and not in_list)):
        return []
    whole = squeeze(" ".join([first, *items]))
    if _is_open(first):
        return items if len(whole) <= _LONGEST else []
    listed = [first, *items] if _is_item(first) else items
    short = not all(is_quotable(_LEAD.sub("", item)) for item in listed)
    return items if short and len(whole.split()) <= _LIST_WORDS else []


def _leads(rows: Sequence[str], *, in_list: bool) -> bool:
    """Return whether the first line leads into a list: it says so, or it is an incomplete sentence above list items."""
    line, plain = rows[0], rows[0].rstrip()
    if plain.endswith(":") or (plain.endswith(".") and _ANNOUNCES.search(squeeze(line))):
        return True
    above_items = len(rows) > 1 and _is_item(rows[1])
    unclosed = not plain.endswith(CLOSED) and "\t" not in line and not _is_item(line)
    # Inside a list such a line is the rest of an item.
    return above_items and unclosed and (not in_list or _is_open(line))


def _is_item(line: str) -> bool:
    return _LEAD.match(line) is not None and "\t" not in line


def _is_open(line: str) -> bool:
    """Return whether ``line`` ends with a comma, or a word such as "except", so that its sentence continues."""
    plain = squeeze(line).lower()
    return plain.endswith(",") or _OPEN.search(plain) is not None or plain.rpartition(" ")[2] in _OPENING


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, with list items and table rows apart and without their bullet or number."""
    return [sentence for line in lines(text) for sentence in split_sentences(squeeze(_LEAD.sub("", line)))]


def is_table_caption(line: str) -> bool:
    """Return whether ``line`` is the caption of the table below it."""
    plain = squeeze(line)
    return _CAPTION.match(plain) is not None and "\t" not in line and not plain.endswith(".")


def lines(text: str) -> list[str]:
    """Return the lines of a passage, with wrapped lines joined."""
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
    """Return whether ``following`` continues the sentence of ``line``."""
    if "\t" in line or "\t" in following or line.rstrip().endswith(CLOSED) or _LEAD.match(following):
        return False
    return following.lstrip()[0].islower() or _OPEN.search(line.rstrip(" ,").lower()) is not None


def is_heading(line: str) -> bool:
    """Return whether ``line`` looks like a heading: short, with a capital, and not a sentence or list item.

    It may have a section number, unless it reads like a numbered recommendation.
    """
    plain = squeeze(line)
    title = _without_number(plain)
    says = title != plain and (has_amount(title) or _ORDER.match(title))
    return (
        len(title.split()) <= _HEADING_WORDS
        and not plain.endswith((".", "!", "?", ";", ":"))
        and not _LEAD.match(line)
        and title[:1].isupper()
        and not _EDITION.match(plain)
        and not says
    )


def _without_number(heading: str) -> str:
    return _SECTION_NUMBER.sub("", heading)
