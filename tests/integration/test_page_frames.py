"""Messages on their way to a browser: whole and in order, and without a task for each.

They are counted in tasks, because time on a busy machine says nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import socketio
import uvicorn

from chat_app.interface.rendering.sockets import PageWebSocket
from tests.support.waiting import until

WINDOWS = 40


@asynccontextmanager
async def served(server: socketio.AsyncServer) -> AsyncGenerator[str]:
    """Serve the sockets of ``server`` as the page's are."""
    server.eio._async = {**server.eio._async, "websocket": PageWebSocket}
    config = uvicorn.Config(socketio.ASGIApp(server), port=0, ws="websockets-sansio", log_level="error")
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running.serve())
    await until(lambda: running.started, what="the server has started")
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        await serving


@pytest.mark.parametrize("transports", [["websocket"], ["polling", "websocket"]])
async def test_a_browser_gets_each_message_in_order_and_no_task_is_started_for_it(transports: list[str]) -> None:
    server, client, seen = socketio.AsyncServer(async_mode="asgi"), socketio.AsyncClient(), list[int]()
    loop, tasks, sids = asyncio.get_running_loop(), Counter[str](), list[str]()
    opened = asyncio.Event()

    async def connect(sid: str, *_: Any) -> None:
        sids.append(sid)

    async def ready(sid: str) -> None:
        # As the page opens: what comes before the first direct message is in Engine.IO's queue.
        for place in range(WINDOWS):
            await server.emit("number", [place, "x" * 20_000], to=sid)
        opened.set()

    def counted(loop: asyncio.AbstractEventLoop, coroutine: Any, **how: Any) -> asyncio.Task[Any]:
        tasks[coroutine.__qualname__] += 1
        return asyncio.Task(coroutine, loop=loop, **how)

    def number(data: list[Any]) -> None:
        seen.append(data[0])

    server.on("connect", connect)
    server.on("ready", ready)
    client.on("number", number)
    async with served(server) as url:
        await client.connect(url, transports=transports, wait_timeout=60)
        await client.emit("ready")
        await opened.wait()
        await until(lambda: len(seen) == WINDOWS, what="the page is open")
        engine_id = server.manager.eio_sid_from_sid(sids[0], "/")
        loop.set_task_factory(counted)
        for place in range(WINDOWS, 2 * WINDOWS):
            await server.eio.send(engine_id, f'2["number",[{place},"ä"]]')
            await until(lambda count=place + 1: len(seen) == count, what="the window has come")
        loop.set_task_factory(None)
        await client.disconnect()
    assert seen == list(range(2 * WINDOWS))
    assert tasks["Queue.get"] <= 1, tasks
