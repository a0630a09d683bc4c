"""The Milvus collection of guideline passages: what is written to it and how it is searched.

It holds what is searched and no more: a passage's id, its version and its stemmed terms. The words themselves are in
the library's folder. All methods block; ``GuidelineLibrary`` calls them in threads of its own.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tools.errors import IndexMismatch, ToolUnavailable

T = TypeVar("T")

COLLECTION = "clinical_guidelines"
BATCH = 500
_FIELDS = {"id", "version", "terms", "sparse"}
_ID_BYTES = 256
_VERSION_BYTES = 128
_TERMS_BYTES = 65_535
_BM25 = {"bm25_k1": 1.2, "bm25_b": 0.75}
CONNECT_SECONDS = 5.0
CALL_SECONDS = 20.0
WRITE_SECONDS = 120.0

# pymilvus logs each failed call with its request, and a request holds what the user asked.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A passage as it is indexed."""

    id: str
    version: str
    terms: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found; a larger ``score`` is better."""

    id: str
    score: float


class PassageIndex:
    """One collection on one Milvus server. Raises ``ToolUnavailable`` when the server cannot be used."""

    def __init__(self, uri: str, token: str | None, collection: str = COLLECTION) -> None:
        self._uri = uri
        self._token = token
        self._name = collection
        self._client: Any = None
        self._checked = False

    def add(self, rows: Sequence[IndexRow], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes ``rows``; they are searched fast only after ``settle``."""
        self._ensure()
        for at in range(0, len(rows), BATCH):
            self._upsert([
                {"id": row.id, "version": row.version, "terms": _cut(row.terms)} for row in rows[at : at + BATCH]
            ])
            if progress is not None:
                progress(min(at + BATCH, len(rows)), len(rows))

    def settle(self) -> None:
        """Makes what was written fast to search: without this, Milvus Lite is 30 to 50 times slower."""
        self._call(lambda client: client.flush(self._name, timeout=WRITE_SECONDS))
        self._call(lambda client: client.release_collection(self._name, timeout=CALL_SECONDS))
        self.load()

    def load(self) -> None:
        """Loads the collection and searches once, for the first search builds what the others use."""
        self._ensure()
        self._call(lambda client: client.load_collection(self._name, timeout=WRITE_SECONDS))
        self._call(lambda client: self._search(client, "load", [], 1, WRITE_SECONDS))

    def check(self) -> None:
        """Reaches the server and looks at the collection; it is made when it is not there."""
        self._checked = False
        self._ensure()

    def delete_versions(self, versions: Iterable[str]) -> None:
        wanted = list(versions)
        if wanted:
            self._ensure()
            expression = f"version in {quoted(wanted)}"
            self._call(lambda client: client.delete(self._name, filter=expression, timeout=WRITE_SECONDS))

    def count(self, version: str) -> int:
        """How many passages of ``version`` are indexed."""
        self._ensure()
        expression = f"version == {quoted(version)}"
        found = self._searchable(
            lambda client: client.query(self._name, filter=expression, output_fields=["count(*)"], timeout=CALL_SECONDS)
        )
        return int(found[0]["count(*)"])

    def search(self, terms: str, versions: Sequence[str], limit: int) -> list[Hit]:
        """The best passages of ``versions`` for stemmed ``terms`` by BM25, best first."""
        if not terms or not versions:
            return []
        self._ensure()
        found = self._searchable(lambda client: self._search(client, terms, versions, limit, CALL_SECONDS))
        # Milvus Lite gives BM25 as a negative distance, a Milvus server as a positive score.
        return [Hit(str(hit["id"]), abs(float(hit["distance"]))) for hit in found[0]]

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def drop(self) -> None:
        """Removes the collection with all rows; the next ``add`` makes it anew."""
        self._call(lambda client: client.drop_collection(self._name, timeout=CALL_SECONDS))
        self._checked = False

    # -- inside

    def _search(self, client: Any, terms: str, versions: Sequence[str], limit: int, seconds: float) -> Any:
        return client.search(
            self._name, data=[terms], anns_field="sparse", limit=limit, output_fields=["id"], timeout=seconds,
            filter=f"version in {quoted(list(versions))}" if versions else "",
        )  # fmt: skip

    def _upsert(self, batch: list[dict[str, str]]) -> None:
        self._call(lambda client: client.upsert(self._name, batch, timeout=WRITE_SECONDS))

    def _searchable(self, call: Callable[[Any], T]) -> T:
        """Runs ``call``; loads the collection once more when another process has just released it."""
        try:
            return self._call(call)
        except _NotLoaded:
            self._call(lambda client: client.load_collection(self._name, timeout=WRITE_SECONDS))
            return self._call(call)

    def _ensure(self) -> None:
        if self._checked:
            return
        if not self._call(lambda client: client.has_collection(self._name, timeout=CALL_SECONDS)):
            self._call(self._create)
        self._check_fields()
        self._checked = True

    def _check_fields(self) -> None:
        described = self._call(lambda client: client.describe_collection(self._name, timeout=CALL_SECONDS))
        names: set[str] = {str(field["name"]) for field in described["fields"]}
        if names != _FIELDS:
            raise IndexMismatch(
                f"The guideline index {self._name!r} was written by another version of the app. "
                "Run `asclepius guidelines reindex` to build it again from the stored originals."
            )

    def _create(self, client: Any) -> None:
        from pymilvus import DataType, Function, FunctionType

        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_ID_BYTES)
        schema.add_field("version", DataType.VARCHAR, max_length=_VERSION_BYTES)
        schema.add_field(
            "terms", DataType.VARCHAR, max_length=_TERMS_BYTES, enable_analyzer=True,
            analyzer_params={"tokenizer": "standard", "filter": ["lowercase"]},
        )  # fmt: skip
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(Function(
            name="bm25", function_type=FunctionType.BM25, input_field_names=["terms"], output_field_names=["sparse"],
        ))  # fmt: skip
        indexes = client.prepare_index_params()
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=_BM25)
        indexes.add_index("version", index_type="INVERTED")
        client.create_collection(self._name, schema=schema, index_params=indexes, timeout=CALL_SECONDS)

    def _call(self, call: Callable[[Any], T]) -> T:
        from pymilvus.exceptions import MilvusException

        try:
            if self._client is None:
                from pymilvus import MilvusClient

                self._client = MilvusClient(uri=self._uri, token=self._token or "", timeout=CONNECT_SECONDS)
            return call(self._client)
        except MilvusException as error:
            # The exception's own text can repeat the request, so none of it is passed on.
            if "load()" in str(error) or "not loaded" in str(error):
                raise _NotLoaded("The guideline index is being rebuilt; ask again in a moment.") from None
            raise ToolUnavailable(
                f"The guideline index cannot be used (Milvus error {error.code}). "
                "Check that the Milvus server of MILVUS_URI runs, or run `asclepius doctor`."
            ) from None


class _NotLoaded(ToolUnavailable):
    """The collection is there and not in memory."""


def quoted(value: str | list[str]) -> str:
    """``value`` as a literal of a filter expression. Raises ``ValueError`` for control characters."""
    texts = [value] if isinstance(value, str) else value
    if any(ord(char) < 32 or char == "\x7f" for text in texts for char in text):
        raise ValueError("a filter value holds a control character")
    return json.dumps(value, ensure_ascii=False)


def _cut(terms: str) -> str:
    """Within the field's limit, which counts bytes."""
    data = terms.encode()
    return terms if len(data) <= _TERMS_BYTES else data[:_TERMS_BYTES].decode(errors="ignore").rsplit(" ", 1)[0]
