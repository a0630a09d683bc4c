"""The text of a page as PDFium gives it: its lines, where its characters are and how they are set.

PDFium answers in far less than a microsecond, and a page needs thousands of answers: what costs is the way to it. So
the calls are made by ``map`` from lists of indices. They take plain addresses, for pointer objects cost more than the
answer, and keep the interpreter's lock, for giving it up and taking it again does, too.
"""

from __future__ import annotations

import ctypes
import math
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

from pypdfium2 import raw

from tools.language.folding import LINE_HYPHENS
from tools.language.terms import clean

ADDRESS = ctypes.c_void_p
FLOAT = ctypes.sizeof(ctypes.c_float)
DOUBLE = ctypes.sizeof(ctypes.c_double)
_HYPHEN_ENDS = frozenset(LINE_HYPHENS)
"""Where PDFium ends a line with a hyphen it writes one of these signs in place of the hyphen and the line break."""


class Parts(NamedTuple):
    """The lines of a page's text that hold words, as columns of one length."""

    words: list[str]
    firsts: list[int]
    """Where in the text their first visible characters are."""
    lasts: list[int]
    """Where their last visible characters are. A hyphen that PDFium put at a line's end is not counted."""
    hyphenated: list[bool]


def parts_of(text: str) -> Parts:
    """Return the lines of ``text`` that hold words; a line-end hyphen of PDFium ends a line too."""
    # Characters beyond the basic plane count twice on the text page.
    wide = units(text) > len(text)
    broken = text.replace("\r\n", "\n ").replace("\r", "\n")
    for sign in LINE_HYPHENS:
        broken = broken.replace(sign, f"{sign}\n")
    parts = Parts([], [], [], [])
    at = 0
    for line in broken.split("\n"):
        stripped = line.strip()
        if stripped:
            hyphenated = stripped[-1] in _HYPHEN_ENDS
            words = clean(stripped[:-1] if hyphenated else stripped)
            if words:
                first = at + line.index(stripped[0])
                if wide:
                    first = units(text[:first])
                last = first + len(stripped) - 1 - hyphenated
                parts.words.append(words)
                parts.firsts.append(first)
                parts.lasts.append(max(first, last))
                parts.hyphenated.append(hyphenated)
            at -= hyphenated
        at += len(line) + 1
    return parts


def units(text: str) -> int:
    """Return how many characters PDFium counts in ``text``."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def typed(function: Any, result: Any, *given: Any) -> Any:
    """Return ``function`` of PDFium, taking ``given`` and giving ``result`` (both ctypes' types)."""
    return ctypes.PYFUNCTYPE(result, *given)(address_of(function))


def address_of(handle: Any) -> int:
    """Return the plain address behind a handle of pypdfium2."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


_OF_PAGE = (ADDRESS, ctypes.c_int)
"""A text page and the index of a character on it."""
_ORIGIN = typed(raw.FPDFText_GetCharOrigin, None, *_OF_PAGE, ADDRESS, ADDRESS)
_BOX = typed(raw.FPDFText_GetCharBox, None, *_OF_PAGE, ADDRESS, ADDRESS, ADDRESS, ADDRESS)
_MATRIX = typed(raw.FPDFText_GetMatrix, None, *_OF_PAGE, ADDRESS)
_SIZE = typed(raw.FPDFText_GetFontSize, ctypes.c_double, *_OF_PAGE)
_WEIGHT = typed(raw.FPDFText_GetFontWeight, ctypes.c_int, *_OF_PAGE)


class PageCharacters:
    """The characters of one open text page, by their indices. What PDFium does not know is 0. Lengths in points."""

    def __init__(self, text_page: Any) -> None:
        self._page = address_of(text_page.raw)
        self._unused = array("d", [0.0])
        """Receives the bottoms and tops of boxes, which PDFium writes too."""

    def origins(self, indices: Sequence[int]) -> tuple[array[float], array[float]]:
        """Return the left end and base line of each character."""
        values = self._filled(_ORIGIN, indices, 2)
        return values[::2], values[1::2]

    def sides(self, indices: Sequence[int]) -> tuple[array[float], array[float]]:
        """Return the left and right edges of the characters' boxes."""
        unused, _ = self._unused.buffer_info()
        values = self._filled(_BOX, indices, 2, repeat(unused), repeat(unused))
        return values[::2], values[1::2]

    def weights(self, indices: Sequence[int]) -> list[int]:
        """Return the font weight of each character: 400 is regular, 700 bold."""
        return list(map(_WEIGHT, repeat(self._page), indices))

    def sizes(self, indices: Sequence[int]) -> list[float]:
        """Return the type size of each character, to a tenth of a point."""
        matrices = array("f", bytes(6 * FLOAT * len(indices)))
        address, _ = matrices.buffer_info()
        step = 6 * FLOAT
        list(map(_MATRIX, repeat(self._page), indices, range(address, address + step * len(indices), step)))
        return list(map(_height, map(_SIZE, repeat(self._page), indices), matrices[2::6], matrices[3::6]))

    def _filled(self, function: Any, indices: Sequence[int], width: int, *rest: Iterable[int]) -> array[float]:
        """Call ``function`` per index and collect its ``width`` doubles; ``rest`` are extra out-pointers."""
        step = width * DOUBLE
        values = array("d", bytes(step * len(indices)))
        start, _ = values.buffer_info()
        end = start + step * len(indices)
        places = [range(start + at, end + at, step) for at in range(0, step, DOUBLE)]
        list(map(function, repeat(self._page), indices, *places, *rest))
        return values


@lru_cache(maxsize=1024)
def _height(size: float, c: float, d: float) -> float:
    """Return the height of type: its font size scaled by the text matrix, whose upward part is c and d."""
    return round(size * (math.hypot(c, d) or 1.0), 1)
