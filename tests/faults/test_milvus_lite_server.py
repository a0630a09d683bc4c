"""Callers that come at once share each collection of Milvus Lite."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from pymilvus import DataType, MilvusClient

from tests.support.services import milvus_lite_server
from tools.guidelines.search.passage_index import TermsIndex
from tools.milvus.connection import MilvusConnection
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
        TermsIndex(connection, name).check()

    with ThreadPoolExecutor(CALLERS) as callers:
        for name in NAMES[:3]:
            list(callers.map(check, connections, [f"together_{name}"] * CALLERS))
    for connection in connections:
        connection.close()
