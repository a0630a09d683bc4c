"""Chooses the calculators that a question wants, and fills their inputs from the question.

A calculator is a function with an input that has a value and a unit. Its description and those of its inputs list their
names after ``Also:``, with ``word = option`` for the names of an option; phrases after ``Not:`` are not names. A number
after the calculator's name is its result if it has no unit, or a unit listed after ``Result in:``. Inputs that are not
stated are sent as null, and the calculator asks for them.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from chat_app.offline.calculating.bare_numbers import read_bare_number
from chat_app.offline.calculating.calculator_reading import DeclaredCalculator, Span, StatedInputs
from chat_app.offline.calculating.findings import ASKS
from chat_app.offline.calculating.item_lists import alters_list, changed_lists
from chat_app.offline.calculating.measurements import is_quantity, is_similar, lone_value, plain
from chat_app.offline.reading.cases import case_in
from chat_app.offline.reading.dialogue import Exchange, decoded, fields_of
from chat_app.offline.wire.errors import Json
from chat_app.offline.wire.model import Call
from chat_app.offline.wire.requests import FunctionToolIn
from tools.language.measurement_units import fold_figures
from tools.language.named_lists import any_of, listed

_ALL_DENIED: Final = re.compile(r"^(?:no|none|none of (?:these|them|those)|nein|keine?s?)[.! ]*$")
_AND: Final = re.compile(r"(?:[ ,;/&+()]|\b(?:and|or|plus|also|the|scores?|und|oder|auch|der|die|das|y|o)\b)*")
"""Text between the names of two calculators that are both wanted."""
_LONGEST_FOLLOW_UP: Final = 12
_MOST_OTHER_WORDS: Final = 2
"""Maximum number of words beside the items of a follow-up to a list, which may be longer."""


def is_calculator(function: FunctionToolIn) -> bool:
    """Return whether an input, or a part of one, is a value with a unit."""
    definitions = (function.parameters or {}).get("$defs")
    return isinstance(definitions, dict) and any(map(is_quantity, definitions.values()))


def calculations(functions: Sequence[FunctionToolIn], turns: Sequence[Exchange]) -> tuple[list[Call], bool]:
    """Return the calls of calculators that the last question still needs, and whether it asks for nothing else."""
    calculators = [DeclaredCalculator(function) for function in functions if is_calculator(function)]
    chosen, alone = _chosen(calculators, turns, plain(turns[-1].question, _measurements(calculators)))
    done = {output.name for output in turns[-1].outputs}
    return [reading.call for reading in chosen if reading.calculator.name not in done], alone


def _chosen(
    calculators: Sequence[DeclaredCalculator], turns: Sequence[Exchange], text: str
) -> tuple[list[StatedInputs], bool]:
    followed, case = _follow_up(calculators, turns, text), case_in(turns[-1].question)
    named = _named(calculators, plain(case.question) if case else text)
    if named and not (followed and followed.calculator in named and alters_list(followed, text)):
        readings = [calculator.read(text) for calculator in named]
        for reading in readings:
            _carry_over(reading, calculators, turns, text)
            read_bare_number(reading, text)
        best = _best([reading for reading in readings if reading.wanted(text)], named, text)
        return best, bool(best) and all(reading.alone(text) for reading in best)
    if followed:
        return [followed], not followed.names_medicine(text)
    if case:
        return [], False
    unnamed = [calculator.read(text) for calculator in calculators]
    whole = [reading for reading in unnamed if reading.is_all(text)]
    if len(whole) == 1:
        return whole, True
    telling = [reading for reading in unnamed if reading.is_telling]
    return sorted(telling, key=lambda reading: -len(reading.given))[:1], False


def _measurements(calculators: Sequence[DeclaredCalculator]) -> list[str]:
    """Return the names of measurements other than ages, without those that are also the name of a criterion."""
    schemas = [(calculator, schema) for calculator in calculators for schema in calculator.properties.values()]
    criteria = {name for calculator in calculators for name in calculator.criterion_names}
    measured = [
        schema for calculator, schema in schemas if (units := calculator.units(schema)) and "years" not in units
    ]
    return sorted({name for schema in measured for name in listed(schema["description"], "Also")} - criteria)


def _best(
    wanted: Sequence[StatedInputs], named: Mapping[DeclaredCalculator, set[Span]], text: str
) -> list[StatedInputs]:
    """Return the readings with the most inputs, and those that a list names: "eGFR and CrCl"."""
    spans = sorted({span for found in named.values() for span in found})
    in_lists = {span for pair in pairwise(spans) if _AND.fullmatch(text, pair[0][1], pair[1][0]) for span in pair}
    most = max((len(reading.given) for reading in wanted), default=0)
    return [one for one in wanted if len(one.given) == most or named[one.calculator] & in_lists]


def _carry_over(
    reading: StatedInputs, calculators: Sequence[DeclaredCalculator], turns: Sequence[Exchange], text: str
) -> None:
    """Add the inputs of the calculation before that a follow-up on the same patient leaves out."""
    known = {calculator.name: calculator for calculator in calculators}
    outputs = [output for output in (turns[-2].outputs if len(turns) > 1 else []) if output.name in known]
    if not outputs or len(text.split()) > _LONGEST_FOLLOW_UP or not _is_follow_up(reading, text):
        return
    calculator = reading.calculator
    before = calculator.read(plain(turns[-2].question, _measurements(calculators))).given
    for output in outputs:
        kinds = known[output.name].properties
        # The same criterion may have different bounds: a TIA is a stroke in CHA2DS2-VASc, but not in HAS-BLED.
        before |= {
            name: value
            for name, value in output.given.items()
            if value is not None and calculator.properties.get(name) == kinds[name]
        }
    chosen = [name for name, value in reading.given.items() if isinstance(value, str)]
    if all(before.get(name) in {None, reading.given[name]} for name in chosen):
        kept = {name: value for name, value in before.items() if name not in reading.unclear}
        reading.given = {**kept, **reading.given}


def _is_follow_up(reading: StatedInputs, text: str) -> bool:
    """Return whether ``text`` may leave out what was said before: it states no age, and nothing else is asked."""
    calculator, given = reading.calculator, reading.given
    if any("years" in calculator.units(calculator.properties[name]) for name in given):
        return False
    states_input = any(not isinstance(value, str) for value in given.values())
    return states_input or not (ASKS.search(text) or len(calculator.other_words(text)) > 1)


def _named(calculators: Sequence[DeclaredCalculator], text: str) -> dict[DeclaredCalculator, set[Span]]:
    """Return the calculators that ``text`` names; a name inside a longer name of another one does not count."""
    spans = {calculator.name: calculator.mentions(text) for calculator in calculators}
    # "Normal kidney function" is a criterion of HAS-BLED.
    criteria = re.compile(any_of(name for one in calculators for name in one.criterion_names) or "(?!)")
    everything = [span for found in spans.values() for span in found]
    everything += [match.span() for match in criteria.finditer(text)]

    def counts(span: Span) -> bool:
        return not any(one[0] <= span[0] and span[1] <= one[1] and one != span for one in everything)

    own = {calculator: set(filter(counts, spans[calculator.name])) for calculator in calculators}
    return {calculator: found for calculator, found in own.items() if found}


def _follow_up(calculators: Sequence[DeclaredCalculator], turns: Sequence[Exchange], text: str) -> StatedInputs | None:
    """Return the inputs of the calculator of the turn before if ``text`` adds or changes any."""
    outputs = turns[-2].outputs if len(turns) > 1 else []
    for output in reversed(outputs):
        calculator = next((one for one in calculators if one.name == output.name), None)
        if calculator is None:
            continue
        now = calculator.read(text)
        before = {name: value for name, value in output.given.items() if value is not None}
        now.given |= changed_lists(calculator, before, text)
        asked = fields_of(decoded(output.output)).get("needs", "")
        if asked and _ALL_DENIED.match(text):
            now.given |= dict.fromkeys((name for name in calculator.criteria if name not in before), False)
        if (
            asked
            and not (now.given or ASKS.match(text))
            and (reply := _reply(calculator, before, fold_figures(asked), text))
        ):
            now.given = {**before, **reply}
            return now
        # "Can he have ...?" after the calculation for a man adds nothing.
        has_list = any(isinstance(value, list) for value in now.given.values())
        is_list = has_list and len(calculator.other_words(text)) <= _MOST_OTHER_WORDS
        if before | now.given != before and (asked or is_list or len(text.split()) <= _LONGEST_FOLLOW_UP):
            now.given = {**before, **{name: _in_unit_of(before.get(name), value) for name, value in now.given.items()}}
            return now
    return None


def _in_unit_of(before: object, value: Any) -> Any:
    """Return a quantity without a unit in that of the similar value that it corrects."""
    old = fields_of(before)
    if "value" not in old or fields_of(value).get("unit", old) is not None:
        return value
    return {**value, "unit": old["unit"]} if is_similar(old["value"], value["value"]) else value


def _reply(calculator: DeclaredCalculator, before: Json, asked: str, text: str) -> Json:
    """Return the only input that ``asked`` can mean, with the number or unit that is all of ``text``."""
    units = {name: taken for name, schema in calculator.properties.items() if (taken := calculator.units(schema))}
    either = [] if any(name in before for name in calculator.either) else calculator.either
    lacking = [name for name in (*calculator.required, *either) if name in units and name not in before]
    without = [name for name in units if name in before and _lacks_unit(before[name], units[name], asked)]
    told = {name: value for name in (*lacking, *without) if (value := lone_value(text, units[name]))}
    if not any(value["unit"] for value in told.values()):
        # A number alone is rather one that was not given.
        told = {name: told[name] for name in lacking or without if name in told}
    whole = {name: {**fields_of(before.get(name)), **value} for name, value in told.items()}
    fitting = {name: value for name, value in whole.items() if "value" in value}
    return fitting if len(fitting) == 1 else {}


def _lacks_unit(value: object, units: Sequence[str], asked: str) -> bool:
    """Return whether the value has no unit, and ``asked`` lists those that it may have."""
    return (
        fields_of(value).get("unit") is None and len(units) > 1 and all(fold_figures(unit) in asked for unit in units)
    )
