"""``asclepius serve`` told to stop while answers stream over its API."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import httpx

from tests.support.api_server import Frame, frames
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply
from tests.support.served import Served, serve


async def _follow(served: Served, reading: asyncio.Semaphore) -> list[Frame]:
    read: list[Frame] = []
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as client:
        await client.post("/auth/header")
        async with client.stream("POST", "/api/v1/consult", json={"message": "How?"}) as response:
            async for frame in frames(response):
                read.append(frame)
                if frame.event == "text_delta":
                    reading.release()
    return read


async def test_each_live_stream_gets_its_outcome_and_the_server_ends_in_time(tmp_path: Path, redis_url: str) -> None:
    """Row 19: SIGTERM with live streams."""
    turn = [*text_reply("Take ", "with food.")[:5], WaitFor(asyncio.Event())]
    async with ScriptedServer([turn], repeat=True) as model:
        settings = {"OPENAI_BASE_URL": model.base_url, "REDIS_URL": redis_url, "ASCLEPIUS_LOAD_DEMO": "false"}
        settings["ASCLEPIUS_LOG_LEVEL"] = "debug"
        serving = serve(tmp_path / "data", loaded=False, **settings)
        served = await asyncio.to_thread(serving.__enter__)
        try:
            reading = asyncio.Semaphore(0)
            streams = [asyncio.create_task(_follow(served, reading)) for _ in range(5)]
            async with asyncio.timeout(60):
                for _ in streams:
                    await reading.acquire()
            served.process.send_signal(signal.SIGTERM)
            read = await asyncio.wait_for(asyncio.gather(*streams), 60)
            await asyncio.to_thread(served.process.wait, 60)
        finally:
            await asyncio.to_thread(serving.__exit__, None, None, None)
    log = served.log.read_text("utf-8")
    for part in ("uvloop.Loop", "serving.TimedHttpProtocol", "websockets_sansio_impl.WebSocketsSansIOProtocol"):
        assert part in log, "it serves with what the benchmarks measure"
    frozen = re.search(r" DEBUG .*; (\d+) objects are no longer searched for garbage", log)
    assert frozen
    assert int(frozen[1]) > 100_000
    for turn_read in read:
        last = turn_read[-1]
        assert (last.event, last.data["answer"]) == ("turn_ended", "Take ")
        assert (last.data["outcome"]["kind"], last.data["outcome"]["reason"]) == ("incomplete", "stopped")
        assert "server was stopped" in last.data["outcome"]["message"]
    assert all(request.left.is_set() for request in model.requests)


async def test_running_answers_end_whole_while_new_questions_are_refused(tmp_path: Path, redis_url: str) -> None:
    go_on = asyncio.Event()
    reply = text_reply("Take ", "with food.")
    turn = [*reply[:5], WaitFor(go_on), *reply[5:]]
    async with ScriptedServer([turn], repeat=True) as model:
        settings = {"OPENAI_BASE_URL": model.base_url, "REDIS_URL": redis_url, "ASCLEPIUS_LOAD_DEMO": "false"}
        serving = serve(tmp_path / "data", loaded=False, ASCLEPIUS_DRAIN_SECONDS="60", **settings)
        served = await asyncio.to_thread(serving.__enter__)
        try:
            reading = asyncio.Semaphore(0)
            stream = asyncio.create_task(_follow(served, reading))
            async with asyncio.timeout(60), httpx.AsyncClient(base_url=served.url, timeout=60) as client:
                await reading.acquire()
                await client.post("/auth/header")
                served.process.send_signal(signal.SIGTERM)
                ready = await client.get("/readyz")
                while ready.json()["parts"].get("server") is None:
                    ready = await client.get("/readyz")
                refused = await client.post("/api/v1/consult", json={"message": "How?"})
            go_on.set()
            read = await asyncio.wait_for(stream, 60)
            await asyncio.to_thread(served.process.wait, 60)
        finally:
            await asyncio.to_thread(serving.__exit__, None, None, None)
    assert (ready.status_code, ready.json()["parts"]["server"]["ready"]) == (503, False)
    assert (refused.status_code, refused.json()["detail"]) == (
        503,
        "The server is being stopped. Ask again in a moment.",
    )
    assert (read[-1].event, read[-1].data["outcome"]["kind"]) == ("turn_ended", "completed")
    assert read[-1].data["answer"] == "Take with food."
