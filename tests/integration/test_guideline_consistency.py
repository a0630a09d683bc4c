"""What a reader of a Milvus server sees after a write: all of it, without waiting for the server at each search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

from tools.guidelines.search.passage_index import question_weights, terms_index
from tools.milvus.connection import MilvusConnection

T = TypeVar("T")


class NotingClient:
    """The real client; notes how consistent each read was asked to be."""

    def __init__(self, client: Any, noted: list[str]) -> None:
        self._client = client
        self._noted = noted

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        if name not in {"search", "query", "create_collection"}:
            return call

        def noting(*given: Any, **named: Any) -> Any:
            self._noted.append(f"{name}: {named.get('consistency_level')}")
            return call(*given, **named)

        return noting


class NotingConnection(MilvusConnection):
    def __init__(self, uri: str) -> None:
        super().__init__(uri, contents="guideline index")
        self.noted: list[str] = []

    def call(self, call: Callable[[Any], T], *, explain: bool = False) -> T:
        return super().call(lambda client: call(NotingClient(client, self.noted)), explain=explain)


def test_what_was_written_is_waited_for_once_and_then_read_without_waiting(milvus_uri: str) -> None:
    connection = NotingConnection(milvus_uri)
    index = terms_index(connection, f"test_{uuid4().hex[:12]}")
    index.add("a@1", {"guideline:a@1:0": ["fever"]})
    index.settle()
    assert connection.noted == ["create_collection: Bounded", "search: Strong"]

    assert [hit.id for hit in index.search(question_weights(["fever"], lambda _: 1.0), ["a@1"], 5)] == [
        "guideline:a@1:0"
    ]
    assert index.count("a@1") == 1

    assert connection.noted[2:] == ["search: Bounded", "query: Strong"]
    index.drop()
    connection.close()
