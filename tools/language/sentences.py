"""Splits English and German text into sentences, each an exact slice of the text.

A sentence never ends inside a number, a dose range or an ellipsis, nor after an abbreviation, an initial or the number
of a list item. It does end with a list item, a table row, a heading or a paragraph, but not with a wrapped line.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from tools.language.measurement_units import UNITS
from tools.language.vocabulary.clinical_vocabulary import ends_sentences
from tools.language.word_lists import word_list

BULLETS: Final = "■●•▪◆◦‣►▸✓❏☐□"
"""Characters that are only used before the items of a list."""
LIST_MARK: Final = re.compile(rf"\s*(?:[{BULLETS}*–—-]\s+|[{BULLETS}]|\(?(?:\d{{1,2}}|[a-zA-Z]|[ivx]{{1,4}})[.)]\s+)")
"""The bullet, number or letter before a list item."""

_END: Final = re.compile(r"""[.!?…]+["'”“’‘»)\]]*(?P<reference>\d{1,3}(?:[,–-]\d{1,3})*|[a-z*†‡])?(?=\s)""")
"""A possible end of a sentence, with a reference number or note mark that is printed beside it ("sleep.59 BP has")."""
_BREAK: Final = re.compile(rf"\s(?:(?:(?<=\n)|[^\S\n]*\n)\s*|\s*(?=[{BULLETS}]))")
_MAY_BREAK: Final = re.compile(rf"[\n{BULLETS}]")
_OPENS: Final = re.compile(rf"""["'“„‘«(\[]*(?:[\d≥≤<>{BULLETS}–-]|(?P<letter>[^\W\d_]))""")
_DOTTED: Final = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_ENUMERATOR: Final = re.compile(r"\(?(?:\d{1,2}|[a-zA-Z]|[ivxIVX]{1,4})")
_NAMED: Final = re.compile(r"(?:^|[\s(,&])(?:[A-Z]\w*[.,]?|by|and|von|van|de)$")
_SPACE: Final = re.compile(r"\s*")
_CLOSED: Final = re.compile(r"""[.!?:;]["'”“’‘»)\]]*(?:\d{1,3}(?:[,–-]\d{1,3})*|[a-z*†‡])?$""")
_CLOSE_REACH: Final = 24
"""Maximum length of a full stop with the quotation marks and reference numbers after it."""
_LEADING_WORDS: Final = word_list("qualifiers") | word_list("negations") | {"a", "an", "the", "der", "die", "das"}
_LONG_LINE: Final = 60
"""Minimum length of a wrapped line."""
_LONGEST_ABBREVIATION: Final = 4
"""Maximum length of an abbreviation that is in no list; longer unknown words are names and rare words."""
_ABBREVIATION_REACH: Final = 24
_BEFORE_REACH: Final = 40


class Span(NamedTuple):
    """The start and end of a part of a text."""

    start: int
    end: int


class Sentence(NamedTuple):
    """The start and end of a sentence, list item, heading or table row."""

    start: int
    end: int
    lead: Span | None = None
    """The sentence that leads into the list to which this item belongs."""


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each an exact slice of it without the white space around it."""
    return [text[start:end] for start, end, _ in sentence_spans(text)]


def last_sentence(text: str) -> str:
    """Return the last sentence of ``text``, or an empty string."""
    return next((text[start:end] for start, end, _ in reversed(sentence_spans(text))), "")


@lru_cache(maxsize=512)
def sentence_spans(text: str) -> tuple[Sentence, ...]:
    """Return the positions of the sentences of ``text``; between them is only white space."""
    found: list[Sentence] = []
    leads: list[tuple[str, Span]] = []
    in_items = False
    for block in _blocks(text):
        mark = LIST_MARK.match(text, *block)
        kind = _kind(mark[0]) if mark else ""
        if (in_items and not kind) or any(kind and kind == of for of, _ in leads):
            leads = [each for each in leads if kind and each[0] != kind]
        spans = list(_of_block(text, *block))
        found += [Sentence(*span, leads[-1][1] if leads else None) for span in spans]
        if text.endswith(":", block.start, block.end):
            leads = [*leads, (kind, spans[-1])] if kind else [("", spans[-1])]
            in_items = bool(kind)
        elif kind:
            in_items = True
        elif is_closed(text, *block):
            leads, in_items = [], False
    return tuple(found)


def _kind(mark: str) -> str:
    """Return the kind of a list mark: the bullet itself, "1" for numbers or "a" for letters."""
    sign = mark.strip(" \t(.)")
    return "1" if sign.isdigit() else "a" if sign.isalpha() else sign


def _blocks(text: str) -> Iterator[Span]:
    """Yield the paragraphs, list items, headings and table rows, without white space around them."""
    start = len(text) - len(text.lstrip())
    stop = len(text.rstrip())
    if start < stop and not _MAY_BREAK.search(text, start + 1, stop):
        yield Span(start, stop)
        return
    for gap in _BREAK.finditer(text, start, stop):
        if not _is_wrapped(text, start, gap.start(), gap.end()):
            yield Span(start, gap.start())
            start = gap.end()
    if start < stop:
        yield Span(start, stop)


def _is_wrapped(text: str, start: int, end: int, following: int) -> bool:
    """Return whether the line break after ``end`` only wraps the block that began at ``start``."""
    line = text[max(text.rfind("\n", start, end) + 1, start) : end]
    line_end = text.find("\n", following)
    below = text[following : line_end if line_end >= 0 else len(text)]
    if LIST_MARK.match(below) or "\t" in line or "\t" in below or below.startswith("|") or is_closed(line):
        return False
    wrapped = len(line) >= _LONG_LINE and text.count("\n", end, following) == 1
    return below[:1].islower() or is_unfinished(line) or wrapped


def is_unfinished(text: str) -> bool:
    """Return whether ``text`` ends in a comma, a hyphen or a word that another must follow: "of", "the", "not"."""
    return text.endswith((",", "-")) or text.rpartition(" ")[2].lower() in _LEADING_WORDS


def is_closed(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether the text from ``start`` to ``end`` ends a sentence, perhaps with a reference number after it."""
    end = len(text) if end is None else end
    return _CLOSED.search(text, max(start, end - _CLOSE_REACH), end) is not None


def _of_block(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _END.finditer(text, start, end):
        if match.end() < end and _ends(text, start, match):
            yield Span(start, match.end())
            start = _after_space(text, match.end())
    yield Span(start, end)


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a sentence that began at ``start`` ends at ``match``."""
    stop = match.start()
    follows = _after_space(text, match.end())
    opened = _OPENS.match(text, follows)
    if opened is None or (opened["letter"] and not opened["letter"].isupper()):
        return False
    if match["reference"] and text[stop - 1 : stop].isdigit():
        return False
    if "…" in match[0] or ".." in match[0]:
        return not text[follows].isdigit()
    return text[stop] != "." or not _is_abbreviated(text, start, stop, follows)


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _is_abbreviated(text: str, start: int, stop: int, follows: int) -> bool:
    """Return whether the full stop at ``stop`` belongs to the word before it."""
    begin = max(start, stop - _ABBREVIATION_REACH)
    word = re.split(r"""[\s("'“‘„«\[]""", text[begin:stop])[-1]
    before = text[max(start, stop - len(word) - _BEFORE_REACH) : stop - len(word)].rstrip()
    if not word or (not before and _ENUMERATOR.fullmatch(word)):
        return True
    lowered = word.lower().rstrip(".")
    if before[-1:].isdigit() and lowered in UNITS and (len(word) > 1 or word.islower()):
        return False
    if lowered in word_list("abbreviations"):
        return True
    if lowered in word_list("abbreviations_before_numbers"):
        return text[follows].isdigit() or text[follows : follows + 2].isupper()
    if word.isdigit():
        return len(word) <= 2 and before.rpartition(" ")[2].lower() in word_list("ordinal_markers")
    if len(word) == 1 and word.isupper():
        return before[-1:].isdigit() or (not text[follows].isdigit() and _NAMED.search(before) is not None)
    if _DOTTED.fullmatch(word):
        return not (word.isupper() and _begins_sentence(text, follows))
    return _is_unknown(word)


def _is_unknown(word: str) -> bool:
    """Return whether ``word`` is short, not an acronym and unknown, such as "pts", and so may be an abbreviation.

    If it is not clear whether a sentence ends, it does not, so that no quote loses its beginning.
    """
    plain = word.isalpha() and (word.islower() or word.istitle())
    return plain and len(word) <= _LONGEST_ABBREVIATION and not ends_sentences(word.lower())


def _begins_sentence(text: str, at: int) -> bool:
    """Return whether the capitalised word at ``at`` begins a sentence, and not a name or title."""
    word = text[at : at + _ABBREVIATION_REACH].partition(" ")[0].lower()
    return word in word_list("qualifiers") | word_list("conditions") | {"a", "an", "it", "the", "this", "these", "they"}
