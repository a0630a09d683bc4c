# pyright: reportPrivateUsage=false
"""Rows 29 to 31: Milvus refuses, hangs, comes back, or holds another version's index."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymilvus import DataType, MilvusClient

from tests.support.drugs import drug_database, ndc_row, write_ndc
from tests.support.services import free_port, milvus_lite_server
from tests.support.waiting import loop_turns
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.storage import drug_collection
from tools.errors import IndexMismatch, ToolError, ToolUnavailable


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


async def test_a_refused_connection_is_a_tool_error() -> None:
    database = DrugDatabase(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ToolUnavailable, match="MILVUS_URI"):
        await database.search(DrugQuery(name="metformin"))
    await database.aclose()


async def test_a_hanging_milvus_is_a_tool_error_and_the_event_loop_keeps_running(silent_server: str) -> None:
    database = DrugDatabase(silent_server)
    error, turns = await loop_turns(database.search(DrugQuery(name="metformin")))
    assert isinstance(error, ToolUnavailable)
    assert turns > 10
    await database.aclose()


async def test_check_names_the_fault_instead_of_raising() -> None:
    database = DrugDatabase(f"http://127.0.0.1:{free_port()}")
    assert "MILVUS_URI" in (await database.check())[0]
    await database.aclose()


async def test_a_search_works_again_when_milvus_is_back(tmp_path: Path) -> None:
    with milvus_lite_server(tmp_path) as uri:
        database = DrugDatabase(uri)
        await database.load_demo()
        assert (await database.search(DrugQuery(name="metformin"))).hits
    with pytest.raises(ToolUnavailable):
        await database.search(DrugQuery(name="metformin"))
    await database.aclose()
    with milvus_lite_server(tmp_path) as uri:
        again = DrugDatabase(uri)
        assert (await again.search(DrugQuery(name="metformin"))).hits
        await again.aclose()


async def test_an_index_of_another_shape_is_named_with_what_to_run(milvus_uri: str, tmp_path: Path) -> None:
    client = MilvusClient(milvus_uri)
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=100)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=384)
    index = client.prepare_index_params()
    index.add_index("embedding", index_type="FLAT", metric_type="L2")
    client.create_collection("drugs_old_rows", schema=schema, index_params=index)
    client.create_alias("drugs_old_rows", "drugs_old")
    database = DrugDatabase(milvus_uri, name="drugs_old")
    try:
        assert "drugs import --replace" in (await database.check())[0]
        with pytest.raises(IndexMismatch, match="drugs import --replace"):
            await database.search(DrugQuery(name="metformin"))
        with pytest.raises(IndexMismatch):
            await database.load_demo()
        write_ndc(tmp_path, [ndc_row("1-1", "ibuprofen")])
        with pytest.raises(IndexMismatch):
            await database.import_paths([tmp_path])
        assert (await database.import_paths([tmp_path], replace=True)).records == 1
        assert (await database.search(DrugQuery(name="ibuprofen"))).hits
    finally:
        await database.clear()
        await database.aclose()


async def test_demonstration_drugs_of_an_older_version_are_loaded_anew(milvus_uri: str) -> None:
    async with drug_database(milvus_uri) as drugs:
        await drugs.load_demo()
        client = MilvusClient(milvus_uri)
        parts = f"{client.describe_alias(drugs._name)['collection_name']}_parts"
        stored = client.get(parts, ids=["catalog#0"], output_fields=["piece"])[0]["piece"]
        older = stored.replace(f'"schema_version":{drug_collection.SCHEMA_VERSION}', '"schema_version":1')
        assert older != stored
        client.upsert(parts, [{"id": "catalog#0", "piece": older, "unused": [0.0, 0.0]}])
        other = DrugDatabase(milvus_uri, name=drugs._name)
        with pytest.raises(IndexMismatch):
            await other.search(DrugQuery(name="metformin"))
        assert (await other.load_demo()).changed
        assert (await other.search(DrugQuery(name="metformin"))).hits
        await other.aclose()


async def test_a_failed_call_leaves_no_name_of_a_medicine_in_the_logs(
    milvus_uri: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Row 46: what a patient takes is patient data."""
    caplog.set_level(logging.DEBUG)
    async with drug_database(milvus_uri) as drugs:
        await drugs.load_demo()
        await drugs.search(DrugQuery(name="canaryzolam 5 mg"))
    gone = DrugDatabase(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ToolError) as caught:
        await gone.search(DrugQuery(name="canaryzolam 5 mg"))
    await gone.aclose()
    printed = capfd.readouterr()
    assert "canaryzolam" not in caplog.text + printed.out + printed.err + str(caught.value)


async def test_a_restarted_milvus_is_searched_again_without_a_restart_of_the_app(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It loads nothing by itself; what this process still knows of its collections no longer holds."""
    sockets = tmp_path_factory.mktemp("s")
    with milvus_lite_server(tmp_path, sockets) as uri:
        database = DrugDatabase(uri)
        await database.load_demo()
        assert (await database.search(DrugQuery(name="metformin"))).hits
    with milvus_lite_server(tmp_path, sockets):
        found = await database.search(DrugQuery(name="glucophage"))
    assert found.hits[0].record.generic_name == "metformin"
    await database.aclose()
