"""Finds a patient's values, such as age or a laboratory result, in a question, and bounds on them in a text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tools.language.figures import ABOVE, BELOW, COUNTS, with_decimal_points
from tools.language.measurement_units import fold_figures
from tools.language.vocabulary.measured_quantities import JOINED, NUMBER, QUANTITIES, MeasuredQuantity, Range, Value
from tools.language.vocabulary.unmarked_ages import unmarked_ages

_BOUND_BEFORE: Final = re.compile(rf"(?:{BELOW}|{ABOVE}) ?$", re.IGNORECASE)
_BOUND_START: Final = re.compile(rf"(?:{BELOW}|{ABOVE}) ", re.IGNORECASE)
_NUMBER_ALONE: Final = re.compile(
    r"\W*(?:(?:and|at|of|if|when|it(?:['’]?s)?|is|was|were|drops?|falls?|fell|rises?|rose|goes|went|gets|down|up|to|now|only|with"
    rf"|bei|mit|und) )*(?P<bound>(?:(?:{BELOW}|{ABOVE}) ?)?{NUMBER})(?: (?:though|then|now|instead))?\W*"
)
_NEXT: Final = 1.02
"""Maximum ratio of the start of a range to the end of the one before it, as for 125 and 126."""
_SIDES: Final = 2
"""Maximum number of bounds in a text that says what to do on one side, and when to go back."""
_FIRST_PART: Final = re.compile(r"(?<=[a-z]) *\d+ ?/ ?$")
"""The systolic pressure after the name of both pressures."""
_SOME_OF: Final = re.compile(
    r"\b(?:any |either )?(?P<en>any|either|one|two|three|four|[1-4])(?: or more)? of(?::| (?:the |these )?(?:\w+ )?"
    r"(?:following|criteria|factors))|\b(?P<de>eine[msrn]?|zwei|drei) der folgenden\b"
    r"|\b(?P<es>uno|dos|tres) de los siguientes\b",
    re.IGNORECASE,
)
"""Before criteria of which only some must be met: "at least two of the following"."""
_COUNTS: Final = COUNTS | {"zwei": 2, "drei": 3, "dos": 2, "tres": 3} | {str(count): count for count in range(1, 5)}
_OR: Final = re.compile(r"^[^.;|]{0,25}\b(?:or|oder|o)\b[^.;|]{0,25}$")
_AREA: Final = re.compile(r" ?(?:/|per) ?1\.73 ?m[2²]")


def fits_patient(question: str, cells: str | Sequence[str]) -> bool | None:
    """Return whether a text, or a table row with a header before each cell, applies to the question's patient.

    The result is None if the text gives no bounds for a value of the question. A value on a bound is within it. Where
    some of several criteria must be met, the text applies if one is and enough others may be; it is None if only others
    may be.
    """
    text = cells if isinstance(cells, str) else " | ".join(cells)
    given = {
        value: bounds
        for value in _values(question)
        if (bounds := _bounds(value.quantity, text))
        and not (_states(value) and text is not cells and _hold_all(bounds))
    }
    found = [
        any(bound.low <= value.most and value.amount <= bound.high for bound in bounds)
        for value, bounds in given.items()
    ]
    if found and (some := _SOME_OF.search(text)):
        needed = next((_COUNTS.get(word.lower(), 1) for word in some.groups() if word), 1)
        unknown = sum(bool(_bounds(each, text)) for each in QUANTITIES) - len(found)
        if sum(found) + unknown < needed:
            return False
        return True if any(found) else None
    suffices = any if _are_alternatives(list(given.values()), text) else all
    return suffices(found) if found else None


def _are_alternatives(bounds: Sequence[Sequence[Range]], text: str) -> bool:
    """Return whether "or" joins bounds of one quantity with those of the next."""
    in_order = sorted((each for one in bounds for each in one), key=lambda each: each.start)
    folded, own = _folded(text), {id(each): place for place, one in enumerate(bounds) for each in one}
    return any(
        own[id(one)] != own[id(other)] and _OR.search(folded[one.end : other.start])
        for one, other in pairwise(in_order)
    )


def _hold_all(bounds: Sequence[Range]) -> bool:
    """Return whether ``bounds`` cover all values, as in a table with a column for each range."""
    reach = 0.0
    for bound in sorted(bounds):
        if bound.low > reach * _NEXT:
            return False
        reach = max(reach, bound.high)
    return reach == math.inf and len(bounds) > _SIDES


def patient_age(text: str) -> float | None:
    """Return the age in years that ``text`` states."""
    return next((value.amount for value in _values(text) if value.quantity is QUANTITIES[0]), None)


def is_of_age(question: str, text: str) -> bool | None:
    """Return whether the age of ``question`` is within the bounds of ``text``; None if one of them states none."""
    age, bounds = patient_age(question), _bounds(QUANTITIES[0], text)
    return any(bound.low <= age <= bound.high for bound in bounds) if bounds and age is not None else None


def excludes_age(question: str, text: str) -> bool:
    """Return whether ``text`` is on another age than that of ``question``, and has no bounds on other values."""
    return is_of_age(question, text) is False and not any(_bounds(each, text) for each in QUANTITIES[1:])


def gives_values(question: str) -> bool:
    """Return whether ``question`` states a value of the patient."""
    return bool(_values(question))


def without_values(question: str) -> str:
    """Return ``question``, folded, without the patient's values, since texts have bounds and not the same numbers."""
    folded = _folded(question)
    numbers = [one for one in _values(question) if one.quantity.has_bounds and one.is_number]
    for value in sorted(numbers, key=lambda one: -one.start):
        folded = f"{folded[: value.start]} {folded[value.end :]}"
    return folded


def with_new_values(question: str, added: str) -> str:
    """Return ``question`` with those of the patient's values replaced that ``added`` states, too.

    A number alone, as in "and below 30?", replaces the value of ``question`` if there is only one.
    """
    given = [value for value in _values(question) if value.is_number]
    new = {value.quantity: value.said for value in _values(added) if value.is_number}
    number = _NUMBER_ALONE.fullmatch(_folded(added))
    if not new and len(given) == 1 and number and (named := given[0].quantity.named.search(given[0].name)):
        again = _values(f"{named[0]} {number['bound']}")
        new = {value.quantity: value.said for value in again if value.quantity is given[0].quantity}
    if len(_folded(question)) == len(question):
        for value in sorted((each for each in given if each.quantity in new), key=lambda each: -each.start):
            before = _BOUND_BEFORE.sub("", question[: value.start])
            question = f"{before}{new[value.quantity]}{question[value.end :]}"
    return question


def other_values(told: str, question: str) -> list[str]:
    """Return the patient's values that ``told`` states, of quantities of which ``question`` states none."""
    given = {value.quantity for value in _values(question) if value.is_number}
    return [f"{value.name}{value.said}" for value in _values(told) if value.quantity not in given]


def with_told_values(question: str, told: str) -> str:
    """Return ``question`` with the values of ``told``, which replace its own values of the same quantities."""
    more = ", ".join(other_values(told, question))
    renewed = with_new_values(question, told)
    return f"{renewed} ({more})" if renewed and more else renewed or more


def value_names(question: str, bounded_in: str | None = None) -> str:
    """Return the words by which ``question`` names the patient's values, or only values with bounds in a text."""
    return " ".join(
        value.name for value in _values(question) if bounded_in is None or _bounds(value.quantity, bounded_in)
    )


def abnormal_values(question: str) -> list[tuple[str, str]]:
    """Return the names of the patient's values outside the reference range, each with the state that it indicates."""
    found = [
        (_FIRST_PART.sub("", value.name).strip(), called) for value in _values(question) for called in _states(value)
    ]
    return [one for one in dict.fromkeys(found) if one[0]]


def critical_values(text: str) -> list[bool | None]:
    """Return for each measured value of ``text`` whether it is in a critical range; None for a bound ("above 6.5")."""
    folded = _folded(text)
    found = [value for each in QUANTITIES if each.critical and (value := each.value_in(folded))]
    return [None if _BOUND_START.match(value.said) else _is_critical(value) for value in found]


def _is_critical(value: Value) -> bool:
    return any(_is_within(value, low, high) for low, high in value.quantity.critical)


def _states(value: Value) -> list[str]:
    """Return the states that a value outside the reference range indicates."""
    return [name for low, high, name in value.quantity.called if _is_within(value, low, high)]


def _is_within(value: Value, low: float, high: float | None) -> bool:
    return low <= value.amount < (math.inf if high is None else high)


@lru_cache(maxsize=256)
def _values(question: str) -> tuple[Value, ...]:
    folded = _folded(question)
    found = [value for each in QUANTITIES if (value := each.value_in(folded))]
    if not found or found[0].quantity is not QUANTITIES[0]:
        free = [age for age in unmarked_ages(folded) if not any(one.start <= age.span[0] < one.end for one in found)]
        found[:0] = [Value(age.years, age.years, QUANTITIES[0], "", f"{age.years} yo", *age.span) for age in free[:1]]
    return tuple(found)


def _folded(text: str) -> str:
    return _AREA.sub("", with_decimal_points(fold_figures(text)))


@lru_cache(maxsize=4_096)
def _bounds(quantity: MeasuredQuantity, text: str) -> tuple[Range, ...]:
    """Return the bounds in ``text``, with two joined by "and" as one, such as "below 70 and at least 54"."""
    found: list[Range] = []
    for bound in quantity.bounds_in(folded := _folded(text)):
        last = found[-1] if found else None
        low, high = max(bound.low, last.low if last else 0), min(bound.high, last.high if last else math.inf)
        if last and low < high and JOINED.fullmatch(folded[last.end : bound.start]):
            found[-1] = Range(low, high, last.start, bound.end)
        else:
            found.append(bound)
    return tuple(found)
