"""The words by which questions and sources name groups of patients, in English, German and Spanish."""

import re
from typing import Final, Literal

Population = Literal["children", "infants", "adolescents", "older patients", "pregnancy", "breastfeeding"]
_AGE_UNDER_18: Final = r"\b(?:[1-9]|1[0-7])[ -]?(?:y/?o|(?:yr|year)s?[ -]old)\b"
_WORDS: Final[dict[Population, str]] = {
    "children": r"\b(?:child(?:ren|hood)?(?![-–\s]+(?:pugh|turcotte))|kids?|toddlers?|pa?ediatric\w*|kinder[ns]?"
    rf"|niñ[oa]s?|pediátric[oa]s?)\b|{_AGE_UNDER_18}",
    "infants": r"\b(?:infants?|bab(?:y|ies)|neonat\w+|newborns?|säuglinge?n?|neugeborene\w?|lactantes?)\b",
    "adolescents": r"\b(?:adolescen\w+|teen(?:ager)?s?|jugendliche\w?)\b",
    "older patients": r"\b(?:elderly|geriatric|older (?:adults?|patients?|people)|aged 65|ältere\w?|ancianos?)\b",
    "pregnancy": r"\b(?:pregnan\w+|schwanger\w*|embaraz\w+)\b",
    "breastfeeding": r"\b(?:breast ?-?(?:feed\w*|fed|milk)|human milk|lactati\w+|nursing (?:mothers?|infants?|wom[ae]n)"
    r"|still(?:zeit|en\w*|t)|gestillt\w*|muttermilch|lactancia|amamant\w+)\b",
}
YOUNG: Final[tuple[Population, ...]] = ("children", "infants", "adolescents")
NAMED: Final[dict[Population, re.Pattern[str]]] = {
    name: re.compile(pattern, re.IGNORECASE) for name, pattern in _WORDS.items()
}
"""For each group what names it. A Child-Pugh class names no children."""
UNDER_18: Final = "|".join(_WORDS[name] for name in YOUNG)
"""A pattern of what names patients under 18 years."""


def populations_in(text: str) -> tuple[Population, ...]:
    """Return the groups of patients that ``text`` names."""
    return tuple(name for name, pattern in NAMED.items() if pattern.search(text))
