"""Reads inputs that are not measurements: the option that a text names, and criteria that it states or denies.

The description of an option or a criterion lists its names; see ``tools.language.named_lists``. A name followed by
``= absent`` states that the criterion is absent. ``previous …`` may also come after the criterion.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from chat_app.offline.calculating.relatives import OF_RELATIVE, RELATIVE
from chat_app.offline.wire.errors import Json
from tools.language.named_lists import any_of, listed

_NO_FINDING: Final = re.compile(r" (?:risk|risks|score|prevention|prophylaxis)\b")
_NO_PATIENT: Final = re.compile(r"\b(?:risk of|risk for|prevent|suspected)(?: an?| the)? $")
_LENGTH: Final = re.compile(r"(?<=\d) ?m\b")
_NEGATION: Final = re.compile(
    r"\b(?:no|not|nor|without|w/o|denies|denied|never|nil|free of|negative for|ohne|kein\w*|nicht|nie|niemals|weder)\b"
)
_NON: Final = re.compile(r"\bnon[- ]?$")
_CLAUSE: Final = re.compile(r"[.;:?!]|\b(?:but|with|(?<!never )(?<!not )(?<!n't )(?:has|had)|aber|mit)\b")
_DENIED_AFTER: Final = re.compile(
    r" ?[:=] ?no\b| no\b(?! \w| ?[:=])| no\b(?= (?:and|but)\b|(?: \w+){1,2} (?:yes|no)\b)"
    r"| ?[:=]? ?(?:none|absent|neg|negativ|negative|nein)\b"
)
"""In "diabetes no stroke" the word "no" belongs to what follows, unless that has its own: "diabetes no stroke yes"."""
_PRONOUNS: Final = frozenset({"he", "his", "she", "her"})
_ABSENT: Final = "absent"
_PREVIOUS: Final = "previous … "
_ALTERNATIVES: Final = re.compile(r"(?:/[^\W\d_]+)+")
"""Alternatives that a slash joins to a criterion: ``previous DVT/PE no``."""
_PARTS: Final = re.compile(r",|;|\+|\band\b|\bplus\b|\bund\b")


def blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return ``text`` with NUL characters in ``spans``, so that it keeps its length."""
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def only_option(schema: Json, text: str) -> Any:
    """Return the option that ``text`` names; None if it names several.

    Pronouns count only if there is no noun, and letters only if there is neither.
    """
    rest = _LENGTH.sub(" ", RELATIVE.sub(" ", text))
    for rank in range(3):
        named = [
            option
            for option, names in _names_of(schema)
            if (some := [name for name in names if _rank(name) == rank]) and re.search(any_of(some), rest)
        ]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def _rank(name: str) -> int:
    """Return 0 for a noun, 1 for a pronoun, 2 for a letter: "if she were a man" is about a man."""
    return 2 if len(name) == 1 else int(name in _PRONOUNS)


def aliases(schema: Json) -> list[str]:
    """Return every word that names the input or one of its options."""
    names = [entry.partition(" = ")[0] for entry in listed(schema["description"], "Also")]
    return [*names, *_said_after(names), *(str(option) for option in schema.get("enum", ()))]


def _said_after(names: Sequence[str]) -> list[str]:
    return [f"{name.removeprefix(_PREVIOUS)} … formerly" for name in names if name.startswith(_PREVIOUS)]


def _names_of(schema: Json) -> list[tuple[str, list[str]]]:
    pairs = [entry.rpartition(" = ") for entry in listed(schema["description"], "Also")]
    return [(option, [option, *(word for word, _, meant in pairs if meant == option)]) for option in schema["enum"]]


def by_option(schema: Json, text: str) -> list[tuple[str, str]]:
    """Return each option that ``text`` names, with the words that belong to it."""
    found: list[tuple[str, str]] = []
    for part in _PARTS.split(text):
        mentions = ((re.search(any_of(names), part), option) for option, names in _names_of(schema))
        named = [(match.start(), -match.end(), option) for match, option in mentions if match]
        if named:
            found.append((min(named)[-1], part))
        elif found:
            option, words = found[-1]
            found[-1] = (option, f"{words} {part}")
    return found


def finding(schema: Json, text: str) -> bool | None:
    """Return whether ``text`` states the criterion as present or absent; None if it does not mention it."""
    others = any_of(listed(schema["description"], "Not")) or "(?!)"
    rest = blanked(text, [match.span() for match in re.finditer(others, text)])
    entries = [entry.partition(" = ") for entry in listed(schema["description"], "Also")]
    named = [name for name, _, meant in entries if not meant]
    present = _stated(rest, [*named, *_said_after(named)])
    absent = _stated(rest, [name for name, _, meant in entries if meant == _ABSENT])
    stated = [*present, *(not one for one in absent)]
    return any(stated) if stated else None


def _stated(text: str, names: Sequence[str]) -> list[bool]:
    """Return for each mention of one of ``names`` whether the text states or denies it."""
    return [
        not _denied(text, match.start(), match.end())
        for match in re.finditer(any_of(names) or "(?!)", text)
        if not _NO_FINDING.match(text, match.end())
        and not OF_RELATIVE.match(text, match.end())
        and not _NO_PATIENT.search(text[: match.start()])
    ]


def _denied(text: str, start: int, end: int) -> bool:
    if _NON.search(text, 0, start):
        return True
    joined = _ALTERNATIVES.match(text, end)
    if _DENIED_AFTER.match(text, joined.end() if joined else end):
        return True
    before = _CLAUSE.split(text[:start])[-1]
    negations = list(_NEGATION.finditer(before))
    if not negations:
        return False
    between = before[negations[-1].end() :]
    # "no asthma, diabetes or stroke" denies all three, but in "no asthma, diabetes" the comma ends the denial.
    clause = between + _CLAUSE.split(text[start:])[0]
    return "," not in between or re.search(r"\b(?:or|nor|oder)\b", clause) is not None
