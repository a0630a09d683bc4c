"""Store the drug database in Milvus, and replace one whole generation of it by another.

A state is a *generation* (see ``generations``): three collections with a common name. ``<generation>`` holds one
searchable row per record, ``_parts`` what does not fit one row (long records, the list of names, codes, the catalog),
``_facts`` what each source said, so that a later import can add to it. An alias points at the generation that readers
see; it is moved only when the new one is complete, flushed and loaded. Readers never see a half-loaded state, and a
killed import leaves the old one.

Text search uses BM25 on two shadow fields, stems and character 3-grams, because Milvus Lite makes neither.
"""

import base64
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import orjson
from pymilvus import DataType, Function, FunctionType, MilvusException

from tools.drug_database.records.reports import DrugDatabaseStats
from tools.drug_database.storage.generations import WRITE_SECONDS, Generation, drop
from tools.errors import IndexMismatch, ToolError
from tools.language.folding import fold_name
from tools.language.terms import stem
from tools.language.word_lists import word_list
from tools.milvus.connection import Client, index_mismatch, one_of

SCHEMA_VERSION: Final = 4
"""Rises with every change of the stored form."""
CHUNK: Final = 60_000
"""Characters of one stored piece and bytes of one shadow field; Milvus takes 65,535 bytes."""
_BATCH_BYTES: Final = 4_000_000
_LONGEST_KEY: Final = 200
CATALOG: Final = "catalog"
NAMES: Final = "names"
Row = dict[str, Any]


class DrugCatalog(DrugDatabaseStats):
    """Contents of a generation; stored with it."""

    schema_version: int = SCHEMA_VERSION
    name_pieces: int = 0


def current(client: Client, alias: str, *, timeout: float) -> Generation | None:
    """Return the generation that readers see; None before the first import."""
    try:
        return Generation(str(client.describe_alias(alias, timeout=timeout)["collection_name"]))
    except MilvusException as error:
        if int(getattr(error, "code", 0) or 0) == 100 or "exist" in str(error) or "not found" in str(error):
            return None
        raise


def create(client: Client, generation: Generation) -> None:
    """Create the collections of a generation."""
    records = client.create_schema(auto_id=False, enable_dynamic_field=False)
    records.add_field("key", DataType.VARCHAR, is_primary=True, max_length=_LONGEST_KEY)
    index = client.prepare_index_params()
    analyzer = {"tokenizer": "standard", "filter": ["lowercase"]}
    for field in ("stems", "grams"):
        scored = f"{field}_bm25"
        records.add_field(field, DataType.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params=analyzer)
        records.add_field(scored, DataType.SPARSE_FLOAT_VECTOR)
        records.add_function(Function(f"bm25_{field}", FunctionType.BM25, [field], [scored]))
        index.add_index(scored, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    records.add_field("body", DataType.VARCHAR, max_length=65_535)
    records.add_field("pieces", DataType.INT64)
    _create(client, generation.records, records, index)
    for name in (generation.parts, generation.facts):
        _create_store(client, name)


def _create_store(client: Client, name: str) -> None:
    """Create a collection of pieces by id; its vector, which Milvus demands, is never searched."""
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_LONGEST_KEY + 40)
    schema.add_field("piece", DataType.VARCHAR, max_length=65_535)
    schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
    index = client.prepare_index_params()
    index.add_index("unused", index_type="FLAT", metric_type="L2")
    _create(client, name, schema, index)


def _create(client: Client, name: str, schema: Any, index: Any) -> None:
    # A strong read waits for a Milvus server's next tick: 400 ms against 1 ms (2.3.5). A generation is read only when
    # it is complete, and ``publish`` makes sure of that with a strong read.
    client.create_collection(name, schema=schema, timeout=WRITE_SECONDS, consistency_level="Bounded")
    # Waiting for the index of an empty collection takes pymilvus half a second each; loading waits for it anyway.
    client.create_index(name, index, timeout=WRITE_SECONDS, sync=False)


class Writer:
    """Inserts rows in batches of a few megabytes."""

    def __init__(self, client: Client, collection: str) -> None:
        self._client = client
        self._collection = collection
        self._rows: list[Row] = []
        self._bytes = 0

    def add(self, row: Row) -> None:
        """Add a row and flush a full batch."""
        self._rows.append(row)
        self._bytes += sum(len(value) for value in row.values() if isinstance(value, str)) + 100
        if self._bytes >= _BATCH_BYTES:
            self.flush()

    def add_pieces(self, name: str, text: str) -> int:
        """Store ``text`` in pieces ``<name>#<n>`` and return their number."""
        pieces = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
        for number, piece in enumerate(pieces):
            self.add({"id": f"{name}#{number}", "piece": piece, "unused": [0.0, 0.0]})
        return len(pieces)

    def flush(self) -> None:
        """Insert the rows that wait."""
        if self._rows:
            self._client.insert(self._collection, self._rows, timeout=WRITE_SECONDS)
            self._rows, self._bytes = [], 0


def publish(client: Client, alias: str, generation: Generation, before: Generation | None) -> None:
    """Make ``generation`` the one that readers see, and remove ``before``.

    Raises ``ToolError`` when readers see another one than ``before`` by now: two imports at once would each publish
    without the other's rows. Raises ``IndexMismatch`` when the alias' name is taken by a collection of something else.
    """
    if current(client, alias, timeout=WRITE_SECONDS) != before:
        raise ToolError("Another import changed the drug database in the meantime. Run this import again.")
    for name in generation.all:
        client.flush(name, timeout=WRITE_SECONDS)
        if name != generation.facts:
            # Lite answers 30 to 50 times slower from rows that were not flushed and reloaded.
            client.release_collection(name, timeout=WRITE_SECONDS)
            client.load_collection(name, timeout=WRITE_SECONDS)
            client.query(name, filter="", output_fields=["count(*)"], consistency_level="Strong", timeout=WRITE_SECONDS)
    if before is None:
        if client.has_collection(alias, timeout=WRITE_SECONDS):
            raise IndexMismatch(
                f"Milvus holds a collection named {alias} that is not Asclepius's drug index. Use "
                "another database or rename it."
            )
        client.create_alias(generation.records, alias, timeout=WRITE_SECONDS)
    else:
        client.alter_alias(generation.records, alias, timeout=WRITE_SECONDS)
        drop(client, before)


def read_catalog(client: Client, generation: Generation, *, timeout: float) -> DrugCatalog:
    """Read the catalog. Raises ``IndexMismatch`` when another version wrote the generation."""
    found = {field["name"] for field in client.describe_collection(generation.records, timeout=timeout)["fields"]}
    if found != {"key", "stems", "grams", "stems_bm25", "grams_bm25", "body", "pieces"}:
        raise index_mismatch("drug database")
    # After a restart of Milvus Lite no collection is loaded, and only loaded ones can be read.
    client.load_collection(generation.parts, timeout=WRITE_SECONDS)
    text = read_pieces(client, generation, CATALOG, 1, timeout=timeout)
    catalog = orjson.loads(text) if text else {}
    if catalog.get("schema_version") != SCHEMA_VERSION:
        raise index_mismatch("drug database")
    return DrugCatalog.model_validate_json(text)


def stored_sources(client: Client, generation: Generation, *, timeout: float) -> frozenset[str] | None:
    """Return the source ids of a generation of any version; None when unreadable."""
    try:
        catalog = orjson.loads(read_pieces(client, generation, CATALOG, 1, timeout=timeout))
        return frozenset(stats["source"]["id"] for stats in catalog["sources"])
    except (MilvusException, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def read_pieces(client: Client, generation: Generation, name: str, count: int, *, timeout: float) -> str:
    """Return the text that was stored under ``name`` in ``count`` pieces."""
    found: dict[str, str] = {}
    ids = [f"{name}#{number}" for number in range(count)]
    for start in range(0, len(ids), 50):
        wanted = one_of("id", ids[start : start + 50])
        rows = client.query(generation.parts, filter=wanted, output_fields=["id", "piece"], timeout=timeout)
        found |= {row["id"]: row["piece"] for row in rows}
    return "".join(found.get(id_, "") for id_ in ids)


def iterate(client: Client, collection: str, fields: Sequence[str]) -> Iterator[Row]:
    """Yield all rows of a collection, read in batches."""
    client.load_collection(collection, timeout=WRITE_SECONDS)
    rows = client.query_iterator(
        collection, batch_size=200, output_fields=list(fields), timeout=WRITE_SECONDS, consistency_level="Strong"
    )
    try:
        while batch := rows.next():
            yield from batch
    finally:
        rows.close()


def pack(lines: Iterable[bytes | str]) -> str:
    """Compress lines into one string of printable characters."""
    joined = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
    return base64.b64encode(zlib.compress(joined, 3)).decode("ascii")


def unpack(text: str) -> list[bytes]:
    """Return the lines of ``pack``. Raises ``IndexMismatch`` for other text."""
    try:
        return zlib.decompress(base64.b64decode(text)).split(b"\n")
    except (ValueError, zlib.error):
        raise index_mismatch("drug database") from None


def stems(texts: Iterable[str]) -> str:
    """Return the stems of all words that carry meaning, each once, at most 60,000 bytes."""
    stop = word_list("stop")
    return _cut(" ".join(dict.fromkeys(stem(word) for word in _words(texts) if word not in stop)))


def word_grams(word: str) -> Iterator[str]:
    """Yield the 3-grams of ``0word0``; the zeros mark its ends and do not split a token."""
    marked = f"0{word}0"
    for start in range(max(1, len(marked) - 2)):
        yield marked[start : start + 3]


def grams(names: Iterable[str]) -> str:
    """Return the 3-grams of every word of the names, each word once, at most 60,000 bytes."""
    return _cut(" ".join(gram for word in _words(names) for gram in word_grams(word)))


def _words(texts: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(word for text in texts for word in fold_name(text).split())


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= CHUNK:
        return text
    return raw[:CHUNK].decode(errors="ignore").rpartition(" ")[0]
