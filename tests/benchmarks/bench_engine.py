"""What the streaming engine costs, beside the SDK's own loops and other agent libraries, in one run.

    python -m tests.benchmarks.bench_engine [cpu] [live] [latency] [gap] [memory] [soak]

Figures are medians of five rounds in which all contenders take turns, so that only their ratios depend on the code.
Other libraries are measured when they can be imported (dependency group ``peers``).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from openai import AsyncOpenAI

from chat_app.agent.runner import Runner
from chat_app.events import TextDelta
from chat_app.generation.generator import Generator
from chat_app.generation.model_client import ResponseRequest
from chat_app.generation.prompt import Prompt
from chat_app.generation.response_api_adapter import ResponseAPIAdapter
from tests.benchmarks.bare_reads import read_by_aiohttp, read_by_protocol
from tests.benchmarks.peers import peers
from tests.benchmarks.replay_server import replay_server
from tests.benchmarks.soak import Growth, resident_kb, soak
from tests.support.engine import adapter, question
from tests.support.services import redis_server
from tools.function_tool import FunctionTool
from tools.tool_manager import ToolManager

ROUNDS = 5
DELTAS = 2_000
BURST, LIVE = f"burst:{DELTAS}", f"paced:{DELTAS}:1"
"""How the deltas come: several in one read, or each in a read of its own as from a model that is thinking."""
Contender = Callable[[], Awaitable[int]]
"""Reads one answer to its end and returns the number of characters it gave out."""


@asynccontextmanager
async def _engine(base_url: str, model: str, tools: Sequence[FunctionTool] = ()) -> AsyncIterator[Runner]:
    client = adapter(base_url)
    generator: Generator[Any] = Generator(client, prompt=Prompt("Be exact."), model_kwargs={"model": model})
    try:
        yield Runner(generator, ToolManager(tools))
    finally:
        await client.aclose()


def _contenders(client: AsyncOpenAI, ours: ResponseAPIAdapter, engine: Runner, model: str) -> dict[str, Contender]:
    item = {"role": "user", "content": "question"}

    async def decoding() -> int:
        count = 0
        async with ours.stream(ResponseRequest(model=model, input=(item,))) as events:
            async for batch in events:
                count += sum(len(getattr(event, "delta", "")) for event in batch)
        return count

    async def whole_run() -> int:
        count = 0
        async for event in engine.astream(question(include_raw=False)).stream_events():
            count += len(event.text) if isinstance(event, TextDelta) else 0
        return count

    async def create() -> int:
        count = 0
        async for event in await client.responses.create(model=model, input="question", stream=True):
            count += len(event.delta) if event.type == "response.output_text.delta" else 0
        return count

    async def stream() -> int:
        count = 0
        async with client.responses.stream(model=model, input="question") as events:
            async for event in events:
                count += len(event.delta) if event.type == "response.output_text.delta" else 0
        return count

    # The SDK's accumulator refuses the paced stream, whose finished item has another id.
    others = {"openai responses.stream()": stream} if model == BURST else {}
    return {
        "ours: adapter, typed events": decoding,
        "ours: runner, whole run": whole_run,
        "openai create(stream=True)": create,
        **others,
        **peers(client, model),
    }


async def measure_cpu(base_url: str, model: str = BURST) -> dict[str, float]:
    """CPU microseconds per text delta in this process, the medians of all rounds."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0))
        engine = await stack.enter_async_context(_engine(base_url, model))
        ours = adapter(base_url)
        stack.push_async_callback(ours.aclose)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        bare: dict[str, Contender] = {
            "the body by aiohttp alone": partial(read_by_aiohttp, session, base_url, model),
            "the body by a bare protocol": partial(read_by_protocol, base_url, model),
        }
        return await _in_turns(_contenders(client, ours, engine, model) | (bare if model == LIVE else {}))


async def _in_turns(contenders: dict[str, Contender]) -> dict[str, float]:
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for measured in range(-1, ROUNDS):
        for name, read in contenders.items():
            gc.collect()
            began = time.process_time()
            characters = await read()
            if characters < DELTAS * len("word "):
                raise AssertionError(f"{name} gave out {characters} characters")
            if measured >= 0:
                took[name].append((time.process_time() - began) / DELTAS * 1e6)
    return {name: statistics.median(values) for name, values in took.items()}


async def _delays(texts: Callable[[], AsyncIterator[str]], streams: int, milliseconds: int) -> list[float]:
    """The milliseconds from sending to reading of every delta, from when all streams have begun."""
    delays: list[float] = []
    begun = 0

    async def follow(number: int) -> None:
        nonlocal begun
        await asyncio.sleep(number / streams * milliseconds / 1000)
        first = True
        async for text in texts():
            now = time.monotonic_ns()
            if begun == streams:
                delays.extend((now - int(sent.lstrip("t"))) / 1e6 for sent in text.split())
            begun += first
            first = False

    await asyncio.gather(*(follow(number) for number in range(streams)))
    return sorted(delays)


async def _bare_texts(base_url: str, model: str) -> AsyncIterator[str]:
    """The deltas as read from the bare socket, undecoded: what the machine and the server take by themselves."""
    body = f'{{"model": "{model}"}}'
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base_url.split(":")[2].partition("/")[0]))
    writer.write(f"POST /v1/responses HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    try:
        while not (line := await reader.readline()).startswith(b"event: response.completed"):
            if b'"delta": "' in line:
                yield line.partition(b'"delta": "')[2].partition(b'"')[0].decode()
    finally:
        writer.close()


async def measure_latency(base_url: str, streams: int) -> dict[str, tuple[float, float]]:
    """Median and 99th percentile in ms, each the median of all rounds; every stream sends four deltas a second."""
    model = "paced:16:250"
    figures: dict[str, list[tuple[float, float]]] = {"runner": [], "bare socket": []}
    async with _engine(base_url, model) as engine:

        async def run_texts() -> AsyncIterator[str]:
            async for event in engine.astream(question(include_raw=False)).stream_events():
                if isinstance(event, TextDelta):
                    yield event.text

        readers: dict[str, Callable[[], AsyncIterator[str]]] = {
            "runner": run_texts,
            "bare socket": lambda: _bare_texts(base_url, model),
        }
        for _ in range(ROUNDS):
            for name, texts in readers.items():
                delays = await _delays(texts, streams, milliseconds=250)
                figures[name].append((delays[len(delays) // 2], delays[int(len(delays) * 0.99)]))
    return {
        name: (statistics.median(m for m, _ in rounds), statistics.median(h for _, h in rounds))
        for name, rounds in figures.items()
    }


async def measure_gap(base_url: str, *, hosted: bool) -> float:
    """Seconds of a run whose response lasts one second and calls two tools of half a second at its beginning."""

    def first() -> str:
        """Blocks half a second."""
        time.sleep(0.5)
        return "first"

    async def second() -> str:
        """Waits half a second."""
        await asyncio.sleep(0.5)
        return "second"

    search = ({"type": "file_search", "vector_store_ids": ["vs_1"]},) if hosted else ()
    took = []
    async with _engine(base_url, "gap", [FunctionTool(first), FunctionTool(second)]) as engine:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await engine.acall(question(include_raw=False, hosted_tools=search))
            took.append(time.perf_counter() - began)
    return statistics.median(took)


async def measure_memory(base_url: str, *, streams: int = 100, deltas: int = 500) -> float:
    """Resident kB for each stream that is open after ``deltas`` deltas."""
    wanted = deltas * len("word ")

    async def opened(engine: Runner, stack: AsyncExitStack) -> None:
        events = await stack.enter_async_context(aclosing(engine.astream(question(include_raw=False)).stream_events()))
        read = 0
        while read < wanted:
            event = await anext(events)
            read += len(event.text) if isinstance(event, TextDelta) else 0

    async with _engine(base_url, f"open:{deltas}") as engine, AsyncExitStack() as stack:
        for _ in range(10):
            await opened(engine, stack)
        gc.collect()
        before = resident_kb()
        for _ in range(streams):
            await opened(engine, stack)
        gc.collect()
        return (resident_kb() - before) / streams


async def measure_soak(turns: int) -> Growth:
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as redis_url:
        return await soak(redis_url, turns=turns)


def _print_cpu(costs: dict[str, float], how: str) -> None:
    baseline = costs["openai create(stream=True)"]
    print(f"\nCPU per text delta ({DELTAS} deltas {how}, medians of {ROUNDS})")
    for name, cost in sorted(costs.items(), key=lambda item: item[1]):
        print(f"  {name:34} {cost:7.1f} µs   {cost / baseline:5.2f} × create(stream=True)")


async def main(parts: list[str]) -> None:
    wanted = parts or ["cpu", "live", "latency", "gap", "memory", "soak"]
    with replay_server() as base_url:
        if "memory" in wanted:
            print(f"Memory per open stream after 500 deltas: {await measure_memory(base_url):.0f} kB (at most 60)")
        if "gap" in wanted:
            print("Two 0.5 s tools known at 0 s, response until 1 s (ideal 1.00 s, at most 1.05 s)")
            for hosted in (False, True):
                seconds = await measure_gap(base_url, hosted=hosted)
                print(f"  {'file_search declared' if hosted else 'function tools only':24} {seconds:.3f} s")
        if "cpu" in wanted:
            _print_cpu(await measure_cpu(base_url), "in bursts")
        if "live" in wanted:
            _print_cpu(await measure_cpu(base_url, LIVE), "one a read")
        if "latency" in wanted:
            print("\nFrom sent by the server to yielded, or read from a bare socket (four deltas a second each)")
            for streams in (1, 50, 200, 500):
                for name, (median, high) in (await measure_latency(base_url, streams)).items():
                    print(f"  {streams:4} streams, {name:12} median {median:7.2f} ms   p99 {high:7.2f} ms")
    if "soak" in wanted:
        growth = await measure_soak(5_000)
        print(f"\n5,000 turns: {growth}")


if __name__ == "__main__":
    # The soak breaks answers on purpose, thousands of them.
    logging.getLogger("chat_app").setLevel(logging.ERROR)
    # The loop that the app is served with.
    uvloop.run(main(sys.argv[1:]))
