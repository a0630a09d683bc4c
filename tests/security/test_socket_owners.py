"""Row 33 on the socket: no event that names another user's message, run or conversation reads or changes it."""

# ruff: noqa: ASYNC212 - the page is served by another process

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import NAMING, asked, asking, seen, socket_of

SECRET = "private words of ada"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    with fake_page(tmp_path_factory.mktemp("owners"), environment={"ASCLEPIUS_AUTH": "header"}) as served:
        yield served


@pytest.fixture
def ada(page: ServedPage) -> Iterator[httpx.Client]:
    yield from client_of(page, "ada")


@pytest.fixture
def bob(page: ServedPage) -> Iterator[httpx.Client]:
    yield from client_of(page, "bob")


def client_of(page: ServedPage, user: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, headers={"X-Forwarded-User": user}, timeout=60) as client:
        client.post("/auth/header").raise_for_status()
        yield client


def payload(event: str, step: str, thread: str) -> dict[str, Any]:
    if event in {"client_message", "edit_message"}:
        body = asking("say: mine")
        body["message"] |= {"id": step, "threadId": thread, "parentId": step}
        return body
    return {"id": step, "threadId": thread, "message": {"id": step}, "data": SECRET}


@pytest.mark.parametrize("event", sorted(NAMING))
async def test_an_event_that_names_another_users_message_changes_and_reveals_nothing(
    page: ServedPage, ada: httpx.Client, bob: httpx.Client, event: str
) -> None:
    thread, run, _ = await asked(page, ada, f"say: {SECRET}")
    ada.put("/feedback", json={"feedback": {"forId": run, "value": 0, "comment": SECRET}}).raise_for_status()
    before = ada.get(f"/project/thread/{thread}").json()
    ids = [step["id"] for step in before["steps"]]
    assert len(ids) > 2
    async with socket_of(page, bob) as (socket, events, _):
        for step in ids:
            await socket.emit(event, payload(event, step, thread))
        # A question of his own is answered after the events above.
        await socket.emit("client_message", asking("say: done"))
        await seen(events, "element")
        assert SECRET not in str(events)
    assert ada.get(f"/project/thread/{thread}").json()["steps"] == before["steps"]
    for listed in bob.post("/project/threads", json={"pagination": {"first": 20}, "filter": {}}).json()["data"]:
        assert SECRET not in bob.get(f"/project/thread/{listed['id']}").text


async def test_a_known_id_is_answered_as_not_found_whoever_owns_it(
    page: ServedPage, ada: httpx.Client, bob: httpx.Client
) -> None:
    thread, _, _ = await asked(page, ada, "say: once")
    steps = ada.get(f"/project/thread/{thread}").json()["steps"]
    question = next(step["id"] for step in steps if step["type"] == "user_message")
    for client in (ada, bob):
        async with socket_of(page, client) as (socket, _, _):
            told = await socket.call("client_message", payload("client_message", question, thread), timeout=60)
            assert told == {"status": 404}


async def test_a_message_that_is_too_long_does_not_fill_the_history(page: ServedPage, ada: httpx.Client) -> None:
    thread, _, _ = await asked(page, ada, "say: " + "x" * 600_000)
    assert len(ada.get(f"/project/thread/{thread}").text) < 200_000


async def test_the_sender_chooses_neither_kind_nor_author_nor_place_of_a_message(
    page: ServedPage, ada: httpx.Client
) -> None:
    async with socket_of(page, ada) as (socket, events, _):
        body = asking("say: plain")
        body["message"] |= {"type": "assistant_message", "name": "Asclepius", "parentId": str(uuid4())}
        await socket.emit("client_message", body)
        thread = (await seen(events, "element"))[0]["threadId"]
        await seen(events, "task_end", 3)
    steps = ada.get(f"/project/thread/{thread}").json()["steps"]
    kept = next(step for step in steps if step["id"] == body["message"]["id"])
    assert (kept["type"], kept["name"], kept["parentId"]) == ("user_message", "ada", None)
