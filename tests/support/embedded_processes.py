"""Helpers for tests of embedded services: processes, their state, and waiting for it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chat_app.embedded import EmbeddedServices
from chat_app.settings import Settings

PROJECT = Path(__file__).resolve().parents[2]
ELSEWHERE = "http://127.0.0.1:9"
_SERVICE_VARIABLES = frozenset({"OPENAI_API_KEY", "OPENAI_BASE_URL", "MILVUS_URI", "REDIS_URL"})


def redis_only(folder: Path) -> Settings:
    """Return settings with which only Redis starts, which takes a tenth of a second."""
    return Settings(
        storage={"data_dir": folder, "milvus_uri": ELSEWHERE, "redis_url": None}, model={"base_url": f"{ELSEWHERE}/v1"}
    )


def processes_of(folder: Path) -> list[int]:
    """Return every other process that was started with a path in ``folder``."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run ``command`` without service settings in its environment; kill it at the end of the block."""
    environment = {name: value for name, value in os.environ.items() if name not in _SERVICE_VARIABLES}
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def close_input(running: subprocess.Popen[str]) -> None:
    assert running.stdin is not None
    running.stdin.close()


def first_line(running: subprocess.Popen[str]) -> list[str]:
    """Return the words of the first line that the process prints."""
    assert running.stdout is not None
    return running.stdout.readline().split()


async def until(services: EmbeddedServices, wanted: Callable[[str, int], bool]) -> None:
    """Wait until every service has the ``wanted`` problem and number of restarts."""
    async with asyncio.timeout(60):
        while not all(
            wanted(why, services.restarts().get(name, 0)) for name, why in (await services.problems()).items()
        ):
            await asyncio.sleep(0.02)


def running_after(restarts: int) -> Callable[[str, int], bool]:
    """Match a service that runs again after this number of restarts."""
    return lambda problem, done: not problem and done >= restarts
