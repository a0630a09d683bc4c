"""kill -9 at random moments of a turn: what was shown is kept, marked as broken off, and nothing is there twice.

``ASCLEPIUS_KILLS=50 pytest tests/faults/test_killed_turns.py`` kills more often than the normal run.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asking, socket_of
from tests.support.postgres import fresh_database

KILLS = int(os.environ.get("ASCLEPIUS_KILLS", "2"))
SECONDS = 600 + 60 * KILLS
"""The longest time of the drill on a loaded machine."""
LONGEST = 1.2
QUESTION = "count to 3000"


@pytest.fixture(params=["sqlite", "postgresql"])
async def environment(request: pytest.FixtureRequest, redis_url: str) -> dict[str, str]:
    """The settings of a page with a Redis and one of the two databases."""
    if request.param == "sqlite":
        return {"REDIS_URL": redis_url}
    database = await fresh_database(request.getfixturevalue("postgres"))
    return {"REDIS_URL": redis_url, "DATABASE_URL": database}


def kill(page: ServedPage) -> None:
    os.kill(page.process.pid, signal.SIGKILL)
    page.process.wait()


@contextmanager
def signed_in(page: ServedPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, timeout=60) as client:
        client.post("/auth/header").raise_for_status()
        yield client


def newest(client: httpx.Client) -> dict[str, Any]:
    """Return the conversation that was used last, as the page gets it."""
    body = {"pagination": {"first": 100}, "filter": {}}
    listed = client.post("/project/threads", json=body).raise_for_status().json()["data"]
    whole: dict[str, Any] = client.get(f"/project/thread/{listed[0]['id']}").raise_for_status().json()
    return whole | {"listed": len(listed)}


async def on_page(page: ServedPage, seconds: float) -> str:
    """Ask on the page, kill it ``seconds`` after it stored the question, and return the text that had been shown."""
    with signed_in(page) as client:
        async with socket_of(page, client) as (socket, events, _):
            await socket.emit("client_message", asking(QUESTION))
            async with asyncio.timeout(60):
                # The page lists a conversation once its question is stored.
                while not any(name == "first_interaction" for name, _ in events):
                    await asyncio.sleep(0.01)
            await asyncio.sleep(seconds)
            kill(page)
            async with asyncio.timeout(60):
                while socket.connected:
                    await asyncio.sleep(0.01)
        return shown_on(events)


def shown_on(events: list[tuple[str, Any]]) -> str:
    """Return the answer's text that a page was sent."""
    first = [data["output"] for name, data in events if name == "stream_start"]
    return "".join([*first, *(data["token"] for name, data in events if name == "stream_token")])


async def over_api(page: ServedPage, seconds: float) -> str:
    """Ask over the API, kill the server after ``seconds`` of the answer, and return the text that had arrived."""
    shown: list[str] = []
    with signed_in(page) as client:
        cookies = dict(client.cookies)

    began = asyncio.Event()

    async def read() -> None:
        async with (
            httpx.AsyncClient(base_url=page.url, cookies=cookies, timeout=60) as asked,
            asked.stream("POST", "/api/v1/consult", json={"message": QUESTION}) as response,
        ):
            assert response.status_code == 200
            began.set()
            async for line in response.aiter_lines():
                shown.extend(re.findall(r'"type":"text_delta".*"text":"([^"]*)"', line))

    reading = asyncio.create_task(read())
    async with asyncio.timeout(60):
        await began.wait()
    await asyncio.sleep(seconds)
    kill(page)
    with suppress(httpx.HTTPError):
        await reading
    return "".join(shown)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
async def test_a_killed_server_loses_no_shown_word_and_marks_every_broken_answer(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Row 49: kill -9 in the middle of a turn, on the page and over the API."""
    moments = random.Random(17)
    shown = ""
    for number in range(KILLS + 1):
        with fake_page(tmp_path, environment=environment) as page:
            with signed_in(page) as client:
                if number:
                    check(newest(client), client, shown, number)
            if number == KILLS:
                return
            ask = over_api if number % 2 else on_page
            shown = await ask(page, moments.random() * LONGEST)


def check(thread: dict[str, Any], client: httpx.Client, shown: str, number: int) -> None:
    """Check the newest conversation: the question once, the shown text, its mark, and what to do next."""
    assert thread["listed"] == number, "each question is one conversation"
    questions = [step for step in thread["steps"] if step["type"] == "user_message"]
    answers = [step for step in thread["steps"] if step["type"] == "assistant_message"]
    assert [step["output"] for step in questions] == [QUESTION]
    assert len({step["metadata"]["turn"] for step in answers}) == 1
    text = "".join(step["output"] for step in answers)
    assert text.startswith(shown), f"lost {len(shown) - len(text)} characters"
    assert not any(step["metadata"].get("unfinished") for step in answers)
    (element,) = thread["elements"]
    assert element["props"]["outcome"]["kind"] == "incomplete"
    assert element["props"]["outcome"]["code"] == "server_stopped"
    assert element["props"]["outcome"]["retryable"], "it can be asked again"
    assert element["props"]["question"] == QUESTION
    exported = client.get(f"/api/v1/threads/{thread['id']}/export.md").raise_for_status().text
    assert shown.strip() in exported
    assert "The server stopped" in exported


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
async def test_another_server_shows_a_running_answer_so_far_and_takes_over_what_a_killed_one_left(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Row 49: two servers on one history and one Redis."""
    database = environment.get("DATABASE_URL", f"sqlite:///{tmp_path / 'shared.sqlite3'}")
    shared = environment | {"DATABASE_URL": database, "CHAINLIT_AUTH_SECRET": "x" * 40}
    with (
        fake_page(tmp_path / "a", environment=shared) as first,
        fake_page(tmp_path / "b", environment=shared) as other,
        signed_in(first) as client,
        signed_in(other) as reader,
    ):
        async with socket_of(first, client) as (socket, events, _):
            await socket.emit("client_message", asking("gated 40 of 100 never"))
            async with asyncio.timeout(60):
                while "n40" not in shown_on(events):
                    await asyncio.sleep(0.02)
            thread = newest(reader)
            (element,) = thread["elements"]
            assert element["props"]["outcome"]["code"] == "answered_elsewhere"
            assert "n40" in "".join(step["output"] for step in thread["steps"])
            kill(first)
        thread = newest(reader)
        (element,) = thread["elements"]
        assert element["props"]["outcome"]["code"] == "server_stopped"
        assert "n40" in "".join(step["output"] for step in thread["steps"])
