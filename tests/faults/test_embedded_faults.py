"""What the embedded services survive: killed services, guards and apps; stubborn and noisy services."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from chat_app.embedded import embedded_services, service_guard
from chat_app.embedded.owner import Ownership
from chat_app.embedded.specs import choose_urls, specs
from chat_app.embedded.supervisor import SupervisedService
from tests.support.embedded_processes import (
    close_input,
    first_line,
    process,
    processes_of,
    redis_only,
    running_after,
    until,
)
from tests.support.services import wait_until

# Starts what the arguments leave to it, says so, and waits to be killed.
APP = """
import asyncio, os, sys
from chat_app.embedded import embedded_services
from chat_app.settings import Settings

async def main():
    async with embedded_services(Settings(storage={"data_dir": sys.argv[1]})) as services:
        print("up", flush=True)
        await asyncio.Event().wait()

if len(sys.argv) > 2:
    import uvloop
    uvloop.run(main())
asyncio.run(main())
"""


def app(folder: Path, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return process([sys.executable, "-c", APP, str(folder), *arguments])


@pytest.mark.parametrize("loop", [(), ("uvloop",)], ids=["asyncio", "uvloop"])
def test_no_service_survives_a_killed_app_and_the_next_start_works_at_once(
    tmp_path: Path, loop: tuple[str, ...]
) -> None:
    with app(tmp_path, *loop) as first:
        assert first_line(first) == ["up"]
        assert len(processes_of(tmp_path)) == 1 + 3 * 2, "the app, three guards and three services"
        first.kill()
    with app(tmp_path, *loop) as second:
        assert first_line(second) == ["up"]
        second.kill()

    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all services", seconds=60)


def test_a_terminated_app_leaves_no_service_and_redis_has_saved(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from redis.asyncio import Redis
from chat_app.embedded import embedded_services
from tests.support.embedded_processes import redis_only

async def main():
    async with embedded_services(redis_only(sys.argv[1])) as services:
        redis = Redis.from_url(services.urls.redis_url)
        print(await redis.incr("starts"), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
    for start in ("1", "2"):
        with process([sys.executable, "-c", program, str(tmp_path)]) as running:
            assert first_line(running) == [start]
            running.terminate()
            running.wait()
            wait_until(lambda: processes_of(tmp_path) == [], what="the end of all services", seconds=60)


def test_no_service_survives_an_app_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    with app(tmp_path) as starting:
        wait_until(lambda: len(processes_of(tmp_path)) > 3, what="the start of the services")
        starting.kill()

    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all services", seconds=60)


async def test_a_killed_service_comes_back_at_its_address_with_what_it_had_stored(tmp_path: Path) -> None:
    async with embedded_services(redis_only(tmp_path)) as services:
        redis: Redis = Redis.from_url(services.urls.redis_url)
        await redis.config_set("appendfsync", "always")
        for round_ in range(3):
            assert await redis.incr("rounds") == round_ + 1
            os.kill((await redis.info())["process_id"], signal.SIGKILL)
            await redis.aclose()
            await until(services, running_after(restarts=round_ + 1))
        await redis.aclose()


async def test_a_service_whose_guard_is_killed_dies_with_it_and_is_started_again(tmp_path: Path) -> None:
    async with embedded_services(redis_only(tmp_path)) as services:
        redis: Redis = Redis.from_url(services.urls.redis_url)
        first = (await redis.info())["process_id"]
        await redis.aclose()
        guards = [pid for pid in processes_of(tmp_path) if pid != first]
        assert len(guards) == 1
        os.kill(guards[0], signal.SIGKILL)

        await until(services, running_after(restarts=1))
        assert (await redis.info())["process_id"] != first
        await redis.aclose()
        assert first not in processes_of(tmp_path)


async def test_a_service_that_cannot_start_again_is_a_failure_that_says_why(tmp_path: Path) -> None:
    async with embedded_services(redis_only(tmp_path)) as services:
        redis: Redis = Redis.from_url(services.urls.redis_url)
        process = (await redis.info())["process_id"]
        await redis.aclose()
        (written,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
        written.write_bytes(b"broken\r\n" * 9)
        os.kill(process, signal.SIGKILL)
        await until(services, lambda _, restarts: restarts >= 1)

        problems = await services.problems()
        assert "logs/redis.log" in problems["redis"]

        written.write_bytes(b"")
        await until(services, lambda problem, _: not problem)


async def test_a_frozen_service_counts_as_unreachable(tmp_path: Path) -> None:
    async with embedded_services(redis_only(tmp_path)) as services:
        redis: Redis = Redis.from_url(services.urls.redis_url)
        process = (await redis.info())["process_id"]
        await redis.aclose()
        os.kill(process, signal.SIGSTOP)
        try:
            assert "does not answer" in (await services.problems())["redis"]
        finally:
            os.kill(process, signal.SIGCONT)


async def test_a_service_that_hangs_is_started_again(tmp_path: Path) -> None:
    """Row 50: SIGSTOP leaves the process, its socket and its connections, but no answer."""
    owner = Ownership(tmp_path).prepare()
    assert owner.take()
    settings = redis_only(tmp_path)
    urls = choose_urls(settings)
    (spec,) = specs(settings, urls)
    service = SupervisedService(spec, data_dir=settings.storage.data_dir, hang_seconds=1.0)
    await service.start()
    try:
        redis: Redis = Redis.from_url(spec.url)
        process = (await redis.info())["process_id"]
        await redis.aclose()
        os.kill(process, signal.SIGSTOP)
        async with asyncio.timeout(60):
            while service.restarts < 1 or service.problem:
                await asyncio.sleep(0.05)
        assert (await redis.info())["process_id"] != process
        await redis.aclose()
    finally:
        await service.stop()
        owner.release()


def guarded(folder: Path, program: str, **changes: Any) -> AbstractContextManager[subprocess.Popen[str]]:
    plan = {
        "command": [sys.executable, "-u", "-c", program, str(folder)],
        "log": str(folder / "log"),
        "lock": str(folder / "lock"),
        "exclusive": None,
        "lock_seconds": 0.3,
        "stop_signal": signal.SIGTERM,
        "stop_seconds": 0.5,
    }
    return process([sys.executable, "-I", "-S", service_guard.__file__, json.dumps(plan | changes)])


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("asked to stop"))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]])
print("ready")
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("way", ["close the pipe", "SIGTERM"])
def test_a_service_that_ignores_its_signal_is_killed_with_what_it_started(tmp_path: Path, way: str) -> None:
    with guarded(tmp_path, STUBBORN, stop_seconds=3) as running:
        wait_until(lambda: "ready" in text(tmp_path / "log"), what="the stubborn service")
        assert len(processes_of(tmp_path)) == 3
        if way == "SIGTERM":
            running.terminate()
        else:
            close_input(running)

        assert running.wait(60) == 128 + signal.SIGKILL
        assert "asked to stop" in text(tmp_path / "log"), "it was given time to stop by itself"
    wait_until(lambda: processes_of(tmp_path) == [], what="the end of its child")


def test_a_service_ends_on_its_own_stop_signal_even_where_the_shell_ignores_it(tmp_path: Path) -> None:
    """A shell starts background commands with Ctrl-C ignored; Milvus Lite closes its database on Ctrl-C alone."""
    program = "import time\nprint('ready')\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('closed')"
    with ExitStack() as stack:
        with ctrl_c_ignored():
            running = stack.enter_context(guarded(tmp_path, program, stop_signal=signal.SIGINT, stop_seconds=60))
        wait_until(lambda: "ready" in text(tmp_path / "log"), what="the service")
        close_input(running)

        assert running.wait(60) == 0
    assert "closed" in text(tmp_path / "log")


def test_the_log_of_a_service_that_prints_without_end_stays_bounded(tmp_path: Path) -> None:
    with guarded(tmp_path, "while True: print('x' * 99)") as running:
        wait_until((tmp_path / "log.1").exists, what="the first full log")
        first = (tmp_path / "log.1").stat().st_ino
        wait_until(lambda: (tmp_path / "log.1").stat().st_ino != first, what="the second full log")
        close_input(running)
        running.wait(60)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "log", "log.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * service_guard.LOG_BYTES


def test_a_service_is_not_started_beside_one_that_still_ends(tmp_path: Path) -> None:
    with guarded(tmp_path, "import time\nprint('ready')\ntime.sleep(60)") as first:
        wait_until(lambda: "ready" in text(tmp_path / "log"), what="the first")
        with guarded(tmp_path, "print('second')") as second:
            assert second.wait(60) == service_guard.IN_USE
        with guarded(tmp_path, "print('third')", lock_seconds=60) as third:
            close_input(first)
            first.wait(60)
            assert third.wait(60) == 0

    assert "second" not in text(tmp_path / "log")
    assert "third" in text(tmp_path / "log")


def test_a_service_is_not_started_beside_what_a_killed_guard_left_behind(tmp_path: Path) -> None:
    with guarded(tmp_path, "import os, time\nos.fork()\nprint('ready')\ntime.sleep(60)") as first:
        wait_until(lambda: text(tmp_path / "log").count("ready") == 2, what="the service and its own child")
        first.kill()
    wait_until(lambda: len(processes_of(tmp_path)) == 1, what="the end of the service itself")

    with guarded(tmp_path, "print('second')") as second:
        assert second.wait(60) == service_guard.IN_USE
    os.kill(processes_of(tmp_path)[0], signal.SIGKILL)
    with guarded(tmp_path, "print('third')", lock_seconds=60) as third:
        assert third.wait(60) == 0


def test_the_guard_passes_the_services_exit_code_on(tmp_path: Path) -> None:
    with guarded(tmp_path, "raise SystemExit(3)") as running:
        assert running.wait(60) == 3
    with guarded(tmp_path, "", command=["/no/such/program"]) as running:
        assert running.wait(60) == service_guard.NOT_RUNNABLE
    assert "/no/such/program cannot be run" in text(tmp_path / "log")
