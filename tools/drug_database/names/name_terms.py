"""The words that text search compares: stems and character 3-grams."""

from collections.abc import Iterable, Iterator
from typing import Final

from tools.language.folding import fold_name
from tools.language.stemming import stem
from tools.language.word_lists import word_list

_LONGEST: Final = 60_000
"""Bytes; Milvus counts a string's length in bytes and takes 65,535."""


def stems(texts: Iterable[str]) -> str:
    """Return the stems of all words that carry meaning, each once, at most 60,000 bytes."""
    stop = word_list("stop")
    return _cut(" ".join(dict.fromkeys(stem(word) for word in _words(texts) if word not in stop)))


def word_grams(word: str) -> Iterator[str]:
    """Yield the 3-grams of ``0word0``; the zeros mark its ends and do not split a token."""
    marked = f"0{word}0"
    for start in range(max(1, len(marked) - 2)):
        yield marked[start : start + 3]


def grams(names: Iterable[str]) -> str:
    """Return the 3-grams of every word of the names, each word once, at most 60,000 bytes."""
    return _cut(" ".join(gram for word in _words(names) for gram in word_grams(word)))


def _words(texts: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(word for text in texts for word in fold_name(text).split())


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= _LONGEST:
        return text
    return raw[:_LONGEST].decode(errors="ignore").rpartition(" ")[0]
