"""The calculators as tools: every input may be null, and what is missing or implausible is asked for.

The functions themselves take complete, typed inputs. The tool around one checks them, converts units, and returns the
result together with a passage that the answer can cite.
"""

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, JsonValue

from tools.calculators.body_size import calculate_bmi, calculate_bsa
from tools.calculators.electrocardiogram import calculate_qtc
from tools.calculators.electrolytes import calculate_anion_gap, calculate_corrected_calcium
from tools.calculators.kidney import calculate_creatinine_clearance, calculate_egfr
from tools.calculators.liver import calculate_meld3
from tools.calculators.models import Calculation, InputNeeded, Source
from tools.calculators.opioids import calculate_opioid_mme
from tools.calculators.pneumonia import calculate_curb65
from tools.calculators.point_scores import point_scores
from tools.calculators.quantities import Age, Quantity
from tools.calculators.wording import ENGLISH, LANGUAGE, either, languages, translate, wording
from tools.function_tool import FunctionTool
from tools.language.folding import fold_phrase
from tools.language.named_lists import any_of, listed
from tools.types import FunctionDefinition, Passage, Phrase, ToolPresentation, ToolResult

_CALCULATORS: dict[Callable[..., Calculation], str] = {
    calculate_egfr: "eGFR",
    calculate_creatinine_clearance: "Creatinine clearance",
    calculate_bmi: "Body mass index",
    calculate_bsa: "Body surface area",
    calculate_curb65: "CURB-65",
    calculate_qtc: "Corrected QT interval",
    calculate_corrected_calcium: "Corrected calcium",
    calculate_anion_gap: "Anion gap",
    calculate_opioid_mme: "Opioid dose (MME)",
    calculate_meld3: "MELD 3.0",
    **{score.function(): score.title for score in point_scores()},
}
"""Each calculator with its title."""
_ENOUGH_INPUTS = 3
_AGED = re.compile(r"\d ?-?(?:y\b|yo\b|y/o|yrs?\b|years?\b|jahre|jähr|[mf]\b)")
_SOURCE = "source"
_FIELDS = ("calculation", "needs", _SOURCE, "result", "inputs", "interpretation", "notes", "formula", "valid_for")
"""Fields of a result; all but the first three are named in the language of the answer."""
_RULE = "Pass null for what the user did not state."


def calculator_tools() -> list[FunctionTool]:
    """All calculators; they only compute."""
    return [calculator_tool(function, _presentation(title)) for function, title in _CALCULATORS.items()]


def _presentation(title: str) -> ToolPresentation:
    # No input names the call: the name of one that does not exist keeps them out of the title.
    return ToolPresentation(title=title, icon="calculator", subjects=("none",))


def calculator_tool(function: Callable[..., Calculation], presentation: ToolPresentation) -> FunctionTool:
    """Make a tool of ``function``: its inputs become nullable, and null for one without a default is asked for."""
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    nullable = {name: hints[name] | None for name in parameters}

    def run(*, language: str = ENGLISH, **inputs: Any) -> ToolResult:
        LANGUAGE.set(language)
        try:
            said = {name: translate(label) for name, label in labels.items()}
            given, lines, notes = _checked(presentation.title, inputs, required, said)
            return _result(function(**given), lines, notes)
        except InputNeeded as needed:
            return ToolResult(data={"needs": str(needed)}, summary=Phrase(text="needs input"))

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {**nullable, "language": str, "return": ToolResult}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(parameter.replace(annotation=nullable[name]) for name, parameter in parameters.items()),
            inspect.Parameter("language", inspect.Parameter.KEYWORD_ONLY, default=ENGLISH, annotation=str),
        ]
    )
    tool = FunctionTool(run, presentation=presentation, idempotent=True, hidden=["language"])
    tool.definition = tool.definition.model_copy(update={"description": f"{tool.definition.description}\n{_RULE}"})
    described = tool.definition.parameters["properties"]
    labels = {name: label_of(described[name], name) for name in parameters}
    tool.presentation = _translated(presentation, labels, tool.definition.parameters)
    required = {name: hints[name] for name, parameter in parameters.items() if parameter.default is parameter.empty}
    for name in parameters.keys() - required.keys():
        described[name]["description"] += " Optional."
    aged = any(isinstance(hint, type) and issubclass(hint, Age) for hint in hints.values())
    tool.relevant_to = _relevance(tool.definition, aged=aged)
    return tool


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


def _relevance(definition: FunctionDefinition, *, aged: bool) -> Callable[[str], bool]:
    """Return whether a text names the calculator, or several of its inputs: only then it is declared to a model."""
    names = re.compile(any_of(listed(definition.description, "Also")))
    described = [str(schema.get("description")) for schema in definition.parameters["properties"].values()]
    aliases = [[entry.partition(" = ")[0] for entry in listed(description, "Also")] for description in described]
    inputs = [re.compile(any_of(words)) for words in aliases if words]
    enough = min(_ENOUGH_INPUTS, len(inputs))

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


def _checked(
    title: str, inputs: dict[str, Any], required: dict[str, Any], labels: dict[str, str]
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the inputs with their units settled, a line for each and notes; raise ``InputNeeded`` for all problems."""
    missing = [labels[name] + _choices(hint) for name, hint in required.items() if inputs[name] is None]
    problems = (
        [translate("{title} needs: {inputs}.", title=translate(title), inputs="; ".join(missing))] if missing else []
    )
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
    options = list(hint.units()) if is_quantity and not hint.USUAL else list(get_args(hint))
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


def _result(calculation: Calculation, inputs: list[str], notes: list[str]) -> ToolResult:
    """Return what an answer states; all bands and workings are in the passage that it cites."""
    results = [f"{translate(result.name)} {result.text}" for result in calculation.results]
    said: dict[str, JsonValue] = {
        "result": "; ".join(results),
        "inputs": list(inputs),
        "interpretation": translate(calculation.interpretation),
        "notes": [*map(translate, calculation.notes), *notes],
        "formula": translate(calculation.formula),
        "valid_for": translate(calculation.valid_for),
        _SOURCE: _cited(calculation.source),
    }
    further: dict[str, JsonValue] = {
        "workings": list(calculation.workings),
        "bands": [band.text for band in calculation.bands],
        "bands_source": _cited(calculation.bands_source) if calculation.bands_source else "",
    }
    said = {name if name == _SOURCE else translate(name): value for name, value in said.items() if value}
    passage = _passage(calculation, {**said, **{translate(name): value for name, value in further.items() if value}})
    return ToolResult(
        data={"cite": passage.id, "calculation": translate(calculation.title), **said},
        passages=(passage,),
        summary="; ".join(result.text for result in calculation.results),
    )


def _passage(calculation: Calculation, fields: dict[str, JsonValue]) -> Passage:
    shown = {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in fields.items()}
    text = "\n".join(f"{translate(name).replace('_', ' ').capitalize()}: {value}" for name, value in shown.items())
    version = hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
    name = calculation.title.casefold().replace(" ", "-")
    return Passage(
        id=f"calculation:{name}:{version}",
        kind="calculation",
        document_id=f"calculation:{name}",
        title=calculation.source.title,
        issuer=calculation.source.citation,
        version=calculation.source.year,
        section=translate(calculation.title),
        text=text,
        url=calculation.source.url,
    )


def _cited(source: Source) -> str:
    return f"{source.citation}. {source.title}."
