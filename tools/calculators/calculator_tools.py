"""The calculators as tools: every input may be null, and what is missing or implausible is asked for.

The tool checks the inputs of a calculator, settles their units, and returns the result together with a passage that the
answer can cite.
"""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, get_args

from pydantic import BaseModel, JsonValue

from tools.calculators.calculator_tables import Calculated, Calculator, calculators
from tools.calculators.quantities import InputNeeded, Quantity
from tools.calculators.wording import ENGLISH, LANGUAGE, either, languages, translate, wording
from tools.function_tool import FunctionTool
from tools.language.folding import fold_phrase
from tools.language.named_lists import any_of, listed
from tools.types import CitedAs, FunctionDefinition, Passage, Phrase, SectionStart, ToolPresentation, ToolResult

_ENOUGH_INPUTS = 3
_AGED = re.compile(r"\d ?-?(?:y\b|yo\b|y/o|yrs?\b|years?\b|jahre|jähr|[mf]\b)")
_SOURCE, _INTERPRETATION = "source", "interpretation"
_FIELDS = ("calculation", "needs", _SOURCE, "result", "inputs", _INTERPRETATION, "notes", "formula", "valid_for")
"""Fields of a result; all but the first three are named in the language of the answer."""
_RULE = "Pass null for what the user did not state."


def calculator_tools() -> list[FunctionTool]:
    """All calculators; they only compute."""
    return [_tool(calculator) for calculator in calculators()]


def _tool(calculator: Calculator) -> FunctionTool:
    """Make a tool of ``calculator``: every input may be null, and null for a required one is asked for."""

    def run(*, language: str = ENGLISH, **inputs: Any) -> ToolResult:
        LANGUAGE.set(language)
        try:
            said = {name: translate(label) for name, label in labels.items()}
            return _result(calculator, *_computed(calculator, inputs, said))
        except InputNeeded as needed:
            return ToolResult(data={"needs": str(needed)}, summary=Phrase(text="needs input"))

    described = "\n".join(f"    {name}: {one.description}" for name, one in calculator.inputs.items())
    run.__name__ = f"calculate_{calculator.name}"
    run.__doc__ = f"{calculator.summary}\n\n{calculator.about}\n{_RULE}\n\nArgs:\n{described}\n"
    hints = {name: one.hint | None for name, one in calculator.inputs.items()}
    run.__annotations__ = {**hints, "language": str, "return": ToolResult}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(_parameter(name, hint, required=calculator.inputs[name].required) for name, hint in hints.items()),
            inspect.Parameter("language", inspect.Parameter.KEYWORD_ONLY, default=ENGLISH, annotation=str),
        ]
    )
    # No input names the call: the name of one that does not exist keeps them out of the title.
    presentation = ToolPresentation(title=calculator.title, icon="calculator", subjects=("none",))
    tool = FunctionTool(run, presentation=presentation, idempotent=True, hidden=["language"])
    properties = tool.definition.parameters["properties"]
    labels = {name: label_of(properties[name], name) for name in calculator.inputs}
    tool.presentation = _translated(presentation, labels, tool.definition.parameters)
    for name, one in calculator.inputs.items():
        if not one.required:
            properties[name]["description"] += " Optional."
    aged = any(one.kind == "AdultAge" for one in calculator.inputs.values())
    required = sum(one.required for one in calculator.inputs.values())
    enough = _ENOUGH_INPUTS if calculator.criteria else min(_ENOUGH_INPUTS, max(2, required))
    tool.relevant_to = _relevance(tool.definition, aged=aged, enough=enough)
    return tool


def _parameter(name: str, hint: Any, *, required: bool) -> inspect.Parameter:
    default = inspect.Parameter.empty if required else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _translated(presentation: ToolPresentation, labels: dict[str, str], schema: dict[str, Any]) -> ToolPresentation:
    """Return ``presentation`` with the names, units and options of the inputs in every language with a catalogue.

    The fields of a result are translated from every language, because a page may have another one than the answer.
    """
    body = json.dumps(schema, ensure_ascii=False)
    known = (ENGLISH, *languages())
    translations = {
        language: {english: word for english, word in wording(language).items() if f'"{english}"' in body}
        | {_said(field, other): _said(field, language) for field in _FIELDS for other in known}
        | {
            name.replace("_", " "): wording(language)[label]
            for name, label in labels.items()
            if label in wording(language)
        }
        for language in known
    }
    return presentation.model_copy(update={"translations": translations})


def _relevance(definition: FunctionDefinition, *, aged: bool, enough: int) -> Callable[[str], bool]:
    """Return whether a text names the calculator, or ``enough`` of its inputs: only then it is declared to a model."""
    names = re.compile(any_of(listed(definition.description, "Also")))
    described = [str(schema.get("description")) for schema in definition.parameters["properties"].values()]
    aliases = [[entry.partition(" = ")[0] for entry in listed(description, "Also")] for description in described]
    inputs = [re.compile(any_of(words)) for words in aliases if words]

    def relevant(text: str) -> bool:
        words = fold_phrase(text)
        if names.search(words):
            return True
        given = sum(pattern.search(words) is not None for pattern in inputs)
        return bool(inputs) and given + (aged and _AGED.search(words) is not None) >= enough

    return relevant


def label_of(schema: dict[str, Any], name: str) -> str:
    """Return the name of an input, the beginning of its description."""
    description = str(schema.get("description") or name)
    return description.partition("Also:")[0].strip().rstrip(".").replace("\n", " ")


def _computed(
    calculator: Calculator, inputs: dict[str, Any], labels: Mapping[str, str]
) -> tuple[Calculated, list[str], list[str]]:
    """Return the calculation, a line for each input and notes; a unit is assumed where every other gives the same."""
    try:
        given, lines, notes = _checked(calculator, inputs, labels)
        return calculator.calculate(given), lines, notes
    except InputNeeded:
        without = {name: one for name, one in inputs.items() if isinstance(one, Quantity) and len(one.readings) > 1}
        readings = product(*(one.readings for one in without.values()))
        settled = [inputs | dict(zip(without, one, strict=True)) for one in readings]
        outcomes = {_outcome(calculator, one, labels) for one in settled}
        if None in outcomes or len(outcomes) > 1:
            raise
    calculated, lines, notes = _computed(calculator, settled[0], labels)
    return calculated, lines, [*notes, *(_assumed(settled[0][name], labels[name]) for name in without)]


def _outcome(calculator: Calculator, inputs: dict[str, Any], labels: Mapping[str, str]) -> object:
    """Return what tells one result from another; None if more must be known."""
    try:
        calculated = calculator.calculate(_checked(calculator, inputs, labels)[0])
    except InputNeeded:
        return None
    return calculated.results, calculated.interpretation, calculated.notes


def _assumed(quantity: Quantity[Any], label: str) -> str:
    told = "{label}: no unit was given; {unit} was assumed, and the result is the same in {units}."
    others = (unit for unit in quantity.FACTORS if unit != quantity.unit)
    return translate(told, label=label.partition(";")[0], unit=translate(str(quantity.unit)), units=either(others))


def _checked(
    calculator: Calculator, inputs: dict[str, Any], labels: Mapping[str, str]
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the inputs with their units settled, a line for each and notes; raise ``InputNeeded`` for all problems."""
    lacking = [name for name, one in calculator.inputs.items() if one.required and inputs[name] is None]
    missing = "; ".join(labels[name] + _choices(calculator.inputs[name].hint) for name in lacking)
    asked = translate("{title} needs: {inputs}.", title=translate(calculator.title), inputs=missing)
    problems = [asked] if missing else []
    # What follows a semicolon says which other input takes its place.
    labels = {name: label.partition(";")[0] for name, label in labels.items()}
    given: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in inputs.items():
        try:
            given[name], more = _settled(value, labels[name])
            notes += more
        except InputNeeded as needed:
            problems.append(str(needed))
    if problems:
        raise InputNeeded(" ".join(problems))
    lines = [f"{labels[name]}: {_shown(value)}" for name, value in given.items() if value is not None]
    return given, lines, notes


def _choices(hint: Any) -> str:
    """Return the units or options of an input in brackets: `` (mg/dl or µmol/l)``."""
    is_quantity = isinstance(hint, type) and issubclass(hint, Quantity)
    options = list(hint.FACTORS) if is_quantity and not hint.USUAL else list(get_args(hint))
    words = [option for option in options if isinstance(option, str)]
    return f" ({either(words)})" if len(words) > 1 else ""


def _settled(value: Any, label: str) -> tuple[Any, list[str]]:
    """Check every quantity inside ``value``, with its unit inferred where only one is plausible."""
    if isinstance(value, Quantity):
        quantity, note = value.checked(label)
        return quantity, [note] if note else []
    if isinstance(value, list):
        parts = [_settled(part, label) for part in value]
        return [part for part, _ in parts], [note for _, notes in parts for note in notes]
    if isinstance(value, BaseModel):
        fields = {
            name: _settled(getattr(value, name), f"{label}, {translate(name)}") for name in type(value).model_fields
        }
        settled = value.model_copy(update={name: part for name, (part, _) in fields.items()})
        return settled, [note for _, notes in fields.values() for note in notes]
    return value, []


def _shown(value: Any) -> str:
    match value:
        case bool():
            return translate("yes" if value else "no")
        case Quantity():
            return value.text
        case list():
            return "; ".join(map(_shown, value))
        case BaseModel():
            parts = (getattr(value, name) for name in type(value).model_fields)
            return ", ".join(_shown(part) for part in parts if part is not None)
        case _:
            return translate(str(value))


def _said(field: str, language: str) -> str:
    return wording(language).get(field, field).replace("_", " ")


def _result(calculator: Calculator, calculated: Calculated, inputs: list[str], notes: list[str]) -> ToolResult:
    """Return what an answer states; all bands and workings are in the passage that it cites."""
    stated: dict[str, JsonValue] = {
        "result": "; ".join(f"{name} {value}" for name, value in calculated.results),
        "inputs": list(inputs),
        _INTERPRETATION: calculated.interpretation,
        "notes": " ".join((*calculated.notes, *notes)),
        "formula": translate(calculator.formula),
        "valid_for": translate(calculator.valid_for),
        _SOURCE: calculator.source.text,
    }
    computed = {name: value for name, value in stated.items() if name != _INTERPRETATION}
    meaning: dict[str, JsonValue] = {
        _INTERPRETATION: calculated.interpretation,
        "bands": [band.text for band in calculated.bands],
        "bands_source": calculator.bands_source.text if calculator.bands_source else "",
    }
    passage = _passage(calculator, _lines({**computed, "workings": list(calculated.workings)}), _lines(meaning))
    said = {name if name == _SOURCE else translate(name): value for name, value in stated.items() if value}
    return ToolResult(
        data={"cite": passage.id, "calculation": translate(calculator.heading), **said},
        passages=(passage,),
        summary="; ".join(value for _, value in calculated.results),
    )


def _lines(fields: Mapping[str, JsonValue]) -> str:
    shown = {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in fields.items()}
    return "\n".join(f"{_titled(name)}: {value}" for name, value in shown.items() if value)


def _titled(field: str) -> str:
    return translate(field).replace("_", " ").capitalize()


def _passage(calculator: Calculator, computed: str, meaning: str) -> Passage:
    """Return the calculation as a passage; its interpretation is cited to the publication of the bands."""
    text = f"{computed}\n{meaning}".rstrip()
    version = hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
    name = f"calculation:{calculator.heading.casefold().replace(' ', '-')}"
    heading, bands = translate(calculator.heading), calculator.bands_source
    further: tuple[SectionStart, ...] = ()
    if bands:
        title = f"{_titled(_INTERPRETATION)}: {heading}"
        cited_as = CitedAs(id=f"{name}:bands:{version}", title=title, issuer="", version="", url=bands.url)
        section = f"{_titled(_SOURCE)}: {bands.text}"
        further = (SectionStart(at=len(computed) + 1, section=section, cited_as=cited_as),)
    return Passage(
        id=f"{name}:{version}",
        kind="calculation",
        document_id=name,
        title=f"{_titled('calculation')}: {heading}",
        section=f"{_titled('formula')}: {calculator.source.text}",
        further_sections=further,
        text=text,
        url=calculator.source.url,
    )
