"""Reads a calculator from the declaration of its function, and its inputs from a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chat_app.offline.calculating.findings import (
    ASKS,
    aliases,
    blanked,
    by_option,
    finding,
    names_medicine,
    only_option,
)
from chat_app.offline.calculating.measurements import (
    NUMBER,
    Measured,
    has_no_topic,
    is_quantity,
    is_time,
    named_values,
    values_with_unit,
)
from chat_app.offline.calculating.prescribed_doses import TABLETS, with_whole_doses
from chat_app.offline.schema_filling.schemas import part_of
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.model import Call
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.measurement_units import UNITS
from tools.language.named_lists import any_of, listed

Span = tuple[int, int]
_OPTIONAL: Final = "Optional."
_EITHER: Final = "give this or"
"""Marks the description of an input that can replace another one."""
WANTED: Final = re.compile(r"\b(?:calculate|compute|work out|estimate|determine|berechne\w*)\b")
CALCULATION: Final = re.compile(r"\b(?:calculat(?:ion|or)|berechnung|rechner|cálculo)\b")
TO_VALUE: Final = r"(?: (?:score|value))?(?: (?:of|is|was|above|below|under|over|at least))? ?(?:[:=<>≥≤]=? ?)?"
_PER_DAY: Final = r"(?: 1 times a day)?"
"""Follows the name of a daily amount, such as "morphine equivalents per day", after ``plain``."""
_NO_OTHERS: Final = re.compile(r"\bno (?:other |known |further )?(?:risk factors?|comorbidit\w+|criteria)\b")
_ENOUGH_UNNAMED: Final = 3
_MOST_OTHER_WORDS: Final = 1
"""Maximum number of other words in an incomplete question that still only asks for the result."""
_MOST_WITH_ONE: Final = 3
"""The same if one needed input is missing and at most one is given."""
_SEVERAL_CRITERIA: Final = 3
_SAME: Final = 1.02
"""Maximum ratio of two statements of one value in two units, such as 80 kg and 176 lb."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_NAME_BEFORE: Final = re.compile(r"[^\W\d_]{3,}(?: (?:of|is|was|von|ist))?(?: ?[:=])? ?$")
_PER_VOLUME: Final = ("/dl", "/l")


@dataclass
class StatedInputs:
    """The inputs of a calculator that a text states."""

    calculator: DeclaredCalculator
    given: Json = field(default_factory=dict[str, Any])
    spans: list[Span] = field(default_factory=list[Span])
    unclear: set[str] = field(default_factory=set[str])
    """Inputs for which the text states several different values."""

    @property
    def call(self) -> Call:
        """Return the call with the inputs that the question states; the others are null."""
        return Call(self.calculator.name, {name: self.given.get(name) for name in self.calculator.properties})

    @property
    def is_complete(self) -> bool:
        """Return whether no needed input is missing."""
        return not self.open_inputs and self._states_a_criterion

    @property
    def open_inputs(self) -> list[str]:
        """Return the needed inputs that are not stated; of inputs that replace each other, the first."""
        known = {name for name, value in self.given.items() if _has_value(value)} | self.unclear
        either = [] if known.intersection(self.calculator.either) else self.calculator.either[:1]
        return [*(name for name in self.calculator.required if name not in known), *either]

    @property
    def _states_a_criterion(self) -> bool:
        criteria = self.calculator.criteria
        return len(self._measured) >= 2 or not criteria or any(name in self.given for name in criteria)

    @property
    def _measured(self) -> list[Json]:
        return [value for value in self.given.values() if isinstance(value, dict)]

    @property
    def is_telling(self) -> bool:
        """Return whether the text states so many inputs that it wants the result without naming the calculator."""
        return self.is_complete and not self.unclear and len(self.given) >= _ENOUGH_UNNAMED and len(self._measured) >= 2

    def is_all(self, text: str) -> bool:
        """Return whether ``text`` has only inputs, so that only this result can be meant."""
        return self.is_complete and len(self._measured) >= 2 and not self.calculator.other_words(text)

    def wanted(self, text: str) -> bool:
        """Return whether the text asks to calculate or states inputs, but not the result."""
        if self._states_result(text):
            return False
        others, known = len(self.calculator.other_words(text)), len(self.given) + len(self.unclear)
        lacks_one = self._lacks_one and (known >= 2 or others <= _MOST_WITH_ONE)
        several = others <= _MOST_OTHER_WORDS and known >= 2
        return self._asked_by(text) or several or lacks_one or self._is_request(text)

    def _is_request(self, text: str) -> bool:
        """Return whether ``text`` is only the name of a score, or a name with a value or option: "eGFR with Cr 120"."""
        others = self.calculator.other_words(CALCULATION.sub(" ", text))
        # Criteria alone may be the topic: "HAS-BLED and NSAIDs".
        if self.unclear or any(not isinstance(value, bool) for value in self.given.values()):
            is_open = bool(self._measured) and not ASKS.search(text) and not self.names_medicine(text)
            return len(others) <= (_MOST_OTHER_WORDS if is_open else 0)
        is_named = bool(self.calculator.criteria) or CALCULATION.search(text) is not None
        return is_named and not (self.given or others or ASKS.search(text))

    @property
    def _lacks_one(self) -> bool:
        """Return whether one needed input is missing, and a value other than the age or several criteria are given."""
        measured = any(value["unit"] != "years" for value in self._measured)
        several = sum(name in self.given for name in self.calculator.criteria) >= _SEVERAL_CRITERIA
        needed = len(self.calculator.required) + len(self.calculator.either[:1])
        lacks_one = len(self.open_inputs) == 1 < needed
        return lacks_one and (several or (measured and self._states_a_criterion))

    def alone(self, text: str) -> bool:
        """Return whether the text asks only for the result, and names no medicine that is not an input."""
        others = self.calculator.other_words(text)
        if len(others) > (0 if ASKS.search(text) else _MOST_OTHER_WORDS) and not self._asked_by(text):
            return False
        return not self.names_medicine(text)

    def names_medicine(self, text: str) -> bool:
        """Return whether the text names a medicine or a class of medicines that is not an input."""
        return names_medicine(" ".join(self.calculator.other_words(text)))

    def _asked_by(self, text: str) -> bool:
        return WANTED.search(text) is not None or self.is_complete

    def _states_result(self, text: str) -> bool:
        """Return whether a number beside the calculator's name is its result, not an input."""
        results = values_with_unit(text, self.calculator.result_units)
        for match in re.finditer(self.calculator.named_value, text):
            of_result = any(found.end > match.end("after") >= found.start for found in results)
            if match["after"] and is_time(text, match.end()) and not of_result:
                continue
            given = [match.end(side) for side in ("before", "after") if match[side]]
            are_inputs = all(any(start < place <= end for start, end in self.spans) for place in given)
            if not are_inputs or (of_result and not self._corrects(text, match.span())):
                return True
        return False

    def _corrects(self, text: str, name: Span) -> bool:
        """Return whether the number after a name such as "corrected calcium" is the value to correct."""
        names_input = bool(self.calculator.names_inside(text, name))
        return names_input and self.is_complete and len(self.calculator.other_words(text)) <= _MOST_OTHER_WORDS


class DeclaredCalculator:
    """A function with its names, and its inputs by kind."""

    def __init__(self, function: FunctionToolIn) -> None:
        self.name = function.name
        self._root: Json = function.parameters or {}
        self._names = any_of(listed(function.description or "", "Also") or [function.name])
        self.named_value = rf"(?:(?P<before>{NUMBER}) ?)?(?:{self._names}){_PER_DAY}(?:{TO_VALUE}(?P<after>{NUMBER}))?"
        """Pattern for the name with a number before or after it."""
        self.result_units = listed(function.description or "", "Result in")
        self.properties = {name: self._plain(part) for name, part in self._root.get("properties", {}).items()}
        self.criteria = [name for name, part in self.properties.items() if part["type"] == "boolean"]
        self.criterion_names = [name for one in self.criteria for name in aliases(self.properties[one])]
        self.either = [name for name, part in self.properties.items() if _EITHER in part["description"]]
        """Inputs that replace each other."""
        self.required = [name for name, part in self.properties.items() if _OPTIONAL not in part["description"]]

    def _plain(self, schema: object) -> Json:
        """Return the schema without null and references, and always with a type and a description."""
        part = part_of(schema, self._root)
        return {"description": "", **part.schema, "type": part.kind}

    def _fields(self, schema: Json) -> dict[str, Json]:
        item = self._plain(schema.get("items"))
        return {name: self._plain(part) for name, part in item.get("properties", {}).items()}

    def other_words(self, text: str) -> list[str]:
        """Return the words of ``text`` that are neither the calculator's name nor a part of its inputs."""
        schemas = [part for one in self.properties.values() for part in (one, *self._fields(one).values())]
        names = [name for schema in schemas for name in aliases(schema)]
        rest = re.sub("|".join(filter(None, (self._names, any_of(names)))), " ", text)
        return [word for word in _WORD.findall(blanked(rest, self._spans(rest, schemas))) if not has_no_topic(word)]

    def _spans(self, text: str, schemas: Iterable[Json]) -> list[Span]:
        """Return where ``text`` has a value with a unit of one of ``schemas``."""
        units = [unit for schema in schemas for unit in self.units(schema)]
        return [(found.start, found.end) for found in values_with_unit(text, units)]

    def mentions(self, text: str) -> list[Span]:
        """Return where ``text`` names the calculator."""
        return [match.span() for match in re.finditer(rf"(?:{self._names}){_PER_DAY}", text)]

    def names_inside(self, text: str, mention: Span) -> list[Span]:
        """Return where a mention contains the name of a measured input, such as the end of "corrected calcium"."""
        inside = any_of(name for schema in self.properties.values() if self.units(schema) for name in aliases(schema))
        return [match.span() for match in re.compile(inside or "(?!)").finditer(text, *mention)]

    def read(self, text: str) -> StatedInputs:
        """Return the inputs that ``text`` states."""
        reading = StatedInputs(self)
        rest = blanked(text, self._without_inputs(text))
        self._read_quantities(self.properties, rest, reading)
        for name, schema in self.properties.items():
            value: Any = None
            if isinstance(schema.get("enum"), list):
                value = only_option(schema, rest)
            elif schema["type"] == "boolean":
                value = finding(schema, rest)
            elif schema["type"] == "array":
                value = self.items(schema, rest) or None
                if value:
                    reading.spans += self._spans(rest, self._fields(schema).values())
                    reading.spans += [match.span() for match in TABLETS.finditer(rest)]
            if value is not None:
                reading.given[name] = value
        if _NO_OTHERS.search(rest):
            reading.given |= dict.fromkeys((name for name in self.criteria if name not in reading.given), False)
        return reading

    def _without_inputs(self, text: str) -> list[Span]:
        """Return the mentions of the calculator, each up to the input that it ends with."""
        mentions = self.mentions(text)
        ends = [[start for start, end in self.names_inside(text, one) if end == one[1]] for one in mentions]
        return [(one[0], min(end, default=one[1])) for one, end in zip(mentions, ends, strict=True)]

    def _read_quantities(self, properties: dict[str, Json], text: str, reading: StatedInputs) -> None:
        """Read values by the name of their input, then values of needed inputs by a unit that only one input takes."""
        units = {name: found for name, schema in properties.items() if (found := self.units(schema))}
        needed = [units[name] for name in units if _OPTIONAL not in properties[name]["description"]]
        for name, accepted in units.items():
            _keep(reading, name, named_values(text, listed(properties[name]["description"], "Also"), accepted))
        for name, accepted in units.items():
            rivals = needed if accepted in needed else list(units.values())
            own = [unit for unit in accepted if sum(unit in others for others in rivals) == 1]
            known = name in reading.given or name in reading.unclear
            description = properties[name]["description"]
            if not known and (_OPTIONAL not in description or _EITHER in description):
                stated = [one for one in values_with_unit(text, own) if not self._is_another(one, text)]
                _keep(reading, name, stated)

    def _is_another(self, value: Measured, text: str) -> bool:
        """Return whether a concentration has another name before it: ``bilirubin 2 mg/dl`` is not creatinine."""
        name = _NAME_BEFORE.search(text, 0, value.start) if (value.unit or "").endswith(_PER_VOLUME) else None
        return name is not None and bool(self.other_words(name[0]))

    def units(self, schema: Json) -> list[str]:
        """Return the units of an input that is a value; none for other inputs."""
        if not is_quantity(schema):
            return []
        unit = self._plain(schema["properties"]["unit"])
        return [unit["const"]] if "const" in unit else list(unit.get("enum", ()))

    def choice(self, schema: Json) -> tuple[str, dict[str, Json]]:
        """Return the field of a list's items that has options, or "", and all of their fields."""
        fields = self._fields(schema)
        return next((name for name, part in fields.items() if isinstance(part.get("enum"), list)), ""), fields

    def items(self, schema: Json, text: str) -> list[Json]:
        """Return an object for each mention of an option of the items, read from the words up to the next mention."""
        choice, fields = self.choice(schema)
        found: list[Json] = []
        for option, words in by_option(fields[choice], text) if choice else ():
            part = StatedInputs(self)
            self._read_quantities(fields, with_whole_doses(words), part)
            part.given |= {name: only_option(one, words, last=True) for name, one in fields.items() if "enum" in one}
            found.append({**{name: part.given.get(name) for name in fields}, choice: option})
        return found


def _keep(reading: StatedInputs, name: str, stated: Sequence[Measured]) -> None:
    """Keep the stated value; if there are several different ones, the input is unclear."""
    free = [one for one in stated if not any(start < one.end and one.start < end for start, end in reading.spans)]
    reading.spans += [(one.start, one.end) for one in free]
    found = [one for one in free if not one.is_other]
    units = [one.unit for one in found if one.unit]
    amounts = [one.value * UNITS.get((one.unit or "".join(units[:1])).casefold(), ("", 1.0))[1] for one in found]
    if found and max(amounts) <= min(amounts) * (_SAME if len(set(units)) > 1 else 1):
        reading.given[name] = {"value": found[0].value, "unit": found[0].unit}
    elif found:
        reading.unclear.add(name)


def _has_value(value: Any) -> bool:
    """Return whether more than its name is known of every item of a list, and a measured value of one."""
    items = [[each for each in one.values() if each is not None] for one in value] if isinstance(value, list) else []
    return not items or (min(map(len, items)) > 1 and any(isinstance(each, dict) for one in items for each in one))
