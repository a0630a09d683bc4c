"""The words of the calculators in every language with a catalogue, and a whole call in each."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat_app.interface.i18n.translation import languages as page_languages
from chat_app.interface.rendering.tool_steps import finished_name, step_content
from tools.calculators import calculator_tools, wording
from tools.calculators.calculator_tools import label_of
from tools.function_tool import FunctionTool
from tools.language.measurement_units import UNITS
from tools.types import Function, FunctionOutput

FOLDER = Path(wording.__file__).parent
TOOLS = {tool.name: tool for tool in calculator_tools()}
TEXTS = {"heading", "unit", "label", "meaning", "valid_for", "interpretation", "no_band", "unstated"}
"""Texts of a table. ``formula`` is missing: an equation stays as its source has it."""
WORD = re.compile(r"[^\W\d_]{2,}")
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def strings(node: ast.AST) -> Iterator[str]:
    """The whole strings below ``node``; parts of an f-string are none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.JoinedStr | ast.Compare):
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def said_in_code() -> Iterator[str]:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "translate":
                yield from strings(node.args[0])


def said_in_tables() -> Iterator[str]:
    def texts(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (text for key, text in node.items() if key in TEXTS)
            yield from (said for part in node.values() for said in texts(part))
        elif isinstance(node, list):
            yield from (said for part in node for said in texts(part))

    for table in json.loads((FOLDER / "data/calculators.json").read_text()):
        yield from texts(table)
        yield from table.get("notes", ())
        yield from (result["name"] for result in table["results"])
        if "criteria" in table:
            yield table["formula"]


def enumerated(schema: Any) -> Iterator[str]:
    """The options and units of a JSON schema."""
    if isinstance(schema, dict):
        yield from (option for option in [*schema.get("enum", ()), schema.get("const")] if isinstance(option, str))
        for part in schema.values():
            yield from enumerated(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from enumerated(part)


def said_of_inputs() -> Iterator[str]:
    for tool in TOOLS.values():
        yield tool.presentation.title
        yield from enumerated(tool.definition.parameters)
        for name, schema in tool.definition.parameters["properties"].items():
            yield label_of(schema, name).removesuffix(" Optional").rstrip(".")


def needs_words(text: str) -> bool:
    return any(
        word.casefold() not in (UNITS.keys() | {"µmol".casefold(), "µg".casefold()}) - {"years", "months"}
        for word in WORD.findall(text)
    )


@pytest.mark.parametrize("language", wording.languages())
@pytest.mark.parametrize(
    ("texts", "least"),
    [(said_in_code, 15), (said_in_tables, 100), (said_of_inputs, 30)],
    ids=["code", "tables", "inputs"],
)
def test_every_text_of_the_calculators_has_a_message(language: str, texts: Any, least: int) -> None:
    wanted = {text for text in texts() if needs_words(text)}
    assert len(wanted) > least
    assert wanted - wording.wording(language).keys() == set()


def test_the_calculators_speak_every_language_of_the_page() -> None:
    assert {"en", *wording.languages()} == set(page_languages())


@pytest.mark.parametrize("language", wording.languages())
def test_a_translation_has_the_placeholders_of_its_english(language: str) -> None:
    for english, text in wording.wording(language).items():
        assert text, english
        assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(english))


async def called(tool: FunctionTool, language: str, **inputs: Any) -> FunctionOutput:
    arguments = {**dict.fromkeys(tool.definition.parameters["properties"]), **inputs}
    call = Function(call_id="c", name=tool.name, arguments=json.dumps(arguments))
    outputs = [item async for item in tool.astream(call, {"language": language}) if isinstance(item, FunctionOutput)]
    return outputs[0]


async def test_the_step_of_a_german_calculation_names_inputs_and_result_in_german() -> None:
    tool = TOOLS["calculate_creatinine_clearance"]
    age, weight, creatinine = ({"value": v, "unit": u} for v, u in ((67, "years"), (80, "kg"), (1.3, "mg/dl")))
    done = await called(tool, "de", age=age, sex="female", weight=weight, creatinine=creatinine)
    assert finished_name(done, tool.presentation, "de").startswith("Kreatinin-Clearance · 53.0 ml/min")
    shown = step_content(done, tool.presentation, "de").replace("\\", "")
    assert "| Alter | 67 Jahre |" in shown
    assert "| Geschlecht | weiblich |" in shown
    assert "| Ergebnis | Kreatinin-Clearance 53.0 ml/min |" in shown
    assert "| Gültig für | Erwachsene ab 18 Jahren mit stabiler Nierenfunktion |" in shown
    rows = [row for row in shown.splitlines() if not row.startswith(("| Formel", "| Quelle"))]
    english = r"\b(?:age|sex|female|weight|creatinine|result|inputs|notes|formula|valid|source|years|adults)\b"
    assert re.findall(english, "\n".join(rows), re.IGNORECASE) == []
    assert done.passages[0].text.startswith("Ergebnis: Kreatinin-Clearance 53.0 ml/min\nAngaben: Alter: 67 Jahre;")


@pytest.mark.parametrize(
    ("language", "line"), [("en", "Heart rate: 80 beats/min"), ("de", "Herzfrequenz: 80 Schläge/min")]
)
async def test_an_input_is_shown_without_what_could_be_given_in_its_place(language: str, line: str) -> None:
    qt, rate = {"value": 400, "unit": "ms"}, {"value": 80, "unit": "beats/min"}
    done = await called(TOOLS["calculate_qtc"], language, qt=qt, heart_rate=rate)
    assert f"; {line}" in done.passages[0].text


@pytest.mark.parametrize(("asked", "page", "label"), [("en", "de", "Gültig für"), ("de", "en", "valid for")])
async def test_a_result_is_in_the_language_of_the_question_and_its_labels_are_in_that_of_the_page(
    asked: str, page: str, label: str
) -> None:
    async def rows(language: str) -> list[list[str]]:
        tool = TOOLS["calculate_bmi"]
        inputs = {"weight": {"value": 80, "unit": "kg"}, "height": {"value": 180, "unit": "cm"}}
        shown = step_content(await called(tool, language, **inputs), tool.presentation, page)
        return [row.split(" | ") for row in shown.splitlines() if row.startswith("| ")]

    mixed, same = await rows(asked), await rows(page)
    assert [name for name, *_ in mixed] == [name for name, *_ in same]
    assert mixed != same
    assert any(label in name for name, *_ in mixed)


@pytest.mark.parametrize(("language", "first"), [("de", "Für „"), ("es", "Para «"), ("fr", "")])
@pytest.mark.parametrize("name", TOOLS)
async def test_missing_inputs_are_asked_for_in_the_language(name: str, language: str, first: str) -> None:
    asked = (await called(TOOLS[name], language)).output
    assert isinstance(asked, dict)
    english = (await called(TOOLS[name], "en")).output
    if not first:
        assert asked == english
    else:
        assert str(asked["needs"]).startswith((first, "Bitte angeben", "Indique"))


async def test_a_language_is_of_its_call_alone() -> None:
    tool = TOOLS["calculate_bmi"]
    inputs = {"weight": {"value": 80, "unit": "kg"}, "height": {"value": 180, "unit": "cm"}}
    assert "Präadipositas" not in str((await called(tool, "en", **inputs)).output)
    assert "Normalbereich" in str((await called(tool, "de", **inputs)).output)
    assert "Normal range" in str((await called(tool, "en", **inputs)).output)
