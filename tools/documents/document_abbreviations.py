"""Finds the abbreviations that a document explains, so that a question in full words finds their passages.

Guidelines write "angiotensin converting enzyme inhibitors (ACEIs)" once and "ACEIs" from then on. The index has both
forms; the words that are shown and cited stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tools.language.terms import terms
from tools.language.word_lists import word_entries

_IN_BRACKETS = re.compile(r"\s\(([A-Z][A-Za-z0-9-]{1,7}?)s?\)")
_MOST_WORDS = 7
_REACH = 200
"""Characters before a bracket in which its words are looked for."""
_LAST_WORD = re.compile(r"[A-Za-z][\w-]*\Z")
_IN_A_NOTE = re.compile(r"(?:^|[;\n]\s?)([A-Z][A-Za-z0-9-]{1,7}?)s?, ([a-z][\w -]{4,60}?)(?=;|\.|\n|$)")
_LEAST_LETTERS = 3
"""Minimum number of letters of an abbreviation for a single word."""
_SMALL = frozenset({"a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"})


def find_abbreviations(texts: Iterable[str]) -> dict[str, str]:
    """Return each abbreviation with the full words that the texts explain it by most often, in lower case."""
    seen: Counter[tuple[str, str]] = Counter()
    for text in texts:
        for bracket in _IN_BRACKETS.finditer(text):
            full = _spelt(_words_before(text, bracket.start()), bracket[1])
            if full:
                seen[bracket[1], full] += 1
        for short, words in _IN_A_NOTE.findall(text):
            if _spelt(words.split(), short) == words.lower():
                seen[short, words.lower()] += 1
    found: dict[str, str] = {}
    for (short, full), _ in seen.most_common():
        found.setdefault(short, full)
    return found


def _words_before(text: str, end: int) -> list[str]:
    """Return the last words of ``text`` up to ``end``, back to the first sign between them."""
    # Searching backwards from the few brackets is faster than trying seven words from each letter of the text.
    words: list[str] = []
    for printed in reversed(text[max(0, end - _REACH) : end].split()[-_MOST_WORDS:]):
        word = _LAST_WORD.search(printed)
        if word is None:
            break
        words.insert(0, word[0])
        if word[0] != printed:
            break
    return words


def _spelt(words: Sequence[str], short: str) -> str:
    """Return the last words whose first letters spell ``short`` (small words may be left out), or nothing."""
    wanted = short.lower().replace("-", "")
    last = words[-1].lower() if words else ""
    if short.isupper() and _LEAST_LETTERS <= len(wanted) <= len(last) / 2 and _shortens(wanted, last):
        return last
    for count in range(1, len(words) + 1):
        tail = [word.lower() for word in words[-count:]]
        parts = [part for word in tail for part in word.split("-") if part]
        telling = [part for part in parts if part not in _SMALL]
        if tail[0] not in _SMALL and (_opens(wanted, parts) or _opens(wanted, telling)):
            return " ".join(tail)
    return ""


def _opens(wanted: str, parts: Sequence[str]) -> bool:
    """Return whether ``wanted`` is made of the first letters of all ``parts``: one of each or, as in PrEP, more."""
    if len(parts) < 2:
        return bool(parts) and parts[0].startswith(wanted) and len(wanted) == 1
    return any(
        parts[0].startswith(wanted[:size]) and _opens(wanted[size:], parts[1:])
        for size in range(1, len(wanted) - len(parts) + 2)
    )


def _shortens(wanted: str, word: str) -> bool:
    """Return whether ``word`` begins with the first letter of ``wanted`` and has the others in order: LEN, DTG."""
    rest = iter(word[1:])
    return word[0] == wanted[0] and all(letter in rest for letter in wanted[1:])


class Expander:
    """Adds to the terms of a passage the other form of each abbreviation in it."""

    def __init__(self, explained: dict[str, str]) -> None:
        """Index the abbreviations that a document explains, which override the common ones."""
        self._full: dict[str, list[str]] = {}
        self._short: dict[str, list[tuple[list[str], str]]] = {}
        for short, words in (word_entries("clinical_abbreviations") | explained).items():
            short_terms, full_terms = terms(short), terms(words)
            if len(short_terms) != 1 or not full_terms:
                continue
            self._full[short_terms[0]] = full_terms
            if len(full_terms) > 1:
                self._short.setdefault(full_terms[0], []).append((full_terms, short_terms[0]))

    def expand(self, found: list[str]) -> list[str]:
        """Add long forms to abbreviations and abbreviations to long forms."""
        expanded: list[str] = []
        at = 0
        while at < len(found):
            known = self._short.get(found[at], ())
            full, short = next((each for each in known if found[at : at + len(each[0])] == each[0]), ([], ""))
            expanded += [*full, short] if short else [found[at], *self._full.get(found[at], ())]
            at += len(full) or 1
        return expanded
