"""How fast the drug database imports and answers, and how often it is right, against simpler ways of looking names up.

    python -m tests.benchmarks.bench_drugs [import] [search] [growth] [--sizes 1000,10000,100000,500000]

- import: products of the NDC directory per second, with its packages; target: 3,000.
- search: hit@1, hit@5 and milliseconds of the same queries answered by the search, by Milvus BM25 alone and by
  rapidfuzz alone, over all four directories; target: 95 % of the queries within 30 ms. Memory and load time of the
  list of names.
- growth: import time, peak memory of the importing process and milliseconds of a search as synthetic products grow;
  target: 500,000 products within 1.5 GB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz, process

from chat_app.evaluation.drug_evaluation import EvaluationQuery, evaluate, read_queries
from tests.support.drug_queries import build
from tests.support.drugs import NDC_COLUMNS, ndc_row
from tests.support.services import milvus_lite_server
from tools.drug_database import DrugDatabase, DrugQuery
from tools.drug_database.drug_snapshot import DrugSnapshot
from tools.drug_database.storage.drug_collection import stems

SHARED = Path(os.environ.get("ASCLEPIUS_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data/drugs"
FILES = (
    "ndctext_2015-12.zip",
    "orange-book_2020-07-06.zip",
    "drugsatfda_2019-07-02.zip",
    "rxnorm_prescribable_2025-10.zip",
)
Find = Callable[[str], list[str]]


@contextmanager
def milvus() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, milvus_lite_server(Path(folder)) as uri:
        yield uri


async def bench_import() -> dict[str, Any]:
    with milvus() as uri:
        database = DrugDatabase(uri)
        started, cpu = time.perf_counter(), time.process_time()
        report = await database.import_paths([SHARED / FILES[0]])
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        await database.aclose()
    return {
        "products": report.products,
        "rows": report.read,
        "seconds": round(seconds, 2),
        "products_per_second": round(report.products / seconds),
        "products_per_cpu_second_of_this_process": round(report.products / cpu_seconds),
    }


async def bench_search() -> dict[str, Any]:
    with milvus() as uri:
        database = DrugDatabase(uri)
        await database.load_demo()
        report = await database.import_paths([SHARED / name for name in FILES])
        fresh = DrugDatabase(uri)
        before, started = _resident(), time.perf_counter()
        await fresh.load()
        load = {
            "load_seconds": round(time.perf_counter() - started, 2),
            "list_of_names_mb": round(_resident() - before),
        }
        queries = [*read_queries(SHARED / "queries_dev.jsonl"), *build(SHARED)]
        result = await evaluate(fresh, queries)
        state = await fresh._read(fresh._searcher.snapshot, 60)
        assert state is not None
        ways = {
            "search": {**result.overall.model_dump(by_alias=True), **result.ms.model_dump()},
            "bm25 alone": await _rate(fresh, state, queries, _bm25(uri, state)),
            "rapidfuzz alone": await _rate(fresh, state, queries, _rapidfuzz(state)),
        }
        await database.aclose()
        await fresh.aclose()
    return {
        "records": report.records,
        "rows": report.read,
        "import_seconds": round(report.seconds, 1),
        **load,
        "ways": ways,
    }


def _bm25(uri: str, state: DrugSnapshot) -> Find:
    from pymilvus import MilvusClient

    client = MilvusClient(uri)

    def find(text: str) -> list[str]:
        found = client.search(
            state.generation.records, data=[stems([text])], anns_field="stems_bm25", limit=5, output_fields=["key"]
        )
        return [hit["entity"]["key"] for hit in found[0]]

    return find


def _rapidfuzz(state: DrugSnapshot) -> Find:
    names = state.index.names

    def find(text: str) -> list[str]:
        found = process.extract(text.lower(), names, scorer=fuzz.ratio, limit=5)
        return [state.index.entries[state.index.exact(name)[0].entry].key for name, _, _ in found]

    return find


async def _rate(
    database: DrugDatabase, state: DrugSnapshot, queries: Sequence[EvaluationQuery], find: Find
) -> dict[str, float]:
    times: list[float] = []
    first = five = 0
    for query in queries:
        started = time.perf_counter()
        keys = find(query.query)
        times.append(1000 * (time.perf_counter() - started))
        records = await database._read(lambda client, keys=keys: state.records(client, keys), 60)
        fits = [query.fits(records[key]) for key in keys if key in records]
        first += bool(fits) and fits[0]
        five += any(fits)
    times.sort()
    return {
        "hit@1": round(first / len(queries), 4),
        "hit@5": round(five / len(queries), 4),
        "queries": len(queries),
        "mean": round(sum(times) / len(times), 2),
        "p50": round(times[len(times) // 2], 2),
        "p95": round(times[int(0.95 * len(times))], 2),
    }


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _peak_of(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")), 0.0)


def bench_growth(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Each size in a process of its own, so that the peak is that size's."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        command = [sys.executable, "-m", "tests.benchmarks.bench_drugs", "--grown", str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
    return rows


def synthetic(folder: Path, products: int) -> Path:
    """Five products a medicine, two brands each; pronounceable names that share their endings, as real ones do."""
    chance = random.Random(5)
    heads = ["al", "be", "cor", "dex", "ena", "flu", "gli", "hydro", "iso", "keto", "lora", "meto", "nor", "oxy", "pra"]
    middles = ["ba", "ce", "di", "fo", "ga", "li", "mo", "na", "pe", "ro", "su", "ta", "ve", "xi", "zo"]
    tails = ["pril", "sartan", "olol", "statin", "azole", "mycin", "cillin", "pine", "xaban", "mab", "tinib", "done"]

    def name() -> str:
        return (
            chance.choice(heads)
            + "".join(chance.choice(middles) for _ in range(chance.randint(2, 4)))
            + chance.choice(tails)
        )

    file = folder / "product.txt"
    with file.open("w", encoding="cp1252") as stream:
        stream.write("\t".join(NDC_COLUMNS) + "\n")
        substance, brands = "", ("", "")
        for number in range(products):
            if number % 5 == 0:
                substance, brands = f"{name()} {number // 5}", (name(), name())
            code = f"{number // 10_000:05d}-{number % 10_000:04d}"
            row = ndc_row(code, substance, PROPRIETARYNAME=brands[number % 2], LABELERNAME=f"Labeler {number % 400}")
            stream.write("\t".join(row[column] for column in NDC_COLUMNS) + "\n")
    return file


async def grown(size: int) -> dict[str, Any]:
    with milvus() as uri, tempfile.TemporaryDirectory() as folder:
        file = synthetic(Path(folder), size)
        database = DrugDatabase(uri)
        started = time.perf_counter()
        report = await database.import_paths([file])
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        server = max(map(_peak_of, _children()), default=0.0)
        started = time.perf_counter()
        await database.load()
        load = time.perf_counter() - started
        state = await database._read(database._searcher.snapshot, 60)
        assert state is not None
        chance = random.Random(3)
        names = [chance.choice(state.index.names) for _ in range(60)]
        exact = await _times(database, names)
        misspelt = await _times(database, [name[:3] + name[4:] for name in names])
        await database.aclose()
    return {
        "products": size,
        "records": report.records,
        "import_seconds": round(seconds, 1),
        "import_peak_mb": round(peak),
        "milvus_lite_peak_mb": round(server),
        "load_seconds": round(load, 2),
        "exact_p95_ms": exact,
        "misspelt_p95_ms": misspelt,
    }


async def _times(database: DrugDatabase, names: Sequence[str]) -> float:
    times: list[float] = []
    for name in names:
        started = time.perf_counter()
        await database.search(DrugQuery(name=name))
        times.append(1000 * (time.perf_counter() - started))
    return round(sorted(times)[int(0.95 * len(times))], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["import", "search", "growth"])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--grown", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.grown:
        print(json.dumps(asyncio.run(grown(given.grown))))
        return
    results: dict[str, Any] = {"load_average": os.getloadavg()[0]}
    if "import" in given.what:
        results["import"] = asyncio.run(bench_import())
    if "search" in given.what:
        results["search"] = asyncio.run(bench_search())
    if "growth" in given.what:
        results["growth"] = bench_growth([int(size) for size in given.sizes.split(",")])
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
