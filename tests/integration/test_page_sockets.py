"""What a page is sent: after its socket broke, while it is being opened, and of a long conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import httpx
import pytest
import socketio

from chat_app.interface.page.recent_turns import EARLIER, OPENED, SHOW_EARLIER, TURNS
from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asked, asking, seen, socket_of
from tests.support.services import free_port, wait_until


@pytest.fixture(scope="module")
def metrics_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, metrics_port: int) -> Iterator[ServedPage]:
    metrics = {"ASCLEPIUS_METRICS_PORT": str(metrics_port)}
    with fake_page(tmp_path_factory.mktemp("sockets"), environment=metrics) as served:
        yield served


@pytest.fixture
def visitor(page: ServedPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        assert client.post("/auth/header").status_code == 200
        yield client


async def test_a_conversation_is_opened_by_the_second_socket_when_the_first_went_before_it_was_ready(
    page: ServedPage, visitor: httpx.Client
) -> None:
    thread, _, _ = await asked(page, visitor, "say: kept")
    tab = str(uuid4())
    async with (
        socket_of(page, visitor, thread, session=tab, ready=False),
        socket_of(page, visitor, thread, session=tab) as (_, events, _),
    ):
        (opened,) = await seen(events, "resume_thread")
    assert opened["id"] == thread
    assert "kept" in [step["output"] for step in opened["steps"]]


async def test_a_socket_that_comes_back_leaves_the_settings_that_its_page_shows_alone(
    page: ServedPage, visitor: httpx.Client
) -> None:
    tab = str(uuid4())
    async with socket_of(page, visitor, session=tab) as (_, events, _):
        await seen(events, "chat_settings")
    async with socket_of(page, visitor, session=tab) as (socket, events, _):
        await socket.emit("client_message", asking("options"))
        await seen(events, "element")
    assert [name for name, _ in events if name == "chat_settings"] == []


async def _ask_all(socket: socketio.AsyncClient, events: list[tuple[str, Any]], questions: Sequence[str]) -> None:
    known = sum(name == "element" for name, _ in events)
    for count, question in enumerate(questions, start=known + 1):
        ended = sum(name == "task_end" for name, _ in events)
        await socket.emit("client_message", asking(question))
        await seen(events, "element", count)
        await seen(events, "task_end", ended + 1)


def _questions(opened: dict[str, Any]) -> list[str]:
    return [step["output"] for step in opened["steps"] if step["type"] == "user_message"]


async def test_a_page_opens_with_the_last_turns_of_a_conversation_and_gets_earlier_ones_when_it_asks(
    page: ServedPage, visitor: httpx.Client
) -> None:
    questions = [f"say: answer {number}" for number in range(TURNS + 2)]
    async with socket_of(page, visitor) as (socket, events, _):
        await _ask_all(socket, events, questions)
        gone = [data["id"] for name, data in events if name == "delete_message" and "type" not in data]
        thread = next(data["threadId"] for name, data in events if name == "element")
        told = [data[EARLIER] for name, data in events if name == "window_message" and EARLIER in data]
    assert told[-1] == 2
    assert len(gone) == 2
    async with socket_of(page, visitor, thread) as (socket, events, _):
        (opened,) = await seen(events, "resume_thread")
        assert _questions(opened) == questions[-OPENED:]
        kept = {step["id"] for step in opened["steps"]}
        assert len(opened["elements"]) == OPENED
        assert {element["forId"] for element in opened["elements"]} <= kept
        assert {step["parentId"] for step in opened["steps"]} - {None} <= kept
        await socket.emit("window_message", {SHOW_EARLIER: True})
        *_, more = await seen(events, "resume_thread", 2)
        assert _questions(more) == questions
        await _ask_all(socket, events, ["say: last"])
        deleted = [data["id"] for name, data in events if name == "delete_message"]
        assert set(deleted) >= {step["id"] for step in more["steps"] if step["output"] in questions[:3]}
        assert [data[EARLIER] for name, data in events if name == "window_message" and EARLIER in data] == [
            TURNS + 2 - OPENED,
            0,
            3,
        ]


async def test_questions_that_two_tabs_ask_at_once_are_in_one_order_in_both(
    page: ServedPage, visitor: httpx.Client
) -> None:
    async with socket_of(page, visitor) as (first, shown, _):
        await _ask_all(first, shown, ["say: one"])
        thread = (await seen(shown, "first_interaction"))[0]["thread_id"]
        async with socket_of(page, visitor, thread) as (second, also_shown, _):
            await seen(also_shown, "resume_thread")
            sent = [asking("gated 1 of 2 order"), asking("say: three")]
            for socket, question in zip((first, second), sent, strict=True):
                await socket.emit("client_message", question)
            await seen(also_shown, "element")
            page.open_gate("order")
            await seen(shown, "element", 3)
            await seen(also_shown, "element", 2)
    tabs = []
    for events, own in ((shown, sent[0]), (also_shown, sent[1])):
        # A tab shows its own question before the server has it.
        order = [own["message"]["id"]]
        for name, data in events:
            if name == "delete_message":
                order = [known for known in order if known != data["id"]]
            elif name == "new_message" and data["type"] == "user_message" and data["id"] not in order:
                order.append(data["id"])
        tabs.append(order)
    assert tabs[0] == tabs[1]
    assert len(tabs[0]) == 2


async def test_a_socket_that_comes_back_is_sent_the_turns_that_its_page_shows(
    page: ServedPage, visitor: httpx.Client
) -> None:
    tab = str(uuid4())
    async with socket_of(page, visitor, session=tab) as (socket, events, _):
        await _ask_all(socket, events, [f"say: {number}" for number in range(TURNS + 1)])
    async with socket_of(page, visitor, session=tab) as (socket, events, _):
        await seen(events, "window_message", 2)
    repeated = [data["output"] for name, data in events if name == "new_message" and data["type"] == "user_message"]
    assert repeated == [f"say: {number}" for number in range(1, TURNS + 1)]


async def test_the_browsers_that_are_connected_are_counted(
    page: ServedPage, visitor: httpx.Client, metrics_port: int
) -> None:
    def connected() -> list[str]:
        shown = visitor.get(f"http://127.0.0.1:{metrics_port}/metrics").text.splitlines()
        return [line.split()[1] for line in shown if line.startswith("asclepius_sockets ")]

    async def are(count: float) -> None:
        await asyncio.to_thread(wait_until, lambda: connected() == [str(count)], what=f"{count} browsers")

    await are(0.0)
    async with socket_of(page, visitor), socket_of(page, visitor):
        await are(2.0)
    await are(0.0)
