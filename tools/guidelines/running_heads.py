"""Finds what repeats from page to page (running heads, page numbers, watermarks) so that it is not read as text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tools.guidelines.pdf_lines import Line, PdfPage

T = TypeVar("T")

_NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:page\s*)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]{1,2}-\d{1,3})(?:\s*(?:/|of)\s*\d{1,4})?", re.IGNORECASE
)
_PAGE_OF = re.compile(r"\bpage\s+(\d{1,4})\b", re.IGNORECASE)
_MARGIN = 0.1
"""Share of the page's height, at top and at bottom, in which running heads stand."""
_MAX_WORDS = 30


@dataclass(frozen=True, slots=True)
class RunningHeads:
    """What repeats in one document; ``drops`` tells for a line whether it does."""

    heads: frozenset[tuple[str, int]]
    bands: frozenset[int]
    watermarks: frozenset[tuple[str, int, int]]

    def drops(self, line: Line, page: PdfPage) -> bool:
        if (line.text, round(line.left / 4), round(line.base / 4)) in self.watermarks:
            return True
        if not in_margin(line, page):
            return False
        place = round(line.base / 4)
        if _PAGE_NUMBER.fullmatch(line.text):
            return True
        if any((_shape(line.text), near) in self.heads for near in (place - 1, place, place + 1)):
            return True
        return place in self.bands and _has_page_number(line.text, page.label)


def find_running_heads(pages: Sequence[PdfPage]) -> RunningHeads:
    heads: Counter[tuple[str, int]] = Counter()
    bands: Counter[int] = Counter()
    marks: Counter[tuple[str, int, int]] = Counter()
    for page in pages:
        marks.update({(line.text, round(line.left / 4), round(line.base / 4)) for line in page.lines})
        margin = [line for line in page.lines if in_margin(line, page)]
        heads.update({(_shape(line.text), round(line.base / 4)) for line in margin})
        bands.update({round(line.base / 4) for line in margin})
    needed = 2 if len(pages) < 6 else 3
    return RunningHeads(
        heads=frozenset(_repeated(_joined(heads), needed)),
        bands=frozenset(place for place, count in bands.items() if count >= max(needed, 0.3 * len(pages))),
        watermarks=frozenset(_repeated(marks, max(3, len(pages) // 2))),
    )


def _joined(heads: Counter[tuple[str, int]]) -> Counter[tuple[str, int]]:
    """Counts a head with those a few points higher or lower, for odd and even pages differ."""
    by_shape: dict[str, dict[int, int]] = defaultdict(dict)
    for (shape, place), count in heads.items():
        by_shape[shape][place] = count
    joined: Counter[tuple[str, int]] = Counter()
    for shape, places in by_shape.items():
        for place in places:
            joined[shape, place] = sum(places.get(near, 0) for near in (place - 1, place, place + 1))
    return joined


def _repeated(counts: Counter[T], needed: float) -> Iterable[T]:
    return (thing for thing, count in counts.items() if count >= needed)


def in_margin(line: Line, page: PdfPage) -> bool:
    """True for a short line in the strip at the top or the bottom where running heads stand."""
    edge = page.height * _MARGIN
    return (line.base < edge or line.top > page.height - edge) and len(line.text.split()) <= _MAX_WORDS


def _shape(text: str) -> str:
    return _NUMBER.sub("#", text)


def _has_page_number(text: str, label: str | None) -> bool:
    words = text.split()
    ends = (words[0], words[-1]) if words else ()
    return any(word == label or (label is None and word.isdigit()) for word in ends)


def printed_numbers(pages: Sequence[PdfPage]) -> dict[int, str]:
    """Page numbers as printed in the margins, for files that do not name them: those that count on steadily."""
    offsets: Counter[int] = Counter()
    seen: dict[int, set[int]] = {}
    for page in pages:
        numbers = {number for line in page.lines if in_margin(line, page) for number in _margin_numbers(line.text)}
        seen[page.number] = {number - page.number for number in numbers}
        offsets.update(seen[page.number])
    offset, count = offsets.most_common(1)[0] if offsets else (0, 0)
    if count < max(2, 0.5 * len(pages)):
        return {}
    return {number: str(number + offset) for number, found in seen.items() if offset in found}


def _margin_numbers(text: str) -> Iterable[int]:
    of = _PAGE_OF.search(text)
    if of:
        return (int(of[1]),)
    words = text.split()
    return (int(word) for word in {words[0], words[-1]} if word.isascii() and word.isdigit() and len(word) <= 4)
