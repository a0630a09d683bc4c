"""A page whose socket breaks, while it is being opened or later, keeps its conversation and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asked, asking, seen, socket_of


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    with fake_page(tmp_path_factory.mktemp("sockets")) as served:
        yield served


@pytest.fixture
def visitor(page: ServedPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, timeout=20) as client:
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
