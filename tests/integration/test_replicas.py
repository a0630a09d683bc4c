"""Two replicas with one history and one Redis: a turn that runs on one is shown, resumed and stopped on the other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import socketio
import websockets
from redis import Redis

from chat_app.audit import AuditLog
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.history.history_layer import History
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.keeping.turn_keeper import TurnKeeper
from chat_app.interface.security.user_limits import MOST_OF_USER
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.sessions.held_files import Held
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.page_server import ServedPage, fake_page
from tests.support.page_sockets import asking, seen, socket_of


@pytest.fixture(scope="module")
def replicas(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedPage, ServedPage]]:
    """Two processes that serve the page, as behind a balancer."""
    folder = tmp_path_factory.mktemp("replicas")
    with pair(folder, redis_url) as both:
        yield both


@contextmanager
def pair(folder: Path, redis_url: str, **settings: str) -> Iterator[tuple[ServedPage, ServedPage]]:
    shared = {
        "REDIS_URL": redis_url,
        "DATABASE_URL": f"sqlite:///{folder / 'shared.sqlite3'}",
        "CHAINLIT_AUTH_SECRET": "x" * 40,
        "ASCLEPIUS_AUTH": "header",
        "ASCLEPIUS_MODELS": "small,large",
    } | settings
    # A user's limits count what earlier tests asked with this Redis, too.
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
    with (
        fake_page(folder / "a", environment=shared) as first,
        fake_page(folder / "b", environment=shared) as other,
    ):
        yield first, other


@asynccontextmanager
async def signed_in(page: ServedPage, user: str = "ana") -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=page.url, headers={"x-forwarded-user": user}, timeout=60) as client:
        (await client.post("/auth/header")).raise_for_status()
        yield client


@dataclass
class Read:
    """What was read of a stream of events: their ids and the events."""

    turn_id: str = ""
    ids: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(event.get("text", "") for event in self.events if event["type"] == "text_delta")

    @property
    def ends(self) -> list[dict[str, Any]]:
        return [event["outcome"] for event in self.events if event["type"] == "turn_ended"]


async def read(response: httpx.Response, *, until: str = "") -> Read:
    """Read events until the text holds ``until``, or to the end."""
    found = Read(turn_id=response.headers["x-turn-id"])
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            found.ids.append(line[4:])
        if line.startswith("data: "):
            found.events.append(json.loads(line[6:]))
            if until and until in found.text:
                break
    return found


async def read_of(client: httpx.AsyncClient, turn_id: str, after: str = "", *, until: str = "") -> Read:
    headers = {"last-event-id": after} if after else {}
    async with client.stream("GET", f"/api/v1/turns/{turn_id}/events", headers=headers) as response:
        assert response.status_code == 200
        return await read(response, until=until)


async def test_a_stream_goes_on_at_the_other_replica_without_gap_or_repetition(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other) as there:
        async with here.stream("POST", "/api/v1/consult", json={"message": "gated 40 of 100 api"}) as response:
            begun = await read(response, until="n40 ")
        reading = asyncio.create_task(read_of(there, begun.turn_id, begun.ids[-1]))
        first.open_gate("api")
        rest, whole = await reading, await read_of(here, begun.turn_id)
        again = await read_of(there, begun.turn_id)
    assert begun.text + rest.text == whole.text == again.text
    assert [end["kind"] for end in rest.ends] == ["completed"]
    assert again.ids[-1] == whole.ids[-1], "an id means the same place at both replicas"


async def test_compared_models_go_on_at_the_other_replica(replicas: tuple[ServedPage, ServedPage]) -> None:
    first, other = replicas
    body = {"message": "gated 10 of 20 compared", "models": ["small", "large"]}
    async with signed_in(first) as here, signed_in(other) as there:
        async with here.stream("POST", "/api/v1/consult", json=body) as response:
            turn_id = response.headers["x-turn-id"]
            async for line in response.aiter_lines():
                if "n10 " in line:
                    break
        async with there.stream("GET", f"/api/v1/turns/{turn_id}/events") as response:
            assert response.status_code == 200
            first.open_gate("compared")
            lines = [line[6:] async for line in response.aiter_lines() if line.startswith("data: ")]
    ends = [line for line in lines if '"turn_ended"' in line]
    assert sorted(json.loads(line)["model"] for line in ends) == ["large", "small"]


@pytest.mark.parametrize("models", [["small", "large"], ["small"]])
async def test_compared_models_that_have_answered_are_read_at_the_other_replica(
    replicas: tuple[ServedPage, ServedPage], models: list[str]
) -> None:
    first, other = replicas
    body = {"message": "count to 3", "models": models, "stream": False}
    async with signed_in(first) as here, signed_in(other) as there:
        answered = (await here.post("/api/v1/consult", json=body)).json()
        whole = await there.get(f"/api/v1/turns/{answered['turn_id']}/events")
    events = [json.loads(line[6:]) for line in whole.text.splitlines() if line.startswith("data: {")]
    ends = {event["model"]: event["event"]["answer"] for event in events if event["event"]["type"] == "turn_ended"}
    assert ends == {answer["model"]: answer["answer"] for answer in answered["answers"]}
    assert len(ends) == len(models)


async def test_an_answer_is_stopped_from_the_other_replica(replicas: tuple[ServedPage, ServedPage]) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other) as there:
        async with here.stream("POST", "/api/v1/consult", json={"message": "gated 40 of 100 never"}) as response:
            turn_id = response.headers["x-turn-id"]
            assert (await there.delete(f"/api/v1/turns/{turn_id}")).status_code == 204
            stopped = await read(response)
        there_too = await read_of(there, turn_id)
        assert (await there.delete(f"/api/v1/turns/{turn_id}")).status_code == 204
    assert [end["code"] for end in stopped.ends] == ["stopped"]
    assert [end["code"] for end in there_too.ends] == ["stopped"]
    assert there_too.text == stopped.text


async def test_answers_of_the_other_replica_count_towards_those_at_once(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first, "carla") as here, signed_in(other, "carla") as there, AsyncExitStack() as streams:
        for _ in range(10):
            asked = here.stream("POST", "/api/v1/consult", json={"message": "gated 2 of 4 carla"})
            await read(await streams.enter_async_context(asked), until="n2 ")
        assert (await there.post("/api/v1/consult", json={"message": "count to 3"})).status_code == 429
        first.open_gate("carla")
        async with asyncio.timeout(60):
            while (await there.post("/api/v1/consult", json={"message": "count to 3"})).status_code == 429:
                await asyncio.sleep(0.1)


async def test_files_at_another_replica_take_room_from_their_user_alone(
    replicas: tuple[ServedPage, ServedPage], redis_url: str
) -> None:
    store, sent, held = RedisSessionStore(redis_url), dict[str, int](), dict[str, int]()
    elsewhere = store.held_files
    elsewhere.holder, elsewhere.seconds = "another host", 600

    def look(found: Held) -> bool:
        held.update(found)
        return True

    await elsewhere.record(lambda: {"dora": MOST_OF_USER}, lambda _: True)
    for user in ("dora", "emil"):
        async with signed_in(replicas[0], user) as client, socket_of(replicas[0], client) as (_, _, session):
            file = {"file": ("x.pdf", b"%PDF-1.4", "application/pdf")}
            sent[user] = (await client.post(f"/project/file?session_id={session}", files=file)).status_code
            async with asyncio.timeout(60):
                while user == "emil" and held.get(user) != 8:
                    await elsewhere.record(dict, look)
                    await asyncio.sleep(0.05)
    await store.aclose()
    assert sent == {"dora": 413, "emil": 200}
    assert held.get("dora", 0) == 0, "a file that is refused is not held"


async def test_another_user_cannot_follow_or_stop_a_turn_of_the_other_replica(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other, "bob") as there:
        async with here.stream("POST", "/api/v1/consult", json={"message": "gated 40 of 100 never"}) as response:
            turn_id = response.headers["x-turn-id"]
            await read(response, until="n40 ")
        assert (await there.get(f"/api/v1/turns/{turn_id}/events")).status_code == 404
        assert (await there.delete(f"/api/v1/turns/{turn_id}")).status_code == 404
        assert (await here.delete(f"/api/v1/turns/{turn_id}")).status_code == 204


async def test_a_page_that_is_open_at_the_other_replica_follows_and_stops_an_answer(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other) as there, socket_of(first, here) as (asker, sent, _):
        await asker.emit("client_message", asking("count to 3"))
        await seen(sent, "element")
        thread_id = (await seen(sent, "first_interaction"))[0]["thread_id"]
        async with socket_of(other, there, thread_id) as (reader, shown, _):
            await seen(shown, "resume_thread")
            await asker.emit("client_message", asking("gated 40 of 100 never"))
            await until_shown(shown, "n40")
            questions = [data for name, data in shown if name == "new_message" and data["type"] == "user_message"]
            assert questions[-1]["output"] == "gated 40 of 100 never"
            await reader.emit("stop")
            await until_ended(shown)
            await until_ended(sent, answers=2)


async def test_a_page_opened_at_the_other_replica_shows_the_answer_that_is_being_written(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other) as there, socket_of(first, here) as (asker, sent, _):
        await asker.emit("client_message", asking("gated 40 of 100 opened"))
        await until_shown(sent, "n40")
        thread_id = (await seen(sent, "first_interaction"))[0]["thread_id"]
        async with socket_of(other, there, thread_id) as (_reader, shown, _):
            await until_shown(shown, "n40")
            first.open_gate("opened")
            await until_shown(shown, "n100")
            await until_ended(shown)


async def test_an_answer_without_text_is_moved_below_the_steps_to_come_at_the_other_replica(
    replicas: tuple[ServedPage, ServedPage],
) -> None:
    first, other = replicas
    async with signed_in(first) as here, signed_in(other) as there, socket_of(first, here) as (asker, sent, _):
        await asker.emit("client_message", asking("gated 0 of 3 moved"))
        thread_id = (await seen(sent, "first_interaction"))[0]["thread_id"]
        async with socket_of(other, there, thread_id) as (_reader, shown, _):
            (thread,) = await seen(shown, "resume_thread")
            answers = {step["id"] for step in thread["steps"] if step["type"] == "assistant_message"}
            await seen(shown, "remove_element")
            first.open_gate("moved")
            await until_ended(shown)
            assert answers <= {data["id"] for name, data in shown if name == "delete_message"}


async def test_a_reader_at_the_other_replica_sees_that_the_one_that_answered_died(
    redis_url: str, tmp_path: Path
) -> None:
    with pair(tmp_path, redis_url) as (first, other):
        async with signed_in(first) as here, signed_in(other) as there:
            async with here.stream("POST", "/api/v1/consult", json={"message": "gated 40 of 100 never"}) as response:
                begun = await read(response, until="n40 ")
            reading = asyncio.create_task(read_of(there, begun.turn_id))
            os.kill(first.process.pid, signal.SIGKILL)
            found = await reading
    assert found.text == begun.text
    assert [end["code"] for end in found.ends] == ["server_stopped"]


@pytest.mark.slow
async def test_a_follow_up_soon_after_another_host_died_is_answered(
    replicas: tuple[ServedPage, ServedPage], redis_url: str
) -> None:
    """Nobody can tell at once that it died: its turn ends when its lease does."""
    first, _ = replicas
    thread_id = await left_by_another_host(first, redis_url)
    async with signed_in(first) as client, socket_of(first, client, thread_id) as (socket, shown, _):
        await seen(shown, "resume_thread")
        await socket.emit("client_message", asking("say: answered"))
        kinds = set[str]()
        async with asyncio.timeout(60):
            while kinds <= {"incomplete"}:
                await asyncio.sleep(0.1)
                thread = (await client.get(f"/project/thread/{thread_id}")).raise_for_status().json()
                kinds = {element["props"]["outcome"]["kind"] for element in thread["elements"]}
    assert kinds == {"completed", "incomplete"}


async def left_by_another_host(page: ServedPage, redis_url: str) -> str:
    """Begin an answer to ana as a host that dies at once; return its conversation."""
    store, history = RedisSessionStore(redis_url), History(f"sqlite:///{page.data_dir.parents[1] / 'shared.sqlite3'}")
    store.journal.writer = "another host|1|1"

    async def sessions() -> RedisSessionStore:
        return store

    keeper = TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: store)
    question = PageQuestion("ana", str(uuid4()), str(uuid4()), "How?", str(uuid4()), PageOptions(), ["small"])
    await keeper.begin(question)
    await history.close()
    await store.aclose()
    return question.thread_id


async def test_a_page_leaves_a_replica_that_is_stopped_once_it_waits_for_no_answer(
    redis_url: str, tmp_path: Path
) -> None:
    with pair(tmp_path, redis_url, ASCLEPIUS_DRAIN_SECONDS="300") as (first, other):
        async with (
            signed_in(first) as here,
            signed_in(other) as there,
            socket_of(first, here) as (asker, shown, _),
            socket_of(first, here) as (reader, _, _),
        ):
            await asker.emit("client_message", asking("gated 40 of 100 drained"))
            await until_shown(shown, "n40")
            first.process.terminate()
            await until_left(reader)
            with pytest.raises(websockets.InvalidStatus) as refused:
                await websockets.connect(f"{first.url.replace('http', 'ws')}/ws/socket.io/?EIO=4&transport=websocket")
            assert refused.value.response.status_code == 503, "a balancer tries the other replica"
            assert asker.connected
            first.open_gate("drained")
            await until_left(asker)
            thread_id = (await seen(shown, "first_interaction"))[0]["thread_id"]
            thread = (await there.get(f"/project/thread/{thread_id}")).raise_for_status().json()
            assert "n100" in "".join(step["output"] for step in thread["steps"])
            assert [element["props"]["outcome"]["kind"] for element in thread["elements"]] == ["completed"]
        await asyncio.to_thread(first.process.wait, 60)


async def until_left(socket: socketio.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while socket.connected:
            await asyncio.sleep(0.02)


async def until_shown(events: list[tuple[str, Any]], text: str) -> None:
    async with asyncio.timeout(60):
        while text not in "".join(shown_on(events)):
            await asyncio.sleep(0.02)


def shown_on(events: list[tuple[str, Any]]) -> list[str]:
    starts = [data["output"] for name, data in events if name in {"stream_start", "new_message"}]
    return [*starts, *(data["token"] for name, data in events if name == "stream_token")]


async def until_ended(events: list[tuple[str, Any]], answers: int = 1) -> None:
    """Wait until so many answers say how they ended."""
    async with asyncio.timeout(60):
        while len({data["id"] for name, data in events if name == "element"}) < answers:
            await asyncio.sleep(0.02)
