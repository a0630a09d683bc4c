"""Runs an import, from its files to the generation that readers see."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import orjson

from tools.drug_database.importers.importer_base import ImportedRows, Progress
from tools.drug_database.importing.rollup import roll_up
from tools.drug_database.names.name_index import entry_of
from tools.drug_database.names.name_keys import class_name
from tools.drug_database.records.codes import bucket, codes_of
from tools.drug_database.records.drug_record import DataSource, DrugRecord
from tools.drug_database.records.reports import ImportProgress, ImportReport, SourceStats
from tools.drug_database.storage import drug_collection
from tools.drug_database.storage.drug_collection import DrugCatalog, Writer, grams, stems
from tools.drug_database.storage.generations import WRITE_SECONDS, Generation, drop, drop_leftovers, new_generation
from tools.drug_database.storage.staging import StagedGroup, Staging
from tools.errors import IndexMismatch, ToolError
from tools.language.folding import fold_name
from tools.milvus.connection import Client

_EVERY: Final = 250


class ImportCancelled(ToolError):
    """The import was stopped; the database is as it was before."""


@dataclass(frozen=True)
class ImportJob:
    """Parameters of an import. ``read`` passes every row on; ``versions`` are content hashes by source."""

    read: Callable[[ImportedRows], None]
    replace: bool = False
    """Leave out what the imported sources said before, instead of updating it item by item.

    An index of another version is rebuilt then, and otherwise refused.
    """
    sole_source: str = ""
    """The only source that an index of another version may hold to be rebuilt; empty for any."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    remove: frozenset[str] = frozenset()
    """Sources to leave out altogether."""


def run_import(
    client: Client, alias: str, job: ImportJob, progress: Progress, cancelled: threading.Event
) -> ImportReport:
    """Read, merge, write and publish. On any error the database stays as it was.

    Raises ``SourceRejected`` for a file that cannot be taken, ``ImportCancelled`` when ``cancelled`` was set.
    """
    started = time.monotonic()
    report = _unless_cancelled(progress, cancelled)
    with Staging() as staging:
        imported = ImportedRows(staging, report)
        job.read(imported)
        before = drug_collection.current(client, alias, timeout=WRITE_SECONDS)
        known = _known(client, before, job)
        without = job.remove | (frozenset(imported.sources) if job.replace else frozenset[str]())
        _keep(client, before if known.sources else None, staging, without, report)
        sources = {stats.source.id: stats.source for stats in known.sources} | imported.sources
        versions = {stats.source.id: stats.version for stats in known.sources} | dict(job.versions)
        cut_off = drop_leftovers(client, alias, before)
        generation = new_generation(alias)
        try:
            catalog = _write(client, generation, staging, sources=sources, versions=versions, report=report)
            drug_collection.publish(client, alias, generation, before)
        except BaseException:
            drop(client, generation)
            raise
    progress(ImportProgress(stage="done", label="", done=catalog.records, total=catalog.records))
    return ImportReport(
        files=tuple(imported.files),
        left_out=tuple(imported.left_out),
        records=catalog.records,
        products=catalog.products,
        seconds=time.monotonic() - started,
        after_cut_off=cut_off > 0,
    )


def _unless_cancelled(progress: Progress, cancelled: threading.Event) -> Progress:
    """Return ``progress``, which raises ``ImportCancelled`` once ``cancelled`` is set."""

    def report(item: ImportProgress) -> None:
        if cancelled.is_set():
            raise ImportCancelled("The import was stopped. The drug database is as it was before.")
        progress(item)

    return report


def _known(client: Client, before: Generation | None, job: ImportJob) -> DrugCatalog:
    """Return the stored catalog; an empty one before the first import or when the index is rebuilt."""
    if before is None:
        return DrugCatalog()
    try:
        return drug_collection.read_catalog(client, before, timeout=WRITE_SECONDS)
    except IndexMismatch:
        sources = drug_collection.stored_sources(client, before, timeout=WRITE_SECONDS)
        if job.replace and (not job.sole_source or sources == frozenset({job.sole_source})):
            return DrugCatalog()
        raise


def _keep(
    client: Client, before: Generation | None, staging: Staging, without: frozenset[str], report: Progress
) -> None:
    """Stage the statements of the generation ``before``, except those of the sources in ``without``."""
    if before is None:
        return
    pieces: dict[str, dict[int, str]] = {}
    for number, row in enumerate(drug_collection.iterate(client, before.facts, ("id", "piece"))):
        name, _, place = row["id"].rpartition("#")
        key, _, count = name.rpartition("@")
        pieces.setdefault(key, {})[int(place)] = row["piece"]
        if len(pieces[key]) == int(count):
            whole = "".join(piece for _, piece in sorted(pieces.pop(key).items()))
            staging.keep(key, (line.decode() for line in drug_collection.unpack(whole)), without=without)
        if number % _EVERY == 0:
            report(ImportProgress(stage="merging", label="what was loaded before", done=number))
    client.release_collection(before.facts, timeout=WRITE_SECONDS)


def _write(
    client: Client,
    generation: Generation,
    staging: Staging,
    *,
    sources: Mapping[str, DataSource],
    versions: Mapping[str, str],
    report: Progress,
) -> DrugCatalog:
    """Write all staged groups, and return the catalog of the generation."""
    drug_collection.create(client, generation)
    records, parts, facts = (Writer(client, name) for name in generation.all)
    count, total = Counter[str](), staging.group_count()
    # Every process that reads the generation holds all its names, too.
    entries: list[bytes] = []
    names, classes = set[int](), set[str]()
    for group in staging.groups():
        record = roll_up(group, sources)
        _write_record(record, group, records, parts, facts)
        entries.append(orjson.dumps(entry_of(record)))
        count.update(records=1, products=record.product_count, labels=len(record.labels))
        names |= {hash(fold_name(name)) for name in _names(record)}
        classes |= {fold_name(class_name(fact.value)) for fact in record.drug_classes}
        staging.add_codes((bucket(code), code, record.key) for code in codes_of(record))
        if count["records"] % _EVERY == 0:
            report(ImportProgress(stage="writing", label="records", done=count["records"], total=total))
    for name, lines in staging.codes():
        parts.add_pieces(name, drug_collection.pack(lines))
    catalog = DrugCatalog(
        records=count["records"],
        products=count["products"],
        labels=count["labels"],
        names=len(names),
        classes=len(classes),
        name_pieces=parts.add_pieces(drug_collection.NAMES, drug_collection.pack(entries)),
        imported_at=datetime.now(UTC).isoformat(timespec="seconds"),
        sources=tuple(_stats(staging.counts(), sources, versions)),
    )
    parts.add_pieces(drug_collection.CATALOG, catalog.model_dump_json(exclude={"revision"}))
    for writer in (records, parts, facts):
        writer.flush()
    report(ImportProgress(stage="indexing", label="records", done=total, total=total))
    return catalog


def _stats(
    counts: Mapping[str, int], sources: Mapping[str, DataSource], versions: Mapping[str, str]
) -> Iterator[SourceStats]:
    """Yield the sources that have items."""
    for name, source in sources.items():
        if name in counts:
            yield SourceStats(source=source, items=counts[name], version=versions.get(name, ""))


def _write_record(record: DrugRecord, group: StagedGroup, records: Writer, parts: Writer, facts: Writer) -> None:
    body = drug_collection.pack([record.model_dump_json(exclude_defaults=True)])
    rest = parts.add_pieces(record.key, body[drug_collection.CHUNK :]) if len(body) > drug_collection.CHUNK else 0
    names = _names(record)
    label = record.labels[0].sections if record.labels else {}
    records.add(
        {
            "key": record.key,
            "body": body[: drug_collection.CHUNK],
            "pieces": rest,
            "grams": grams(names),
            "stems": stems(
                [*names, *(class_name(fact.value) for fact in record.drug_classes), *label.get("indications", ())]
            ),
        }
    )
    stored = drug_collection.pack(group.lines)
    count = -(-len(stored) // drug_collection.CHUNK)
    facts.add_pieces(f"{group.key}@{count}", stored)


def _names(record: DrugRecord) -> list[str]:
    facts = (*record.substances, *record.brand_names, *record.synonyms)
    return list(dict.fromkeys([record.generic_name, *record.ingredients, *(fact.value for fact in facts)]))
