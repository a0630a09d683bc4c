"""Messages on their way to a browser: whole and in order, and without a task for each.

They are counted in tasks, because time on a busy machine says nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
import socketio
import uvicorn
from chainlit.server import sio
from chainlit.session import WebsocketSession

from chat_app.events import AgentEvent, TextDelta
from chat_app.interface.api.turn_stream import frames_of
from chat_app.interface.rendering.sockets import PageWebSocket, emit
from chat_app.interface.turns.asked_questions import AskedQuestion
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.turn_log import Cursor
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
async def test_a_browser_gets_each_message_in_order_and_no_task_is_started_for_it(
    transports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client, seen = sio, socketio.AsyncClient(), list[int]()
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

    def number(data: list[Any] | dict[str, Any]) -> None:
        seen.append(data[0] if isinstance(data, list) else data["place"])

    # The page's own server, with other handlers than Chainlit's.
    monkeypatch.setitem(server.handlers, "/", {"connect": connect, "ready": ready})
    client.on("number", number)
    async with served(server) as url:
        await client.connect(url, transports=transports, wait_timeout=60)
        await client.emit("ready")
        await opened.wait()
        await until(lambda: len(seen) == WINDOWS, what="the page is open")
        session = cast("WebsocketSession", SimpleNamespace(socket_id=sids[0]))
        loop.set_task_factory(counted)
        for place in range(WINDOWS, 2 * WINDOWS):
            await emit(session, "number", {"place": place, "text": "ä"})
            await until(lambda count=place + 1: len(seen) == count, what="the window has come")
        loop.set_task_factory(None)
        await client.disconnect()
    assert seen == list(range(2 * WINDOWS))
    assert tasks["Queue.get"] <= 1, tasks
    assert not [name for name in tasks if "emit" in name or "send" in name.lower()], tasks


async def test_no_frame_of_the_http_api_starts_a_task() -> None:
    turn, read, tasks = LiveTurn("a", "t", "q"), asyncio.Event(), Counter[str]()

    def counted(loop: asyncio.AbstractEventLoop, coroutine: Any, **how: Any) -> asyncio.Task[Any]:
        tasks[coroutine.__qualname__] += 1
        return asyncio.Task(coroutine, loop=loop, **how)

    async def words() -> AsyncGenerator[AgentEvent]:
        for place in range(WINDOWS):
            await read.wait()
            read.clear()
            yield TextDelta(text=str(place))

    loop, seen = asyncio.get_running_loop(), list[bytes]()
    running = asyncio.create_task(turn.run(words()))
    async for frame in frames_of(AskedQuestion("a", {"m": turn}), {"m": Cursor()}):
        seen.append(frame)
        loop.set_task_factory(counted)
        read.set()
    loop.set_task_factory(None)
    await running
    assert [place for place in range(WINDOWS) if f'"text":"{place}"'.encode() not in seen[place + 1]] == []
    assert tasks.total() <= 1, "only the reading of the turn"
