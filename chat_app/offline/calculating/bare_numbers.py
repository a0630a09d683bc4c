"""Gives a number without name or unit to the only input that can be meant: "CURB-65 72, urea 9, RR 22, ..."."""

import re
from typing import Final

from chat_app.offline.calculating.calculator_reading import TO_VALUE, Span, StatedInputs
from chat_app.offline.calculating.measurements import AFTER_OTHER, NUMBER, has_no_topic
from chat_app.offline.wire.errors import Json

_ADULT: Final = range(18, 121)
_BARE: Final = re.compile(rf"{NUMBER}(?![\w/%]|\.\d)")
_TO_RESULT: Final = re.compile(rf"{TO_VALUE}(?: ?[:=,])* ?")
_WORD_BEFORE: Final = re.compile(r"([\w-]+) ?$")


def read_bare_number(reading: StatedInputs, text: str) -> None:
    """Add the only number of ``text`` that belongs to nothing else if only one needed measurement is missing.

    A number after the name may be the result instead, unless it is an adult's age and the result a score.
    """
    calculator = reading.calculator
    units = {name: calculator.units(calculator.properties[name]) for name in reading.open_inputs}
    missing = [name for name, accepted in units.items() if accepted]
    mentions = calculator.mentions(text)
    bare = [match for match in _BARE.finditer(text) if _is_bare(text, match.span(), [*reading.spans, *mentions])]
    if not (reading.given and len(missing) == len(bare) == 1):
        return
    (name,), (match,) = missing, bare
    is_age = "years" in units[name]
    follows_name = any(_TO_RESULT.fullmatch(text, end, match.start()) for _, end in mentions if end <= match.start())
    if (is_age and int(float(match[0])) not in _ADULT) or (follows_name and not (is_age and calculator.criteria)):
        return
    value: Json = {"value": float(match[0]), "unit": "years" if is_age else None}
    reading.given[name] = value
    reading.spans.append(match.span())


def _is_bare(text: str, number: Span, known: list[Span]) -> bool:
    """Return whether the number is not inside ``known``, and has neither a unit nor another name before it."""
    if any(start < number[1] and number[0] < end for start, end in known) or AFTER_OTHER.match(text, number[1]):
        return False
    before = _WORD_BEFORE.search(text, 0, number[0])
    return before is None or has_no_topic(before[1]) or any(start < before.end(1) <= end for start, end in known)
