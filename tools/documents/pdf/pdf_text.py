"""The text of a page as PDFium gives it: its lines, where its characters are and how they are set."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from pypdfium2 import raw

from tools.language.folding import LINE_HYPHENS
from tools.language.terms import clean

_HYPHEN_ENDS = frozenset(LINE_HYPHENS)
"""Where PDFium ends a line with a hyphen it writes one of these signs in place of the hyphen and the line break."""


class TextLine(NamedTuple):
    """A line of a page's text that holds words."""

    words: str
    first: int
    """Where in the text its first visible character is."""
    last: int
    """Where its last visible character is. A hyphen that PDFium put at the line's end is not counted."""
    hyphenated: bool


def text_lines(text: str) -> list[TextLine]:
    """Return the lines of ``text`` that hold words; a line-end hyphen of PDFium ends a line too."""
    # Characters beyond the basic plane count twice on the text page.
    wide = utf16_length(text) > len(text)
    broken = text.replace("\r\n", "\n ").replace("\r", "\n")
    for sign in LINE_HYPHENS:
        broken = broken.replace(sign, f"{sign}\n")
    found: list[TextLine] = []
    at = 0
    for line in broken.split("\n"):
        stripped = line.strip()
        if stripped:
            hyphenated = stripped[-1] in _HYPHEN_ENDS
            if words := clean(stripped[:-1] if hyphenated else stripped):
                first = at + line.index(stripped[0])
                if wide:
                    first = utf16_length(text[:first])
                found.append(TextLine(words, first, max(first, first + len(stripped) - 1 - hyphenated), hyphenated))
            at -= hyphenated
        at += len(line) + 1
    return found


def utf16_length(text: str) -> int:
    """Return how many characters PDFium counts in ``text``."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class PageCharacters:
    """The characters of one open text page, by their indices. What PDFium does not know is 0. Lengths in points."""

    def __init__(self, text_page: Any) -> None:
        self._page = text_page

    def origin(self, index: int) -> Sequence[float]:
        """Return the left end and base line of a character."""
        return self._doubles(raw.FPDFText_GetCharOrigin, index, 2)

    def sides(self, index: int) -> Sequence[float]:
        """Return the left and right edges of a character's box."""
        return self._doubles(raw.FPDFText_GetCharBox, index, 4)[:2]

    def weight(self, index: int) -> int:
        """Return the font weight of a character: 400 is regular, 700 bold."""
        return int(raw.FPDFText_GetFontWeight(self._page, index))

    def size(self, index: int) -> float:
        """Return the type size of a character, to a tenth of a point: the font size scaled by the text matrix."""
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self._page, index, matrix)
        size: float = raw.FPDFText_GetFontSize(self._page, index)
        return round(size * (math.hypot(matrix.c, matrix.d) or 1.0), 1)

    def _doubles(self, function: Any, index: int, count: int) -> Sequence[float]:
        """Return what ``function`` writes about a character."""
        values = [ctypes.c_double() for _ in range(count)]
        function(self._page, index, *values)
        return [one.value for one in values]
