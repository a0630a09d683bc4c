"""Splits words that a PDF prints without the white space between them: "adults45yearsorolder".

A string of letters is split if that is likelier than an unknown word, by the frequencies of words in the document and
in English (a unigram model, dynamic programming). A function word or a number among at least three parts must also
distinguish it from a compound. Only white space is inserted, so that the words stay those of the page.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tools.documents.pdf.pdf_lines import Line
from tools.language.vocabulary.common_words import ranks
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_list

_LEAST_LETTERS: Final = 10
_MOST_LETTERS: Final = 200
_MOST_PRINTED: Final = 3
"""A string that is printed more often is a word or a name."""
_LEAST_SEEN: Final = 2
"""Minimum number of times that the document prints a word that English does not have."""
_LEAST_CONTENT: Final = 4
"""Letters of a part other than a function word; shorter ones occur in any long word, and must be common."""
_OFTEN: Final = 10
_COMMON: Final = 1_000
"""How often the document prints a short word, or its rank in English, that makes it common."""
_NEW_WORD: Final = math.log(0.01)
"""Logarithm of the chance that a string is a word that neither the document nor English has elsewhere."""
_NEW_LETTER: Final = -2.2
"""Added to ``_NEW_WORD`` for each letter; English words have about 2.2 nats a letter."""
GLUED: Final = math.log(0.0001)
"""Logarithm of the chance that a string was printed without its white space."""
_NUMBER: Final = -4.0
"""Logarithm of the chance that a string is a number; each figure lowers it by one."""
_LONGEST_WORD: Final = 24
_DIGITS: Final = re.compile(r"\d+")
_LETTERS: Final = re.compile(r"[^\W_]+")
_ADDRESS: Final = re.compile(r"[./@:#][^\W_]|www")


class _Split(NamedTuple):
    """The likeliest split of the beginning of a string."""

    likelihood: float
    parts: tuple[str, ...]


class GluedWords:
    """Finds the glued words of one document."""

    def __init__(self, printed: Mapping[str, int], lines: Sequence[Line]) -> None:
        """Find the glued words of ``lines``; ``printed`` counts the document's words in lower case."""
        self._counts = Counter[str]()
        self._repairs: dict[str, str] = {}
        if language_of(" ".join(line.text for line in lines[:500])) != "en":
            return
        halves = _halves(lines)
        for chunk, count in printed.items():
            letters = (chunk,) if chunk.isalpha() else _LETTERS.findall(chunk)
            for word in letters:
                self._counts[word] += count - halves.get(chunk, 0)
        self._total = self._counts.total() or 1
        self._repairs = {chunk: whole for chunk in printed if (whole := self._repaired(chunk)) != chunk}

    def repair(self, lines: list[Line]) -> list[Line]:
        """Return ``lines`` with white space between their glued words."""
        return [self._whole(line) for line in lines] if self._repairs else lines

    def _whole(self, line: Line) -> Line:
        if self._repairs.keys().isdisjoint(line.text.lower().split()):
            return line
        cells = tuple(cell._replace(text=self._spaced(cell.text)) for cell in line.cells)
        return line._replace(text=self._spaced(line.text), cells=cells)

    def _spaced(self, text: str) -> str:
        def spaced(chunk: re.Match[str]) -> str:
            # The repaired one is in lower case.
            signs = iter(chunk[0])
            repaired = self._repairs.get(chunk[0].lower(), chunk[0])
            return "".join(sign if sign == " " else next(signs) for sign in repaired)

        return re.sub(r"\S+", spaced, text)

    def _repaired(self, chunk: str) -> str:
        if len(chunk) < _LEAST_LETTERS or chunk in ranks("en") or _ADDRESS.search(chunk):
            return chunk
        return _LETTERS.sub(lambda found: " ".join(self._parts(found[0])), chunk)

    def _parts(self, letters: str) -> tuple[str, ...]:
        """Return the words in ``letters``, or ``letters`` itself if nothing indicates several words."""
        whole = (letters,)
        if not _LEAST_LETTERS <= len(letters) <= _MOST_LETTERS or self._counts[letters] > _MOST_PRINTED:
            return whole
        if letters in ranks("en"):
            return whole
        found = self._likeliest(letters)
        if found is None or found.likelihood + GLUED < _NEW_WORD + _NEW_LETTER * len(letters):
            return whole
        return found.parts if _is_phrase(found.parts) else whole

    def _likeliest(self, letters: str) -> _Split | None:
        best: dict[int, _Split] = {0: _Split(0.0, ())}
        for start in range(len(letters)):
            if (before := best.get(start)) is None:
                continue
            for part, likelihood in self._beginnings(letters, start):
                split = _Split(before.likelihood + likelihood, (*before.parts, part))
                end = start + len(part)
                best[end] = max(best.get(end, split), split)
        return best.get(len(letters))

    def _beginnings(self, letters: str, start: int) -> Iterator[tuple[str, float]]:
        """Yield the words that begin at ``start``; a number is taken whole."""
        number = _DIGITS.match(letters, start)
        if number:
            yield number[0], _NUMBER - len(number[0])
            return
        known, counts = ranks("en"), self._counts
        for end in range(start + 2, min(len(letters), start + _LONGEST_WORD) + 1):
            part = letters[start:end]
            if (part in known or part in counts) and (likelihood := self._likelihood(part)) is not None:
                yield part, likelihood

    def _likelihood(self, part: str) -> float | None:
        """Return the logarithm of the word's frequency; None for an unknown word, or a short and rare one."""
        rank, count = ranks("en").get(part), self._counts[part]
        short = len(part) < _LEAST_CONTENT and part not in word_list("stop")
        seen = count >= (_OFTEN if short else _LEAST_SEEN) and part.isalpha()
        if not seen and (rank is None or (short and rank > _COMMON)):
            return None
        general = 1 / (rank * math.log(len(ranks("en")))) if rank else 0.0
        return math.log((general + count / self._total) / 2)


def _is_phrase(parts: Sequence[str]) -> bool:
    """Return whether a function word or a number distinguishes the parts from those of a compound."""
    content = [part for part in parts if part not in word_list("stop") and not part.isdigit()]
    if len(parts) == 3:
        return sum(len(part) >= _LEAST_CONTENT for part in content) == 2
    return len(parts) > 3 and 0 < len(content) < len(parts)


def _halves(lines: Sequence[Line]) -> Counter[str]:
    """Return the chunks at line ends that are only a part of a word, with their counts."""
    halves = Counter[str]()
    for line, below in pairwise(lines):
        if line.hyphenated or line.text.endswith("-"):
            halves.update((line.text.lower().split()[-1], below.text.lower().split()[0]))
    return halves
