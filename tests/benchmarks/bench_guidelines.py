"""Measures the guideline library: reading, adding, searching. Prints one JSON object.

    python -m tests.benchmarks.bench_guidelines [--chapters 5400] [--model DIR]

Needs the shared folder (ASCLEPIUS_SHARED, default ../shared). Reading is measured in processor time of one core, so
that other work on the machine does not count; the rest in time on the clock. Searches are hybrid: with ``--model`` by
a local ONNX model, else with fixed vectors of 384 dimensions, so that only the model's own time is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.services import milvus_lite_server
from tools.documents.extract import extract
from tools.embeddings.embedders import Embedder, OnnxEmbedder
from tools.guidelines import GuidelineLibrary

SHARED = Path(os.environ.get("ASCLEPIUS_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SEARCHES = 200


class FixedEmbedder:
    """Vectors made of a text's hash, at no cost: the search among them is what is measured."""

    name = "fixed"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        made: list[list[float]] = []
        for text in texts:
            source = random.Random(text)
            made.append([source.uniform(-1, 1) for _ in range(self.dimension)])
        return made


def pages_per_second(path: Path) -> tuple[float, float]:
    """Reads the file ten times and gives the first rate, as a process has that reads one file, and the best one:

    whatever else the machine does only slows it.
    """
    rates: list[float] = []
    gc.disable()
    for _ in range(10):
        started = time.thread_time()
        pages = len(extract(path, ".pdf", progress=lambda done, total: None).pages)
        rates.append(pages / (time.thread_time() - started))
    gc.enable()
    return round(rates[0], 1), round(max(rates), 1)


def write_guidelines(folder: Path, chapters: int, words: Sequence[str]) -> None:
    """Texts of ``chapters`` chapters in all, of words drawn from real guidelines as often as they stand there."""
    draw = random.Random(7)
    for number in range(0, chapters, 500):
        count = min(500, chapters - number)
        parts = [f"# Chapter {at}\n\n{' '.join(draw.choices(words, k=345))}." for at in range(count)]
        (folder / f"made-{number}.md").write_text("\n\n".join(parts), encoding="utf-8")


def real_words() -> list[str]:
    path = SHARED / "data" / "guidelines" / "nhlbi_jnc7_2004.pdf"
    extraction = extract(path, ".pdf", progress=lambda done, total: None)
    return [word for page in extraction.pages for block in page.blocks for word in block.text.split()]


async def measure(uri: str, folder: Path, chapters: int, embedder: Embedder) -> dict[str, float]:
    words = real_words()
    guidelines = folder / "guidelines"
    guidelines.mkdir()
    write_guidelines(guidelines, chapters, words)
    alone = GuidelineLibrary(uri, folder / "alone", collection="alone")
    started = time.perf_counter()
    await alone.add(SHARED / "data" / "guidelines" / "nhlbi_obesity_1998.pdf")
    searchable = time.perf_counter() - started
    await alone.aclose()

    library = GuidelineLibrary(uri, folder / "library", embedder=embedder)
    report = await library.add_folder(guidelines)
    draw = random.Random(11)
    spent: list[float] = []
    for _ in range(SEARCHES):
        question = " ".join(draw.choices(words, k=9))
        started = time.perf_counter()
        await library.search(question)
        spent.append(1000 * (time.perf_counter() - started))
    await library.aclose()
    return {
        "seconds_until_262_pages_are_searchable": round(searchable, 2),
        "passages": sum(document.passages for document in report.documents),
        "search_ms_median": round(statistics.median(spent), 1),
        "search_ms_p95": round(statistics.quantiles(spent, n=20)[-1], 1),
        "search_ms_max": round(max(spent), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapters", type=int, default=5_400, help="made of one passage each, or of a part of one")
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    embedder: Embedder = OnnxEmbedder(given.model) if given.model else FixedEmbedder()
    found: dict[str, float] = {}
    for name, file in (("jnc7", "nhlbi_jnc7_2004.pdf"), ("obesity", "nhlbi_obesity_1998.pdf")):
        first, best = pages_per_second(SHARED / "data" / "guidelines" / file)
        found |= {f"{name}_pages_per_second_first": first, f"{name}_pages_per_second": best}
    with tempfile.TemporaryDirectory() as name, milvus_lite_server(Path(name) / "milvus") as uri:
        found |= asyncio.run(measure(uri, Path(name), given.chapters, embedder))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
