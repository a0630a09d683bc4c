"""The services that the app starts itself: what is started, by whom, and how it is found. Real processes throughout."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from redis.asyncio import Redis

from chat_app.embedded import embedded_services
from chat_app.errors import ConfigurationError, EmbeddedServiceError
from chat_app.settings import Settings
from tests.support.embedded_processes import (
    ELSEWHERE,
    close_input,
    first_line,
    process,
    processes_of,
    redis_only,
    running_after,
    until,
)
from tests.support.services import milvus_lite_server, wait_until

pytestmark = pytest.mark.slow
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

# Runs the services until its standard input closes; prints what it uses and whether it runs them itself.
OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from chat_app.embedded import embedded_services
from chat_app.settings import Settings

async def main():
    settings = Settings(storage={"data_dir": sys.argv[1], "milvus_uri": "http://127.0.0.1:9"},
                        model={"base_url": "http://127.0.0.1:9/v1"})
    async with embedded_services(settings) as services:
        print(services.owned, services.urls.redis_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


def other_process(folder: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    return process([sys.executable, "-c", OTHER_PROCESS, str(folder)])


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Redis]:
    client: Redis = Redis.from_url(url)
    yield client
    await client.aclose()


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MILVUS_URI", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    return iter(())


@pytest.mark.usefixtures("nothing_set")
async def test_with_nothing_set_all_three_services_answer_and_end_with_the_block(tmp_path: Path) -> None:
    told: list[str] = []
    async with embedded_services(Settings(storage={"data_dir": tmp_path}), on_progress=told.append) as services:
        urls = services.urls
        async with connected(urls.redis_url) as redis:
            assert await redis.set("k", "v")
        health = f"{str(urls.model_base_url).removesuffix('/v1')}/healthz"
        assert (await asyncio.to_thread(urllib.request.urlopen, health)).status == 200
        assert await services.problems() == {"redis": "", "milvus": "", "offline": ""}
        assert services.owned
        assert len(told) == 3

    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all", seconds=60)
    assert not (tmp_path / "run" / "services.json").exists()


async def test_what_a_setting_names_is_not_started(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    settings = Settings(
        storage={"data_dir": folder, "milvus_uri": "http://milvus:19530", "redis_url": "redis://:hunter2@redis/0"},
        model={"base_url": "http://llm.example/v1"},
    )
    async with embedded_services(settings) as services:
        assert services.urls.milvus_uri == "http://milvus:19530"
        assert services.urls.redis_url == "redis://:hunter2@redis/0"
        assert services.urls.model_base_url == "http://llm.example/v1"
        assert "hunter2" not in repr(services.urls)
        assert await services.problems() == {}
        assert processes_of(folder) == []
    assert not folder.exists()


async def test_a_key_alone_means_the_default_model_server(tmp_path: Path) -> None:
    settings = Settings(
        storage={"data_dir": tmp_path, "milvus_uri": ELSEWHERE, "redis_url": "redis://redis"},
        model={"api_key": "k", "base_url": None},
    )
    async with embedded_services(settings) as services:
        assert services.urls.model_base_url is None


async def test_what_redis_was_told_is_there_at_the_next_start(tmp_path: Path) -> None:
    for round_ in range(3):
        async with embedded_services(redis_only(tmp_path)) as services, connected(services.urls.redis_url) as redis:
            assert await redis.incr("rounds") == round_ + 1


async def test_a_second_process_uses_the_same_services_and_leaves_them_running(tmp_path: Path) -> None:
    async with embedded_services(redis_only(tmp_path)) as services, connected(services.urls.redis_url) as redis:
        before = processes_of(tmp_path)
        with other_process(tmp_path) as second:
            assert await asyncio.to_thread(first_line, second) == ["False", services.urls.redis_url]
            assert sorted(set(processes_of(tmp_path)) - {second.pid}) == sorted(before)
            close_input(second)
            assert await asyncio.to_thread(second.wait) == 0
        assert await redis.ping()


async def test_of_processes_that_start_at_once_one_owns_the_services(tmp_path: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(other_process(tmp_path)) for _ in range(4)]
        lines = [await asyncio.to_thread(first_line, one) for one in processes]

        assert sorted(owned for owned, _ in lines) == ["False", "False", "False", "True"]
        assert len({url for _, url in lines}) == 1
        for one in processes:
            close_input(one)
        assert [await asyncio.to_thread(one.wait) for one in processes] == [0] * 4
    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all", seconds=60)


async def test_when_the_owner_ends_first_another_runs_the_services_at_the_same_addresses(tmp_path: Path) -> None:
    with other_process(tmp_path) as owner:
        _, url = await asyncio.to_thread(first_line, owner)
        async with embedded_services(redis_only(tmp_path)) as services:
            assert not services.owned
            assert await services.problems() == {"redis": ""}
            async with connected(url) as redis:
                await redis.set("kept", "yes")

            close_input(owner)
            await asyncio.to_thread(owner.wait)
            await asyncio.to_thread(wait_until, lambda: services.owned, what="the new owner")
            await until(services, lambda problem, _: not problem)

            assert services.urls.redis_url == url
            async with connected(url) as redis:
                assert await redis.get("kept") == b"yes"
            with other_process(tmp_path) as third:
                assert await asyncio.to_thread(first_line, third) == ["False", url]
    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all", seconds=60)


async def test_a_second_process_with_other_settings_is_told_so(tmp_path: Path) -> None:
    settings = Settings(
        storage={"data_dir": tmp_path, "milvus_uri": None, "redis_url": None}, model={"base_url": f"{ELSEWHERE}/v1"}
    )
    with other_process(tmp_path) as owner:
        await asyncio.to_thread(first_line, owner)
        with pytest.raises(EmbeddedServiceError, match="started with other settings"):
            async with embedded_services(settings):
                pytest.fail("there is no Milvus for it")


async def test_a_data_directory_of_any_length_works_and_its_socket_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / ("long name, " * 8) / "données"
    async with embedded_services(redis_only(folder)) as services, connected(services.urls.redis_url) as redis:
        socket = Path(services.urls.redis_url.removeprefix("unix://"))
        assert len(os.fsencode(socket)) < 100 < len(os.fsencode(folder))
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert await redis.ping()
    assert not socket.parent.exists()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_the_services_start_restart_and_end_under_both_event_loops(
    tmp_path: Path, run: Callable[[object], None]
) -> None:
    async def main() -> None:
        async with embedded_services(redis_only(tmp_path)) as services:
            async with connected(services.urls.redis_url) as redis:
                os.kill((await redis.info())["process_id"], 9)
            await until(services, running_after(restarts=1))

    run(main())
    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all", seconds=60)


async def test_an_index_that_another_process_has_open_is_one_plain_sentence(tmp_path: Path) -> None:
    """Fault row 30."""
    settings = Settings(
        storage={"data_dir": tmp_path, "milvus_uri": None, "redis_url": "redis://redis"},
        model={"base_url": f"{ELSEWHERE}/v1"},
    )
    (tmp_path / "milvus").mkdir()

    with milvus_lite_server(tmp_path / "milvus"), pytest.raises(EmbeddedServiceError) as refused:
        async with embedded_services(settings):
            pytest.fail("two processes opened one index")
    assert "is open in another process" in str(refused.value)
    assert "MILVUS_URI" in str(refused.value)
    assert "\n" not in str(refused.value)
    async with embedded_services(settings) as services:
        assert not any((await services.problems()).values())


async def test_a_service_that_does_not_come_up_names_its_log(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonly.aof").write_bytes(b"this is no append-only file\r\n" * 9)

    with pytest.raises(EmbeddedServiceError, match=r"logs/redis\.log") as failed:
        async with embedded_services(redis_only(tmp_path)):
            pytest.fail("Redis took a broken file")

    assert "exit code 1" in str(failed.value)
    assert "Bad file format" in (tmp_path / "logs" / "redis.log").read_text()
    wait_until(lambda: processes_of(tmp_path) == [], what="the end of all", seconds=60)


async def test_the_file_of_an_earlier_redis_is_taken_over(tmp_path: Path) -> None:
    """It was written by Redis 6.2: a snapshot, and commands after it."""
    (tmp_path / "redis").mkdir()
    shutil.copy(FIXTURES / "redis-6.2-appendonly.aof", tmp_path / "redis" / "appendonly.aof")
    async with embedded_services(redis_only(tmp_path)) as services, Redis.from_url(services.urls.redis_url) as redis:
        assert await redis.get("kept") == b"before the rewrite"
        assert await redis.lrange("list", 0, -1) == [b"after", b"the rewrite"]


async def test_a_data_directory_that_cannot_be_used_is_said_with_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_DATA_DIR"):
        async with embedded_services(redis_only(tmp_path / "file")):
            pytest.fail("a file is no folder")
