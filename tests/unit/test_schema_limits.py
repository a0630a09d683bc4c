"""Schemas that would block the offline server are refused; recursive and large legal ones are filled."""

from __future__ import annotations

import orjson
import pytest
from pydantic import ValidationError

from chat_app.offline.schema_filling.arguments import check_fillable, fill
from chat_app.offline.wire.requests import CreateResponse, FunctionToolIn
from chat_app.offline.wire.schema_limits import SchemaLimit, check_schema
from tests.support.hostile_schemas import HOSTILE_SCHEMAS, Json, field, shared


def filled(schema: Json, text: str = "a" * 60 + "b") -> Json:
    return fill(FunctionToolIn(type="function", name="f", parameters=schema), text)


def checked(schema: Json) -> None:
    check_schema(schema, SchemaLimit())
    check_fillable(schema, SchemaLimit())


@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS)
def test_a_schema_that_cannot_be_filled_in_time_is_refused(schema: Json) -> None:
    with pytest.raises(ValueError, match=r"schema|reference|pattern|both|unique|object"):
        checked(schema)


def test_a_pattern_takes_time_linear_in_the_text() -> None:
    assert filled(field(type="string", pattern="^(a+)+$"), "a" * 20_000 + "b") == {"q": "a"}
    assert filled(field(type="string", pattern="^b+$"), "It is bbb.") == {"q": "bbb"}
    assert filled(field(type="string", pattern="[一-丁]" * 400)) == {"q": "一" * 400}


def test_recursive_and_extreme_schemas_are_filled() -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "required": ["left", "right"]}
    assert set(filled(tree)) == {"left", "right"}
    assert filled(field(type="number", minimum=1e308, multipleOf=1e-308)) == {"q": 0}
    assert len(filled(field(type="array", minItems=1000, items={"type": "string"}))["q"]) == 1000


def test_many_required_names_are_filled_in_time_linear_in_their_number() -> None:
    names = [f"p{number}" for number in range(9_000)]
    assert list(filled({"type": "object", "required": names})) == names


def test_defaults_of_another_type_and_extreme_bounds_give_a_number_that_json_can_hold() -> None:
    assert filled(field(type="integer", default={"a": 1})) == {"q": 0}
    (found,) = filled(field(type="number", minimum=1.7e308)).values()
    assert orjson.loads(orjson.dumps(found)) == 1.7e308


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert filled(field(type="array", minItems=2.0, maxItems=3.0, items={"type": "string"}), "") == {"q": ["", ""]}
    assert filled(field(type="string", minLength=2.0, maxLength=4.0), "Dose of 9 mg") == {"q": "Dose"}
    assert filled(field(type="string", minLength=2.0, maxLength=4.0), "") == {"q": "  "}


@pytest.mark.parametrize("value", [2.5, -1.0, True, "2"])
def test_a_count_is_a_whole_number(value: object) -> None:
    with pytest.raises(ValueError, match="minItems"):
        checked(field(type="array", minItems=value))


def test_a_long_enum_is_filled_unless_its_values_are_long() -> None:
    names = [f"site {number}" for number in range(20_000)]
    assert filled(field(enum=names), "Is it site 17777?") == {"q": "site 17777"}
    with pytest.raises(ValueError, match="too large"):
        check_fillable(field(enum=[f"{name} {'x' * 200}" for name in names]), SchemaLimit())


def test_a_value_that_a_pattern_gives_counts_by_its_length() -> None:
    with pytest.raises(ValueError, match="too large"):
        check_fillable(shared({"type": "string", "pattern": "a{1000}"}, 2_000), SchemaLimit())


def test_a_junk_reasoning_effort_is_refused() -> None:
    with pytest.raises(ValidationError, match="effort"):
        CreateResponse.model_validate({"model": "m", "input": "Hi", "reasoning": {"effort": "colossal"}})
