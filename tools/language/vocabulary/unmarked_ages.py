"""Finds a patient's age that is stated without "years": "confused, 88, on zolpidem", "in her 80s", "AF 66M"."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tools.language.vocabulary.common_words import LANGUAGES, is_function_word, is_ordinary

_DECADES: Final = {
    word: decade
    for decade, words in (
        (20, "twenties zwanzig"), (30, "thirties dreißig"), (40, "forties vierzig"), (50, "fifties fünfzig"),
        (60, "sixties sexagenarian sechzig"), (70, "seventies septuagenarian siebzig"),
        (80, "eighties octogenarian achtzig"), (90, "nineties nonagenarian neunzig"),
    ) for word in words.split()
}  # fmt: skip
_PARTS: Final = {"early": 2, "anfang": 2, "late": 8, "ende": 8}
"""Years after the start of a decade by the word for its part."""
_MIDDLE: Final = 5
_WORDS: Final = "|".join(_DECADES)
_DECADE: Final = re.compile(
    rf"\bin (?:her|his|their) (?:(?P<part>early|mid|late)[ -])?(?P<decade>[2-9]0['’]?s|{_WORDS})\b"
    rf"|\b(?P<start>anfang|mitte|ende) (?P<number>[2-9]0|{_WORDS})\b(?!\.? ?(?:\d|%|[a-zµ]+/|ssw|woche|jahre))"
    rf"|\b(?P<name>(?:{_WORDS})(?<=genarian))s?\b"
)
_ITEM: Final = re.compile(
    r"(?:^|[,;\n]|(?P<stop>\.)(?=\s)) *(?P<number>1[89]|[2-9]\d|10[0-5]) *"
    r"(?=[,;)?!\n]|\.?$|\.\s(?! *(?:ssw\b|\w*(?:tag|woche|monat|jahr))))"
)
"""A number of two or three digits, in the range of adults' ages, that is all of a part of the text."""
_NUMBER_BEFORE: Final = re.compile(r"\d\W*(?:(?:or|and|to|then|oder|und|dann|bis|bzw)\b\W*)?$")
_NUMBER_AFTER: Final = re.compile(r"\W*(?:(?:or|then|to|oder|dann|bis) )?\d+(?:\.\d+)?\W*(?:[,;)?]|$)")
_LAST_WORD: Final = re.compile(r"([^\W\d_]+)\W*$")
_FIRST_WORD: Final = re.compile(r"\W*([^\W\d_]+)")
_MEASURES: Final = re.compile(
    r"(?:bmi|\w*scores?|points|punkte|levels?|targets?|limit|max(?:im(?:um|al))?|\w*dos[eie]s?)"
)
_STEP: Final = 5
"""Usual strengths of tablets are multiples of this number."""
_WITH_SEX: Final = re.compile(
    r"(?<![\w.])(?<![x×*/–-])(?<![x×*] )(?P<number>1[89]|[2-9]\d|10[0-5])-?(?P<sex>[mf])\b(?![/²^]|\.\d)"
    r"(?!\W*(?:ago|apart|away|later|long|from|after|before|since|post|per|at|in|interval|follow|wait|delay|mark|review"
    r"|distance|walk|run|sprint|swim|lengths?|units?|(?:\w+ )?(?:cath\w*|drain|foley|tube|sheath|cannula|gauge))\b)"
)
"""An age with the letter of the sex; ``m`` is no unit of time or length, nor ``f`` one of temperature or gauge."""
_MEASURED: Final = re.compile(
    r"(?:(?:walk|swim|jog|run|cycl|climb|last|wait|manag|fast|tourniquet|clamp|nüchtern|blutleere)\w*|ran|swam|distance"
    r"|range|duration|cpr|downtime|rosc|reanimation|temp\w*|fever|pyrexia|size)"
)
"""Words before minutes, metres, degrees or a gauge."""
_TREATMENTS: Final = re.compile(
    r"(?:\w*(?:infusion|isch(?:a?e|ä)mi[ae]|arrest|stillstand|catheter|katheter|dialysis|dialyse|bypass|sheath|cannula"
    r"|an(?:a?e|ä)sthesi[ae]|narkose|thrombolysis|lyse)s?|foley|drain|tube)"
)
"""Words before a patient's age or, if the number is a round one, before minutes or a gauge."""
_NO_GAUGE: Final = range(35, 95)
"""Numbers above the gauges of catheters and below the temperatures of patients in degrees Fahrenheit."""
_MONTHS: Final = 6


class UnmarkedAge(NamedTuple):
    """An age in years and its position."""

    years: int
    span: tuple[int, int]


def unmarked_ages(folded: str) -> Iterator[UnmarkedAge]:
    """Yield the ages that a folded text states by a decade, or by a number that is all of a part of it."""
    for match in _DECADE.finditer(folded):
        decade = match["decade"] or match["number"] or match["name"]
        start = _DECADES.get(decade) or int(decade[:2])
        yield UnmarkedAge(start + _PARTS.get(match["part"] or match["start"] or "", _MIDDLE), match.span())
    for match in _ITEM.finditer(folded):
        if _is_age(folded, match):
            yield UnmarkedAge(int(match["number"]), match.span("number"))
    for match in _WITH_SEX.finditer(folded):
        if _has_sex(folded[: match.start()], int(match["number"]), match["sex"]):
            yield UnmarkedAge(int(match["number"]), match.span())


def _is_age(text: str, match: re.Match[str]) -> bool:
    """Return whether the number can be no dose, result or member of a list of numbers.

    A multiple of 5 may be a dose after a name, which is no ordinary word, after a sentence, or at the start of a reply.
    """
    before, after = text[: match.start()], text[match.end() :]
    last, first = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    if not (last or first) or _NUMBER_BEFORE.search(before) or _NUMBER_AFTER.match(after):
        return False
    if int(match["number"]) % _STEP:
        return not (last and _MEASURES.fullmatch(last[1]))
    if last is None:
        return first is not None and not any(is_function_word(first[1], language) for language in LANGUAGES)
    return match["stop"] is None and is_ordinary(last[1]) and not _MEASURES.fullmatch(last[1])


def _has_sex(before: str, number: int, sex: str) -> bool:
    """Return whether the letter after a number is a sex, by the word before it: "AF 66M", but "walks 50m", "in 30m".

    After an ordinary word or a treatment, a round number may be minutes, metres or months, and one out of the range a
    gauge.
    """
    last = _LAST_WORD.search(before)
    if last is None or not before.endswith((last[1], f"{last[1]} ")):
        return True
    is_round = not (number % _STEP and number % _MONTHS) if sex == "m" else number not in _NO_GAUGE
    return not (_MEASURED.fullmatch(last[1]) or (is_round and (is_ordinary(last[1]) or _TREATMENTS.fullmatch(last[1]))))
