"""Splits what PDFium reads of a page into its lines, and tells where in the page's text each begins and ends.

Where PDFium ends a line with a hyphen it writes one sign in place of the hyphen and the line break.
"""

from typing import NamedTuple

from tools.language.folding import LINE_HYPHENS
from tools.language.terms import clean

_HYPHEN_ENDS = frozenset(LINE_HYPHENS)


class Parts(NamedTuple):
    """The lines of a page's text that hold words, as columns of one length."""

    words: list[str]
    firsts: list[int]
    """Where in the text their first visible characters are."""
    lasts: list[int]
    """The same of their last ones. A hyphen that PDFium put at a line's end is not counted."""
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
