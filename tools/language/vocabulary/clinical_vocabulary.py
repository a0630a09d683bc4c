"""Looks up clinical English terms for German, Spanish and colloquial words, and meanings of abbreviations.

``clinical/README.md`` names the sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import starmap
from typing import Final, Literal, NamedTuple, get_args

from tools.language.folding import without_accents
from tools.language.longest_matches import longest_matches
from tools.language.terms import stem, term
from tools.language.vocabulary.common_words import LANGUAGES, ORDINARY, Language, is_ordinary, ranks
from tools.language.word_lists import word_entries

ForeignLanguage = Literal["de", "es"]
FOREIGN_LANGUAGES: Final[tuple[ForeignLanguage, ...]] = get_args(ForeignLanguage)
_STEMMERS: Final[dict[Language, str]] = {"en": "english", "de": "german", "es": "spanish"}
_LINKS: Final = ("", "s", "n", "en", "es", "er", "e")
"""Letters between the parts of a German compound."""
_EXACT: Final = "="
"""Prefix of the key of a word that is looked up as written, not by its stem."""
_SHORTEST_PART: Final = 4
_LONGEST_PHRASE: Final = 4
_SHORTEST_START: Final = 3
_MOST_MEANT: Final = 3
"""Maximum number of words that a shortened word may mean."""
_FINDING: Final = re.compile(
    r"\w{2,}(?:itis|osis|oses|a?emia|uria|algia|opathy|penia|rrh?o?ea|rrhagia|megaly|oma|mastia|iasis|plegia|paresis|phagia"
    r"|pno?ea|ectomy|otomy|ostomy|oscopy|plasty|trophy|(?:o?e)dema|spasm|sclerosis|stenosis|kinesia|tonia|opia|ptysis"
    r"|emesis|ism)s?"
)

_LOAN_VERB: Final = re.compile(r"(?P<infinitive>\w{4,}(?=en)|\w{2,}er(?=n))e?n|ge(?P<participle>\w{4,}?)e?t")
"""An infinitive or participle of a verb whose English form may end in ``e``: "screenen", "boostern", "gebridgt"."""


class Translation(NamedTuple):
    """The clinical English ``terms`` for the words from ``start`` to ``end`` of a question."""

    start: int
    end: int
    terms: tuple[str, ...]


def abbreviation_meanings(word: str) -> tuple[str, ...]:
    """Return the meanings of an abbreviation, typed in any case; empty for an unknown one."""
    return _abbreviations().get(word.casefold(), ())


def shortened(word: str) -> tuple[str, ...]:
    """Return the clinical words that begin with ``word``, such as ``comorb``; words of one stem count once.

    The result is empty for an English word, and if too many words begin so.
    """
    start = word.removesuffix("s")
    if len(start) < _SHORTEST_START or is_english(word):
        return ()
    found = {stem(full): full for full in sorted(english_words(), reverse=True) if full.startswith(start)}
    return tuple(sorted(found.values())) if len(found) <= _MOST_MEANT else ()


def begins_word(start: str) -> bool:
    """Return whether an English word, ordinary or clinical, begins with ``start``."""
    return start in _starts(len(start))


@cache
def _starts(length: int) -> frozenset[str]:
    return frozenset(word[:length] for word in (*english_words(), *ranks("en")))


def translations(words: Sequence[str], language: Language) -> Iterator[Translation]:
    """Yield the clinical English terms of the words and phrases in the vocabulary, from left to right."""

    def meant(start: int, end: int) -> tuple[str, ...] | None:
        found = _meant(words[start:end], language)
        is_german_word = language == "de" and end == start + 1
        return found or (_meant_in_german(words[start]) if is_german_word else ()) or None

    return starmap(Translation, longest_matches(len(words), _LONGEST_PHRASE, meant))


def _meant_in_german(word: str) -> tuple[str, ...]:
    return _meant_by_parts(word) or _english_verb(word)


def _meant_by_parts(word: str) -> tuple[str, ...]:
    return tuple(term for part in compound_parts(without_accents(word)) for term in _meant([part], "de"))


def _english_verb(word: str) -> tuple[str, ...]:
    """Return the English verb of which ``word`` is a German form, such as "gescreent"; empty if it is none.

    It does not make ``word`` a known one: some brands look like such forms.
    """
    form = None if word in ranks("de") else _LOAN_VERB.fullmatch(word)
    base = form and (form["infinitive"] or form["participle"])
    return next(((verb,) for verb in (base, f"{base}e") if is_english(verb)), ()) if base else ()


def is_known_word(word: str) -> bool:
    """Return whether ``word`` is an ordinary or clinical word of one of the languages, in any form."""
    return is_listed_word(word) or _is_of_german_words(without_accents(word))


def is_listed_word(word: str) -> bool:
    """Return whether ``word`` is a known word, and not only a form of another one or a compound of German words."""
    return (
        ends_sentences(word)
        or bool(abbreviation_meanings(word) or _meant_by_parts(word))
        or any(_meant([word], language) for language in LANGUAGES)
    )


def _is_of_german_words(word: str) -> bool:
    """Return whether ``word`` is a form of an ordinary German word, or a compound of ordinary and clinical ones."""
    return stem(word, _STEMMERS["de"]) in _german_words()[1] or _is_compound(word)


@lru_cache(maxsize=20_000)
def _is_compound(word: str) -> bool:
    words, _ = _german_words()
    firsts = (cut for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1) if word[:cut] in words)
    rests = (word[cut + len(link) :] for cut in firsts for link in _LINKS if word.startswith(link, cut))
    return any(len(rest) > _SHORTEST_PART and (rest in words or _is_compound(rest)) for rest in rests)


@cache
def _german_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the ordinary and the clinical German words, and their stems, both without short ones."""
    ordinary = (word for word, rank in ranks("de").items() if rank <= ORDINARY)
    words = frozenset(map(without_accents, (*ordinary, *(phrase for phrase, _ in entries("de.tsv")))))
    stems = (stem(word, _STEMMERS["de"]) for word in words)
    return (
        frozenset(word for word in words if len(word) >= _SHORTEST_PART),
        frozenset(form for form in stems if len(form) > _SHORTEST_PART),
    )


def is_finding(word: str) -> bool:
    """Return whether ``word``, in lower case, ends like a disease, symptom or operation, and like no medicine."""
    return _FINDING.fullmatch(word) is not None


def ends_sentences(word: str) -> bool:
    """Return whether ``word``, in lower case, is an ordinary or clinical word, and so not an abbreviation."""
    return is_ordinary(word) or not _english_stems().isdisjoint((stem(word), term(word)))


def is_english(word: str) -> bool:
    """Return whether ``word``, in lower case, is an ordinary or clinical English word, or the plural of one."""
    return word in ranks("en") or not english_words().isdisjoint((word, word.removesuffix("s")))


@cache
def english_words() -> frozenset[str]:
    """Return the English words of the vocabularies, in lower case."""
    clinical = [term for name in ("de", "es", "abbreviations") for _, terms in entries(f"{name}.tsv") for term in terms]
    return _words(clinical)


@cache
def _english_stems() -> frozenset[str]:
    forms = _words(f"{word} {others}" for word, others in word_entries("word_forms").items())
    return frozenset(map(stem, [*english_words(), *forms, *filter(is_ordinary, ranks("en"))]))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", " ".join(texts).lower()))


@lru_cache(maxsize=20_000)
def compound_parts(word: str) -> tuple[str, ...]:
    """Return the words of the vocabulary that make up a German compound; empty unless they cover the whole word.

    A compound that has an entry of its own is one word.
    """
    known = _vocabulary("de")
    if _key([word], "de") in known:
        return ()
    for cut in range(min(len(word) - _SHORTEST_PART, _longest_part()), _SHORTEST_PART - 1, -1):
        first, rest = word[:cut], word[cut:]
        if _key([first], "de") not in known:
            continue
        for link in _LINKS:
            if rest.startswith(link):
                last = rest[len(link) :]
                if more := (last,) if _key([last], "de") in known else compound_parts(last):
                    return (first, *more)
    return ()


@cache
def _longest_part() -> int:
    """Return the maximum length of a known part of a compound, with an ending."""
    return max(len(word) for phrase, _ in entries("de.tsv") for word in phrase.split()) + _SHORTEST_PART


def _meant(words: Sequence[str], language: Language) -> tuple[str, ...]:
    """Return the terms for one word or phrase.

    An English word counts as written and in the plural, but not by its stem, which "prevention" shares with
    "preventer", and "expected" with "expecting".
    """
    known, key = _vocabulary(language), _key(words, language)
    plural = known.get(key.removesuffix("s"), ()) if key.startswith(_EXACT) else ()
    return known.get(key, plural)


def _key(words: Sequence[str], language: Language) -> str:
    if language == "en" and len(words) == 1:
        return _EXACT + without_accents(words[0])
    return " ".join(stem(without_accents(word), _STEMMERS[language]) for word in words)


@cache
def _vocabulary(language: Language) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for phrase, terms in entries(f"{language}.tsv"):
        found.setdefault(_key(phrase.split(), language), {}).update(dict.fromkeys(terms))
    return {key: tuple(terms) for key, terms in found.items()}


@cache
def _abbreviations() -> Mapping[str, tuple[str, ...]]:
    return {abbreviation.casefold(): meanings for abbreviation, meanings in entries("abbreviations.tsv")}


def entries(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each word or phrase of a vocabulary file with its English terms."""
    text = (resources.files("tools.language.vocabulary") / "clinical" / name).read_text(encoding="utf-8")
    for line in text.splitlines():
        phrase, _, terms = line.partition("\t")
        yield phrase, tuple(term.strip() for term in terms.split(";"))
