"""Folds text for comparison: quotes (``fold``), names (``fold_name``) and phrases of questions (``fold_phrase``).

In quotes, line ends and typesetting do not count. White space, hyphens and dashes are left out, since line ends and
page breaks may add them anywhere; only a dash between two digits is kept, so that 5–10 differs from 510. Typographic
quotation marks and compatibility characters (ligatures, superscripts) become plain ones.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

LINE_HYPHENS: Final = "\x02\ufffe\u00ad"
"""The characters that versions of PDFium write for a hyphen at a line end, and the soft hyphen."""
CELL_BREAK: Final = "\u2063"
"""Unicode's invisible separator, before a cell that may not belong to the one before it.

The cells of such a row neither follow each other in the file nor share a row on the page, so no quote may span them.
"""

_DASHES: Final = f"\\-\u2010-\u2015\u2212{LINE_HYPHENS}"
_PIECE: Final = re.compile(
    f"(?P<plain>[!-,./0-~]+)|(?P<dash>[{_DASHES}])|(?P<ignored>[\\s\u200b\u2060\ufeff{CELL_BREAK}\x00-\x1f])"
    "|.[\u0300-\u036f]*",
    re.DOTALL,
)
_PLAIN_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"'})
_NOT_WORD: Final = re.compile(r"[^\w%]+|_")
_LEFT_OUT: Final = re.compile(f"[\\s\u200b\u2060\ufeff{_DASHES}]+[\u0300-\u036f]*")
"""Includes the marks of spacing accents, which consist of a space and a mark."""


class Folded(NamedTuple):
    """Folded text, and for each of its characters the position in the source."""

    text: str
    places: tuple[int, ...]

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end in the source of the folded characters from ``start`` to ``end``."""
        return self.places[start], self.places[end - 1] + 1


@lru_cache(maxsize=256)
def fold(text: str, *, ignore_case: bool = False, ranges: bool = True) -> Folded:
    """Return ``text`` folded, with the positions in the source.

    ``ranges`` keeps the dash between two digits. Set it to False for words whose lines may be in any order on the page.
    """
    folded: list[str] = []
    places: list[int] = []
    dash: int | None = None
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "ignored":
            continue
        at = piece.start()
        if piece.lastgroup == "dash":
            dash = at if dash is None else dash
            continue
        signs = piece[0] if piece.lastgroup == "plain" else _plain(piece[0])
        if ignore_case:
            signs = signs.lower()
        if not signs:
            continue
        if ranges and dash is not None and folded and folded[-1][-1].isdigit() and signs[0].isdigit():
            folded.append("-")
            places.append(dash)
        dash = None
        folded.append(signs)
        places += range(at, at + len(signs)) if len(signs) == len(piece[0]) else [at] * len(signs)
    return Folded("".join(folded), tuple(places))


def folded(text: str, *, ignore_case: bool = False) -> str:
    """Return ``text`` folded. Texts that differ only in white space, hyphens and typesetting become equal."""
    return fold(text, ignore_case=ignore_case).text


def _plain(cluster: str) -> str:
    return _LEFT_OUT.sub("", unicodedata.normalize("NFKC", cluster.translate(_PLAIN_QUOTES)))


def without_accents(text: str) -> str:
    """Return ``text`` in lower case without accents: ``Überdosis`` is ``uberdosis``."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


@lru_cache(maxsize=65_536)
def fold_name(name: str) -> str:
    """Fold a name: lower case, no accents, one space for every run of other signs."""
    return _NOT_WORD.sub(" ", without_accents(name)).strip()


def fold_phrase(text: str) -> str:
    """Return ``text`` in lower case with one spelling for letters, micro signs and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("\u03bc", "µ").split())
