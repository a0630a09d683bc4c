"""How much one user may ask."""

from __future__ import annotations

import pytest

from chat_app.errors import InputRejected
from chat_app.interface.security.user_limits import TooManyQuestions, UserLimits


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_may_be_asked_at_a_stroke_and_then_one_at_a_time() -> None:
    clock = Clock()
    limits = UserLimits(per_minute=6, at_once=10, clock=clock)
    for _ in range(6):
        limits.admit("ana", running=0)

    with pytest.raises(TooManyQuestions, match="6 questions") as refused:
        limits.admit("ana", running=0)
    assert refused.value.retry_after == 10
    clock.now += refused.value.retry_after
    limits.admit("ana", running=0)
    with pytest.raises(TooManyQuestions):
        limits.admit("ana", running=0)


def test_one_users_flood_does_not_keep_another_from_asking() -> None:
    limits = UserLimits(per_minute=1, at_once=1, clock=Clock())
    limits.admit("ana", running=0)
    with pytest.raises(TooManyQuestions):
        limits.admit("ana", running=0)
    limits.admit("bert", running=0)


def test_what_runs_already_counts_towards_questions_at_once() -> None:
    limits = UserLimits(per_minute=100, at_once=3, clock=Clock())
    limits.admit("ana", running=2)
    with pytest.raises(TooManyQuestions, match="3 of your questions") as refused:
        limits.admit("ana", running=3)
    assert refused.value.retry_after >= 1


def test_a_comparison_counts_each_of_its_models() -> None:
    limits = UserLimits(per_minute=4, at_once=3, clock=Clock())
    with pytest.raises(InputRejected, match="At most 3 models"):
        limits.admit("ana", running=0, asked=4)
    limits.admit("ana", running=0, asked=3)
    with pytest.raises(TooManyQuestions):
        limits.admit("ana", running=0, asked=2)
    limits.admit("ana", running=0)


def test_a_refused_question_costs_nothing() -> None:
    clock = Clock()
    limits = UserLimits(per_minute=1, at_once=1, clock=clock)
    limits.admit("ana", running=0)
    for _ in range(50):
        with pytest.raises(TooManyQuestions):
            limits.admit("ana", running=0)
    clock.now += 60
    limits.admit("ana", running=0)


def test_users_who_no_longer_ask_are_forgotten() -> None:
    clock = Clock()
    limits = UserLimits(per_minute=1, at_once=1, clock=clock)
    for number in range(1_500):
        limits.admit(f"user {number}", running=0)
        clock.now += 1
    assert len(limits._allowances) <= 1_001
