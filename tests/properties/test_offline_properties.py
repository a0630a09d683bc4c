"""What holds of the offline server for any input: nothing is lost, nothing is invented, arguments fit their schema."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chat_app.offline.composition.compose import compose
from chat_app.offline.planning.prior_turns import standalone
from chat_app.offline.reading.dialogue import Exchange, ToolOutput
from chat_app.offline.reading.tool_outputs import gather
from chat_app.offline.schema_filling.arguments import FillSource, fill_schema
from chat_app.offline.schema_filling.schemas import emptiest
from chat_app.offline.state.vector_search import matches_filter
from chat_app.offline.wire import event_encoding
from chat_app.offline.wire.model import Found
from chat_app.offline.wire.objects import count_tokens, cut_to_tokens, message_item
from chat_app.offline.wire.requests import ComparisonFilter, CompoundFilter
from tests.support.offline_answers import Answered, invented
from tests.support.strategies import texts
from tools.language.quotable_units import sentences, squeeze, units

Json = dict[str, Any]
MEDICAL = [
    "Metformin",
    "lisinopril",
    "ACE",
    "inhibitors",
    "are",
    "is",
    "not",
    "contraindicated",
    "in",
    "pregnancy",
    "with",
    "eGFR",
    "below",
    "30",
    "mL/min.",
    "adults",
    "children",
    "dose",
    "maximum",
    "[1]",
    "|",
    "*",
    "<",
    ">",
    "`x`",
    "Table",
    "1.",
    "\n",
    "\t",
    "•",
    "-",
    "\u2028",
    "naïve",
    "≥",
    "5",
    "%",
    "e.g.",
    "What",
    "about",
    "kidney?",
    "and",
    "the,",
    "of;",
    "(severe)",
    "non-severe",
]
TEXTS = texts(MEDICAL, max_size=40, joined=" ")


@given(TEXTS)
def test_the_deltas_of_a_text_are_the_text(text: str) -> None:
    assert "".join(event_encoding.words(text)) == text
    events = list(event_encoding.contents(message_item(text, []), 0))
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == text


@given(TEXTS)
def test_an_encoded_event_is_one_frame_and_says_the_same(text: str) -> None:
    event = {"type": "response.output_text.delta", "delta": text}
    frame = event_encoding.encode(event)
    assert frame.count(b"\n\n") == 1
    assert frame.endswith(b"\n\n")
    name, data = frame.rstrip(b"\n").split(b"\n")
    assert name == b"event: response.output_text.delta"
    assert json.loads(data.removeprefix(b"data: ")) == event


@given(TEXTS, st.integers(0, 60))
def test_a_cut_text_is_a_beginning_within_its_limit(text: str, limit: int) -> None:
    cut = cut_to_tokens(text, limit)
    assert text.startswith(cut)
    assert count_tokens(cut) <= limit
    assert cut == text or count_tokens(cut) == limit


@given(TEXTS)
def test_sentences_are_stretches_of_their_text(text: str) -> None:
    whole = squeeze(text)
    assert all(sentence in whole for sentence in sentences(text))


@given(TEXTS)
def test_units_are_stretches_of_their_passage(text: str) -> None:
    whole = re.sub(r"\s+", "", text)
    for unit in units(text):
        assert all(re.sub(r"\s+", "", part) in whole for part in (unit.cells or (unit.text,)))


@settings(max_examples=200)
@given(TEXTS, st.lists(TEXTS, max_size=4), st.sampled_from(["strong", "weak", "none"]), TEXTS)
def test_an_answer_holds_nothing_but_extracts(question: str, texts: list[str], match: str, name: str) -> None:
    passages = [{"cite": f"[{n}]", "document": "", "section": "", "page": "", "text": t} for n, t in enumerate(texts)]
    label = {"dosage": [squeeze(text) for text in texts]}
    record = {"cite": "[9]", "generic_name": "metformin", "label": label, "matched": {"how": "exact"}}
    outputs = [
        ToolOutput("search", "{}", json.dumps({"match": match, "passages": passages})),
        ToolOutput("drugs", json.dumps({"drug_name": name}), json.dumps({"results": [record], "did_you_mean": []})),
    ]
    answer = compose(question, gather(outputs))
    sources = "\n".join([question, name, "metformin", *texts])
    assert [part for part in invented(Answered(answer.text, sources=sources)) if len(part) > 3] == []


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_a_file_citation_stands_right_after_its_sentence(question: str, texts: list[str]) -> None:
    found = [Found(f"file_{n}", f"{n}.txt", text, 0.5) for n, text in enumerate(texts)]
    answer = compose(question, gather([], found, searched=True))
    sources = {item.file_id: squeeze(item.text) for item in found}
    for citation in answer.citations:
        line = answer.text[: citation.index].rsplit("\n", 1)[-1]
        said = line.removeprefix("- ").removeprefix("| ").replace("\\|", "|")
        assert all(part in sources[citation.file_id] for part in re.split(r" \| |; ", said))


@given(st.lists(TEXTS, max_size=5))
def test_any_conversation_can_be_read(questions: list[str]) -> None:
    standalone([Exchange(question, answer="Did you mean metformin?") for question in questions], ())


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": ["integer", "null"]},
        {"enum": ["low", "high"]},
        {"const": 7},
        {"type": "integer", "minimum": 3, "maximum": 9},
        {"type": "string", "maxLength": 5},
        {"type": "string", "minLength": 40},
        {"type": "string", "pattern": "^[A-Z]{3}-\\d{2,}(?:x|y)?$"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "uuid"},
        {"type": "number", "maximum": -5},
        {"type": "number", "exclusiveMinimum": 3, "exclusiveMaximum": 4},
        {"type": "integer", "multipleOf": 7},
        {"$ref": "#/$defs/Drug"},
        {"allOf": [{"$ref": "#/$defs/Drug"}], "description": "a drug"},
        True,
        {},
    ]
)
DRUG: Json = {
    "type": "object",
    "properties": {
        "drug_name": {"type": "string"},
        "interacts_with": {"type": "array", "items": {"$ref": "#/$defs/Drug"}},
        "instead_of": {"anyOf": [{"$ref": "#/$defs/Drug"}, {"type": "null"}]},
    },
    "required": ["drug_name", "interacts_with", "instead_of"],
    "additionalProperties": False,
}
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["name", "age", "answer", "city"]), inner, max_size=3).map(
            lambda properties: {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        ),
        inner.map(lambda items: {"type": "array", "items": items, "minItems": 1}),
        st.tuples(inner, inner).map(
            lambda parts: {"type": "array", "prefixItems": list(parts), "items": False, "minItems": 2}
        ),
        inner.map(lambda part: {"anyOf": [part, {"type": "null"}]}),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(SCHEMAS, TEXTS)
def test_filled_arguments_fit_their_schema(schema: Any, text: str) -> None:
    root = {"$defs": {"Drug": DRUG}, "allOf": [schema]}
    value = fill_schema("answer", schema, FillSource(text, root, "An answer."), optional=False)
    known_formats = Draft202012Validator.FORMAT_CHECKER
    assert list(Draft202012Validator(root, format_checker=known_formats).iter_errors(value)) == []


@given(st.sampled_from(["integer", "string"]), st.integers(2, 6))
def test_items_that_must_differ_differ(kind: str, least: int) -> None:
    schema = {"type": "array", "items": {"type": kind}, "minItems": least, "uniqueItems": True}
    value = fill_schema("answer", schema, FillSource("At 30 mg.", schema), optional=False)
    assert list(Draft202012Validator(schema).iter_errors(value)) == []


@given(
    st.sampled_from([r"^\d{5}$", r"^[^0-9]+$", r"[A-F]{2}|x", r"^\w+@\S+$", r"^(?:a|b){3,4}c?$", r"^\+?[1-9]\d{7,14}$"])
)
def test_a_pattern_that_nothing_fits_is_met_with_the_emptiest_text(pattern: str) -> None:
    assert re.search(pattern, emptiest(pattern))


CONDITIONS = st.builds(
    ComparisonFilter,
    type=st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]),
    key=st.sampled_from(["year", "issuer"]),
    value=st.one_of(st.integers(0, 5), st.text(max_size=3), st.lists(st.integers(0, 5), max_size=3)),
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["year", "issuer"]), st.one_of(st.integers(0, 5), st.text(max_size=3)))


@given(st.lists(CONDITIONS, min_size=1, max_size=3), ATTRIBUTES)
def test_filters_combine_as_logic_does(conditions: list[ComparisonFilter], attributes: Json) -> None:
    single = [matches_filter(condition, attributes) for condition in conditions]
    assert matches_filter(CompoundFilter(type="and", filters=[*conditions]), attributes) is all(single)
    assert matches_filter(CompoundFilter(type="or", filters=[*conditions]), attributes) is any(single)
