"""Makes words in small capitals whole. Runs in the worker process.

Older documents set them as a capital and further capitals of a smaller type, which PDFium takes for two words, and
what follows them for another: ``P REVALENCE OF O VERWEIGHT , 1990``.
"""

import re
from collections.abc import Sequence
from statistics import median

from tools.documents.pdf.pdf_text import PageCharacters, Parts

JOINER = "\u200b"
"""Replaces a false space, so that all characters keep their places; ``clean`` drops it."""
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[^\S\r\n]+(?=[^\W\d_])")
_BEFORE_SIGNS = re.compile(r"(?<=\S)[^\S\r\n]+(?=[,)])|(?<=[^\W\d_])[^\S\r\n]+(?=[/-][^\W\d_])")
_LARGER = 1.05
_WORDS = "AI"
"""Capitals that are words themselves."""
_NARROWER = 0.8
"""Of the usual space between words: a space behind a capital that could be a word itself, but is none."""


def with_whole_words(text: str, parts: Parts, characters: PageCharacters) -> str:
    """Return the text of a page with ``JOINER`` in place of spaces inside words in small capitals."""
    lines = zip(parts.words, parts.firsts, parts.lasts, strict=True)
    capitals = [(first, last + 1) for words, first, last in lines if words.isupper()]
    if not capitals:
        return text
    spaces = _inside_words(text, capitals, characters)
    spaces += [found.span() for start, end in capitals for found in _BEFORE_SIGNS.finditer(text, start, end)]
    for start, end in spaces:
        text = text[:start] + JOINER * (end - start) + text[end:]
    return text


def _inside_words(text: str, lines: Sequence[tuple[int, int]], characters: PageCharacters) -> list[tuple[int, int]]:
    """Return the spaces behind the first letters of words in small capitals, of lines in capitals."""
    spans = [found.span() for start, end in lines for found in _BETWEEN_LETTERS.finditer(text, start, end)]
    if not any(_stands_alone(text, start - 1) for start, _ in spans):
        return []
    befores, afters = [start - 1 for start, _ in spans], [end for _, end in spans]
    _, rights = characters.sides(befores)
    lefts, _ = characters.sides(afters)
    sizes = list(zip(characters.sizes(befores), characters.sizes(afters), strict=True))
    widths = [
        (left - right) / max(before, after, 1.0)
        for left, right, (before, after) in zip(lefts, rights, sizes, strict=True)
    ]
    behind_capital = [
        before > _LARGER * after and _stands_alone(text, at) for at, (before, after) in zip(befores, sizes, strict=True)
    ]
    usual = median([width for width, behind in zip(widths, behind_capital, strict=True) if not behind] or [0.0])
    return [
        span
        for span, width, behind in zip(spans, widths, behind_capital, strict=True)
        if behind and (text[span[0] - 1] not in _WORDS or width < _NARROWER * usual)
    ]


def _stands_alone(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalpha()
