"""Interprets questions about an overdose: what was taken, whether an amount is toxic, and what reverses it."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from tools.drug_database.names.aliases import aliases, is_known_word
from tools.drug_database.records.shipped_data import shipped_json
from tools.language.figures import COUNTS, rates, with_decimal_points
from tools.language.measurement_units import UNITS, fold_figures, units_of
from tools.language.word_lists import word_list

_WORDS: Final[dict[str, list[str]]] = shipped_json("overdosage_words.json")
_DOSE: Final = re.compile(
    r"\bdos(?:e|ing|age|is)|[\w-](?<!über|obre)(?<!ueber)dosis|\bhow (?:much|many)|\bwie ?viel|\bcuánt", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"[,;:?!()]|(?<!\b\w\.\w)(?<!\b\w\. \w)\.(?!\d|(?<=\b\w\.)(?:\w\b| \w\.))")
"""A mark between clauses; the full stops of "i.m." and "z. B." are none."""


def _any(*kinds: str) -> str:
    return f"(?:{'|'.join(word for kind in kinds for word in _WORDS[kind])})"


def _with_words_around(event: str) -> re.Pattern[str]:
    """Return a pattern for ``event`` with the words around it that may name what was taken."""
    after = r"(?: +(of|from|with|by|von|durch|mit|de|con|por) +((?:[\w/-]+ *){1,3}))?"
    return re.compile(rf"((?:[\w/-]+ +){{0,3}})([\w-]*?)-?{event}\w*{after}", re.IGNORECASE)


_OVERDOSE, _TOXICITY = _with_words_around(_any("overdose")), _with_words_around(_any("toxicity"))
_BESIDE: Final = frozenset({"with", "by", "durch", "mit", "con", "por"})
"""Words before what was taken. If that is already named, they are before its treatment."""
_TOPIC, _CARE, _ANTIDOTE = (re.compile(rf"\b{_any(kind)}", re.IGNORECASE) for kind in ("topic", "care", "antidote"))
_TOXIC, _LEVEL = (re.compile(_any(kind), re.IGNORECASE) for kind in ("toxic", "level"))
_REVERSES: Final = re.compile(rf"\b{_any('reverses')}\b(.*)", re.IGNORECASE)
_SPEAKS: Final = re.compile(_any("overdose", "ingestion", "toxicity", "toxic", "antidote", "reverses"), re.IGNORECASE)
_TAKEN, _COUNT, _USUAL, _MULTIPLE, _TREATS, _EVENT, _ALLERGIC = (
    re.compile(rf"(?<!\w){_any(*kinds)}", re.IGNORECASE)
    for kinds in (("taken",), ("count",), ("usual",), ("multiple",), ("treats",), ("taken", "given"), ("allergic",))
)
_LEAVES, _PATIENT, _ADDS = (
    re.compile(rf"(?<!\w){_any(kind)}\b", re.IGNORECASE) for kind in ("leaves", "patient", "adds")
)
_ASKS: Final = re.compile(_any("asks"), re.IGNORECASE)
_GENERAL: Final = re.compile(rf"(?<!\w){_any('general')}", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"(?<!\w)(?:s?he|him|her|his|they|them|(?-i:er)|sie|ihm|ihr|ihn|él|ella)\b", re.IGNORECASE)
_COUNTED: Final = re.compile(
    rf"(?<![\w.,/-])(?:\d+|{'|'.join(COUNTS)}) ?(?:x |× )?(?P<name>[^\W\d_][\w-]{{3,}})", re.IGNORECASE
)
_SEVERAL: Final = re.compile(
    rf"\b(?:{'|'.join(COUNTS.keys() - {'zero', 'one', 'once', 'twice', 'thrice'})})\b", re.IGNORECASE
)
_ONE: Final = re.compile(r"(?:0*1|one|zero|once|twice|thrice)\b", re.IGNORECASE)
"""Numbers that are no count of several tablets."""
_PART: Final = re.compile(rf"[,;:?!()\n]|\.(?!\d)|\b{_any('joins')}\b|(?={_EVENT.pattern}\w* +\w)", re.IGNORECASE)
_ONCE_DAILY: Final = re.compile(
    r"(?:(?P<name>[^\W\d_]{3,}) )?(?<![\d.,])(?P<number>\d+(?:[.,]\d+)*) ?"
    rf"(?:(?P<unit>{units_of('mass', 'volume', 'activity')}) ?)?(?P<od>od)\b(?!['’])",
    re.IGNORECASE,
)
"""An amount, or a name and a number, and "od"."""
_MOST_AT_ONCE: Final = {"mass": 1000.0, "activity": 100.0}
"""Amounts, in mg and units, from which "od" behind one may tell of an overdose."""
_SHORT: Final = 2
"""Words of a question that goes on with the one before, whatever it is about."""


def speaks_of_overdose(text: str) -> bool:
    """Return whether ``text`` is about an overdose, something toxic, or an antidote."""
    return _SPEAKS.search(text) is not None


def may_be_one_dose(number: float, unit: str = "mg") -> bool:
    """Return whether an amount is small enough for "od" behind it to be "once daily" rather than an overdose."""
    kind, factor = UNITS.get(unit.lower(), ("", 1.0))
    return number * factor < _MOST_AT_ONCE.get(kind, math.inf)


def states_od(text: str) -> bool:
    """Return whether "od" follows an amount in ``text``: a frequency or an overdose."""
    return any(found["unit"] or _follows_name(found) for found in _ONCE_DAILY.finditer(text))


def tells_of_taking(text: str) -> bool:
    """Return whether ``text`` says that something was taken, or how many tablets."""
    text = _with_frequencies(text)
    return any(told.search(text) for told in (_TAKEN, _COUNT))


def tells_of_allergy(text: str) -> bool:
    """Return whether ``text`` names a sign of a severe allergic reaction."""
    return _ALLERGIC.search(text) is not None


def leaves_exposure(text: str) -> bool:
    """Return whether ``text`` says that it is about another patient or topic than the question before."""
    return _LEAVES.search(text) is not None


def adds_to_exposure(text: str) -> bool:
    """Return whether ``text``, which names a further medicine, is about the same patient as the exposure before it.

    A question about an indication ("metformin in type 2 diabetes") is not, unless it says that it was taken. A usual
    regimen is not, unless it says so too, or that it is a further one ("also").
    """
    if leaves_exposure(text):
        return False
    if _TAKEN.search(_with_frequencies(text)):
        return True
    if _ASKS.search(text) and _GENERAL.search(text) and not (_PRONOUN.search(text) or speaks_of_overdose(text)):
        return False
    if _ADDS.search(text):
        return True
    same_patient = any(told.search(text) for told in (_COUNT, _PATIENT, _TREATS)) or len(text.split()) <= _SHORT
    return same_patient and not rates(text)


class ExposureClauses(NamedTuple):
    """The clauses of a text on an exposure, by their subject."""

    taken: tuple[str, ...]
    """What was taken or given."""
    usual: tuple[str, ...]
    """Usual medicines."""
    treats: tuple[str, ...]
    """Treatments."""
    other: tuple[str, ...]


def exposure_clauses(text: str) -> ExposureClauses:
    """Return the clauses of ``text`` by their subject: in "on warfarin, took 8 aspirin" warfarin is usual.

    A multiple of a usual dose ("on three times her lithium") is not usual.
    """
    parts: dict[str, list[str]] = {name: [] for name in ExposureClauses._fields}
    for part in _PART.split(_with_frequencies(with_decimal_points(text))):
        parts[_kind_of(part)].append(part)
    return ExposureClauses(**{name: tuple(told) for name, told in parts.items()})


def _kind_of(part: str) -> str:
    if _EVENT.search(part):
        return "taken"
    if _TREATS.search(part):
        return "treats"
    return "usual" if _USUAL.search(part) and not _MULTIPLE.search(part) else "other"


def counts_tablets(part: str) -> bool:
    """Return whether ``part`` states a number of tablets, capsules or packs."""
    return _COUNT.search(_SEVERAL.sub("2", part)) is not None


def counted_words(part: str) -> list[str]:
    """Return the words behind a number above one, each of which may name a medicine: "20 paracetamol daily"."""
    return [found["name"] for found in _COUNTED.finditer(part) if not _ONE.match(found[0])]


def asks_antidote(question: str) -> bool:
    """Return whether ``question`` asks for an antidote or a reversal."""
    return any(asks.search(question) for asks in (_ANTIDOTE, _REVERSES))


def dose_clauses(question: str) -> Iterable[str]:
    """Yield the clauses of ``question`` that ask for a dose."""
    return filter(_DOSE.search, _CLAUSE.split(question))


def told_of_overdose(question: str) -> str:
    """Return the words of ``question`` that may name what was taken in an overdose; empty if there is none."""
    return _told(_OVERDOSE, question)


def told_beside_dose(question: str) -> str:
    """Return the result of ``told_of_overdose``, or, if it is empty, the clauses that do not ask for a dose."""
    others = (clause.strip() for clause in _CLAUSE.split(question) if not _DOSE.search(clause))
    return told_of_overdose(question) or " ".join(filter(None, others))


def asked_of_overdose(question: str) -> str:
    """Return the words that may name a medicine whose overdose, toxic dose or antidote ``question`` asks about."""
    return " ".join(filter(None, map(_asked_in, _CLAUSE.split(question))))


def _asked_in(clause: str) -> str:
    if reverses := _REVERSES.search(clause):
        return reverses[1]
    asks_amount = _DOSE.search(clause) or _LEVEL.search(clause)
    if _ANTIDOTE.search(clause) or (asks_amount and _TOXIC.search(clause)):
        return clause
    toxicity = _told(_TOXICITY, clause) if asks_amount or _CARE.search(clause) else ""
    return "" if _TOPIC.search(clause) else told_of_overdose(clause) or toxicity


def _with_frequencies(text: str) -> str:
    """Return ``text`` with "qd", the same frequency, for an "od" behind an amount that may be a usual dose."""
    return _ONCE_DAILY.sub(_with_frequency, text)


def _with_frequency(found: re.Match[str]) -> str:
    number = float(fold_figures(found["number"]).replace(",", "."))
    prescribed = found["unit"] or _follows_name(found)
    is_frequency = prescribed and may_be_one_dose(number, found["unit"] or "mg")
    return f"{found[0].removesuffix(found['od'])}qd" if is_frequency else found[0]


def _follows_name(found: re.Match[str]) -> bool:
    """Return whether a number and "od" are the strength and frequency of a medicine, not an age as in "17 OD on"."""
    on = found.string.startswith((" on ", " of "), found.end())
    return bool(found["name"]) and not on and _names([found["name"]])


def _told(event: re.Pattern[str], text: str) -> str:
    """Return the words around each ``event`` in ``text``, without a treatment named after what was taken."""
    found: list[str] = []
    for before, compound, joint, after in event.findall(text):
        own = [*reversed(_to_stop_word(reversed(_DOSE.split(before)[-1].split()))), *filter(None, [compound])]
        if event is _TOXICITY and (compound.endswith("o") or (own and not compound and _is_organ(own))):
            own = []
        if not (joint.lower() in _BESIDE and (compound or _names(own))):
            own += _to_stop_word(after.split())
        found += own
    return " ".join(found)


def _to_stop_word(words: Iterable[str]) -> list[str]:
    return [*takewhile(lambda word: word.lower() not in word_list("stop"), words)]


def _names(words: Sequence[str]) -> bool:
    """Return whether ``words`` name a class, or include an unknown word, which may be the name of a medicine."""
    named = aliases().drug_class(" ".join(words))
    return named is not None or not all(is_known_word(word.lower()) for word in words)


def _is_organ(words: Sequence[str]) -> bool:
    """Return whether the last of ``words`` is not a name although the others are, as in "amiodarone pulmonary"."""
    return not _names(words[-1:]) and _names(words[:-1])
