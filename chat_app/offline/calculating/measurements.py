"""Reads measured values from ordinary words: writes shorthand out, and finds numbers beside names and units."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from chat_app.offline.calculating.prescribed_doses import with_rates
from chat_app.offline.calculating.relatives import without_relatives
from chat_app.offline.wire.errors import Json
from tools.language.figures import DECIMAL, placed_figures, placed_rates, with_decimal_points
from tools.language.folding import fold_phrase
from tools.language.measurement_units import UNITS, any_spelling, spellings, units_of
from tools.language.named_lists import any_of
from tools.language.vocabulary.clinical_vocabulary import FOREIGN_LANGUAGES
from tools.language.vocabulary.common_words import is_function_word
from tools.language.vocabulary.unmarked_ages import unmarked_ages
from tools.language.word_lists import word_list

_FEET: Final = re.compile(r"\b(\d) ?(?:ft|feet|foot|')(?: ?(\d{1,2})(?: ?(?:in|inch|inches|\"|'')(?!\w))?)?")
_METRES: Final = re.compile(r"\b([12])m(\d\d)\b")
"""``1m76``."""
_INCHES: Final = re.compile(r"(?<=\d) ?\"")
_PRESSURE: Final = re.compile(r"(?<![\d./])(\d{2,3}) ?/ ?(\d{2,3})(?: ?mm ?hg)?(?![\d/]|\.\d| ?m[cg])")
_SIDE: Final = re.compile(
    r"\b(?:(?P<high>syst?(?:oli(?:c|sch\w*))?)|diast(?:oli(?:c|sch\w*))?)(?:\b|(?=bp))\.?"
    r"(?: ?(?:blood pressure|pressure|blutdruck|bp)\b)?"
)
"""The name of one of both pressures, also cut short."""
_SEX: Final = "female|male|woman|man|lady|gentleman|frau|mann|weiblich|männlich"
PERSON: Final = re.compile(rf"{_SEX}|patient(?:in|en|innen|s)?|person|adult|years?|old|formerly")
"""A word for the patient, which is not a topic."""
_RESULT: Final = ("score", "value", "wert")
_SEX_SIGNS: Final = str.maketrans({"♀": " female ", "♂": " male "})
_SEX_LETTER_AND_AGE: Final = r"(?<!\d )\b([mfw])[ /]?(1[89]|[2-9]\d)"
"""``M72`` or ``F/79``."""
_AGE_AND_SEX: Final = re.compile(rf"(?<![\d.])(\d{{2,3}})[ /-]?(?=(?:m|f|w|{_SEX})(?:\b|,))(?!m/)")
_TIMES_AMOUNT: Final = re.compile(rf"(?<![\w.])(\d) ?[x×] ?({DECIMAL} ?(?:mg|µg)(?![\w/]))")
"""``2x150 mg``: an amount after its number per day."""
_SEX_AND_AGE: Final = rf"\b({_SEX}|patientin),? (?:(?:aged|of|von|im alter von) )?(\d{{2,3}})"
_AFTER_AGE: Final = r"(?=[,.;)]|$| (?:and|with|und|mit)\b"
_IS_AGED: Final = re.compile(
    r"\b((?:he|she|who|patient|er|sie)(?:['’]s| (?:is|was|ist|war)) \d{1,3})(?=[,.;?!]|$| and\b| und\b)"
)
_CORRECTING: Final = re.compile(
    r"\b(?:actually|really|in fact|tatsächlich|eigentlich|doch|en realidad) "
    rf"|(?:n['’]t|,? ?\b(?:not|nicht|instead of|rather than|statt)) {DECIMAL}(?: ?[a-zµ%/]+)?"
    r"(?: (?:but|sondern)(?= )|(?=[,.;!]|$))"
)
"""Words of a correction, and the value that it denies: "was actually 95", "not 60 but 90", "70 kg, not 60"."""
_YEARS_STATED: Final = re.compile(r"\d ?-?years?\b")
_YEARS: Final = r"(?:years|yrs|months|jahren?|monaten?)\b"
_STONE: Final = re.compile(
    r"\b(\d{1,2}) ?stones?\b(?: ?(\d{1,2})(?: ?(?:lbs?|pounds?)\b)?)?|\b(\d\d) st\b(?: ?(\d{1,2}) ?lbs?\b)?"
)
_FILLERS: Final = (
    r"(?:[ :=~+]|\b(?:is|of|was|at|level|now|about|around|approximately|with|a|the|measured|right|left|should be|ist"
    r"|war|sollte|von|bei|rechts|links)\b)*"
)
NUMBER: Final = rf"(?<![\w./]){DECIMAL}"
_BEFORE_SIDE: Final = re.compile(
    rf"(?<![\w./])(?<!age )(?<!aged )(\d{{2,3}}) ?(?:mm ?hg )?((?:sy|dia)stolic)\b"
    rf"(?!{_FILLERS}\d| (?:murmur|dys|func|fail|impair|heart|hf|hypert|click|ejection|anterior)\w*)"
)
_EJECTION_FRACTION: Final = re.compile(rf"(?:\b(?:lv)?ef|ejection fraction|ejektionsfraktion){_FILLERS}$")
"""Words before a number that is no pressure although "systolic" follows it."""
_LONG_UNIT: Final = any_spelling(one for one in UNITS if len(one) > 1 and one != "in")
_OTHER_UNIT: Final = re.compile(rf" ?-?(?:[a-zµ%]+/[a-z0-9]+|%|(?:{_LONG_UNIT})(?!\w|[ :=]*\d))")
"""A unit that the input does not take. ``in`` and single letters may be words, and ``hr`` in ``HR 90`` is a name."""
AFTER_OTHER: Final = re.compile(rf"{_OTHER_UNIT.pattern}| ?[a-z]\b")
_THEN: Final = re.compile(
    r",? ?\(?(?:[-–→>]+|\b(?:to|then|now|today|and now|or|bis|dann|jetzt|heute|und jetzt|oder)\b:?) ?"
    rf"(?P<number>{DECIMAL})"
)
"""A second value of the same input: ``1.1, now 2.3``, ``1.2-1.4``."""
_LATER: Final = re.compile(
    rf"[^\d,;]{{0,25}}[,;] ?(?P<number>{DECIMAL})"
    r"(?=(?: ?[a-zµ/%]+)? (?:today|now|currently|heute|jetzt|aktuell)\b)"
)
"""The same with the time behind it: ``0.9 last month, 1.6 today``."""
_BESIDE: Final = re.compile(rf" ?(?:[/&;]|\b(?:and|und|bzw\.?|respectively)(?!\w)) ?(?P<number>{DECIMAL})(?![\d/])")
"""The same without an order in time: ``1.2/1.4``. A number that is not similar is another input: ``Na/K 138/4.1``."""
_SIMILAR: Final = 5
"""Maximum ratio of two statements of one input in the same unit; 1.4 and 120 are in different units."""
_ANSWERED: Final = re.compile(r" ?\? ?(?=(?:yes|no|ja|nein)\b ?(?:[,;.)/]|$|[^ ]+ ?\?))")
"""The question mark of ``HTN? yes, DM? no``."""
_OTHER_KIND: Final = re.compile(
    r"\b(?:urine|urinary|ionised|ionized|direct|conjugated|ideal|target|goal|birth|baseline|previous|urin|ziel"
    r"|ausgangs|vorheriges|ionisiertes|direktes)[ -]$"
)
"""Words before the name of an input that make it another measurement, or an earlier one."""
_DURATION: Final = re.compile(
    rf"\b(?:for|since|past|last|over|within|seit|(?P<ago>vor)|after|nach)(?: the)? {DECIMAL} (?:{_YEARS})"
    rf"(?! ?-?(?:old|alt|woman|man|male|female|lady|patient|frau|mann|[mfw]\b))"
    rf"|{DECIMAL} (?:{_YEARS}) (?:(?P<since>ago|earlier|before|zuvor)|later|history|of(?! age)|später)\b"
)
_WEEKS_A_MONTH: Final = 4.35
_FORMERLY: Final = re.compile(
    r"\b(?:previously|in the past|before|ago|in der (?:anamnese|vorgeschichte)|anamnestisch|früher(?=[,.;?)]|$)"
    rf"|\(?(?:(?:in|im jahr|seit|since) )?(?:19|20)\d\d(?![.\d]| ?-?(?:{_LONG_UNIT})(?!\w))\)?)(?!\w)"
)
_PREVIOUS: Final = re.compile(
    r"\b(?:prior|past|former|earlier|history of|hx of|h/o|s/p|status post|(?:z|st)\. ?n\.|zn|zustand nach|früher\w*"
    r"|stattgehabte\w*|vorangegangene\w*)(?!\w)"
)
"""Words before a disease that the patient had; ``_FORMERLY`` has those after it."""
_TIME: Final = re.compile(rf" ?-?(?:{units_of('time', 'long time')})(?!\w)")


class Measured(NamedTuple):
    """A number of the text, its unit if one is written, and its position."""

    value: float
    unit: str | None
    start: int
    end: int
    is_other: bool = False
    """Whether it is another measurement of that name: in urine, a target, or an earlier one."""


def plain(text: str, measured: Sequence[str] = ()) -> str:
    """Return ``text`` folded, with clinical shorthand written out: decimal commas, feet, 110/70, 75 m, bid, s/p.

    Durations are left out, since they are not ages, and so are statements on relatives. A number after one of
    ``measured``, the names of measurements, is not an age either.
    """
    words = fold_phrase(text).translate(_SEX_SIGNS)
    words = _ANSWERED.sub(": ", words)
    words = _DURATION.sub(_in_weeks, _CORRECTING.sub("", with_decimal_points(words)))
    words = _PREVIOUS.sub("previous", _FORMERLY.sub("formerly", without_relatives(words)))
    words = with_rates(_TIMES_AMOUNT.sub(r"\2 \1 times a day", words))
    words = _STONE.sub(lambda found: f"{int(found[1] or found[3]) * 14 + int(found[2] or found[4] or 0)} lb", words)
    words = _METRES.sub(r"\1.\2 m", words)
    words = _FEET.sub(lambda found: f"{int(found[1]) * 12 + int(found[2] or 0)} in", words)
    words = _INCHES.sub(" in", words)
    name = re.compile(rf"(?:{any_of(measured)})[+\-−]?{_FILLERS}$") if measured else None
    words = _PRESSURE.sub(lambda found: found[0] if _is_of_other(found, name) else _pressure(found), words)
    words = _SIDE.sub(lambda found: "systolic" if found["high"] else "diastolic", words)
    others = [_EJECTION_FRACTION, *([name] if name else [])]
    words = _BEFORE_SIDE.sub(
        lambda found: (
            found[0]
            if any(other.search(words, 0, found.start()) for other in others)
            else f"{found[2]} {found[1]} mmhg"
        ),
        words,
    )
    words = _AGE_AND_SEX.sub(
        lambda found: found[0] if name and name.search(words, 0, found.start()) else f"{found[1]} years ", words
    )
    next_name = f"| (?:{any_of(measured)})" if measured else ""
    words = re.sub(f"{_SEX_AND_AGE}{_AFTER_AGE}{next_name})", r"\1 \2 years", words)
    if not _YEARS_STATED.search(words):
        words = re.sub(f"{_SEX_LETTER_AND_AGE}{_AFTER_AGE}{next_name})", r"\1 \2 years", words, count=1)
    words = _with_unmarked_age(_IS_AGED.sub(r"\1 years", words), measured)
    rates = placed_rates(words)
    for rate in reversed([one for one in rates if [other.start for other in rates].count(one.start) == 1]):
        # The count of "2/day" is before the rate.
        count = "" if words[rate.start] == "/" and words[: rate.start][-1:].isdigit() else f" {rate.value.daily:g}"
        words = f"{words[: rate.start]}{count} times a day{words[rate.end :]}"
    return " ".join(words.split())


def _in_weeks(duration: re.Match[str]) -> str:
    """Write the time since an event in weeks, which are no unit of an age; leave other durations out."""
    if not (duration["ago"] or duration["since"]):
        return " "
    figure = placed_figures(duration[0])[0].value
    return f" formerly {figure.value * UNITS[figure.unit][1] * _WEEKS_A_MONTH:.0f} weeks "


def _with_unmarked_age(words: str, measured: Sequence[str]) -> str:
    """Write "years" after a number that is an age by its place alone, if no other age is stated."""
    name = re.compile(rf"(?:{any_of(measured) or '(?!)'})\W*$")
    for _, (start, end) in unmarked_ages(words):
        if words[start:end].isdigit() and not _YEARS_STATED.search(words) and not name.search(words[:start]):
            return f"{words[:end]} years{words[end:]}"
    return words


def _is_of_other(pressure: re.Match[str], name: re.Pattern[str] | None) -> bool:
    """Return whether ``name``, of a measurement that is no blood pressure, is before the two numbers; "RR" may be."""
    found = name.search(pressure.string, 0, pressure.start()) if name else None
    return found is not None and not found[0].startswith(("sy", "sbp", "rr"))


def _pressure(found: re.Match[str]) -> str:
    high, low = int(found[1]), int(found[2])
    return f"systolic {high} mmhg diastolic {low} mmhg" if 300 >= high > low >= 20 else found[0]


def named_values(text: str, aliases: Sequence[str], units: Sequence[str]) -> list[Measured]:
    """Return each number beside one of ``aliases``: ``creatinine of 1.3 mg/dl``, or ``1.3 mg/dl creatinine``."""
    unit, name = rf"(?: ?-?{_any_unit(units)})", any_of(aliases) or "(?!)"
    found: list[Measured] = []
    for match in re.finditer(rf"(?:{name})[+\-−]?{_FILLERS}(?P<number>{NUMBER}){unit}?", text):
        if match["unit"] is None and _OTHER_UNIT.match(text, match.end()):
            continue
        found.append(_measured(match, units)._replace(is_other=bool(_OTHER_KIND.search(text[: match.start()]))))
        then = next(filter(None, (one.match(text, match.end()) for one in (_THEN, _LATER, _BESIDE))), None)
        if then is None:
            continue
        own = re.match(unit, text[then.end() :])
        second = Measured(float(then["number"]), own and _unit_of(own["unit"], units), then.start("number"), then.end())
        same_unit = not (own and found[-1].unit) or second.unit == found[-1].unit
        if then.re is _BESIDE and not (same_unit and is_similar(second.value, found[-1].value)):
            continue
        if own or not AFTER_OTHER.match(text, then.end()):
            found.append(second)
    before = re.search(rf"(?P<number>{NUMBER}){unit}(?: of| of the)? (?:{name})(?!{_FILLERS}\d)", text)
    return found or ([_measured(before, units)] if before else [])


def values_with_unit(text: str, units: Sequence[str]) -> list[Measured]:
    """Return every number before one of ``units``, and the lower one of a range."""
    low = rf"(?:(?P<low>{NUMBER}) ?(?:-|–|/|to|or|bis|oder|bzw\.?) ?|(?<![\w./]))"
    matches = list(re.finditer(rf"{low}(?P<number>{DECIMAL}) ?-?{_any_unit(units)}", text))
    found = [_measured(match, units) for match in matches]
    lower = [
        one._replace(value=float(match["low"]), start=match.start("low"), end=match.end("low"))
        for one, match in zip(found, matches, strict=True)
        if match["low"]
    ]
    return [*found, *lower]


def lone_value(text: str, units: Sequence[str]) -> Json | None:
    """Return the number, the unit or both that ``text`` states if it has no other topic."""
    found = re.search(rf"(?:(?P<number>{NUMBER}) ?-?|(?<![\w/]))(?:{_any_unit(units)})", text)
    found = found or re.search(rf"(?P<number>{NUMBER})(?P<unit>)(?!\w|{AFTER_OTHER.pattern})", text)
    if found is None or not all(map(_is_aside, re.findall(r"\w+", f"{text[: found.start()]} {text[found.end() :]}"))):
        return None
    number = {"value": float(found["number"])} if found["number"] else {}
    return {**number, "unit": _unit_of(found["unit"], units)}


def _is_aside(word: str) -> bool:
    return has_no_topic(word) or word.startswith(("unit", "einheit", "unidad"))


def is_time(text: str, at: int) -> bool:
    """Return whether a unit of time follows the number that ends ``at``."""
    return _TIME.match(text, at) is not None


def is_similar(one: float, other: float) -> bool:
    """Return whether both may be statements of one input in the same unit."""
    return max(one, other) <= _SIMILAR * min(one, other)


def is_quantity(schema: object) -> bool:
    """Return whether an input is a number with a unit."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and set(properties) == {"value", "unit"}


def has_no_topic(word: str) -> bool:
    """Return whether ``word`` is a function word, a unit, or a word for the patient or the result."""
    if word in word_list("stop") or word in UNITS or word in _RESULT or PERSON.fullmatch(word):
        return True
    return any(is_function_word(word, language) for language in FOREIGN_LANGUAGES)


def _any_unit(units: Sequence[str]) -> str:
    names = any_spelling(fold_phrase(one) for unit in units for one in spellings(unit)) or "(?!)"
    return rf"(?P<unit>{names})(?![\w/])"


def _measured(match: re.Match[str], units: Sequence[str]) -> Measured:
    end = match.end("unit" if match["unit"] else "number")
    return Measured(float(match["number"]), _unit_of(match["unit"], units), match.start("number"), end)


def _unit_of(written: str | None, units: Sequence[str]) -> str | None:
    return next((one for one in units if written in [fold_phrase(each) for each in spellings(one)]), None)
