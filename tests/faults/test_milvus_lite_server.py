"""Callers that come at once share each collection of Milvus Lite, and its failures are told from its absence."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from pymilvus import DataType, MilvusClient, MilvusException

from tests.support.services import milvus_lite_server
from tools.errors import ToolUnavailable
from tools.guidelines.search.passage_index import terms_index, vector_index
from tools.milvus.connection import MilvusConnection, ServerFailed
from tools.milvus.lite_server import SharedMilvusLite

NAMES = [f"collection_{number}" for number in range(10)]
CALLERS = 8


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SharedMilvusLite]:
    """Opened anew, as after a restart: its collections are on the disk, and nobody has asked for one yet."""
    with milvus_lite_server(tmp_path) as uri, closing(MilvusClient(uri)) as client:
        schema = client.create_schema()
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=20)
        schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
        for name in NAMES:
            client.create_collection(name, schema=schema)
    opened = SharedMilvusLite(str(tmp_path))
    yield opened
    opened.close()


def test_first_calls_that_come_at_once_open_a_collection_once(database: SharedMilvusLite) -> None:
    together = threading.Barrier(CALLERS)

    def first_call(name: str) -> int:
        together.wait()
        return id(database.get_collection(name))

    with ThreadPoolExecutor(CALLERS) as callers:
        opened = {name: set(callers.map(first_call, [name] * CALLERS)) for name in NAMES}

    assert {name: len(found) for name, found in opened.items()} == dict.fromkeys(NAMES, 1)


def test_callers_that_create_an_index_at_once_all_get_it(milvus_uri: str) -> None:
    together = threading.Barrier(CALLERS)
    connections = [MilvusConnection(milvus_uri, contents="guideline index") for _ in range(CALLERS)]

    def check(connection: MilvusConnection, name: str) -> None:
        together.wait()
        terms_index(connection, name).check()

    with ThreadPoolExecutor(CALLERS) as callers:
        for name in NAMES[:3]:
            list(callers.map(check, connections, [f"together_{name}"] * CALLERS))
    for connection in connections:
        connection.close()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[MilvusConnection]:
    with milvus_lite_server(tmp_path) as uri, closing(MilvusConnection(uri, contents="guideline index")) as opened:
        yield opened


def server_process(folder: Path) -> psutil.Process:
    return next(child for child in psutil.Process().children() if str(folder) in child.cmdline())


def test_an_index_file_that_was_written_in_part_is_not_read(connection: MilvusConnection, tmp_path: Path) -> None:
    """The server cannot finish the file, as on a full disk; later it can."""
    server = server_process(tmp_path)
    index = vector_index(connection, "vectors", 4)
    index.add("version", {str(number): [number, 1.0, 0.0, 0.0] for number in range(1000)})
    server.rlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    with pytest.raises(ServerFailed):
        index.settle()
    server.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    index.settle()
    assert index.count("version") == 1000


def test_an_index_of_plain_vectors_is_not_read_in_part_either(connection: MilvusConnection, tmp_path: Path) -> None:
    """The drug database has one for its pieces."""
    server = server_process(tmp_path)

    def write(client: MilvusClient) -> None:
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=64)
        client.create_collection("plain", schema=schema)
        client.insert("plain", [{"id": number, "vector": [0.0] * 64} for number in range(1000)])
        client.flush("plain")

    def build(client: MilvusClient) -> None:
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="L2")
        client.create_index("plain", index, sync=False)

    connection.call(write)
    server.rlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    with pytest.raises(ServerFailed):
        connection.call(build)
    server.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    connection.call(lambda client: client.release_collection("plain"))
    connection.call(lambda client: client.load_collection("plain"))


def test_a_server_that_does_not_answer_in_time_is_a_tool_error(connection: MilvusConnection, tmp_path: Path) -> None:
    connection.call(lambda client: client.list_collections())
    server = server_process(tmp_path)
    server.suspend()
    # The signal takes effect thread by thread: one that still runs would answer.
    while any(psutil.Process(thread.id).status() != psutil.STATUS_STOPPED for thread in server.threads()):
        time.sleep(0.01)
    with pytest.raises(ToolUnavailable, match="does not answer"):
        connection.call(lambda client: client.load_collection("any", timeout=0.1))
    server.resume()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("read error in vector.hnsw.idx: 0 != 4 (Resource temporarily unavailable)", "Milvus error 1"),
        (
            "[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device",
            "disk is full. Free space",
        ),
    ],
    ids=["no data", "full disk"],
)
def test_a_failure_that_names_a_system_error_is_the_servers(milvus_uri: str, message: str, said: str) -> None:
    """A file of the server's could not be read or written; pymilvus and the network are fine."""

    def fail(client: object) -> None:
        raise MilvusException(1, message)

    with (
        closing(MilvusConnection(milvus_uri, contents="guideline index")) as connection,
        pytest.raises(ServerFailed, match=said),
    ):
        connection.call(fail)
