"""The queue in front of the model: turns run in the order in which they came, and readers see how many are ahead."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from uuid import uuid4

from chat_app.agent.turn_queue import TurnQueue
from chat_app.events import AgentEvent, Notice, TurnEnded, TurnStarted
from tests.support.engine import clinic, consult, ended
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply
from tests.support.waiting import until


class Waiter:
    """One turn in a queue, which ends when it is told to."""

    def __init__(self, queue: TurnQueue, asked_at: float | None = None) -> None:
        self.begun, self.end = asyncio.Event(), asyncio.Event()
        self.told: list[Notice] = []
        self.task = asyncio.create_task(self._run(queue, time.time() if asked_at is None else asked_at))

    async def _run(self, queue: TurnQueue, asked_at: float) -> None:
        async with queue.place(asked_at, str(uuid4())) as notices:
            async for notice in notices:
                self.told.append(notice)
            self.begun.set()
            await self.end.wait()

    @property
    def ahead(self) -> list[object]:
        return [notice.params.get("ahead", notice.code) for notice in self.told]


async def test_turns_begin_in_order_and_each_is_told_how_many_are_ahead() -> None:
    queue = TurnQueue(2, tell_seconds=0.001)
    turns = [Waiter(queue) for _ in range(5)]
    await until(lambda: [turn.ahead for turn in turns] == [[], [], [1], [2], [3]], what="the first notices")
    assert [turn.begun.is_set() for turn in turns] == [True, True, False, False, False]
    turns[1].end.set()
    await until(lambda: [turn.ahead for turn in turns[2:]] == [[1, "queue_left"], [2, 1], [3, 2]], what="the next")
    assert [turn.begun.is_set() for turn in turns] == [True, True, True, False, False]
    for turn in turns:
        turn.end.set()
    await asyncio.wait_for(asyncio.gather(*(turn.task for turn in turns)), 60)


async def test_the_question_that_was_asked_first_is_first_and_its_reader_is_told_at_once() -> None:
    queue, now = TurnQueue(1, tell_seconds=60), time.time()
    running, late = Waiter(queue, now), Waiter(queue, now - 1)
    await until(lambda: queue.length == 1, what="the queue")
    early = Waiter(queue, now - 100)
    await until(lambda: early.ahead == [1], what="the notice")
    running.end.set()
    await asyncio.wait_for(early.begun.wait(), 60)
    assert not late.begun.is_set()
    assert late.ahead == []
    for turn in (early, late):
        turn.end.set()
    await asyncio.wait_for(asyncio.gather(running.task, early.task, late.task), 60)


async def test_the_place_that_a_reader_was_told_only_falls() -> None:
    queue, now = TurnQueue(1, tell_seconds=0.001), time.time()
    running, late = Waiter(queue, now), Waiter(queue, now - 1)
    await until(lambda: late.ahead == [1], what="the notice")
    early = Waiter(queue, now - 100)
    await until(lambda: early.ahead == [1], what="the notice of the question that was asked before")
    for turn in (running, early, late):
        turn.end.set()
    await asyncio.wait_for(asyncio.gather(running.task, early.task, late.task), 60)
    assert late.ahead == [1, "queue_left"]


async def test_one_turn_is_admitted_in_each_pass_of_the_loop() -> None:
    queue = TurnQueue(9, tell_seconds=60)
    turns, lengths = [Waiter(queue) for _ in range(5)], list[int]()
    while not turns[-1].begun.is_set():
        await asyncio.sleep(0)
        lengths.append(queue.length)
    assert lengths[:5] == [4, 3, 2, 1, 0]
    for turn in turns:
        turn.end.set()
    await asyncio.wait_for(asyncio.gather(*(turn.task for turn in turns)), 60)


async def test_a_turn_that_is_stopped_gives_its_place_to_the_next() -> None:
    queue = TurnQueue(1, tell_seconds=0.001)
    running, stopped, last = (Waiter(queue) for _ in range(3))
    await until(lambda: last.ahead == [2], what="the queue")
    for turn in (stopped, running):
        turn.task.cancel()
        with suppress(asyncio.CancelledError):
            await turn.task
    await asyncio.wait_for(last.begun.wait(), 60)
    assert not stopped.begun.is_set()
    last.end.set()
    await asyncio.wait_for(last.task, 60)


async def test_a_turn_that_is_stopped_as_it_is_admitted_takes_no_place() -> None:
    queue = TurnQueue(1, tell_seconds=60)
    first, second, third = (Waiter(queue) for _ in range(3))
    await asyncio.wait_for(first.begun.wait(), 60)
    first.task.cancel()
    await asyncio.sleep(0)
    # It has been admitted, and has not noticed yet.
    second.task.cancel()
    await asyncio.wait_for(third.begun.wait(), 60)
    assert not second.begun.is_set()
    third.end.set()
    await asyncio.wait_for(third.task, 60)


async def test_nobody_is_told_of_a_queue_that_is_empty() -> None:
    queue = TurnQueue(1, tell_seconds=0.001)
    for _ in range(2):
        async with queue.place(time.time(), str(uuid4())) as notices:
            assert [notice async for notice in notices] == []


async def test_a_turn_that_has_a_place_keeps_it_and_waits_for_no_second_one() -> None:
    queue = TurnQueue(1, tell_seconds=0.001)
    async with queue.place(time.time(), "turn") as outer:
        assert [notice async for notice in outer] == []
        async with asyncio.timeout(60), queue.place(time.time(), "turn") as inner:
            assert [notice async for notice in inner] == []
        next_turn = Waiter(queue)
        await until(lambda: next_turn.ahead == [1], what="the next turn's notice")
    await asyncio.wait_for(next_turn.begun.wait(), 60)
    next_turn.end.set()
    await asyncio.wait_for(next_turn.task, 60)


async def test_a_question_waits_for_the_model_and_is_then_answered(redis_url: str) -> None:
    go_on = asyncio.Event()
    reply = text_reply("Take ", "with food.")
    async with (
        ScriptedServer([[*reply[:5], WaitFor(go_on), *reply[5:]], text_reply("Yes.")]) as server,
        clinic(server, redis_url, queue=TurnQueue(1, tell_seconds=0.001)) as agent,
    ):
        first = asyncio.create_task(consult(agent))
        await server.request()
        seen: list[AgentEvent] = []
        async with aclosing(agent.consult("And insulin?")) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, Notice):
                    assert len(server.requests) == 1
                    go_on.set()
        answers = [ended(await first).answer, ended(seen).answer]
    assert answers == ["Take with food.", "Yes."]
    assert isinstance(seen[0], TurnStarted)
    assert isinstance(seen[-1], TurnEnded)
    assert [(event.code, event.params) for event in seen if isinstance(event, Notice)] == [
        ("queued", {"ahead": 1}),
        ("queue_left", {}),
    ]
