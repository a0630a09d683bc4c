"""Row 32: no name of a medicine breaks out of a filter."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymilvus import DataType, MilvusClient

from tools.milvus.connection import one_of, quote

HOSTILE = [
    '" or key != "',
    "' or 1 == 1 or '",
    "\\",
    '\\"',
    '"] or key in ["secret',
    "%",
    "metformin\\u0022",
    "key like '%'",
    "{not}",
    "😀",
    "مرحبا",
    "a" * 10_000,
    "] || true || [",
    '""',
    "`",
    "$1",
    "/* x */",
    "--",
]
PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=80)


@pytest.fixture(scope="module")
def rows(milvus_uri: str) -> Iterator[tuple[MilvusClient, str]]:
    """A collection with one secret row."""
    client, name = MilvusClient(milvus_uri), "quoting_rows"
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=60_000)
    schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
    index = client.prepare_index_params()
    index.add_index("unused", index_type="FLAT", metric_type="L2")
    client.create_collection(name, schema=schema, index_params=index)
    client.insert(name, [{"key": "secret", "unused": [0.0, 0.0]}])
    yield client, name
    client.drop_collection(name)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_finds_no_row_but_its_own(rows: tuple[MilvusClient, str], value: str) -> None:
    client, name = rows
    assert client.query(name, filter=one_of("key", [value]), output_fields=["key"]) == []


@given(value=PLAIN)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_text_crosses_the_filter(rows: tuple[MilvusClient, str], value: str) -> None:
    client, name = rows
    found = [row["key"] for row in client.query(name, filter=one_of("key", [value]), output_fields=["key"])]
    assert found == (["secret"] if value == "secret" else [])


@given(value=PLAIN)
def test_a_quoted_value_reads_back_as_itself(value: str) -> None:
    assert json.loads(quote(value)) == value


@pytest.mark.parametrize("value", ["a\nb", "\x00", "\x7f", "\x85", "\ud800"])
def test_control_characters_are_refused_without_being_repeated(value: str) -> None:
    with pytest.raises(ValueError, match="control characters") as caught:
        quote(value)
    assert value not in str(caught.value)


def test_a_field_that_is_no_plain_name_is_refused() -> None:
    with pytest.raises(ValueError, match="plain field name"):
        one_of('key in ["a"] or x', ["b"])
