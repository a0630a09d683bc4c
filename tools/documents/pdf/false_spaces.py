"""Removes false spaces of PDFium in words in small capitals, and between a sentence and its reference number.

Older documents set small capitals as a capital and further capitals of a smaller type, which PDFium takes for two
words, and what follows them for another: ``P REVALENCE OF O VERWEIGHT , 1990``. It parts a raised number from the full
stop before it by a space or a line break, so that it would open the next sentence: ``cancers. 22-24 As a cause of
death``. Runs in the worker process.
"""

import re
from collections.abc import Sequence
from statistics import median

from tools.documents.pdf.pdf_text import PageCharacters, TextLine

_JOINER = "\u200b"
"""Replaces a false space, so that all characters keep their places; ``clean`` drops it."""
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[^\S\r\n]+(?=[^\W\d_])")
_BEFORE_SIGNS = re.compile(r"(?<=\S)[^\S\r\n]+(?=[,)])|(?<=[^\W\d_])[^\S\r\n]+(?=[/-][^\W\d_])")
_LARGER = 1.05
_WORDS = "AI"
"""Capitals that are words themselves."""
_NARROWER = 0.8
"""Maximum width of a false space behind a capital letter, as a share of the usual space between words."""
_NUMBERS = r"\d{1,3}(?: ?[,\u2013-] ?\d{1,3})*[,\u2013-]?"
_BEHIND = re.compile(rf"(?<=[.!?\"\u201d)\]]) {{1,2}}({_NUMBERS})(?=\s|\Z)")
_OPENING = re.compile(rf"^({_NUMBERS}) (?=\S)", re.MULTILINE)
_ENDS = re.compile(r"[.!?][\"\u201d\u2019)\]]*(?:\d{1,3}[,\u2013-])*\Z")
_REACH = 24
_RAISED = 0.15
"""Minimum height of a raised number above the words beside it, in heights of the type."""


def with_whole_words(text: str, lines: Sequence[TextLine], characters: PageCharacters) -> str:
    """Return the text of a page with ``_JOINER`` in place of spaces inside words in small capitals."""
    capitals = [(line.first, line.last + 1) for line in lines if line.words.isupper()]
    if not capitals:
        return text
    spaces = _inside_words(text, capitals, characters)
    spaces += [found.span() for start, end in capitals for found in _BEFORE_SIGNS.finditer(text, start, end)]
    for start, end in spaces:
        text = text[:start] + _JOINER * (end - start) + text[end:]
    return text


def _inside_words(text: str, lines: Sequence[tuple[int, int]], characters: PageCharacters) -> list[tuple[int, int]]:
    """Return the spaces behind the first letters of words in small capitals, of lines in capitals."""
    spans = [found.span() for start, end in lines for found in _BETWEEN_LETTERS.finditer(text, start, end)]
    if not any(_begins_word(text, start - 1) for start, _ in spans):
        return []
    usual_widths: list[float] = []
    behind_capitals: list[tuple[tuple[int, int], float]] = []
    for start, end in spans:
        before, after = characters.size(start - 1), characters.size(end)
        width = (characters.sides(end)[0] - characters.sides(start - 1)[1]) / max(before, after, 1.0)
        if before > _LARGER * after and _begins_word(text, start - 1):
            behind_capitals.append(((start, end), width))
        else:
            usual_widths.append(width)
    usual = median(usual_widths or [0.0])
    return [span for span, width in behind_capitals if text[span[0] - 1] not in _WORDS or width < _NARROWER * usual]


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalpha()


def with_raised_numbers(text: str, characters: PageCharacters) -> str:
    """Return the text of a page with ``_JOINER`` for the spaces in and before raised numbers behind sentences."""
    found = [match for match in _BEHIND.finditer(text) if _ENDS.search(text[: match.start()][-_REACH:])]
    for match in found:
        if _is_raised(match.start(1), match.start() - 1, characters):
            text = text[: match.start()] + match[0].replace(" ", _JOINER) + text[match.end() :]
    return text


def is_opened_by_raised(text: str, first: int, characters: PageCharacters) -> bool:
    """Return whether a raised number opens the line that begins at ``first``."""
    found = _OPENING.match(text, first)
    return found is not None and _is_raised(first, found.end(), characters)


def takes_number(text: str) -> bool:
    """Return whether a raised number that follows ``text`` belongs to its last sentence."""
    return _ENDS.search(text[-_REACH:]) is not None


def _is_raised(number: int, word: int, characters: PageCharacters) -> bool:
    """Return whether a number is higher than the character of the word beside it."""
    (_, up), (_, base) = characters.origin(number), characters.origin(word)
    return up - base > _RAISED * characters.size(word)
