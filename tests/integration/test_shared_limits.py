"""Limits that two processes share in Redis; each has separate connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from uuid import uuid4

import pytest

from chat_app.interface.security.password_login import FREE_TRIES, LoginThrottle, TooManyLogins
from chat_app.interface.security.user_limits import MOST_OF_USER, TooManyQuestions, UploadRoom, UserLimits
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.tallies import Tallies


def tallies_of(store: RedisSessionStore) -> Tallies:
    return Tallies(lambda: store.tallies)


@pytest.fixture
async def both(redis_url: str) -> AsyncIterator[list[Tallies]]:
    """The tallies of two processes."""
    stores = [RedisSessionStore(redis_url) for _ in range(2)]
    yield [tallies_of(store) for store in stores]
    for store in stores:
        await store.aclose()


def limits(tallies: Tallies) -> UserLimits:
    return UserLimits(tallies, per_minute=10, at_once=10, clock=lambda: 1e9)


async def refused(tries: list[Awaitable[None]]) -> list[BaseException]:
    return [error for error in await asyncio.gather(*tries, return_exceptions=True) if error is not None]


async def test_the_questions_of_a_minute_are_counted_over_both_processes(both: list[Tallies]) -> None:
    user, processes = uuid4().hex, [limits(tallies) for tallies in both]
    errors = await refused([process.admit(user, running=0) for process in processes * 10])
    assert [type(error) for error in errors] == [TooManyQuestions] * 10
    await processes[0].admit(uuid4().hex, running=0)


async def test_the_bytes_that_a_user_sends_are_counted_over_both_processes(both: list[Tallies]) -> None:
    user, (here, there) = uuid4().hex, map(limits, both)
    assert await here.may_send(user, MOST_OF_USER // 2)
    assert not await there.may_send(user, MOST_OF_USER // 2 + 1)
    assert await there.may_send(user, MOST_OF_USER // 2)
    assert await there.may_send(uuid4().hex, 1)


async def test_files_that_both_processes_hold_count_together_until_one_dies(redis_url: str) -> None:
    user, stores = uuid4().hex, [RedisSessionStore(redis_url) for _ in range(2)]
    dying, other = (store.held_files for store in stores)
    dying.holder, dying.seconds, room = uuid4().hex, 600, UploadRoom(lambda: other, dict)
    assert await dying.record(lambda: {user: MOST_OF_USER - 100}, lambda _: True)
    async with room.admitted(user, 101) as too_much, room.admitted(uuid4().hex, 101) as of_somebody_else:
        assert (too_much, of_somebody_else) == (False, True)
    async with room.admitted(user, 100) as fits:
        assert fits
        assert not await dying.record(lambda: {user: MOST_OF_USER - 99}, lambda held: held[user] <= MOST_OF_USER)
    dying.seconds = 1
    await dying.record(lambda: {user: MOST_OF_USER}, lambda _: True)
    async with asyncio.timeout(60):
        while True:
            async with room.admitted(user, MOST_OF_USER) as fits:
                if fits:
                    break
            await asyncio.sleep(0.1)
    for store in stores:
        await store.aclose()


async def test_wrong_passwords_are_counted_over_both_processes_and_after_a_restart(
    both: list[Tallies], redis_url: str
) -> None:
    user, now, restarted = uuid4().hex, 1000.0, RedisSessionStore(redis_url)
    here, there = (LoginThrottle(tallies, lambda: now) for tallies in both)
    errors = await refused([process.begin(user, user) for process in (here, there) * FREE_TRIES])
    assert [type(error) for error in errors] == [TooManyLogins] * FREE_TRIES
    now += 1
    await here.begin(user, user)
    for process in (there, LoginThrottle(tallies_of(restarted), lambda: now)):
        with pytest.raises(TooManyLogins, match="2 seconds"):
            await process.begin(user, user)
    now += 2
    await there.begin(user, user)
    await there.succeeded(user, user)
    await here.begin(user, user)
    await restarted.aclose()


async def test_a_process_counts_alone_while_redis_is_away(both: list[Tallies]) -> None:
    user, down = uuid4().hex, RedisSessionStore("unix:///nonexistent/redis.sock")
    cut_off = tallies_of(down)
    errors = await refused([limits(cut_off).admit(user, running=0) for _ in range(12)])
    assert [type(error) for error in errors] == [TooManyQuestions] * 2
    await limits(both[0]).admit(user, running=0)
    room = UploadRoom(lambda: down.held_files, lambda: {user: MOST_OF_USER})
    async with room.admitted(user, 1) as full, room.admitted(uuid4().hex, 1) as fits:
        assert (full, fits) == (False, True)


async def test_a_process_goes_on_from_what_redis_had(redis_url: str) -> None:
    user, known, down = uuid4().hex, RedisSessionStore(redis_url), RedisSessionStore("unix:///nonexistent/redis.sock")
    stores = [known]
    tallies = Tallies(lambda: stores[-1].tallies)
    for _ in range(8):
        await limits(tallies).admit(user, running=0)
    stores.append(down)
    errors = await refused([limits(tallies).admit(user, running=0) for _ in range(4)])
    assert [type(error) for error in errors] == [TooManyQuestions] * 2
    await known.aclose()
