"""The drug index at one moment: its names in memory, and its records, codes and texts in Milvus.

Every call that takes a ``client`` blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import orjson

from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.query_expander import QueryExpander
from tools.drug_database.records.codes import bucket
from tools.drug_database.records.drug_record import DrugRecord
from tools.drug_database.storage import drug_collection
from tools.drug_database.storage.drug_collection import DrugCatalog
from tools.drug_database.storage.generations import WRITE_SECONDS, Generation
from tools.milvus.connection import Client, one_of

READ_SECONDS: Final = 5.0
_TEXT_HITS: Final = 20
_MOST_PIECES: Final = 16
"""Maximum for one bucket of codes: a labeler has at most 10,000 product codes, which fill less than half of it."""


@dataclass(frozen=True)
class DrugSnapshot:
    """A generation with its list of names."""

    generation: Generation
    catalog: DrugCatalog
    index: NameIndex

    @classmethod
    def load(cls, client: Client, generation: Generation) -> DrugSnapshot:
        """Load a generation into Milvus's memory, and return it with its names."""
        catalog = drug_collection.read_catalog(client, generation, timeout=READ_SECONDS)
        client.load_collection(generation.records, timeout=WRITE_SECONDS)
        names, pieces = drug_collection.NAMES, catalog.name_pieces
        packed = drug_collection.read_pieces(client, generation, names, pieces, timeout=READ_SECONDS)
        return cls(generation, catalog, NameIndex(map(orjson.loads, filter(None, drug_collection.unpack(packed)))))

    @cached_property
    def expander(self) -> QueryExpander:
        """Expands questions by the names of the generation."""
        return QueryExpander(self.index)

    def records(self, client: Client, keys: Sequence[str]) -> dict[str, DrugRecord]:
        """Return whole records by key."""
        if not keys:
            return {}
        wanted, fields = one_of("key", keys), ["key", "body", "pieces"]
        rows = client.query(self.generation.records, filter=wanted, output_fields=fields, timeout=READ_SECONDS)
        return {row["key"]: self._record(client, row) for row in rows}

    def _record(self, client: Client, row: drug_collection.Row) -> DrugRecord:
        rest = self._pieces(client, row["key"], row["pieces"]) if row["pieces"] else ""
        return DrugRecord.model_validate_json(drug_collection.unpack(row["body"] + rest)[0])

    def entries_of(self, client: Client, codes: Iterable[str]) -> Iterator[int]:
        """Yield the entries of the records that have one of ``codes``, in their stored form."""
        for code in codes:
            packed = self._pieces(client, bucket(code), _MOST_PIECES)
            for line in drug_collection.unpack(packed) if packed else ():
                listed, _, key = line.decode().partition("\t")
                if listed == code:
                    yield self.index.by_key[key]

    def matching(self, client: Client, field: str, text: str) -> list[str]:
        """Return the keys of the records whose ``field`` matches ``text`` by BM25, best first."""
        if not text:
            return []
        found = client.search(
            self.generation.records,
            data=[text],
            anns_field=field,
            limit=_TEXT_HITS,
            output_fields=["key"],
            timeout=READ_SECONDS,
        )
        return [hit["entity"]["key"] for hit in found[0] if abs(hit["distance"]) > 0]

    def _pieces(self, client: Client, name: str, count: int) -> str:
        return drug_collection.read_pieces(client, self.generation, name, count, timeout=READ_SECONDS)
