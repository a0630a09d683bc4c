"""Puts raised reference numbers behind the sentence that they belong to. Runs in the worker process.

PDFium parts a raised number from the full stop before it by a space or a line break, so that it would open the next
sentence: ``cancers. 22-24 As a cause of death``.
"""

import re
from collections.abc import Sequence

from tools.documents.pdf.pdf_text import PageCharacters
from tools.documents.pdf.small_capitals import JOINER

_NUMBERS = r"\d{1,3}(?: ?[,\u2013-] ?\d{1,3})*[,\u2013-]?"
_BEHIND = re.compile(rf"(?<=[.!?\"\u201d)\]]) {{1,2}}({_NUMBERS})(?=\s|\Z)")
_OPENING = re.compile(rf"^({_NUMBERS}) (?=\S)", re.MULTILINE)
_ENDS = re.compile(r"[.!?][\"\u201d\u2019)\]]*(?:\d{1,3}[,\u2013-])*\Z")
_REACH = 24
_RAISED = 0.15
"""Of the type's height: how much higher the number stands at least."""


def with_raised_numbers(text: str, characters: PageCharacters) -> str:
    """Return the text of a page with ``JOINER`` for the spaces in and before raised numbers behind sentences."""
    found = [match for match in _BEHIND.finditer(text) if _ENDS.search(text[: match.start()][-_REACH:])]
    raised = _raised([match.start(1) for match in found], [match.start() - 1 for match in found], characters)
    for match, is_raised in zip(found, raised, strict=True):
        if is_raised:
            text = text[: match.start()] + match[0].replace(" ", JOINER) + text[match.end() :]
    return text


def opened_by_raised(text: str, firsts: Sequence[int], characters: PageCharacters) -> list[bool]:
    """Return for each line that begins at one of ``firsts`` whether a raised number opens it."""
    found = {match.start(): match.end() for match in _OPENING.finditer(text)}
    opening = [first for first in firsts if first in found]
    raised = _raised(opening, [found[first] for first in opening], characters)
    numbers = {first for first, is_raised in zip(opening, raised, strict=True) if is_raised}
    return [first in numbers for first in firsts]


def takes_number(text: str) -> bool:
    """Return whether a raised number that follows ``text`` belongs to its last sentence."""
    return _ENDS.search(text[-_REACH:]) is not None


def _raised(numbers: Sequence[int], words: Sequence[int], characters: PageCharacters) -> list[bool]:
    """Return for each number whether it stands higher than the character of the word beside it."""
    _, high = characters.origins(numbers)
    _, low = characters.origins(words)
    sizes = characters.sizes(words)
    return [up - base > _RAISED * size for up, base, size in zip(high, low, sizes, strict=True)]
