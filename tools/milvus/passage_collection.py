"""One Milvus collection of passages: connecting, writing, loading, and errors that say what to do.

All methods block; ``GuidelineLibrary`` calls them in its threads.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from tools.milvus.connection import MilvusConnection, NotLoaded, ServerFailed, index_mismatch, one_of

T = TypeVar("T")

_BATCH = 500
_CALL_SECONDS = 8.0
_WRITE_SECONDS = 120.0
_ID_BYTES = 256
_VERSION_BYTES = 128

_CONSISTENCY = "Bounded"
"""Consistency of searches. A strong one waits for a Milvus server's next tick, some 200 ms. Searches can do without,
because records name a version only after ``settle``, which makes a strong search."""
_SEARCH_TRIES = 30
_SEARCH_PAUSE = 0.1
"""A collection is released for some tens of milliseconds after each guideline that is added."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found; a larger ``score`` is better."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchField:
    """The field that passages are searched by, with Milvus' type and index of it."""

    name: str
    kind: str
    index: Mapping[str, Any]
    stored: Callable[[Sequence[Any]], Any]
    """Return the indexed form of a passage's content: its terms, or its vector."""
    probe: Any
    """A value to search for where any does."""
    dimension: int | None = None
    """Number of dimensions of a vector."""


class PassageCollection:
    """The passages of all documents, searched by one field."""

    def __init__(self, connection: MilvusConnection, name: str, field: SearchField) -> None:
        self.name = name
        self._field = field
        self._connection = connection
        self._checked = False

    def settle(self) -> None:
        """Make written rows fast to search: without this, Milvus Lite is 30 to 50 times slower."""
        self._call(lambda client: client.flush(self.name, timeout=_WRITE_SECONDS))
        self._call(lambda client: client.release_collection(self.name, timeout=_CALL_SECONDS))
        self.load()

    def load(self) -> None:
        """Load the collection and search once: the first search builds what the others use."""
        self.check()
        self._call(lambda client: client.load_collection(self.name, timeout=_WRITE_SECONDS))
        # A strong search waits for all that was written: from then on the quick reads of others see it too.
        self._searchable(lambda client: self._search(client, self._field.probe, [], 1, _WRITE_SECONDS, waits=True))

    def check(self) -> None:
        """Check the server and the collection, and create the collection when it is missing.

        Raises ``IndexMismatch`` when it has other fields than this version of the app writes.
        """
        if not self._exists():
            try:
                self._call(self._create)
            except ServerFailed:
                # Another caller may just have created it.
                if not self._exists():
                    raise
        described = self._call(lambda client: client.describe_collection(self.name, timeout=_CALL_SECONDS))
        fields = {str(field["name"]): field for field in described["fields"]}
        if fields.keys() != {"id", "version", self._field.name} or not self._fits(fields[self._field.name]):
            raise index_mismatch("guideline index")
        self._checked = True

    def _exists(self) -> bool:
        return bool(self._call(lambda client: client.has_collection(self.name, timeout=_CALL_SECONDS)))

    def delete_versions(self, versions: Iterable[str]) -> None:
        """Delete the passages of these versions."""
        wanted = list(versions)
        if wanted:
            self._ensure()
            expression = one_of("version", wanted)
            self._call(lambda client: client.delete(self.name, filter=expression, timeout=_WRITE_SECONDS))

    def count(self, version: str) -> int:
        """Return how many passages of ``version`` are indexed."""
        self._ensure()
        expression = one_of("version", [version])
        found = self._searchable(
            lambda client: client.query(
                self.name,
                filter=expression,
                output_fields=["count(*)"],
                timeout=_CALL_SECONDS,
                consistency_level="Strong",
            )
        )
        return int(found[0]["count(*)"])

    def drop(self) -> None:
        """Drop the collection with all rows; the next call creates it again."""
        self._call(lambda client: client.drop_collection(self.name, timeout=_CALL_SECONDS))
        self._checked = False

    def add(
        self,
        version: str,
        contents: Mapping[str, Sequence[Any]],
        *,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Write the contents of a version's passages, by their ids; they are searched fast only after ``settle``."""
        self._ensure()
        name, stored = self._field.name, self._field.stored
        rows = [{"id": key, "version": version, name: stored(content)} for key, content in contents.items()]
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            self._upsert(batch)
            progress(at + len(batch), len(rows))

    def _upsert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._call(lambda client: client.upsert(self.name, rows, timeout=_WRITE_SECONDS))

    def _create(self, client: Any) -> None:
        types = import_module("pymilvus").DataType
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", types.VARCHAR, is_primary=True, max_length=_ID_BYTES)
        schema.add_field("version", types.VARCHAR, max_length=_VERSION_BYTES)
        indexes = client.prepare_index_params()
        sized = {"dim": self._field.dimension} if self._field.dimension else {}
        schema.add_field(self._field.name, getattr(types, self._field.kind), **sized)
        indexes.add_index(self._field.name, **self._field.index)
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(
            self.name, schema=schema, index_params=indexes, timeout=_CALL_SECONDS, consistency_level=_CONSISTENCY
        )

    def _fits(self, stored: Mapping[str, Any]) -> bool:
        return self._field.dimension is None or int(stored["params"]["dim"]) == self._field.dimension

    def search(self, data: Any, versions: Sequence[str], limit: int) -> list[Hit]:
        """Return the passages of ``versions`` that are nearest to ``data``, best first; none for empty ``data``."""
        if not data or not versions:
            return []
        self._ensure()
        found = self._searchable(lambda client: self._search(client, data, versions, limit, _CALL_SECONDS))
        return [Hit(str(hit["id"]), float(hit["distance"])) for hit in found[0]]

    def _search(
        self, client: Any, data: Any, versions: Sequence[str], limit: int, seconds: float, *, waits: bool = False
    ) -> Any:
        return client.search(
            self.name,
            data=[data],
            anns_field=self._field.name,
            limit=limit,
            output_fields=["id"],
            timeout=seconds,
            filter=one_of("version", versions) if versions else "",
            consistency_level="Strong" if waits else _CONSISTENCY,
        )

    def _searchable(self, call: Callable[[Any], T]) -> T:
        """Run ``call``; while an ingest has the collection released, wait and load it."""
        for _ in range(_SEARCH_TRIES):
            try:
                return self._call(call)
            except NotLoaded:
                time.sleep(_SEARCH_PAUSE)
                with suppress(ServerFailed):
                    self._call(lambda client: client.load_collection(self.name, timeout=_CALL_SECONDS))
        return self._call(call)

    def _ensure(self) -> None:
        if not self._checked:
            self.check()

    def _call(self, call: Callable[[Any], T]) -> T:
        return self._connection.call(call)
