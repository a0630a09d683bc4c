"""The cost of publishing running answers: the same streams with and without it.

    python -m tests.benchmarks.bench_publishing [STREAMS] [--pairs PAIRS]

One server writes its answers to Redis, the other does not. Both are measured in pairs. Each pair begins with the server
that the one before ended with, because a machine's speed drifts. The ratio of their processor time for each token is
the cost for the server's process. Streams and load are those of ``bench_streams``. ``python -m
tests.benchmarks.bench_publishing serve …`` is the command ``asclepius serve …`` of the server that writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import uvloop

from chat_app.interface.keeping.turn_writer import TurnWriter
from tests.benchmarks.bench_streams import CONTENDERS, EVERY_MS, Lockstep, measure, ours, pin
from tests.benchmarks.replay_server import replay_server
from tests.support.page_server import PROJECT
from tests.support.served import COMMAND

_DELTAS = 100_000
PROGRAMS: dict[str, Sequence[str]] = {
    "published": (COMMAND,),
    "not published": ("-m", "tests.benchmarks.bench_publishing"),
}


async def compare(streams: int, pairs: int) -> None:
    """Print the figures of each pair, and the median of what publishing adds."""
    _, client, _ = CONTENDERS["Asclepius, HTTP"]
    pin(1)
    with replay_server() as model, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ |= {"OPENAI_BASE_URL": model, "OPENAI_API_KEY": "none", "PYTHONPATH": str(PROJECT)}
        os.environ["ASCLEPIUS_MODEL"] = f"paced:{_DELTAS}:{EVERY_MS}"
        servers: dict[str, tuple[str, int]] = {}
        for name, program in PROGRAMS.items():
            pin(0)
            Path(folder, name).mkdir()
            servers[name] = await asyncio.to_thread(stack.enter_context, ours(Path(folder, name), program=program))
            pin(1)
        added: list[float] = []
        for number in range(pairs):
            found = {}
            order = servers if number % 2 == 0 else reversed(servers)
            for name in order:
                url, pid = servers[name]
                found[name] = await measure(url, pid, streams, client, Lockstep())
                print(f"{name:14}{streams:4} streams: {found[name]}", flush=True)
            added.append(found["published"].own / found["not published"].own - 1)
    print(
        f"publishing adds {statistics.median(added):.0%} ({min(added):.0%} to {max(added):.0%}) processor time a token"
    )


async def _write_nothing(_writer: TurnWriter, _events: object) -> None:
    return None


def main() -> None:
    """Measure, or serve without publishing."""
    if "serve" in sys.argv:
        from chat_app.cli import main as run

        TurnWriter.write = _write_nothing  # type: ignore[assignment, method-assign]
        run()
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", nargs="?", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=7)
    given = parser.parse_args()
    uvloop.run(compare(given.streams, given.pairs))


if __name__ == "__main__":
    main()
