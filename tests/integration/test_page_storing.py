"""What a reader does while the history is written: after an answer has ended, or when settings change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import socketio
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asking, seen, socket_of
from tests.support.postgres import fresh_database


class Storing(NamedTuple):
    """A page that shows the end of an answer; ``lock.rollback()`` lets the server store it."""

    page: ServedPage
    client: httpx.AsyncClient
    socket: socketio.AsyncClient
    events: list[tuple[str, Any]]
    thread: str
    lock: AsyncConnection


@pytest.fixture
async def storing(postgres: str, tmp_path: Path) -> AsyncIterator[Storing]:
    database = await fresh_database(postgres)
    engine = create_async_engine(database)
    with fake_page(tmp_path, environment={"DATABASE_URL": database}) as page:
        async with httpx.AsyncClient(base_url=page.url, timeout=60) as client, engine.connect() as lock:
            await client.post("/auth/header")
            async with socket_of(page, client) as (socket, events, _):
                await socket.emit("client_message", asking("gated 2 of 4 storing"))
                thread = (await seen(events, "first_interaction"))[0]["thread_id"]
                # What is below an answer cannot be stored meanwhile.
                await lock.execute(text("LOCK TABLE elements IN EXCLUSIVE MODE"))
                yield Storing(page, client, socket, events, thread, lock)
    await engine.dispose()


@asynccontextmanager
async def reopened(shown: Storing) -> AsyncIterator[list[tuple[str, Any]]]:
    """Open the conversation in another tab once the first one shows the answer's end."""
    async with socket_of(shown.page, shown.client, shown.thread, ready=False) as (socket, events, _):
        shown.page.open_gate("storing")
        await seen(shown.events, "element")
        await socket.emit("connection_successful")
        yield events


async def test_a_page_that_opens_meanwhile_shows_the_answer_and_its_end(storing: Storing) -> None:
    async with reopened(storing) as events:
        assert (await seen(events, "element"))[0] == (await seen(storing.events, "element"))[0]
        shown = [data["output"] for name, data in events if name == "new_message" and data["output"]]
    assert shown[-1] == "n1 n2 n3 n4 "


async def test_an_export_has_the_answer(storing: Storing) -> None:
    storing.page.open_gate("storing")
    await seen(storing.events, "element")
    exporting = asyncio.create_task(storing.client.get(f"/api/v1/threads/{storing.thread}/export.md"))
    audited = text("SELECT 1 FROM audit WHERE action = 'export'")
    async with asyncio.timeout(60):
        while (await storing.lock.execute(audited)).first() is None:
            await asyncio.sleep(0.01)
    # It reads what the export reads, and later.
    assert (await storing.client.get(f"/project/thread/{storing.thread}")).status_code == 200
    await storing.lock.rollback()
    assert "n1 n2 n3 n4" in (await exporting).text


async def test_its_question_can_be_edited(storing: Storing) -> None:
    storing.page.open_gate("storing")
    await seen(storing.events, "element")
    question = next(data for name, data in storing.events if name == "new_message" and data["type"] == "run")
    edited = {"id": question["parentId"], "output": "say: edited"}
    await storing.socket.emit("edit_message", {"message": edited})
    started = sum(name == "task_start" for name, _ in storing.events)
    await seen(storing.events, "task_start", started + 1)
    await storing.lock.rollback()
    await seen(storing.events, "element", 2)
    assert [data for name, data in storing.events if name == "toast"] == []


async def test_a_question_sent_right_after_a_change_of_settings_is_asked_with_them(
    postgres: str, tmp_path: Path
) -> None:
    database = await fresh_database(postgres)
    engine = create_async_engine(database)
    with fake_page(tmp_path, environment={"DATABASE_URL": database}) as page:
        async with httpx.AsyncClient(base_url=page.url, timeout=60) as client, engine.connect() as lock:
            await client.post("/auth/header")
            async with socket_of(page, client) as (socket, events, _):
                await seen(events, "chat_settings")
                # The change is recorded before it is made, and cannot be meanwhile.
                await lock.execute(text("LOCK TABLE audit IN EXCLUSIVE MODE"))
                await socket.emit("chat_settings_change", {"drugs": False})
                await socket.emit("client_message", asking("options please"))
                # A whole page opens meanwhile.
                async with socket_of(page, client) as (_, others, _):
                    await seen(others, "chat_settings")
                assert "new_message" not in [name for name, _ in events]
                await lock.rollback()
                await seen(events, "element")
                shown = next(data for name, data in events if name == "first_interaction")
                thread = (await client.get(f"/project/thread/{shown['thread_id']}")).json()
    await engine.dispose()
    assert thread["metadata"]["chat_settings"]["drugs"] is False
