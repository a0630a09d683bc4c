"""Calls of calculators: which one a question wants, and its inputs as the question states them.

A calculator is a function with an input that has a value and a unit. Its names and those of its inputs are what its
descriptions list behind ``Also:``; phrases behind ``Not:`` are no mention, and ``word = option`` maps to an option. A
number in a unit behind ``Result in:`` that follows the calculator's name is its result, and no input.
What is not stated is sent as null: the calculator itself asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chat_app.offline.calculating.findings import aliases, blanked, by_option, finding, only_option
from chat_app.offline.calculating.measurements import (
    NUMBER,
    Measured,
    named_values,
    plain,
    values_with_unit,
)
from chat_app.offline.extraction.dialogue import Exchange, decoded, fields_of
from chat_app.offline.schema_filling.schemas import part_of
from chat_app.offline.wire.model import Call
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.figures import UNITS
from tools.language.inn_stems import has_drug_stem
from tools.language.named_lists import any_of, listed
from tools.language.word_lists import word_list

Json = dict[str, Any]
Span = tuple[int, int]
_OPTIONAL: Final = "Optional."
_WANTED: Final = re.compile(r"\b(?:calculate|compute|work out|estimate|determine|berechne\w*)\b")
_TO_VALUE: Final = r"(?: (?:score|value))?(?: (?:of|is|was|above|below|under|over|at least))? ?(?:[:=<>≥≤]=? ?)?"
_PER_DAY: Final = r"(?: 1 times a day)?"
"""Behind a name: of the result, no input."""
_ALL_DENIED: Final = re.compile(r"^(?:no|none|none of (?:these|them|those)|nein|keine?s?)[.! ]*$")
_NO_OTHERS: Final = re.compile(r"\bno (?:other |known |further )?(?:risk factors?|comorbidit\w+|criteria)\b")
_ENOUGH_UNNAMED: Final = 3
_MOST_OTHER_WORDS: Final = 1
"""Words beside name and inputs with which an incomplete question still asks for the result and for nothing else."""
_MOST_WITH_ONE: Final = 3
"""The same where only one input is given."""
_SEVERAL_CRITERIA: Final = 3
_SAME: Final = 1.02
"""Ratio up to which two values are one, such as 80 kg and 176 lb."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_NAME_BEFORE: Final = re.compile(r"[^\W\d_]{3,}(?: (?:of|is|was|von|ist))?(?: ?[:=])? ?$")
_PER_VOLUME: Final = ("/dl", "/l")
_LONGEST_FOLLOW_UP: Final = 12


def is_calculator(function: FunctionToolIn) -> bool:
    """Return whether one of the inputs, or a part of one, is a value with a unit."""
    definitions = (function.parameters or {}).get("$defs")
    return isinstance(definitions, dict) and any(map(_is_quantity, definitions.values()))


def calculations(functions: Sequence[FunctionToolIn], turns: Sequence[Exchange]) -> tuple[list[Call], bool]:
    """Return the calls of calculators that the last question still wants, and whether it wants nothing else."""
    calculators = [_Calculator(function) for function in functions if is_calculator(function)]
    chosen, alone = _chosen(calculators, turns, plain(turns[-1].question, _measurements(calculators)))
    done = {output.name for output in turns[-1].outputs}
    return [reading.call for reading in chosen if reading.calculator.name not in done], alone


def _chosen(calculators: Sequence[_Calculator], turns: Sequence[Exchange], text: str) -> tuple[list[_Reading], bool]:
    named = _named(calculators, text)
    if named:
        wanted = [reading for reading in (calculator.read(text) for calculator in named) if reading.wanted(text)]
        most = max((len(reading.given) for reading in wanted), default=0)
        best = [reading for reading in wanted if len(reading.given) == most]
        return best, bool(best) and all(reading.alone(text) for reading in best)
    followed = _follow_up(calculators, turns, text)
    if followed:
        return [followed], True
    telling = [reading for reading in (calculator.read(text) for calculator in calculators) if reading.is_telling]
    telling.sort(key=lambda reading: -len(reading.given))
    return telling[:1], False


@dataclass
class _Reading:
    """What a text says about the inputs of a calculator."""

    calculator: _Calculator
    given: Json = field(default_factory=dict[str, Any])
    spans: list[Span] = field(default_factory=list[Span])
    unclear: set[str] = field(default_factory=set[str])
    """Inputs for which the text states several different values."""

    @property
    def call(self) -> Call:
        return Call(self.calculator.name, {name: self.given.get(name) for name in self.calculator.properties})

    @property
    def is_complete(self) -> bool:
        known = all(name in self.given or name in self.unclear for name in self.calculator.required)
        return known and self._states_a_criterion

    @property
    def _states_a_criterion(self) -> bool:
        criteria = self.calculator.criteria
        return len(self._measured) >= 2 or not criteria or any(name in self.given for name in criteria)

    @property
    def _measured(self) -> list[Json]:
        return [value for value in self.given.values() if isinstance(value, dict)]

    @property
    def is_telling(self) -> bool:
        """True when all required inputs are given, and more than a few: the text wants the result without naming it."""
        return self.is_complete and not self.unclear and len(self.given) >= _ENOUGH_UNNAMED and len(self._measured) >= 2

    def wanted(self, text: str) -> bool:
        """Return whether the text asks to calculate, or gives inputs; not when it states the result."""
        if self._states_result(text):
            return False
        others, known = len(self.calculator.other_words(text)), len(self.given) + len(self.unclear)
        lacks_one = self._lacks_one and (known >= 2 or others <= _MOST_WITH_ONE)
        return self._asked_by(text) or (others <= _MOST_OTHER_WORDS and known >= 2) or lacks_one

    @property
    def _lacks_one(self) -> bool:
        """Whether all required inputs but one are given, with a value other than the age, or with several criteria."""
        open_inputs = [name for name in self.calculator.required if name not in self.given and name not in self.unclear]
        measured = any(value["unit"] != "years" for value in self._measured)
        several = sum(name in self.given for name in self.calculator.criteria) >= _SEVERAL_CRITERIA
        lacks_one = len(open_inputs) == 1 < len(self.calculator.required)
        return lacks_one and (several or (measured and self._states_a_criterion))

    def alone(self, text: str) -> bool:
        """Return whether the text asks for nothing beside the result: it names no medicine that is no input."""
        others = self.calculator.other_words(text)
        if others and not self._asked_by(text):
            return False
        takes_drugs = any(schema["type"] == "array" for schema in self.calculator.properties.values())
        return takes_drugs or not any(map(has_drug_stem, others))

    def _asked_by(self, text: str) -> bool:
        return _WANTED.search(text) is not None or self.is_complete

    def _states_result(self, text: str) -> bool:
        """Return whether a number beside the calculator's name is its result and no input."""
        results = values_with_unit(text, self.calculator.result_units)
        for match in re.finditer(self.calculator.named_value, text):
            if text.startswith(" years", match.end()):
                continue
            given = [match.end(side) for side in ("before", "after") if match[side]]
            are_inputs = all(any(start < place <= end for start, end in self.spans) for place in given)
            if not are_inputs or any(found.end > match.end("after") >= found.start for found in results):
                return True
        return False


class _Calculator:
    """A function with its names, and its inputs by kind."""

    def __init__(self, function: FunctionToolIn) -> None:
        self.name = function.name
        self._root: Json = function.parameters or {}
        self._names = any_of(listed(function.description or "", "Also") or [function.name])
        self.named_value = rf"(?:(?P<before>{NUMBER}) ?)?(?:{self._names}){_PER_DAY}(?:{_TO_VALUE}(?P<after>{NUMBER}))?"
        """The name with a number before or behind it."""
        self.result_units = listed(function.description or "", "Result in")
        self.properties = {name: self._plain(part) for name, part in self._root.get("properties", {}).items()}
        self.criteria = [name for name, part in self.properties.items() if part["type"] == "boolean"]
        self.required = [name for name, part in self.properties.items() if _OPTIONAL not in part["description"]]

    def _plain(self, schema: object) -> Json:
        """Return the schema without null and references; its kind and its description are always there."""
        part = part_of(schema, self._root)
        return {"description": "", **part.schema, "type": part.kind}

    def other_words(self, text: str) -> list[str]:
        """Return the words of ``text`` that are neither the calculator's name nor a part of its inputs."""
        names = [name for schema in self.properties.values() for name in aliases(schema)]
        rest = re.sub("|".join(filter(None, (self._names, any_of(names)))), " ", text)
        units = [unit for schema in self.properties.values() for unit in self.units(schema)]
        spans = [(found.start, found.end) for found in values_with_unit(rest, units)]
        return [word for word in _WORD.findall(blanked(rest, spans)) if word not in word_list("stop")]

    def mentions(self, text: str) -> list[Span]:
        return [match.span() for match in re.finditer(rf"(?:{self._names}){_PER_DAY}", text)]

    def read(self, text: str) -> _Reading:
        """Return the inputs that ``text`` states."""
        reading = _Reading(self)
        rest = blanked(text, self.mentions(text))
        self._read_quantities(self.properties, rest, reading)
        for name, schema in self.properties.items():
            if isinstance(schema.get("enum"), list):
                value: Any = only_option(schema, rest)
            elif schema["type"] == "boolean":
                value = finding(schema, rest)
            elif schema["type"] == "array":
                value = self._items(schema, rest) or None
            else:
                continue
            if value is not None:
                reading.given[name] = value
        if _NO_OTHERS.search(rest):
            reading.given |= dict.fromkeys((name for name in self.criteria if name not in reading.given), False)
        return reading

    def _read_quantities(self, properties: dict[str, Json], text: str, reading: _Reading) -> None:
        """Read values by the name of their input, then those of required ones by a unit that only one input takes."""
        units = {name: found for name, schema in properties.items() if (found := self.units(schema))}
        for name, accepted in units.items():
            _keep(reading, name, named_values(text, listed(properties[name]["description"], "Also"), accepted))
        for name, accepted in units.items():
            own = [unit for unit in accepted if sum(unit in others for others in units.values()) == 1]
            known = name in reading.given or name in reading.unclear
            if not known and _OPTIONAL not in properties[name]["description"]:
                found = values_with_unit(text, own)
                _keep(reading, name, [one for one in found if not self._is_another(one, text)])

    def _is_another(self, value: Measured, text: str) -> bool:
        """Return whether a concentration has another name before it: ``bilirubin 2 mg/dl`` is no creatinine."""
        name = _NAME_BEFORE.search(text, 0, value.start) if (value.unit or "").endswith(_PER_VOLUME) else None
        return name is not None and bool(self.other_words(name[0]))

    def units(self, schema: Json) -> list[str]:
        """Return the units that a value takes; none for an input of another kind."""
        if not _is_quantity(schema):
            return []
        unit = self._plain(schema["properties"]["unit"])
        return [unit["const"]] if "const" in unit else list(unit.get("enum", ()))

    def _items(self, schema: Json, text: str) -> list[Json]:
        """One object for each mention of an option of the items' choice, read from the words up to the next one."""
        item = self._plain(schema.get("items"))
        fields = {name: self._plain(part) for name, part in item.get("properties", {}).items()}
        choice = next((name for name, part in fields.items() if isinstance(part.get("enum"), list)), None)
        if choice is None:
            return []
        found: list[Json] = []
        for option, words in by_option(fields[choice], text):
            part = _Reading(self)
            self._read_quantities(fields, words, part)
            read = {name: part.given.get(name) for name in fields}
            found.append({**read, choice: option})
        return found if all(any(isinstance(value, dict) for value in one.values()) for one in found) else []


def _measurements(calculators: Sequence[_Calculator]) -> list[str]:
    """Return the names of measurements, without those that name a criterion too, and without ages."""
    schemas = [(calculator, schema) for calculator in calculators for schema in calculator.properties.values()]
    criteria = {name for _, schema in schemas if schema["type"] == "boolean" for name in aliases(schema)}
    measured = [
        schema for calculator, schema in schemas if (units := calculator.units(schema)) and "years" not in units
    ]
    return sorted({name for schema in measured for name in listed(schema["description"], "Also")} - criteria)


def _keep(reading: _Reading, name: str, stated: Sequence[Measured]) -> None:
    """Keep the one value that is stated; of several different ones none is the input."""
    free = [one for one in stated if not any(start < one.end and one.start < end for start, end in reading.spans)]
    reading.spans += [(one.start, one.end) for one in free]
    found = [one for one in free if not one.is_other]
    usual = next((one.unit for one in found if one.unit), "")
    amounts = [one.value * UNITS.get((one.unit or usual).casefold(), ("", 1.0))[1] for one in found]
    if found and max(amounts) <= min(amounts) * _SAME:
        reading.given[name] = {"value": found[0].value, "unit": found[0].unit}
    elif found:
        reading.unclear.add(name)


def _is_quantity(schema: object) -> bool:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and set(properties) == {"value", "unit"}


def _named(calculators: Sequence[_Calculator], text: str) -> list[_Calculator]:
    """Return the calculators that ``text`` names; a name inside a longer name of another one does not count."""
    spans = {calculator.name: calculator.mentions(text) for calculator in calculators}
    everything = [span for found in spans.values() for span in found]

    def counts(span: Span) -> bool:
        return not any(one[0] <= span[0] and span[1] <= one[1] and one != span for one in everything)

    return [calculator for calculator in calculators if any(map(counts, spans[calculator.name]))]


def _follow_up(calculators: Sequence[_Calculator], turns: Sequence[Exchange], text: str) -> _Reading | None:
    """Read the calculator of the turn before, with what ``text`` adds or changes."""
    outputs = turns[-2].outputs if len(turns) > 1 else []
    for output in reversed(outputs):
        calculator = next((one for one in calculators if one.name == output.name), None)
        if calculator is None:
            continue
        now = calculator.read(text)
        before = {name: value for name, value in fields_of(decoded(output.arguments)).items() if value is not None}
        asked = "needs" in fields_of(decoded(output.output))
        if asked and _ALL_DENIED.match(text):
            now.given |= dict.fromkeys((name for name in calculator.criteria if name not in before), False)
        if now.given and (asked or len(text.split()) <= _LONGEST_FOLLOW_UP):
            now.given = {**before, **now.given}
            return now
    return None
