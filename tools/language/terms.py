"""Words and sentences: mending of what extraction leaves, sentence bounds, and the terms that are indexed.

The words of a passage are the words of its page. Only what carries no meaning is changed: white space, ligatures,
soft hyphens, and hyphens at line ends.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

from tools.language.word_forms import usual_form

LINE_HYPHENS = "\x02\ufffe\u00ad"
"""What PDFium writes for a hyphen at a line end (it depends on its version), and the soft hyphen itself."""

BULLETS = "■●•▪◆◦‣►▸✓❏☐□"
"""Marks that stand before the items of a list and nowhere else."""

_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\x00-\x08\x0e-\x1f]")
_SPACE = re.compile(r"\s+")
_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
_UNCLEAN = re.compile("[\ufb00-\ufb06\u200b\u200c\u200d\u2060\ufeff\x00-\x08\x0e-\x1f]|[^\\S ]|  ")
"""What ``clean`` has to change in a text, but for spaces around it."""
_NOT_COMPARED = re.compile("[\\s\\-‐‑‒–—\u00ad\x02\ufffe\u200b\u2063\ufeff]+")
_TOKEN = re.compile(r"[^\W_]+")
_NOT_A_SENTENCE_END = frozenset(
    {
        "al",
        "approx",
        "ca",
        "cf",
        "chap",
        "dr",
        "ed",
        "eds",
        "e.g",
        "eg",
        "eq",
        "esp",
        "etc",
        "fig",
        "figs",
        "i.e",
        "ie",
        "incl",
        "jr",
        "max",
        "min",
        "mr",
        "mrs",
        "ms",
        "no",
        "nos",
        "p",
        "pp",
        "prof",
        "ref",
        "refs",
        "resp",
        "sec",
        "sr",
        "st",
        "suppl",
        "tab",
        "viz",
        "vol",
        "vs",
        "u.s",
        "u.k",
        "e.u",
        "m.d",
        "ph.d",
        "b.i.d",
        "t.i.d",
        "q.i.d",
        "a.m",
        "p.m",
    }
)
# A sentence ends at . ! ? (then closing quotes, brackets, superscript reference numbers) before white space and
# the beginning of another; reference numbers stick to the full stop in print: "sleep.59 BP has".
_SENTENCE_END = re.compile(r"""[.!?](?:["'”’)\]]*)(?:\d{1,3}(?:[,–-]\d{1,3})*)?(?=\s+["'“‘(\[]?[A-Z0-9≥≤<>•■–-])""")
_STOP = frozenset(
    {
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "for",
        "from",
        "further",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    }
)
_STEMMER = snowballstemmer.stemmer("english")


def clean(text: str) -> str:
    """One line of text: ligatures spelt out, invisible characters dropped, white space runs made one space."""
    if (text.isascii() and text.isprintable() and "  " not in text) or not _UNCLEAN.search(text):
        return text.strip(" ")
    return _SPACE.sub(" ", _INVISIBLE.sub("", text.translate(_LIGATURES))).strip()


def sentences(text: str) -> list[str]:
    """Splits one paragraph at its sentence bounds; joined by a space they give the paragraph again."""
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[match.start()] == "." and _is_abbreviation(text, match.start()):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _is_abbreviation(text: str, stop: int) -> bool:
    word = text[max(0, stop - 12) : stop].rsplit(" ", 1)[-1].lstrip("([\"'“‘").lower()
    initial = len(word) == 1 and text[stop - 1].isupper()
    return word in _NOT_A_SENTENCE_END or initial


def terms(text: str) -> list[str]:
    """The stemmed terms of ``text`` in order, stop words left out: what is indexed and what is searched for."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return [_stem(token) for token in _TOKEN.findall(folded) if token not in _STOP]


@lru_cache(maxsize=200_000)
def _stem(token: str) -> str:
    return str(_STEMMER.stemWord(usual_form(token)))


def comparable(text: str) -> str:
    """Letters, digits and signs alone, in lower case: equal for texts that differ in white space and hyphens only."""
    normal = unicodedata.normalize("NFKC", text).lower()
    return _NOT_COMPARED.sub("", normal)
