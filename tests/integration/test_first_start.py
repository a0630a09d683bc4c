"""The first start: questions while the content loads, and two replicas with one empty PostgreSQL, Redis and Milvus."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
from pymilvus import MilvusClient

from chat_app.agent.asclepius_agent import STILL_LOADING
from chat_app.bootstrap import open_app
from chat_app.interface.runtime import Runtime
from chat_app.settings import Settings
from tests.support.postgres import fresh_database
from tests.support.services import milvus_lite_server

WAIT = 400


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_replicas_that_start_together_create_everything_once_and_answer(
    postgres: str, redis_url: str, tmp_path: Path
) -> None:
    database, volume = await fresh_database(postgres), tmp_path / "guidelines"
    volume.mkdir()
    with milvus_lite_server(tmp_path / "milvus") as milvus:
        async with AsyncExitStack() as stack, asyncio.timeout(WAIT):
            replicas = []
            for name in ("a", "b"):
                folder = tmp_path / name
                folder.mkdir()
                (folder / "guidelines").symlink_to(volume)
                storage = {"data_dir": folder, "database_url": database, "redis_url": redis_url, "milvus_uri": milvus}
                replicas.append(Runtime(Settings(storage=storage), open_app))
            await asyncio.gather(*(stack.enter_async_context(replica.running()) for replica in replicas))
            apps = [await replica.ready() for replica in replicas]
            while any(app.loading for app in apps):
                await asyncio.sleep(0.1)
            answers = [await app.agent.answer("What is the maximum daily dose of metformin?") for app in apps]
        with closing(MilvusClient(milvus)) as client:
            created = client.list_collections()
    assert [app.load_problems for app in apps] == [[], []]
    assert len(created) == 4, f"one index of guidelines and one state of the drugs: {created}"
    assert all(result.outcome.kind == "completed" and "metformin" in result.answer.lower() for result in answers)


async def test_a_question_is_told_that_the_sources_are_still_being_loaded(tmp_path: Path) -> None:
    question = "What is the maximum daily dose of metformin?"
    async with open_app(Settings(storage={"data_dir": tmp_path})) as app, asyncio.timeout(WAIT):
        loading = asyncio.create_task(app.warm_up())
        while not app.agent.loading:
            await asyncio.sleep(0.01)
        early = await app.agent.answer(question)
        await loading
        late = await app.agent.answer(question)
    assert [STILL_LOADING in result.notices for result in (early, late)] == [True, False]
    assert "2550 mg" in late.answer
