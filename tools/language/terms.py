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
_TOKEN = re.compile(r"[^\W_]+")
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


def terms(text: str) -> list[str]:
    """The stemmed terms of ``text`` in order, stop words left out: what is indexed and what is searched for."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return [_stem(token) for token in _TOKEN.findall(folded) if token not in _STOP]


@lru_cache(maxsize=200_000)
def _stem(token: str) -> str:
    return str(_STEMMER.stemWord(usual_form(token)))
