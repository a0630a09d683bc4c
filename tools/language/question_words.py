"""Question words that carry intent but no topic; an answer need not contain them."""

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final

from tools.language.folding import without_accents
from tools.language.measurement_units import UNITS
from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.terms import Weight, terms
from tools.language.vocabulary.common_words import EVERYDAY, ranks, rareness
from tools.language.vocabulary.text_language import language_of, with_spanish_and
from tools.language.word_lists import word_list

ASKING: Final = frozenset(term for word in word_list("asking") for term in terms(word))
"""Terms that carry intent and no topic."""
_FIRST_LINE = ("first", "line")
""""First line" carries intent, too: most recommendations do not say it, and many say it of another treatment."""
_FIRST_LINE_SHARE = 0.3
"""Part of their weight that these two keep. With all of it, the first-line drugs of any disease rank before the drugs
of the right disease; with none, the sentences that do say "first line" are missed."""
_BARE = "|".join(
    rf"(?:{words.replace(' ', '|')}){end}"
    for words, end in (
        ("is are was were do does did has have had ca could would should wo must need", "nt"),
        ("he she that what where when who how here there", "s"), ("i you we they could should would", "ve"),
        ("you they", "(?:re|ll|d)"),
    )
)  # fmt: skip
_CONTRACTION = re.compile(
    rf"\w+n['’]t\b|(?<=\w)['’](?:s|d|m|re|ve|ll)\b|(?-i:(?![A-Z]{{2}}))\b(?:{_BARE})\b", re.IGNORECASE
)
"""Negated verbs and verbs after an apostrophe, which are left out because their parts would look like words.

Without an apostrophe, capitals are an abbreviation: HES is a disease.
"""
_OF_UNIT = f"[dL{''.join(sorted(unit for unit in UNITS if len(unit) == 1 and unit.isalpha()))}]"
_LETTERS = re.compile(
    r"\b[^\W\d_]\.(?:[^\W\d_]\b\.?)+|\b[^\W\d_]\.(?: [^\W\d_]\.)+"
    rf"|(?<=\d ){_OF_UNIT}\b(?:/{_OF_UNIT}\b)?|(?<=[^\W\d_]{{2}}/){_OF_UNIT}\b"
)
"""Letters of an abbreviation with full stops ("i.v.") or a unit ("2 h"): no words, though table cells may have them."""
_FUNCTION_WORDS = 300
"""Number of the most frequent German or Spanish words, which are only searched for by their translation."""

PERIOD: Final = (
    r"(?:min(?:ute)?s?|minuten?|minutos|hours?|hrs?|stunden?|std|horas|days?|nights?|tagen?|d[íi]as|weeks?"
    r"|wks?|wochen?|semanas|months?|monaten?|meses|years?|yrs?|jahren?|a[ñn]os)\b"
)
"""A unit of time in the three languages."""
_OF_TIME = rf"(?: \w+)? {PERIOD}"
HOW_LONG: Final = (
    r"\b(?:how (?:often|frequent\w*|long|soon|fast|quick\w*)|wie (?:oft|häufig|lang\w*|bald|schnell|rasch)"
    r"|(?:cada )?cu[áa]ntas? veces|cada cu[áa]nto|cu[áa]nto tiempo|con qu[ée] frecuencia"
    rf"|(?:how many|wie ?vielen?|cu[áa]nt[oa]s){_OF_TIME})\b"
)
"""Asks for a time."""
HOW_MUCH: Final = (
    rf"\b(?:how (?:much|many(?!{_OF_TIME})|high|low|big|large|small|old)"
    rf"|wie(?: ?vielen?(?!{_OF_TIME})| ?viel| (?:hoch|niedrig|tief|gro(?:ß|ss)|klein|alt))"
    rf"|cu[áa]nt[oa]s?(?!{_OF_TIME}))\b"
)
"""Asks for a figure."""
_INTERROGATIVE = re.compile(f"{HOW_LONG}|{HOW_MUCH}", re.IGNORECASE)
"""Tells what kind of answer is asked for, and nothing of its subject: "how long" is no "long-acting"."""

ASKS_FOR_MEDICINE: Final = re.compile(
    r"\b(?:drugs?|medic(?:ine|ation)s?|meds|agents?|tablets?|pills?|antibio\w+|abx|therapy|anti\w+s)\b"
    r"|\bfirst[- ](?:line|choice)\b|\btreat|\b(?:to|i|we) (?:give|use|start|add|prescribe)\b|\bmedikament"
    r"|\bbehand|\btherapie|\barznei|\btratam|\btratar|\bmedicament|\bf[áa]rmaco",
    re.IGNORECASE,
)
"""A question for a medicine, or for what to do."""


def disease_in(question: str) -> str:
    """Return ``question`` without the words that ask for a medicine, which leaves the disease."""
    return re.sub(rf"\w*(?:{ASKS_FOR_MEDICINE.pattern})\w*", " ", question, flags=re.IGNORECASE)


def asked_terms(question: str, expansion: QueryExpansion) -> tuple[str, ...]:
    """Return the terms of ``question`` in order, without interrogatives and function words of its language.

    Some of these words, such as the German ``die`` and ``man``, are English words with a meaning.
    """
    left_out = _frequent(expansion, _FUNCTION_WORDS)
    plain = _INTERROGATIVE.sub(" ", with_spanish_and(question, " "))
    words = re.findall(r"[^\W_]+", _LETTERS.sub(" ", _CONTRACTION.sub(" ", plain)))
    return tuple(terms(" ".join(word for word in words if without_accents(word) not in left_out)))


def _frequent(expansion: QueryExpansion, most: int) -> frozenset[str]:
    """Return the most frequent words of the question's language without those that have a translation."""
    if expansion.language == "en":
        return frozenset()
    known = {word for one in expansion.expansions for word in one.asked.split()}
    return frozenset(map(without_accents, islice(ranks(expansion.language), most))) - known


def telling(question: Sequence[str], passages: Sequence[Sequence[str]], expansion: QueryExpansion) -> list[str]:
    """Return the question's terms without "first-line", and without question words that no passage has."""
    held = {term for passage in passages for term in passage}
    asking = ASKING.union(terms(" ".join(_frequent(expansion, EVERYDAY))))
    asking = asking.union(*(terms(one.asked) for one in expansion.expansions if _only_asks(one)))
    first_line = _first_line(question)
    return [
        term for term in question if term not in first_line and (term in held or without_accents(term) not in asking)
    ]


def _only_asks(word: Expansion) -> bool:
    """Return whether the translation of a word has only question words, as "guideline" for "Leitlinie"."""
    meant = terms(" ".join(word.same))
    return bool(meant) and ASKING.issuperset(meant)


def term_rareness(question: str) -> dict[str, float]:
    """Return for each term of ``question`` how rare its word is in ordinary language, 0 to 1.

    Everyday words are rare in clinical texts, so counts of the library itself would give them too much weight. So are
    their plurals, and genitives without an apostrophe: "yesterdays".
    """
    words = re.findall(r"[^\W_]+", question.lower())
    listed = (word if rareness(word) < 1 else word.removesuffix("s") for word in words)
    return {term: rareness(known) for word, known in zip(words, listed, strict=True) for term in terms(word)}


def everyday_terms(question: str) -> frozenset[str]:
    """Return the terms of ``question`` whose words are among the most frequent of its language."""
    known = ranks(language_of(question))
    everyday = (word for word in re.findall(r"[^\W_]+", question.lower()) if word in known)
    return frozenset(term for word in everyday if known[word] <= EVERYDAY for term in terms(word.casefold()))


def for_ranking(weight: Weight, question: Sequence[str]) -> Weight:
    """Return ``weight`` with a lower weight for "first-line"."""
    first_line = _first_line(question)
    return lambda term: weight(term) * (_FIRST_LINE_SHARE if term in first_line else 1.0)


def _first_line(question: Sequence[str]) -> frozenset[str]:
    return frozenset(_FIRST_LINE) if _FIRST_LINE in pairwise(question) else frozenset()
