"""What a question costs when many are asked at once, in counts: time on a busy machine says nothing.

The bounds are a little above what was counted, so that few statements, round trips or tasks more of each question fail.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError

from chat_app.agent.turn_queue import TurnQueue
from chat_app.answer_options import ConsultOptions
from chat_app.audit import DatabaseAuditLog
from chat_app.events import Notice
from chat_app.interface.history.history_layer import History
from chat_app.interface.keeping.followed_turns import FollowedTurns
from chat_app.interface.security.identity import NotOwner
from chat_app.interface.turns.live_turn import LiveTurn
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.sessions.redis_store import RedisSessionStore
from tests.support.api_server import api, ask, text_of
from tests.support.engine import clinic
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply
from tests.support.waiting import until

QUESTIONS = 40


async def test_questions_asked_at_once_share_transactions_and_round_trips(redis_url: str, tmp_path: Path) -> None:
    store, counts = RedisSessionStore(redis_url), Counter[str]()
    loop = asyncio.get_running_loop()

    def counted(loop: asyncio.AbstractEventLoop, coroutine: Any, **how: Any) -> asyncio.Task[Any]:
        counts[coroutine.__qualname__.partition(".")[0]] += 1
        return asyncio.Task(coroutine, loop=loop, **how)

    async with (
        ScriptedServer([text_reply("Take ", "it ", "with food.")], repeat=True) as server,
        clinic(server, redis_url, store=store) as agent,
        api(agent, tmp_path / "data", sessions=store, concurrent_turns=99, questions_per_minute=99) as running,
        Redis.from_url(redis_url) as redis,
        running.client() as client,
    ):
        assert text_of(await ask(client)) == "Take it with food."
        statements: list[str] = []

        def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            statements.append(statement)

        event.listen(Engine, "before_cursor_execute", executed)
        before = (await redis.info("stats"))["total_reads_processed"]
        loop.set_task_factory(counted)
        answers = await asyncio.gather(*(ask(client) for _ in range(QUESTIONS)))
        loop.set_task_factory(None)
        await running.runtime.keeper.drain(60)
        event.remove(Engine, "before_cursor_execute", executed)
        reads = (await redis.info("stats"))["total_reads_processed"] - before
        assert {text_of(answer) for answer in answers} == {"Take it with food."}
        audit, stored = running.runtime.audit, await running.runtime.history.threads_of("ana")
        assert isinstance(audit, DatabaseAuditLog)
        assert await audit.verify() == (QUESTIONS + 1, [])
    assert len(stored) == QUESTIONS + 1
    each = {"statements": len(statements), "round trips": reads, "tasks": counts.total()}
    most = {"statements": 4, "round trips": 4, "tasks": 24}
    assert {name: count / QUESTIONS for name, count in each.items() if count > most[name] * QUESTIONS} == {}, counts


async def test_questions_that_wait_are_told_their_place_and_are_answered_in_the_order_of_asking(
    redis_url: str, tmp_path: Path
) -> None:
    store, asked, go_on = RedisSessionStore(redis_url), [f"question {number}" for number in range(8)], asyncio.Event()
    reply = text_reply("Yes.")
    queue = TurnQueue(1, tell_seconds=0.01)
    async with (
        ScriptedServer([[*reply[:5], WaitFor(go_on), *reply[5:]], reply], repeat=True) as server,
        clinic(server, redis_url, store=store, queue=queue) as agent,
        api(agent, tmp_path / "data", sessions=store, concurrent_turns=99, questions_per_minute=99) as running,
        running.client() as client,
    ):
        answers = []
        for number, question in enumerate(asked):
            answers.append(asyncio.create_task(ask(client, question)))
            await server.request()
            await until(lambda: queue.length == number, what="the question's place")  # noqa: B023 - awaited at once
        turns = running.runtime.turns.of_owner("ana")
        await until(lambda: sum(map(_was_told, turns)) == 7, what="the notices")
        go_on.set()
        streams = await asyncio.gather(*answers)
        requests = [request.json["input"][-1]["content"][0]["text"] for request in server.requests]
    assert requests == asked
    assert {text_of(stream) for stream in streams} == {"Yes."}
    notices = [[frame.data for frame in stream if frame.event == "notice"] for stream in streams]
    places = [[told["params"]["ahead"] for told in stream if told["code"] == "queued"] for stream in notices]
    assert [len(told) > 0 for told in places] == [False, *[True] * 7]
    assert [max(told, default=0) for told in places] == list(range(8))
    assert all(told == sorted(set(told), reverse=True) for told in places)


async def test_questions_asked_at_once_share_a_look_at_the_turns_of_other_processes(redis_url: str) -> None:
    store = RedisSessionStore(redis_url)
    followed = FollowedTurns(lambda: store, LiveTurns())
    async with Redis.from_url(redis_url) as redis:
        await followed.of_thread("before", "ana")
        before = (await redis.info("commandstats"))["cmdstat_hgetall"]["calls"]
        await asyncio.gather(*(followed.of_thread(str(number), "ana") for number in range(QUESTIONS)))
        assert (await redis.info("commandstats"))["cmdstat_hgetall"]["calls"] - before <= 2
    await store.aclose()


def _was_told(turn: LiveTurn) -> bool:
    return any(isinstance(event, Notice) and event.code == "queued" for event in turn.log.events)


@pytest.fixture
async def history(database: str) -> AsyncIterator[History]:
    store = History(database)
    await store.setup()
    yield store
    await store.close()


def step(thread: str) -> dict[str, Any]:
    return {"id": str(uuid4()), "threadId": thread, "name": "Asclepius", "type": "run", "createdAt": "2026-01-01"}


async def test_turns_that_are_written_together_cost_each_other_nothing(history: History) -> None:
    threads, foreign = [str(uuid4()) for _ in range(8)], str(uuid4())
    await history.save_turn(foreign, owner="eve")
    before, committed = await history.get_thread(foreign), list[object]()

    def noted(connection: Connection) -> None:
        committed.append(connection)

    event.listen(Engine, "commit", noted)
    writes = [history.save_turn(thread, [step(thread)], [], owner="ada", name=thread) for thread in threads]
    taken = history.save_turn(foreign, [step(foreign)], [], {"conversation_id": "x"}, owner="ada", name="mine")
    results = await asyncio.gather(*writes[:4], taken, *writes[4:], return_exceptions=True)
    assert [type(result) for result in results] == [type(None)] * 4 + [NotOwner] + [type(None)] * 4
    event.remove(Engine, "commit", noted)
    assert len(committed) == 1
    more = [history.save_turn(thread, [step(thread)], []) for thread in threads]
    refused = history.save_turn(threads[0], [step(threads[0]), step(threads[0]) | {"name": None}], [])
    results = await asyncio.gather(*more, refused, return_exceptions=True)
    assert [isinstance(result, SQLAlchemyError) for result in results] == [False] * 8 + [True]
    found = [await history.get_thread(thread) or {} for thread in threads]
    shown = [(thread.get("name"), thread.get("userIdentifier"), len(thread.get("steps") or [])) for thread in found]
    assert shown == [(thread, "ada", 2) for thread in threads]
    assert await history.get_thread(foreign) == before


async def test_values_that_are_looked_up_at_once_share_statements(history: History) -> None:
    threads = [str(uuid4()) for _ in range(QUESTIONS)]
    steps = {thread: step(thread) for thread in threads}
    for thread, run in steps.items():
        await history.save_turn(thread, [run], [], {"conversation_id": f"of {thread}"}, owner="ada")
    statements: list[str] = []

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", executed)
    kept = await asyncio.gather(*map(history.metadata_of, threads))
    owners = await asyncio.gather(*(history.owner_of("step", steps[thread]["id"]) for thread in threads))
    event.remove(Engine, "before_cursor_execute", executed)
    assert [metadata["conversation_id"] for metadata in kept] == [f"of {thread}" for thread in threads]
    assert set(owners) == {"ada"}
    assert len(statements) <= 4
    looked_up = (history.owner_of("thread", name) for name in ("\ud800", threads[0], "unknown"))
    wrong, *others = await asyncio.gather(*looked_up, return_exceptions=True)
    assert isinstance(wrong, (ValueError, SQLAlchemyError))
    assert others == ["ada", None]


async def test_a_delta_of_its_own_takes_about_sixty_calls_from_the_socket_to_the_log(redis_url: str) -> None:
    """Counted as the calls of 150 deltas without those of 50, so that a question's own calls do not count.

    Each delta is sent when the one before it is in the log, so that no two are read together however busy the machine.
    """
    calls = Counter[int]()
    for deltas in (50, 150):
        reply, due = text_reply(*["word "] * deltas), [asyncio.Event() for _ in range(deltas)]
        paced = [step for delta, gate in zip(reply[4:], due, strict=False) for step in (WaitFor(gate), delta)]
        async with (
            ScriptedServer([[*reply[:4], *paced, *reply[4 + deltas :]]]) as server,
            clinic(server, redis_url) as agent,
        ):
            turn, gates = LiveTurn("ada", "t", "q"), iter(due)

            def logged(gates: Iterator[asyncio.Event] = gates) -> None:
                next(gates, asyncio.Event()).set()

            turn.log.watchers.append(logged)

            def counted(frame: FrameType, event: str, _argument: object, deltas: int = deltas) -> None:
                calls[deltas] += event == "call" and "/chat_app/" in frame.f_code.co_filename

            sys.setprofile(counted)
            try:
                await turn.run(agent.consult("How?", ConsultOptions(user_id="ada")))
            finally:
                sys.setprofile(None)
        assert turn.log.ended is not None
        assert turn.log.ended.answer == "word " * deltas
    # 67 on an idle machine; on a busy one the pace is measured, and Redis written, for each delta: up to 71.
    assert 20 < (calls[150] - calls[50]) / 100 <= 78
