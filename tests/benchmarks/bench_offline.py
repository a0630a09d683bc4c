"""How fast the offline model server answers.

    python -m tests.benchmarks.bench_offline [first-delta] [streams] [cycles]

- first-delta: milliseconds from a streamed request to its first word, with hosted file search over 5,000 passages;
  target: 95 % within 150 ms.
- streams: 50 streams at once; the longest gap between two events of one stream beyond the pace that was asked for;
  target: 100 ms.
- cycles: requests per second, unstreamed, with nothing to search.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support.offline_server import offline_server

Json = dict[str, Any]
HEADERS = {"Authorization": "Bearer bench"}
PASSAGES = 5_000
STREAMS = 50
PACE_MS = 8
QUESTION = (
    "Which dose and monitoring of metformin is advised in renal and hepatic risk, and when is it contraindicated?"
)


def passages(count: int) -> str:
    """Text whose chunks are like a guideline's: every word common, every sentence its own."""
    chance = random.Random(11)
    drugs = [f"drug{number}" for number in range(400)]
    topics = [
        "dose",
        "renal",
        "hepatic",
        "pregnancy",
        "target",
        "monitoring",
        "treatment",
        "pressure",
        "therapy",
        "risk",
    ]
    lines = [
        " ".join(
            f"{chance.choice(drugs)} {' '.join(chance.choices(topics, k=12))} {number}-{part}." for part in range(6)
        )
        for number in range(count)
    ]
    lines.insert(count // 2, "Metformin is contraindicated in patients with an eGFR below 30 mL/min.")
    return "\n\n".join(lines)


async def fill_store(http: httpx.AsyncClient) -> str:
    text = passages(PASSAGES).encode()
    file = (await http.post("/files", files={"file": ("a.txt", text)}, data={"purpose": "assistants"})).json()
    sizes = {"type": "static", "static": {"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 0}}
    body = {"file_ids": [file["id"]], "chunking_strategy": sizes}
    store: str = (await http.post("/vector_stores", json=body)).json()["id"]
    while (await http.get(f"/vector_stores/{store}")).json()["status"] != "completed":
        await asyncio.sleep(0.1)
    return store


async def first_delta(http: httpx.AsyncClient, store: str) -> float:
    """Milliseconds to the first ``output_text.delta``."""
    body = {
        "model": "m",
        "input": QUESTION,
        "stream": True,
        "tools": [{"type": "file_search", "vector_store_ids": [store]}],
    }
    begin = time.perf_counter()
    async with http.stream("POST", "/responses", json=body) as answer:
        async for line in answer.aiter_lines():
            if line == "event: response.output_text.delta":
                return (time.perf_counter() - begin) * 1000
    raise AssertionError("the stream had no text")


async def longest_gap(http: httpx.AsyncClient) -> float:
    """Milliseconds by which the slowest event of one stream came later than its pace."""
    worst = 0.0
    last: float | None = None
    body = {"model": "m", "input": "Hello", "stream": True}
    async with http.stream("POST", "/responses", json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                now = time.perf_counter()
                worst = max(worst, 0.0 if last is None else (now - last) * 1000)
                last = now
    return worst - PACE_MS


async def measure_first_delta() -> None:
    with tempfile.TemporaryDirectory() as folder, offline_server(Path(folder)) as base_url:
        async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=120) as http:
            store = await fill_store(http)
            times = sorted([await first_delta(http, store) for _ in range(100)])
    print(f"first delta over {PASSAGES} passages: median {statistics.median(times):.0f} ms, p95 {times[94]:.0f} ms")


async def measure_streams() -> None:
    with tempfile.TemporaryDirectory() as folder, offline_server(Path(folder), "--delta-ms", str(PACE_MS)) as base_url:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(base_url=base_url, headers=HEADERS, timeout=60, limits=limits) as http:
            await asyncio.gather(*(longest_gap(http) for _ in range(STREAMS)))
            gaps = [gap for _ in range(5) for gap in await asyncio.gather(*(longest_gap(http) for _ in range(STREAMS)))]
    typical = statistics.median(gaps)
    print(f"{STREAMS} streams at once: longest stall {max(gaps):.0f} ms, median of the longest {typical:.0f} ms")


async def measure_cycles() -> None:
    with tempfile.TemporaryDirectory() as folder, offline_server(Path(folder)) as base_url:
        async with httpx.AsyncClient(base_url=base_url, headers=HEADERS) as http:
            begin = time.perf_counter()
            for _ in range(300):
                (await http.post("/responses", json={"model": "m", "input": "Hello"})).raise_for_status()
    print(f"unstreamed, one after the other: {300 / (time.perf_counter() - begin):.0f} responses/s")


async def main(parts: list[str]) -> None:
    measures = {"first-delta": measure_first_delta, "streams": measure_streams, "cycles": measure_cycles}
    for name in parts or list(measures):
        await measures[name]()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
