"""What the model is told about a function, and how its arguments come back."""

from __future__ import annotations

import json
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from tools.errors import ToolArgumentsInvalid
from tools.function_tool import FunctionTool
from tools.tool_schema import ToolSchema


class Route(StrEnum):
    ORAL = "oral"
    TOPICAL = "topical"


class Strength(BaseModel):
    """A strength."""

    amount: float
    unit: Literal["mg", "µg"] = "mg"


class Range(BaseModel):
    low: int
    high: int | None = None


def search(
    drug_name: str,
    strength: Strength,
    drug_class: str | None = None,
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    route: Route = Route.ORAL,
    title: str = "",
    among: list[Strength | Range] | None = None,
    null: None = None,
    either: Annotated[int, Field(description="a number")] | str = 3,
    how: Literal["exact", "text"] = "exact",
) -> None:
    """Searches the drug database.

    Finds products by name.

    Args:
        drug_name: A brand or generic name.
        strength: The strength wanted.
        limit: How many to return.
        route: By which route.
    """


SEARCH = ToolSchema(search)


def objects(node: Any) -> list[dict[str, Any]]:
    """Every object schema in ``node``."""
    if isinstance(node, list):
        return [found for part in node for found in objects(part)]
    if not isinstance(node, dict):
        return []
    here = [node] if node.get("type") == "object" or "properties" in node else []
    return here + [found for part in node.values() for found in objects(part)]


def references(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for part in node for found in references(part)]
    if not isinstance(node, dict):
        return []
    return ([node] if "$ref" in node else []) + [found for part in node.values() for found in references(part)]


def test_the_description_and_the_parameters_come_from_signature_hints_and_docstring() -> None:
    definition = FunctionTool(search).definition
    assert (definition.name, definition.strict) == ("search", True)
    assert definition.description == "Searches the drug database.\nFinds products by name."
    properties = definition.parameters["properties"]
    assert properties["drug_name"] == {"type": "string", "description": "A brand or generic name."}
    assert properties["limit"] == {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 20,
        "description": "How many to return.",
    }
    assert properties["route"]["description"] == "By which route."


def test_the_schema_is_what_strict_mode_asks_for() -> None:
    schema = ToolSchema(search).parameters
    Draft202012Validator.check_schema(schema)
    for found in objects(schema):
        assert found["additionalProperties"] is False
        assert found["required"] == list(found["properties"])
    for found in references(schema):
        assert list(found) == ["$ref"]
    assert "title" in schema["properties"], "a parameter may be called as a keyword is"
    assert '"default"' not in str(schema).replace("'", '"')


def test_what_may_be_left_out_may_be_null_and_then_takes_its_default() -> None:
    schema = ToolSchema(search)
    given_arguments = (
        '{"drug_name": "metformin", "strength": {"amount": 500, "unit": "mg"}, "drug_class": null, "limit": null, '
        '"route": null, "title": null, "among": null, "null": null, "either": null, "how": null}'
    )
    Draft202012Validator(schema.parameters).validate(json.loads(given_arguments))
    assert schema.parse(given_arguments) == {
        "drug_name": "metformin",
        "strength": Strength(amount=500),
        "drug_class": None,
        "limit": 5,
        "route": Route.ORAL,
        "title": "",
        "among": None,
        "null": None,
        "either": 3,
        "how": "exact",
    }


def test_a_function_that_strict_mode_cannot_express_is_declared_without_it() -> None:
    def free(values: dict[str, int], pair: tuple[int, str], among: set[int]) -> None:
        """Free."""

    definition = FunctionTool(free).definition
    assert definition.strict is False
    assert definition.parameters["properties"]["values"]["additionalProperties"] == {"type": "integer"}
    assert ToolSchema(free).parse('{"values": {"a": 1}, "pair": [1, "x"], "among": [1]}')["pair"] == (1, "x")


def test_parameters_without_hints_are_strings_and_a_name_and_description_can_be_given() -> None:
    def untyped(name):  # type: ignore[no-untyped-def]
        return name

    tool = FunctionTool(untyped, name="find", description="Finds.")
    assert (tool.definition.name, tool.definition.description) == ("find", "Finds.")
    assert tool.definition.parameters["properties"]["name"]["type"] == "string"


@pytest.mark.parametrize("fn", [lambda *names: names, lambda **names: names])
def test_a_function_of_unnamed_parameters_is_refused_at_once(fn: Any) -> None:
    with pytest.raises(TypeError, match="named parameters only"):
        ToolSchema(fn)


def test_many_problems_are_told_in_few_words() -> None:
    def wide(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int, j: int) -> None:
        """Wide."""

    with pytest.raises(ToolArgumentsInvalid, match=r"a: Field required; .*; and 2 more"):
        ToolSchema(wide).parse("{}")


@settings(max_examples=500, deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,0123456789eE+-.ntfalsrue \\u', max_size=60))
def test_any_text_for_arguments_is_parsed_or_refused(arguments: str) -> None:
    """Row 21."""
    with suppress(ToolArgumentsInvalid):
        assert isinstance(SEARCH.parse(arguments)["drug_name"], str)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=9, alphabet="abcdefghijklmnopqrstuvwxyz"), st.sampled_from(["limit", "strength", "route"]))
def test_a_wrong_value_is_never_repeated(value: str, parameter: str) -> None:
    body = f'{{"drug_name": "x", "strength": {{"amount": 1, "unit": "mg"}}, "{parameter}": "secret{value}"}}'
    with pytest.raises(ToolArgumentsInvalid) as caught:
        SEARCH.parse(body)
    assert f"secret{value}" not in str(caught.value)
