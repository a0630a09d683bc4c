"""Recognizes groups of patients in questions and sources, in English, German and Spanish."""

import math
import re
from functools import lru_cache
from typing import Final, Literal

from tools.language.measurement_units import units_of
from tools.language.vocabulary.patient_values import patient_age

Population = Literal["children", "infants", "adolescents", "older patients", "pregnancy", "breastfeeding"]
_WEEKS: Final = (
    r"(?:(?<![^\s,;(])(?<![^,;(]\s)|(?<=\bat )(?<!born at )|(?<=\bshe is )|(?<=\bshe['’]s )|(?<=\bshes )"
    r"|(?<=\bshe was )|(?<=\bshe were )|(?<=\bwoman )|(?<=\bpatient )|(?<=\bsie ist )|(?<=\bmit ))"
    r"(?:[23]\d|4[0-2])(?:\+[0-6])? ?(?:wks?|weeks|wochen)\b"
    r"(?![ -](?:after|ago|alt|apart|bab\w+|boy|course|follow\w*|girl|infants?|into|later|nach|neonat\w+|of|old|on"
    r"|post\w*|sinc\w+|später|therapy|treat\w+|trial)\b)"
)
_GESTATION: Final = r"\b[1-4]?\d(?:\+[0-6])? ?/ ?40\b|\b[1-4]?\d(?:\+[0-6])?\.? ?ssw\b|\bssw ?[1-4]?\d(?:\+[0-6])?\b"
GESTATION: Final = re.compile(f"{_GESTATION}|{_WEEKS}", re.IGNORECASE)
"""Weeks of a pregnancy in a question: "28/40", "28. SSW", or 20 and more of a patient ("34 weeks, BP 165/112")."""
_YEARS_OLD: Final = r"[ -]?(?:y/?o|(?:yr|year)s?[ -]old|jährige?\w?)\b"
_AGE_UNDER_18: Final = rf"\b(?:[1-9]|1[0-7]){_YEARS_OLD}"
_AGE_OF_ADOLESCENTS: Final = rf"\b1[2-7]{_YEARS_OLD}"
_AGE_OVER_65: Final = rf"\b(?:6[5-9]|[7-9]\d|1[01]\d){_YEARS_OLD}"
_NO_AGE: Final = (
    r"(?<!\d )(?<!-)(?<![\d ]y )(?<!yr )(?<!yrs )(?<!year )(?<!years )(?<!month )(?<!months )(?<!week )(?<!weeks )"
)
_AGES_OF: Final[dict[Population, tuple[float, float]]] = {
    "infants": (0, 1),
    "children": (1, 18),
    "older patients": (65, math.inf),
}
"""Minimum age and age limit in years."""
_ORDINAL: Final = (
    r"(?:first|1st|second|2nd|third|3rd|last|erste\w?|zweite\w?|dritte\w?|letzte\w?|1\.|2\.|3\."
    r"|primer|segundo|tercer|último)"
)
_WORDS: Final[dict[Population, str]] = {
    "children": r"\b(?:child(?:ren|hood)?(?![-–\s]+(?:pugh|turcotte|(?-i:A\b)|[bc]\b))|kids?|toddlers?|boys?|girls?"
    r"|pa?ediatric\w*|(?:klein|schul)?kind(?:er[ns]?|es(?:alters?)?)"
    r"|(?:ein(?:em)?|das|dem|beim) kind|niñ[oa]s?|pediátric[oa]s?)\b"
    rf"|{_AGE_UNDER_18}",
    "infants": r"\b(?:infants?|bab(?:y|ies)|neonat\w+|newborns?|säuglinge?n?|säuglingsalters?|neugeborene\w?"
    r"|lactantes?|beb[eé]s?|recién nacid[oa]s?)\b",
    "adolescents": rf"\b(?:adolescen\w+|teen(?:ager)?s?|jugendliche\w?|jugendalters?)\b|{_AGE_OF_ADOLESCENTS}",
    "older patients": r"\b(?:elderly|geriatri\w+|older (?:adults?|patients?|people)|aged 65|(?:old|advanced) age"
    rf"|seniors?|{_NO_AGE}old (?:m[ae]n|lad(?:y|ies)|wom[ae]n|gentlem[ae]n)|nursing[- ]home residents?"
    r"|greis(?:en?|in(?:nen)?)?|(?:pflege|alten|senioren)heimbewohner\w*|ältere\w?|(?:hoch)?betagte\w?|senior(?:en|innen)"
    r"|(?:im|(?:hohe|höhere|fortgeschrittene)[mns]) (?:lebens)?alter(?! von)"
    r"|ancian[oa]s?|edad avanzada|(?:adult[oa]s|personas) mayores)\b"
    rf"|{_AGE_OVER_65}",
    "pregnancy": r"\b(?:pregnan\w+|gestation\w*|gravid\w*|(?:child-?bearing|reproductive) (?:age|potential)"
    rf"|(?:{_ORDINAL} )?(?:trimesters?|trimenon\w*|trimestres?|schwangerschaftsdrittel\w*)"
    r"|schwanger\w*|gebärfähig\w*|embaraz\w+|edad fértil)\b"
    rf"|{_GESTATION}",
    "breastfeeding": r"\b(?:breast ?-?(?:feed\w*|fed|milk)|human milk|lactati\w+|nursing (?:mothers?|infants?|wom[ae]n)"
    r"|still(?:zeit|en\w*|t)|gestillt\w*|muttermilch|lactancia|amamant\w+)\b",
}
WITH_THEIR_MOTHERS: Final[frozenset[Population]] = frozenset({"infants"})
"""Groups for which a question may be about the mother, who is pregnant or breastfeeds."""
MOTHERS: Final[frozenset[Population]] = frozenset({"pregnancy", "breastfeeding"})
YOUNG: Final[tuple[Population, ...]] = ("children", "infants", "adolescents")
NAMED: Final[dict[Population, re.Pattern[str]]] = {
    name: re.compile(pattern, re.IGNORECASE) for name, pattern in _WORDS.items()
}
"""For each group a pattern for its names. A Child-Pugh class does not name children."""
UNDER_18: Final = "|".join(_WORDS[name] for name in YOUNG)
"""A pattern for the names of patients under 18 years."""
_AGE_OF_A_CHILD: Final = (
    r"\b(?:at|from|over|aged|above) (?:[1-9]|1[0-7])(?: to \d+)? years|\b(?:[1-9]|1[0-7]) years (?:and|or) older"
    r"|\b(?:from|aged) \d+ (?:month|week)s?\b|\b\d+ (?:months|weeks) (?:and older|or older|of age)"
    r"|\b(?:to|until|under|below|before) (?:[1-9]|1[0-7]) years (?:of age|old)"
)
_SAID_OF_CHILDREN: Final = re.compile(f"{UNDER_18}|{_AGE_OF_A_CHILD}", re.IGNORECASE)
_SAID_OF_ALL_CHILDREN: Final = re.compile(f"{_WORDS['children']}|{_AGE_OF_A_CHILD}", re.IGNORECASE)
_SAID_OF_OLDER: Final = re.compile(
    r"\b(?:(?<!and )(?<!or )older|(?:old|advanced|increasing) age|[6-9]\d (?:years|or (?:more|older))"
    rf"|(?:aged?|over) [6-9]\d(?! ?-?(?:%|(?:{units_of()})(?![a-z]))))\b",
    re.IGNORECASE,
)
_NOT: Final = r"(?<!\bno )(?<!\bnot )(?<!without )(?<!\bohne )(?<!keine )(?<!\bsin )"
HEALTHY: Final = "healthy"
_COMORBID: Final = r"(?:co-?morbid\w*|komorbid\w*|begleiterkrankung\w*|comorbilid\w*|vorerkrankung\w*)"
_STATES: Final[dict[str, re.Pattern[str]]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "black": r"\bafrican[- ]americans?\b|\b(?:is|are|ist|sind|es) (?:black|schwarz|negr[oa])\b"
        r"|\b(?:black|schwarze\w?)(?= (?:[\w.]+ ){0,2}(?:adult|patient|people|person|wom[ae]n|m[ae]n\b|frau|mann|männer"
        r"|erwachsene))|\b(?:pacientes|personas|adultos) negr[oa]s\b",
        "dialysis": rf"{_NOT}(?<!\bor )\b(?:(?:on|receiving|undergoing|during|with|unter|an der|bei|en)"
        r" (?:h[ae]emo|hämo|peritoneal )?d[ií]al[iy]s[ei]\w*"
        r"|d[ií]al[iy]s[ei]\w*[- ]?(?:patient\w*|pflichtig\w*|dependent))",
        HEALTHY: rf"\b(?:no|without|ohne|keine|sin) {_COMORBID}|\b(?:otherwise|previously) healthy\b|\bsonst gesund\w*",
    }.items()
}
"""Patterns for other states of patients to whom a text may apply."""
_TEXTS: Final = 20_000
"""Number of texts whose groups are remembered, because the readings of a question are scored on the same sentences."""
_COMPARES: Final = re.compile(r"\b(?:than|vs|versus|als|que)\b", re.IGNORECASE)


@lru_cache(maxsize=_TEXTS)
def states_in(text: str) -> frozenset[str]:
    """Return the states of the patients to whom ``text`` applies; none if it compares them with others."""
    compares = _COMPARES.search(text)
    return frozenset(name for name, pattern in _STATES.items() if not compares and pattern.search(text))


@lru_cache(maxsize=_TEXTS)
def populations_in(text: str) -> tuple[Population, ...]:
    """Return the groups of patients that ``text`` names."""
    return tuple(name for name, pattern in NAMED.items() if pattern.search(text))


def populations_asked(question: str) -> tuple[Population, ...]:
    """Return the groups of patients that ``question`` names, by name or by age."""
    age = patient_age(question)
    of_age: list[Population] = [name for name, (low, high) in _AGES_OF.items() if age is not None and low <= age < high]
    pregnant: list[Population] = ["pregnancy"] if GESTATION.search(question) else []
    return tuple(dict.fromkeys((*populations_in(question), *pregnant, *of_age)))


def names_children(text: str) -> bool:
    """Return whether ``text`` speaks of children, or of an age under 18."""
    return _SAID_OF_CHILDREN.search(text) is not None


@lru_cache(maxsize=_TEXTS)
def speaks_of(text: str, population: Population) -> bool:
    """Return whether ``text`` names the group, or an age in it; a text on infants is not on children in general."""
    if population == "older patients" and _SAID_OF_OLDER.search(text):
        return True
    said_of_all = population in YOUNG and _SAID_OF_ALL_CHILDREN.search(text)
    return bool(said_of_all or NAMED[population].search(text))
