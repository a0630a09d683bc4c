"""The queue in front of the model: turns run in the order in which they came, and readers see how many are ahead."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

from chat_app.agent.turn_queue import TurnQueue
from chat_app.events import AgentEvent, Notice, TurnEnded, TurnStarted
from tests.support.engine import clinic, consult, ended
from tests.support.scripted_server import ScriptedServer, WaitFor, text_reply
from tests.support.waiting import until


class Waiter:
    """One turn in a queue, which ends when it is told to."""

    def __init__(self, queue: TurnQueue) -> None:
        self.begun, self.end = asyncio.Event(), asyncio.Event()
        self.told: list[Notice] = []
        self.task = asyncio.create_task(self._run(queue))

    async def _run(self, queue: TurnQueue) -> None:
        async with queue.place() as notices:
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
        async with queue.place() as notices:
            assert [notice async for notice in notices] == []


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
