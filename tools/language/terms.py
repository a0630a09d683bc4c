"""Makes the terms under which words are indexed and their weights, and cleans extracted text."""

import math
import re
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

from tools.language.word_lists import word_entries, word_list

Weight = Callable[[str], float]
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\x00-\x08\x0e-\x1f]")
_LIGATURE = re.compile("[\ufb00-\ufb06]")
"""Ligatures of Latin letters, such as \ufb01."""
_UNCLEAN = re.compile("[\ufb00-\ufb06\u200b\u200c\u200d\u2060\ufeff\x00-\x08\x0e-\x1f]|[^\\S ]|  ")
"""Characters that ``clean`` changes, except spaces at the ends."""
_TOKEN = re.compile(r"[^\W_]+")
_STAGED = re.compile(r"([a-z]{3,})(\d[a-c]?)")
"""An abbreviation with a stage after it, such as ``ckd3b``."""
_PREFIXED = re.compile(r"\b(ante|anti|hyper|hypo|inter|intra|multi|peri|post|pre|sub)-([a-z]{3,})")
"""A word with a prefix that is also written without a hyphen, such as ``pre-eclampsia``."""
_AFTER_LETTER = re.compile(r"\d(?<=[a-z]\d)")
_FORM_OF = {form: family for family, forms in word_entries("word_forms").items() for form in forms.split()}
_SPELLINGS = tuple((re.compile(british), american) for british, american in word_entries("british_spellings").items())
_BRITISH = re.compile("|".join(f"(?:{british.pattern})" for british, _ in _SPELLINGS))
_stemmers = threading.local()
"""The stemmers of each thread, since a stemmer has state while it works."""


def clean(text: str) -> str:
    """Return one line: ligatures spelt out, invisible characters dropped, white space collapsed."""
    if (text.isascii() and text.isprintable() and "  " not in text) or not _UNCLEAN.search(text):
        return text.strip(" ")
    spelt = _LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return " ".join(_INVISIBLE.sub("", spelt).split())


def terms(text: str) -> list[str]:
    """Return the stemmed terms of ``text`` in order, without stop words, for indexing and searching."""
    normal = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    if "-" in normal:
        normal = _PREFIXED.sub(r"\1\2 \2", normal)
    stop = word_list("stop")
    tokens = [token for token in _TOKEN.findall(normal) if token not in stop]
    if _AFTER_LETTER.search(normal):
        tokens = [part for token in tokens for part in _parts(token)]
    if not _eponyms().keys().isdisjoint(tokens):
        tokens = _with_eponyms(tokens)
    return list(map(term, tokens))


def _parts(token: str) -> Sequence[str]:
    """Split ``token`` into a well-known abbreviation and its stage; return any other token whole."""
    staged = None if token.isalpha() else _STAGED.fullmatch(token)
    return staged.groups() if staged and staged[1] in _known_abbreviations() else (token,)


@cache
def _known_abbreviations() -> frozenset[str]:
    return frozenset(map(str.lower, word_entries("clinical_abbreviations")))


def _with_eponyms(tokens: Sequence[str]) -> list[str]:
    """Put one term in place of the first word of an eponym: ``child pugh`` becomes ``childpugh pugh``.

    The term is the same whatever word follows: ``child c`` becomes ``childpugh c``.
    """
    names = _eponyms()
    return [
        f"{token}{names[token][0]}" if after in names.get(token, ()) else token
        for token, after in pairwise((*tokens, ""))
    ]


@cache
def _eponyms() -> dict[str, tuple[str, ...]]:
    """Return the ordinary words that begin an eponym, each with the words that may follow, the usual one first."""
    return {name: tuple(words.split()) for name, words in word_entries("eponyms").items()}


def weight_of(counts: Mapping[str, int], passages: int) -> Weight:
    """Return the BM25 weight function of terms that occur in ``counts[term]`` of ``passages`` passages."""

    def weight(term: str) -> float:
        count = counts.get(term, 0)
        return math.log(1 + (passages - count + 0.5) / (count + 0.5))

    return weight


@lru_cache(maxsize=200_000)
def term(token: str) -> str:
    """Return the term of one lower-case word."""
    return stem(usual_form(token))


@lru_cache(maxsize=200_000)
def usual_form(word: str) -> str:
    """Return the common form of a lower-case word and of other words with its meaning.

    British spellings become American ones ("anaemia"), and Greek and Latin adjectives and other word families that the
    stemmer does not join become one word ("renal" and "kidney").
    """
    for british, american in _SPELLINGS if _BRITISH.search(word) else ():
        word = british.sub(american, word)
    return _FORM_OF.get(word, word)


@lru_cache(maxsize=200_000)
def stem(word: str, language: str = "english") -> str:
    """Return the Snowball stem of a lower-case word; ``language`` is Snowball's name of a language."""
    stemmers = _stemmers.__dict__
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    return str(stemmers[language].stemWord(word))
