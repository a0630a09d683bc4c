"""What a calculator asks for, what it infers and says so, and the passage it can be cited by."""

from typing import Any, get_args

import pytest

from chat_app.interface.rendering.tool_steps import finished_name, step_content
from tools.calculators import calculator_tools
from tools.calculators.quantities import KINDS, Quantity
from tools.function_tool import FunctionTool
from tools.tool_manager import ToolManager
from tools.types import FunctionOutput

TOOLS: dict[str, FunctionTool] = {tool.name: tool for tool in calculator_tools()}


def call(name: str, **inputs: Any) -> FunctionOutput:
    tool = TOOLS[f"calculate_{name}"]
    return tool.call(**{**dict.fromkeys(tool.definition.parameters["properties"]), **inputs})


def needs(output: FunctionOutput) -> str:
    assert output.error is None
    assert isinstance(output.output, dict)
    assert set(output.output) == {"needs"}
    assert not output.passages
    return str(output.output["needs"])


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_without_any_input_asks_and_computes_nothing(name: str) -> None:
    asked = needs(call(name.removeprefix("calculate_")))
    assert asked.startswith((f"{TOOLS[name].presentation.title} needs: ", "State which"))


@pytest.mark.parametrize("name", TOOLS)
def test_every_calculator_states_formula_aliases_and_is_strict(name: str) -> None:
    definition = TOOLS[name].definition
    assert definition.strict
    assert "Also:" in definition.description
    assert "Pass null for what the user did not state." in definition.description


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_quantity_has_a_factor_for_each_unit_of_its_schema_and_a_range(kind: type[Quantity[str]]) -> None:
    assert next(iter(kind.FACTORS.values())) == 1
    assert set(kind.FACTORS) == set(get_args(get_args(kind.model_fields["unit"].annotation)[0]))
    assert kind.PLAUSIBLE[0] < kind.PLAUSIBLE[1]


def test_everything_that_is_missing_or_implausible_is_asked_at_once() -> None:
    asked = needs(call("egfr", age=None, sex="female", creatinine={"value": 1400, "unit": "mg/dl"}))
    assert "eGFR needs: Age." in asked
    assert "Check Serum creatinine: 1400 mg/dl" in asked


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("egfr", {"age": (12, "years"), "creatinine": (1, "mg/dl")}),
        ("egfr", {"age": (6, "months"), "creatinine": (1, "mg/dl")}),
        ("egfr", {"age": (130, "years"), "creatinine": (1, "mg/dl")}),
        ("egfr", {"age": (50, "years"), "creatinine": (0, "mg/dl")}),
        ("egfr", {"age": (50, "years"), "creatinine": (-1, "mg/dl")}),
        ("bmi", {"weight": (70, "kg"), "height": (1.75, "cm")}),
        ("bmi", {"weight": (700, "kg"), "height": (175, "cm")}),
        ("qtc", {"qt": (40, "ms"), "heart_rate": (70, None)}),
    ],
)
def test_values_outside_their_range_are_asked_about(name: str, inputs: dict[str, tuple[float, str | None]]) -> None:
    given = {key: {"value": value, "unit": unit} for key, (value, unit) in inputs.items()}
    sex = {"sex": "male"} if "sex" in TOOLS[f"calculate_{name}"].definition.parameters["properties"] else {}
    assert "Check" in needs(call(name, **sex, **given))


@pytest.mark.parametrize(("value", "unit"), [(1.3, "mg/dl"), (140, "µmol/l")])
def test_a_unit_that_alone_is_plausible_is_taken_and_said(value: float, unit: str) -> None:
    output = call("egfr", age={"value": 60, "unit": None}, sex="male", creatinine={"value": value, "unit": None})
    assert isinstance(output.output, dict)
    assert f"plausible only in {unit}" in str(output.output["notes"])


def pneumonia(**urea: float) -> FunctionOutput:
    values = {"respiratory_rate": 24, "systolic": 110, "diastolic": 70, "age": 70, **urea}
    return call("curb65", confusion=True, **{name: {"value": value, "unit": None} for name, value in values.items()})


@pytest.mark.parametrize(
    ("urea", "points", "assumed"),
    [
        ({"urea": 9}, 3, "mmol/l was assumed; 9 is unusual in mg/dl"),
        ({"urea": 70}, 3, "mmol/l was assumed, and the result is the same in mg/dl"),
        ({"urea": 55}, 3, "mmol/l was assumed, and the result is the same in mg/dl"),
        ({"urea_nitrogen": 5}, 2, "mg/dl was assumed, and the result is the same in mmol/l"),
    ],
)
def test_a_unit_that_cannot_change_the_result_is_assumed(urea: dict[str, float], points: int, assumed: str) -> None:
    output = pneumonia(**urea).output
    assert isinstance(output, dict)
    assert f" {points} of 5" in str(output["result"])
    assert assumed in str(output["notes"])


@pytest.mark.parametrize("urea", [{"urea": 18}, {"urea_nitrogen": 12}])
def test_a_unit_that_changes_the_result_is_asked_for(urea: dict[str, float]) -> None:
    assert needs(pneumonia(**urea)).startswith("Give the unit of Blood urea")


def test_a_unit_is_asked_for_beside_what_is_missing() -> None:
    asked = needs(call("curb65", urea={"value": 55, "unit": None}))
    assert "needs: Age" in asked
    assert "Give the unit of Blood urea" in asked


@pytest.mark.parametrize(("weight", "is_unusual"), [(300, True), (251, True), (250, False), (35, False), (30, True)])
def test_an_unusual_value_is_computed_with_and_remarked_on(weight: float, *, is_unusual: bool) -> None:
    given = {"age": (50, "years"), "weight": (weight, "kg"), "creatinine": (1, "mg/dl")}
    inputs = {name: {"value": value, "unit": unit} for name, (value, unit) in given.items()}
    output = call("creatinine_clearance", sex="male", **inputs).output
    assert isinstance(output, dict)
    assert ("Check Body weight, actual unless stated otherwise: " in str(output["notes"])) is is_unusual


@pytest.mark.parametrize("weight", [70, 260])
def test_a_weight_that_is_plausible_in_two_units_needs_one(weight: float) -> None:
    given = {"age": (50, "years"), "weight": (weight, None), "creatinine": (1, "mg/dl")}
    inputs = {name: {"value": value, "unit": unit} for name, (value, unit) in given.items()}
    assert needs(call("creatinine_clearance", sex="male", **inputs)).startswith("Give the unit of Body weight")


def test_a_unit_that_could_be_another_is_asked_for() -> None:
    asked = needs(call("bsa", weight={"value": 72, "unit": None}, height={"value": 175, "unit": "cm"}))
    assert asked == "Give the unit of Body weight (kg or lb)."


def test_criteria_that_were_not_stated_are_listed_with_the_score_they_could_give() -> None:
    output = call("cha2ds2_vasc", age={"value": 75, "unit": None}, sex="male", hypertension=True, diabetes=False)
    assert isinstance(output.output, dict)
    assert output.output["result"] == "CHA2DS2-VASc 3 of 9 points"
    note = output.output["notes"]
    assert isinstance(note, str)
    assert "Previous stroke, TIA or thromboembolism" in note
    assert "Diabetes" not in note
    assert note.endswith("the score is 3 to 7.")


@pytest.mark.parametrize(
    ("name", "measured", "value", "unit", "points", "is_open"),
    [
        ("has_bled", "systolic", 161, "mmHg", 1, False),
        ("has_bled", "systolic", 160, "mmHg", 0, False),
        ("has_bled", "creatinine", 200, "µmol/l", 1, False),
        ("has_bled", "creatinine", 2.26, "mg/dl", 1, False),
        ("has_bled", "creatinine", 199, "µmol/l", 0, False),
        ("has_bled", "time_in_range", 59, "%", 1, False),
        ("has_bled", "time_in_range", 60, "%", 0, False),
        ("cha2ds2_vasc", "ejection_fraction", 40, "%", 1, False),
        ("cha2ds2_vasc", "ejection_fraction", 41, "%", 0, True),
    ],
)
def test_a_measured_value_decides_its_criterion(
    name: str, measured: str, value: float, unit: str, points: int, *, is_open: bool
) -> None:
    criteria = {"has_bled": ("Uncontrolled", "kidney", "Labile"), "cha2ds2_vasc": ("heart failure",)}[name]
    sex = {"sex": "male"} if name == "cha2ds2_vasc" else {}
    given = {measured: {"value": value, "unit": unit}, "age": {"value": 50, "unit": "years"}, "stroke": False}
    output = call(name, **sex, **given).output
    assert isinstance(output, dict)
    assert f" {points} of 9 points" in str(output["result"])
    assert sum(criterion in str(output["notes"]) for criterion in criteria) == len(criteria) - (not is_open)


def test_opioids_ask_for_frequency_and_for_the_unit_of_the_form() -> None:
    tablet = {"drug": "oxycodone", "dose": {"value": 10, "unit": "mg"}, "frequency": None}
    assert needs(call("opioid_mme", opioids=[tablet])) == "How often a day is oxycodone 10 mg taken?"
    patch = {"drug": "fentanyl transdermal", "dose": {"value": 5, "unit": "mg"}, "frequency": None}
    assert needs(call("opioid_mme", opioids=[patch])) == "Give the dose of fentanyl transdermal in µg/h."


def test_a_patch_is_shown_by_its_rate_alone() -> None:
    patch = {"drug": "fentanyl transdermal", "dose": {"value": 25, "unit": "µg/h"}, "frequency": None}
    (passage,) = call("opioid_mme", opioids=[patch]).passages
    assert (
        "Inputs: Each opioid with the amount of one dose and how often it is taken: fentanyl transdermal, 25 µg/h\n"
        in (passage.text)
    )


def test_the_rr_interval_takes_the_place_of_the_heart_rate() -> None:
    qt = {"value": 400, "unit": "ms"}
    assert needs(call("qtc", qt=qt)) == "Give the heart rate or the RR interval."
    output = call("qtc", qt=qt, rr_interval={"value": 640, "unit": "ms"}).output
    assert isinstance(output, dict)
    assert str(output["result"]).startswith("QTc (Bazett) 500 ms")


def test_curb65_asks_for_urea_when_neither_form_was_given() -> None:
    numbers = {"age": 70, "respiratory_rate": 20, "systolic": 120, "diastolic": 80}
    given = {name: {"value": value, "unit": None} for name, value in numbers.items()}
    assert "urea nitrogen" in needs(call("curb65", confusion=False, **given))


def test_the_passage_holds_result_formula_inputs_and_source() -> None:
    output = call("egfr", age={"value": 67, "unit": "years"}, sex="female", creatinine={"value": 140, "unit": "µmol/l"})
    (passage,) = output.passages
    assert isinstance(output.output, dict)
    assert output.output["cite"] == passage.id
    assert passage.kind == "calculation"
    assert passage.title == "Calculation: eGFR (CKD-EPI 2021, creatinine)"
    assert passage.section.startswith(
        "Formula: Inker LA, Eneanya ND, Coresh J, et al. N Engl J Med 2021;385:1737-1749."
    )
    assert (passage.issuer, passage.version) == ("", "")
    assert passage.url == "https://doi.org/10.1056/NEJMoa2102953"
    for words in (
        "eGFR 36 ml/min/1.73 m²",
        "140 µmol/l (1.584 mg/dl)",
        "0.9938^age",
        "G3b, 30–44: Moderately to severe",
    ):
        assert words in passage.text
    assert output.summary == "36 ml/min/1.73 m²"


def test_notes_are_whole_sentences_one_after_the_other() -> None:
    output = call("egfr", age={"value": 67, "unit": None}, sex="female", creatinine={"value": 140, "unit": None})
    (passage,) = output.passages
    assert (
        "for more than 3 months. Serum creatinine: no unit was given; 140 is plausible only in µmol/l." in passage.text
    )
    assert ".;" not in passage.text


def test_other_inputs_make_another_passage() -> None:
    one, other = (
        call("bmi", weight={"value": weight, "unit": "kg"}, height={"value": 175, "unit": "cm"}).passages[0]
        for weight in (70, 71)
    )
    assert one.id != other.id
    assert one.document_id == other.document_id


def test_a_step_shows_the_calculator_by_name_and_its_result_or_that_input_is_missing() -> None:
    done = call("bmi", weight={"value": 70, "unit": "kg"}, height={"value": 175, "unit": "cm"})
    presentation = TOOLS["calculate_bmi"].presentation
    assert finished_name(done, presentation).startswith("Body mass index · 22.9 kg/m² · ")
    assert finished_name(call("bmi"), presentation, "de").startswith("Body-Mass-Index · Angaben fehlen · ")
    assert "| formula | BMI \\= weight in kg" in step_content(done)


@pytest.mark.parametrize(
    ("question", "declared"),
    [
        ("What is the first-line treatment of asthma in children?", set()),
        ("Which antibiotic for cystitis in a 30 year old woman?", set()),
        ("eGFR 67 yo woman creatinine 1.3 mg/dl", {"egfr"}),
        ("Apixaban for an 82 year old man weighing 58 kg with a creatinine of 1.6 mg/dl?", {"creatinine_clearance"}),
        ("CHA₂DS₂-VASc of my patient?", {"cha2ds2_vasc"}),
        ("What's her BMI?\nShe is 1.70 m and 80 kg", {"bmi"}),
    ],
)
def test_a_calculator_is_declared_only_where_it_or_its_inputs_are_named(question: str, declared: set[str]) -> None:
    manager = ToolManager(TOOLS.values())
    found = {name.removeprefix("calculate_") for name in manager.relevant(manager.names(), question)}
    assert declared <= found
    assert len(found) <= len(declared) + 3
