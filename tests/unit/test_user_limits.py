"""How much one user may ask."""

from __future__ import annotations

import asyncio

import pytest

from chat_app.errors import InputRejected
from chat_app.interface.security.user_limits import TooManyQuestions, UserLimits
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.interface.turns.question_gate import QuestionGate
from chat_app.sessions.tallies import Tallies


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_minutes_worth_may_be_asked_at_a_stroke_and_then_one_at_a_time() -> None:
    clock = Clock()
    limits = UserLimits(Tallies(lambda: None), per_minute=6, at_once=10, clock=clock)
    for _ in range(6):
        await limits.admit("ana", running=0)

    with pytest.raises(TooManyQuestions, match="6 questions") as refused:
        await limits.admit("ana", running=0)
    assert refused.value.retry_after == 10
    clock.now += refused.value.retry_after
    await limits.admit("ana", running=0)
    with pytest.raises(TooManyQuestions):
        await limits.admit("ana", running=0)


async def test_one_users_flood_does_not_keep_another_from_asking() -> None:
    limits = UserLimits(Tallies(lambda: None), per_minute=1, at_once=1, clock=Clock())
    await limits.admit("ana", running=0)
    with pytest.raises(TooManyQuestions):
        await limits.admit("ana", running=0)
    await limits.admit("bert", running=0)


async def test_what_runs_already_counts_towards_questions_at_once() -> None:
    limits = UserLimits(Tallies(lambda: None), per_minute=100, at_once=3, clock=Clock())
    await limits.admit("ana", running=2)
    with pytest.raises(TooManyQuestions, match="3 of your questions") as refused:
        await limits.admit("ana", running=3)
    assert refused.value.retry_after >= 1


async def test_a_comparison_counts_each_of_its_models() -> None:
    limits = UserLimits(Tallies(lambda: None), per_minute=4, at_once=3, clock=Clock())
    with pytest.raises(InputRejected, match="At most 3 models"):
        await limits.admit("ana", running=0, asked=4)
    await limits.admit("ana", running=0, asked=3)
    with pytest.raises(TooManyQuestions):
        await limits.admit("ana", running=0, asked=2)
    await limits.admit("ana", running=0)


async def test_a_refused_question_costs_nothing() -> None:
    clock = Clock()
    limits = UserLimits(Tallies(lambda: None), per_minute=1, at_once=1, clock=clock)
    await limits.admit("ana", running=0)
    for _ in range(50):
        with pytest.raises(TooManyQuestions):
            await limits.admit("ana", running=0)
    clock.now += 60
    await limits.admit("ana", running=0)


async def test_questions_that_arrive_at_once_count_towards_questions_at_once() -> None:
    """Also before their turns are started, and with those that other processes answer."""
    everyone = asyncio.Barrier(10)

    async def answered_elsewhere(_user: str) -> int:
        await everyone.wait()
        return 1

    gate = QuestionGate(UserLimits(Tallies(lambda: None), per_minute=10, at_once=4), LiveTurns(), answered_elsewhere)

    async def ask() -> None:
        async with gate.admitted("ana", 1):
            """The turn is started here."""

    for admitted in (3, 3):
        outcomes = await asyncio.gather(*(ask() for _ in range(10)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None)] * admitted + [TooManyQuestions] * (10 - admitted)
