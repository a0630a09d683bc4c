"""Reads inputs that are not measurements: the option that a text names, and criteria that it states or denies.

The description of an option or a criterion lists its names; see ``tools.language.named_lists``. A name followed by
``= absent`` states that the criterion is absent. ``previous …`` may also come after the criterion.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from chat_app.offline.calculating.measurements import has_no_topic
from chat_app.offline.calculating.relatives import OF_RELATIVE, RELATIVE
from chat_app.offline.wire.errors import Json
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import aliases as known_aliases
from tools.language.figures import placed_figures, placed_rates
from tools.language.measurement_units import UNITS, fold_figures
from tools.language.named_lists import any_of, listed
from tools.language.word_lists import word_entries

_NO_FINDING: Final = re.compile(
    r"[ -](?:allerg\w+|intoleran\w+|unverträglichkeit|risk|risks|score|prevention|prophylaxis)\b"
)
_RESOLVED: Final = "resolved"
_UNSURE: Final = "unsure"
_BESIDE: Final = r"(?: (?:is|was|has|have|been|now|fully|completely|type|typ|mellitus|ist|war|wurde|\d)){0,3}"
_QUALIFIERS: Final = {
    key: re.compile(
        rf"(?<!\bno )(?<!\bnot )(?<!\bon )(?<!\bnicht )(?:{words})(?: an?| the{gap})? ?\0"
        rf"|\0{_BESIDE}(?:,? |: ?| ?\()(?:{words})(?=[,.;:?!)]|$| (?:after|since|with|and|formerly|nach|seit|und)\b)"
    )
    for key, phrases in word_entries("finding_qualifiers").items()
    if (words := any_of(map(str.strip, phrases.split(","))))
    for gap in ["" if key in {_UNSURE, _RESOLVED} else r"| [^\W\d_]{4,}"]
}
"""Patterns for what changes a finding, whose place is a NUL character, by what they contradict."""
_QUERY: Final = re.compile(r"(?:^|[ ,;:(/])\?\0|\0 ?(?:\(\?\)|\? ?[,;)/])|\0 ?\? (?P<next>[^\W\d_]+)")
"""A question mark at a finding; one before a word may also end a sentence."""
ASKS: Final = re.compile(
    r"\b(?:what|which|when|where|why|who|whom|how|do|does|is|are|can|should|w[aeo]s|welche\w*|wann|warum|wer|wem|wen|wie"
    r"|wozu|ab|vs|versus|ist|sind|soll\w*|kann|darf|qué|cuál\w*|cuándo|cómo)\b"
)
"""A word that may ask for more than the result: "what CHA2DS2-VASc needs anticoagulation"."""
_LENGTH: Final = re.compile(r"(?<=\d) ?m\b")
_NEGATION: Final = re.compile(
    r"\b(?:no|not|nor|without|w/o|denies|denied|never|nil|free of|negative for|ohne|kein\w*|nicht|nie|niemals|weder)\b"
)
_NON: Final = re.compile(r"\bnon[- ]?$")
_MINUS: Final = re.compile(r"(?<![\w\-–−])[-–−]$")
_PLUS: Final = re.compile(r"(?<!\w)\+[a-z]")
"""A plus before another finding, which tells a minus ("-HTN +DM") from the dash of a list."""
_CLAUSE: Final = re.compile(r"[.;:?!]|\bw/(?!o\b)|\b(?:but|with|(?<!never )(?<!not )(?<!n't )(?:has|had)|aber|mit)\b")
_CLAUSE_START: Final = re.compile(r"(?<=\w\w\w)\. |[;:!] |\? ")
"""A full stop behind fewer letters is of an abbreviation: "V. a."."""
_DENIED_AFTER: Final = re.compile(
    r" ?[:=] ?no\b| no\b(?! \w| ?[:=])| no\b(?= (?:and|but)\b|(?: \w+){1,2} (?:yes|no)\b)"
    r"| ?[:=]? ?(?:none|absent|neg|negativ|negative|nein)\b"
    r"|[-–−](?![\w-])| [-–−](?=[,;.]|$)| ?[:=]? ?0(?![\d.%/])"
    r"|(?: (?:was|is|has been|wurde|ist))? (?:ruled out|excluded|ausgeschlossen)\b"
)
"""In "diabetes no stroke" the word "no" belongs to what follows, unless that has its own: "diabetes no stroke yes"."""
_PRONOUNS: Final = frozenset({"he", "his", "she", "her"})
STOPPED: Final = r" (?:(?:was|is|has been|wurde|wird|ist) )?(?:stopped|discontinued|abgesetzt|gestoppt|weg\b)"
"""Follows the name of a medicine that is no longer taken."""
_STOPPED: Final = re.compile(STOPPED)
_TAKEN_OFF: Final = re.compile(
    r"\b(?:stopp\w*|discontinued|off|no longer (?:on|takes|taking)) (?:(?:taking|the|his|her|their|all|any) ){0,2}$"
)
_ABSENT: Final = "absent"
_PREVIOUS: Final = "previous … "
_ALTERNATIVES: Final = re.compile(r"(?:/[^\W\d_]+)+")
"""Alternatives that a slash joins to a criterion: ``previous DVT/PE no``."""
_STOP: Final = re.compile(r"[,;?!]|\.(?!\d)")
_OTHER_TERM: Final = re.compile(r"\([^\W\d_][^)]*\)")
"""A bracket that starts with a word, which has bounds of something else: "cancer (treatment within 6 months)"."""
_AGO: Final = "ago"
_SINCE: Final = re.compile(r"\b(?:within|vor|in|formerly)(?: the (?:last|past))? $")
_AFTER_EVENT: Final = re.compile(r" (?:ago|formerly|after|post|nach)\b")
_FOR: Final = re.compile(r"\b(?:for|since|seit)(?: the (?:last|past))? $")
_DAY: Final = UNITS["day"][1]
_JUST_LESS: Final = 0.999
_PARTS: Final = re.compile(r",|;|\+|\b(?:and|plus|with|und|mit)\b")
_AMOUNT: Final = re.compile(r"(?<![\w.])\d[\d.]* ?(?:mg|[mµu]c?g)(?: ?/ ?[a-z]+| per [a-z]+)?\b")
_AMOUNT_OF: Final = re.compile(r"(?<![\w.])\d[\d.]*(?: ?[a-zµ]+(?:/[a-z]+)?)?(?: of)? ?$")
"""An amount before the name that it belongs to."""


def names_medicine(text: str) -> bool:
    """Return whether ``text`` names a medicine or a class of medicines."""
    return label_terms().names_any(text) or any(map(known_aliases().name, text.split()))


def blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return ``text`` with NUL characters in ``spans``, so that it keeps its length."""
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def only_option(schema: Json, text: str, *, last: bool = False) -> Any:
    """Return the option that ``text`` names; of several none, or with ``last`` the last in the order of the schema.

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
            return named[-1] if last or len(named) == 1 else None
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
    first = ""
    for part in _PARTS.split(text):
        mentions = _mentions(schema, part)
        if not mentions and names_medicine(part):
            continue
        if not mentions:
            # "Mornings 20 mg and evenings 10 mg oxycodone".
            first += f"{part} " if not found and _AMOUNT.search(part) else ""
            found[-1:] = [(option, f"{words} {part}") for option, words in found[-1:]]
            continue
        amounts = [_AMOUNT_OF.search(part, 0, start) for start, _, _ in mentions]
        # The amounts are before the names in "10 mg oxycodone 4 mg hydromorphone", not in "oxycodone 10 mg tramadol".
        starts = [start for start, _, _ in mentions]
        cuts = [one.start() if one and amounts[0] else start for one, start in zip(amounts, starts, strict=True)]
        ends = [*cuts[1:], len(part)]
        found += [
            (option, part[cut:end]) for cut, end, (_, _, option) in zip([0, *cuts[1:]], ends, mentions, strict=True)
        ]
        found[:1], first = [(option, first + words) for option, words in found[:1]], ""
    return found


def _mentions(schema: Json, part: str) -> list[tuple[int, int, str]]:
    """Return the start, end and option of each mention; names in a row for one option, without figures, are one."""
    # A gap in a name has words only: "fentanyl 25 µg/h patch".
    worded = _AMOUNT.sub(lambda amount: "x" * len(amount[0]), part)
    spans = [
        (one.span(), option)
        for option, names in _names_of(schema)
        for one in re.finditer(any_of(names), worded)
        if not _DENIED_AFTER.match(worded, one.end())
    ]
    found: list[tuple[int, int, str]] = []
    for (start, end), option in sorted(spans, key=lambda one: (one[0][0], -one[0][1])):
        if found and start < found[-1][1]:
            continue
        if found and found[-1][2] == option and not re.search(r"\d", part[found[-1][1] : start]):
            found[-1] = (found[-1][0], end, option)
        else:
            found.append((start, end, option))
    return found


def finding(schema: Json, text: str) -> bool | None:
    """Return whether ``text`` states the criterion as present or absent; None if it does not mention it."""
    others = any_of(listed(schema["description"], "Not")) or "(?!)"
    rest = blanked(text, [match.span() for match in re.finditer(others, text)])
    entries = [entry.partition(" = ") for entry in listed(schema["description"], "Also")]
    named = [name for name, _, meant in entries if not meant]
    definition = _OTHER_TERM.sub("", fold_figures(schema["description"].partition("Also:")[0]))
    present = _stated(rest, [*named, *_said_after(named)], definition)
    absent = _stated(rest, [name for name, _, meant in entries if meant == _ABSENT])
    stated = [*present, *(not one for one in absent)]
    return any(stated) if stated else None


def _stated(text: str, names: Sequence[str], definition: str = "") -> list[bool]:
    """Return for each mention of one of ``names`` whether the text states it; False also if it misses a bound."""
    name = re.compile(any_of(names) or "(?!)")
    return [
        not (_denied(text, match.start(), match.end()) or _misses_bound(text, match, definition))
        for match in name.finditer(text)
        if not _NO_FINDING.match(text, match.end())
        and not OF_RELATIVE.match(text, match.end())
        and not _is_qualified(text, match.start(), match.end(), definition)
    ]


def _is_qualified(text: str, start: int, end: int, definition: str) -> bool:
    """Return whether words or a question mark beside the finding make it another one than ``definition``, or unsure."""
    before = _CLAUSE_START.split(text[:start])[-1]
    beside = f"{_PARTS.split(before)[-1]}\0{text[end:]}"
    query = _QUERY.search(beside)
    if query and not (query["next"] and (ASKS.search(before) or has_no_topic(query["next"]))):
        return True
    applies = {_UNSURE, *re.findall(r"\w+", definition), *([] if "previous" in definition else [_RESOLVED])}
    return any(key in applies and pattern.search(beside) for key, pattern in _QUALIFIERS.items())


def _misses_bound(text: str, mention: re.Match[str], definition: str) -> bool:
    """Return whether the amounts beside ``mention`` are all outside a bound of ``definition``."""
    clause = f"{_STOP.split(text[: mention.start()])[-1]}{mention[0]}{_STOP.split(text[mention.end() :])[0]}"
    bounds = dict(_amounts(definition))
    stated = [(amount, bounds[kind], kind) for kind, amount in _amounts(clause, mention.re) if kind in bounds]
    return bool(stated) and not any(
        amount <= bound if kind == _AGO else amount >= bound for amount, bound, kind in stated
    )


def _amounts(text: str, counted: re.Pattern[str] | None = None) -> Iterator[tuple[str, float]]:
    """Yield the amounts a day, durations and times since an event; ``counted`` may be the unit: "4 drinks a week"."""
    for start, end, figure in placed_figures(text):
        kind, factor = UNITS.get(figure.unit, ("", 1.0))
        rate = next((one.value.daily for one in placed_rates(text) if one.start >= end), 0.0)
        daily = _DAY / UNITS[figure.per][1] if figure.per else rate
        less = _JUST_LESS if figure.bound == "down" else 1.0
        if kind == "activity" or (counted and not figure.unit and counted.match(text, end + 1)):
            yield from [("daily", figure.value * daily * less)] if daily else []
        elif kind == "time" and (_SINCE.search(text[:start]) or _AFTER_EVENT.match(text, end)):
            yield _AGO, figure.value * factor
        elif kind == "time" and _FOR.search(text[:start]):
            yield "for", figure.value * factor * less


def _denied(text: str, start: int, end: int) -> bool:
    if _NON.search(text, 0, start) or (_MINUS.search(text, 0, start) and _PLUS.search(text)):
        return True
    # "Stopped bleeding" does not deny a bleeding.
    if (_TAKEN_OFF.search(text[:start]) or _STOPPED.match(text, end)) and names_medicine(text[start:end]):
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
