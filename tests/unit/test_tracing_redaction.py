"""What may stand in a trace: shapes, lengths, keyed hashes, ids and the developer's own names; no patient's text."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from chat_app.errors import ProviderUnavailable
from chat_app.response_objects import error_code
from chat_app.tracing.redaction import MAX_KEPT_TEXT, Redactor, describe_error, is_identifier, model_name
from tests.support.guarded_logs import guarded_logs

CANARY = "Mrs Quillfeather"


class Finding(BaseModel):
    name: str
    potassium: float


@pytest.mark.parametrize(
    ("value", "kind", "length"),
    [
        (CANARY, "text", 16),
        ([CANARY, 1], "list", 2),
        ({CANARY: CANARY}, "object", 1),
        (Finding(name=CANARY, potassium=6.1), "object", 2),
    ],
)
def test_text_leaves_its_kind_its_length_and_a_hash(value: object, kind: str, length: int) -> None:
    shape = Redactor().value(value)
    assert isinstance(shape, dict)
    assert shape["redacted"] == kind
    assert shape["length"] == length
    assert "Quillfeather" not in json.dumps(shape)


def test_a_number_is_not_kept_but_flags_and_gaps_are() -> None:
    redactor = Redactor()
    assert redactor.value(6.1) == {"redacted": "number"}
    assert [redactor.value(value) for value in (None, True, False)] == [None, True, False]


def test_equal_texts_have_equal_hashes_under_one_key_and_others_under_another() -> None:
    one, same, other = Redactor(key=b"k" * 16), Redactor(key=b"k" * 16), Redactor()
    assert one.hash(CANARY) == same.hash(CANARY) != other.hash(CANARY)
    assert one.hash(CANARY) != one.hash(CANARY + ".")


def test_the_developers_names_are_kept_and_a_models_keys_are_not() -> None:
    named = json.dumps(Redactor().named({"question": {CANARY: 1}}))
    assert "question" in named
    assert "Quillfeather" not in named


def test_an_id_is_told_from_a_name() -> None:
    assert all(map(is_identifier, ("resp_68ff0c", "call_1", "7f9c24e8-3b12", "session_0a")))
    assert not any(map(is_identifier, (CANARY, "Quillfeather", "metformin", "Quillfeather, 71", "", "x1" * 65)))


def test_a_model_and_a_code_are_told_from_prose() -> None:
    assert model_name("meta-llama/Llama-3.1:70b") == "meta-llama/Llama-3.1:70b"
    assert model_name(CANARY) is model_name(None) is None
    assert error_code("context_length_exceeded") == "context_length_exceeded"
    assert error_code(CANARY) is error_code(None) is None


def test_text_that_is_asked_for_is_kept_up_to_a_bound() -> None:
    redactor = Redactor(keep_text=True)
    assert redactor.value({"q": CANARY, "k": 6.1}) == {"q": CANARY, "k": 6.1}
    kept = redactor.value(["x" * (MAX_KEPT_TEXT + 7)])
    assert isinstance(kept, list)
    assert str(kept[0]).endswith("… [7 more characters]")


def test_what_json_cannot_say_is_named_by_its_type() -> None:
    assert Redactor(keep_text=True).value({"what": object()}) == {"what": "object"}
    assert "\ud800" not in json.dumps(Redactor().value("\ud800"))


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_json, st.integers(100_000, 999_999))
def test_nothing_inside_of_any_value_comes_through(around: JsonValue, number: int) -> None:
    needle = f"Quillfeather{number}"
    for value in (needle, [around, needle], {needle: around}, {"a": [{"b": needle}], "c": number}):
        written = json.dumps(Redactor().value(value))
        assert "Quillfeather" not in written


def _fail_inside(message: str) -> None:
    raise ValueError(message)


def test_an_error_is_described_by_where_it_happened_not_by_what_it_says() -> None:
    with pytest.raises(ValueError, match="Quill") as caught:
        _fail_inside(CANARY)
    assert "ValueError" in describe_error(caught.value)
    assert "_fail_inside" in describe_error(caught.value)
    assert "Quillfeather" not in describe_error(caught.value)


def test_a_group_of_errors_names_each() -> None:
    described = describe_error(ExceptionGroup(CANARY, [ValueError(CANARY), KeyError(CANARY)]))
    assert "ValueError" in described
    assert "KeyError" in described
    assert "Quillfeather" not in described


def _log_in_all_ways(logger: logging.Logger, fail: Callable[[str], None], message: str) -> None:
    try:
        fail(message)
    except (ValueError, ProviderUnavailable) as error:
        logger.exception("It broke: %s", error)
        logger.exception(error)
        logger.error("%(why)s", {"why": error}, exc_info=error)


def _fail_on_purpose(message: str) -> None:
    raise ProviderUnavailable(message)


@pytest.fixture
def guarded() -> Iterator[None]:
    with guarded_logs():
        yield


@pytest.mark.usefixtures("guarded")
def test_guarded_logs_show_where_an_exception_came_from_and_not_its_message(caplog: pytest.LogCaptureFixture) -> None:
    _log_in_all_ways(logging.getLogger("somebody.elses.library"), _fail_inside, CANARY)
    assert "Quillfeather" not in caplog.text
    assert caplog.text.count("in _fail_inside") == 3
    assert "It broke: ValueError" in caplog.text


@pytest.mark.usefixtures("guarded")
def test_guarded_logs_keep_the_apps_own_sentences(caplog: pytest.LogCaptureFixture) -> None:
    _log_in_all_ways(logging.getLogger("own"), _fail_on_purpose, "The model server cannot be reached.")
    assert caplog.text.count("ProviderUnavailable: The model server cannot be reached.") == 6


@pytest.mark.usefixtures("guarded")
def test_guarded_logs_leave_alone_what_is_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("own").warning("%d of %s", 3, "four")
    logging.getLogger("own").warning("%(count)d", {"count": 5})
    assert [record.getMessage() for record in caplog.records] == ["3 of four", "5"]
