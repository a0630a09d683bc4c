"""A replica goes on with the answer of one that died, where the model server holds a background response."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from chat_app.answer_options import ConsultOptions
from chat_app.audit import AuditLog
from chat_app.errors import TurnTakenOver
from chat_app.events import AgentEvent, CitationAdded, Notice, Outcome, TextDelta, TextReplaced, TurnEnded, TurnStarted
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.history.history_layer import History
from chat_app.interface.keeping.followed_turns import FollowedTurns
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.keeping.take_over import resumable_conversation, unseen
from chat_app.interface.keeping.turn_keeper import TurnKeeper
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.interface.turns.turn_log import TurnLog
from chat_app.sessions.redis_store import RedisSessionStore
from tests.integration.test_replicas import pair, read, read_of, signed_in
from tests.support.engine import clinic, ended, guideline_tool, passage, text_of
from tests.support.scripted_server import (
    Request,
    ScriptedServer,
    Status,
    Step,
    WaitFor,
    calls_reply,
    response_body,
    text_reply,
)

SEARCH = calls_reply(("call_1", "search_clinical_guidelines", '{"question": "metformin"}'))
ANSWER = text_reply("Start metformin at 500 mg ", "once daily[1]", ", with ", "food[1].", response_id="resp_2")


@asynccontextmanager
async def model_server(*, forgets: bool = False) -> AsyncIterator[ScriptedServer]:
    """A model server whose answer goes on for ever at its first reader; the next one gets all of it."""

    def play(request: Request) -> Sequence[Step]:
        if request.path.endswith("/cancel"):
            return [Status(200, body=response_body("resp", "cancelled"))]
        if request.method == "GET" and forgets:
            return [Status(404)]
        if request.method == "GET" and "stream=true" not in request.path:
            return [Status(200, body=response_body("resp", "in_progress"))]
        if request.method == "GET":
            return SEARCH if "resp_1" in request.path else ANSWER
        if any(item["type"] == "function_call_output" for item in request.json["input"]):
            return [*ANSWER[:6], WaitFor(asyncio.Event())]
        return SEARCH

    async with ScriptedServer([play], repeat=True) as server:
        yield server


async def test_the_other_replica_goes_on_with_an_answer_that_the_model_server_still_writes(
    redis_url: str, tmp_path: Path
) -> None:
    """Row 49: a reader at the other replica sees the whole text once, with its step and its reference."""
    async with model_server() as server:
        settings = {"ASCLEPIUS_BACKGROUND": "true", "TESTS_MODEL_SERVER": server.base_url}
        with pair(tmp_path, redis_url, **settings) as (first, other):
            async with signed_in(first) as here, signed_in(other) as there:
                async with here.stream("POST", "/api/v1/consult", json={"message": "How much?"}) as response:
                    begun = await read(response, until="once daily")
                reading = asyncio.create_task(read_of(there, begun.turn_id))
                os.kill(first.process.pid, signal.SIGKILL)
                found = await reading
                again = await read_of(there, begun.turn_id)
                body = {"pagination": {"first": 1}, "filter": {}}
                listed = (await there.post("/project/threads", json=body)).raise_for_status().json()["data"]
                thread = (await there.get(f"/project/thread/{listed[0]['id']}")).raise_for_status().json()
    types = [event["type"] for event in found.events]
    (end,) = found.ends
    assert found.text == again.text
    assert "text_replaced" not in types
    assert types.count("turn_started") == 1
    stored = "".join(step["output"] for step in thread["steps"] if step["type"] == "assistant_message")
    assert end["kind"] == "completed"
    assert found.text == "Start metformin at 500 mg once daily, with food."
    assert types.count("references") == 1
    assert types.count("citation") == 2
    assert [event.get("name") for event in found.events].count("agent.tool_call_complete") == 1
    assert "with food" in stored


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_turn_is_run_again_from_its_background_responses_and_not_asked_again(
    redis_url: str, forgets: bool
) -> None:
    asked = {"background": True}
    async with (
        model_server(forgets=forgets) as server,
        clinic(server, redis_url, [guideline_tool()], model_kwargs=asked) as dead,
        clinic(server, redis_url, [guideline_tool()], model_kwargs=asked) as other,
    ):
        turn = dead.consult("How much?", ConsultOptions(turn_id="t"))
        seen: list[AgentEvent] = []
        while "once daily" not in text_of(seen):
            seen.append(await anext(turn))
        started = next(event for event in seen if isinstance(event, TurnStarted))
        resumed = await other.resumed(started.conversation_id, "t")
        assert await other.resumed(started.conversation_id, "another") is None
        await turn.aclose()
        assert (resumed is None) is forgets
        if resumed is None:
            return
        again = [event async for event in resumed]
        assert await other.resumed(started.conversation_id, "t") is None, "it has ended"
        read_again = [request.path.rpartition("/")[2] for request in server.requests if "stream=true" in request.path]
        posts = [request for request in server.requests if request.path.endswith("/responses")]
    assert ended(again).answer == "Start metformin at 500 mg once daily, with food."
    assert read_again == ["resp_1?stream=true", "resp_2?stream=true"]
    assert len(posts) == 2
    assert "resumes" not in posts[0].json


def log_of(*events: AgentEvent) -> TurnLog:
    log = TurnLog()
    for event in events:
        log.append(event)
    return log


STARTED = TurnStarted(conversation_id="c", turn_id="t", model="m")
CITED = CitationAdded(number=1, passage=passage())


async def repeated(shown: TurnLog, *events: AgentEvent) -> list[AgentEvent]:
    async def play() -> AsyncGenerator[AgentEvent, None]:
        for event in events:
            yield event

    return [event async for event in unseen(play(), shown)]


END = TurnEnded(answer="Take it.", outcome=Outcome())
WAITING = Notice(code="queued", message="Wait.")


TAKE = TextDelta(text="Take")
CORRECTED = TextReplaced()


@pytest.mark.parametrize(
    ("events", "new"),
    [
        ([TAKE, CITED, TextDelta(text=" it."), END], [TextDelta(text="."), END]),
        ([TAKE, CITED, TextDelta(text=" it"), WAITING, CITED, END], [CITED, END]),
        ([TAKE, CITED, TextDelta(text=" it"), END], [END]),
        ([TAKE, TextDelta(text=" no"), CITED, END], [CORRECTED, TAKE, TextDelta(text=" no"), CITED, END]),
        ([TextDelta(text="Ta"), CORRECTED, TAKE, END], [CORRECTED, TAKE, END]),
        ([TAKE, END], []),
        ([END], []),
    ],
    ids=["goes on", "is cited", "is whole", "differs", "is corrected", "is shorter", "is empty"],
)
async def test_a_repeated_answer_that(events: list[AgentEvent], new: list[AgentEvent]) -> None:
    shown = log_of(STARTED, WAITING, TextDelta(text="No."), CORRECTED, TAKE, CITED, TextDelta(text=" it"))
    assert await repeated(shown, STARTED, *events) == new


def test_an_answer_that_begins_with_the_reading_of_a_file_is_not_repeated() -> None:
    assert resumable_conversation(log_of(WAITING, STARTED, TextDelta(text="Take"))) == "c"
    assert resumable_conversation(log_of(TextDelta(text="61 pages."), STARTED)) is None
    assert resumable_conversation(log_of(WAITING)) is None


async def test_turns_of_a_newer_version_change_nothing_for_others(redis_url: str, tmp_path: Path) -> None:
    """The newer version runs elsewhere: its turns are followed as far as they can be read, and stay its own."""
    history = History(f"sqlite+aiosqlite:///{tmp_path / 'history.sqlite3'}")
    await history.setup()
    newer, store = RedisSessionStore(redis_url), RedisSessionStore(redis_url)
    newer.journal.writer = "another host|1|1"

    async def sessions() -> RedisSessionStore:
        return store

    def question() -> PageQuestion:
        return PageQuestion("ada", str(uuid4()), str(uuid4()), "How?", str(uuid4()), PageOptions(), ["a"])

    asked, unknown, keeper = (
        question(),
        question(),
        TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: store),
    )
    (turn,), (left,) = asked.turns.values(), unknown.turns.values()
    await TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: newer).begin(asked)
    elsewhere = FollowedTurns(lambda: store, LiveTurns())
    try:
        (followed,) = await elsewhere.of_question(turn.id, "ada")
        await newer.journal.append(turn.id, [b'{"type": "newer"}'])
        await followed.read_on()
        assert followed.log.ended is not None
        assert followed.log.ended.outcome.code == "answered_elsewhere"

        async def reread() -> object:
            return await history.get_thread(asked.thread_id)

        thread = await keeper.up_to_date(await reread(), reread)
        assert "How?" in [step["output"] for step in thread["steps"]]

        async with Redis.from_url(redis_url) as redis:
            await redis.hset("asclepius:journals", "newer", '{"thread_id": "t", "writer": "w", "new": 1}')
            try:
                await store.journal.begin(left.id, left.thread_id, left.question_id, "{}", owner="ada")
                await store.journal.release(left.id, left.thread_id)
                running = asyncio.create_task(keeper.run())
                async with asyncio.timeout(60):
                    while left.id in await store.journal.open_turns():
                        await asyncio.sleep(0.01)
                assert not running.done()
                running.cancel()
            finally:
                await redis.hdel("asclepius:journals", "newer")
    finally:
        for each in (newer, store):
            await each.journal.close(turn.id)
            await each.aclose()
        await history.close()


async def test_of_two_processes_one_goes_on_and_the_one_that_only_seemed_dead_stores_nothing(
    redis_url: str, tmp_path: Path
) -> None:
    history = History(f"sqlite+aiosqlite:///{tmp_path / 'history.sqlite3'}")
    await history.setup()
    stores = [RedisSessionStore(redis_url) for _ in range(3)]
    stores[0].journal.writer = "another host|1|1"
    runs: list[str] = []

    async def run_again(conversation_id: str, turn_id: str) -> AsyncGenerator[AgentEvent, None]:
        async def play() -> AsyncGenerator[AgentEvent, None]:
            for event in (STARTED, TextDelta(text="Take it."), END):
                yield event

        runs.append(turn_id)
        return play()

    def keeper(store: RedisSessionStore) -> TurnKeeper:
        async def sessions() -> RedisSessionStore:
            return store

        return TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: store, resume=run_again)

    seemed, *others = map(keeper, stores)
    thread, woken = str(uuid4()), asyncio.Event()
    question = PageQuestion("ada", thread, str(uuid4()), "How?", str(uuid4()), PageOptions(), ["a"])
    (turn,) = question.turns.values()

    async def events() -> AsyncGenerator[AgentEvent, None]:
        yield STARTED
        yield TextDelta(text="Take")
        await woken.wait()
        yield TextDelta(text=" nothing.")
        yield TurnEnded(outcome=Outcome(), answer="Take nothing.")

    await seemed.begin(question)
    answering = asyncio.create_task(seemed.answer(turn, events()))
    async with asyncio.timeout(60), Redis.from_url(redis_url) as redis:
        while turn.log.answer != "Take":
            await asyncio.sleep(0.01)
        await redis.delete("asclepius:writer:another host|1|1")
        await asyncio.gather(*(other.recover(thread) for other in others))
        while turn.id in await stores[1].journal.open_turns():
            await asyncio.sleep(0.01)
    woken.set()
    assert await answering == "stored"
    assert runs == [turn.id]
    found = await history.get_thread(thread)
    assert found is not None
    assert [step["output"] for step in found["steps"] if step["type"] == "assistant_message"] == ["Take it."]
    assert turn.log.answer == "Take nothing."
    for store in stores:
        await store.aclose()
    await history.close()


async def test_a_process_that_only_seemed_dead_writes_nothing_more_to_a_turn_that_was_taken_over(
    redis_url: str,
) -> None:
    seemed, other, third = (RedisSessionStore(redis_url) for _ in range(3))
    turn = LiveTurn("ada", str(uuid4()), str(uuid4()))
    for number, store in enumerate((seemed, other, third)):
        store.journal.writer = f"host {number}|1|1"
    await seemed.journal.begin(turn.id, turn.thread_id, turn.question_id, "{}", owner="ada")
    assert await seemed.journal.append(turn.id, ["one"])
    assert await other.journal.claim(turn.id)
    await other.journal.take_over(turn.id, turn.thread_id, turn.question_id, owner="ada")
    assert await other.journal.append(turn.id, ["two"])
    with pytest.raises(TurnTakenOver):
        await seemed.journal.append(turn.id, ["two"])
    assert set(await other.journal.written_elsewhere()) >= {turn.id}, "its own readers follow it by the journal, too"
    assert await third.journal.claim(turn.id)
    assert await third.journal.append(turn.id, ["three"])
    assert (await third.journal.read(turn.id))[1:] == ["one", "two", "three"]
    for store in (seemed, other, third):
        await store.aclose()
