"""Which conversations a user has, against a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message, SessionSummary


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisSessionStore]:
    store = RedisSessionStore(redis_url)
    yield store
    await store.aclose()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client: Redis = Redis.from_url(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def user() -> str:
    """Somebody whom no other test has heard of."""
    return f"user {uuid4()}"


def ids(found: tuple[SessionSummary, ...]) -> list[str]:
    return [summary.session.session_id for summary in found]


async def indexes(redis: Redis) -> set[bytes]:
    return {key async for key in redis.scan_iter("asclepius:user:*")}


async def test_a_user_finds_their_conversations_with_the_first_question_and_nobody_elses(
    store: RedisSessionStore, user: str
) -> None:
    mine = await store.create(user)
    await store.create(f"{user}'s neighbour")
    await store.append_messages(
        mine.session_id, [Message(role="user", content="How much?"), Message(role="assistant", content="500 mg.")]
    )
    (summary,) = await store.summaries(user)
    assert summary.session.session_id == mine.session_id
    assert summary.session.message_count == 2
    assert summary.opening is not None
    assert summary.opening.content == "How much?"


async def test_the_conversation_used_last_comes_first(store: RedisSessionStore, redis: Redis, user: str) -> None:
    names = [(await store.create(user)).session_id for _ in range(3)]
    for at, name in ((300, names[1]), (200, names[2]), (100, names[0])):
        await redis.hset(f"asclepius:{{{name}}}:session", "last_active_at", str(at))
    assert ids(await store.summaries(user)) == [names[1], names[2], names[0]]


async def test_what_was_deleted_or_has_expired_is_not_listed_and_leaves_the_index(
    store: RedisSessionStore, redis: Redis, user: str
) -> None:
    before = await indexes(redis)
    deleted, expired, there = [await store.create(user) for _ in range(3)]
    await store.delete(deleted.session_id, user)
    await redis.delete(f"asclepius:{{{expired.session_id}}}:session")
    assert ids(await store.summaries(user)) == [there.session_id]
    (index,) = await indexes(redis) - before
    assert await redis.zrange(index, 0, -1) == [there.session_id.encode()]


async def test_looking_at_the_list_lets_conversations_expire_and_using_one_keeps_it(
    redis_url: str, redis: Redis, user: str
) -> None:
    store = RedisSessionStore(redis_url, ttl=100)
    before = await indexes(redis)
    session = await store.create(user)
    (index,) = await indexes(redis) - before
    key = f"asclepius:{{{session.session_id}}}:session"
    await redis.expire(key, 50)
    await redis.expire(index, 50)

    assert ids(await store.summaries(user)) == [session.session_id]
    assert await redis.ttl(key) <= 50
    assert await store.get(session.session_id, user) is not None
    assert await redis.ttl(key) > 50
    assert await redis.ttl(index) >= await redis.ttl(key), "the index lasts as long as what it points to"
    await store.aclose()


async def test_the_index_forgets_what_can_no_longer_be_there(store: RedisSessionStore, redis: Redis, user: str) -> None:
    before = await indexes(redis)
    await store.create(user)
    (index,) = await indexes(redis) - before
    await redis.zadd(index, {"session_" + "0" * 32: 1_000})
    await store.create(user)
    assert await redis.zcard(index) == 2


async def test_no_more_are_listed_than_asked_for_and_missing_ones_do_not_count(
    store: RedisSessionStore, redis: Redis, user: str
) -> None:
    names = [(await store.create(user)).session_id for _ in range(230)]
    gone = {name for at, name in enumerate(names) if at % 2}
    await redis.delete(*(f"asclepius:{{{name}}}:session" for name in gone))
    assert len(await store.summaries(user, limit=110)) == 110
    assert set(ids(await store.summaries(user, limit=500))) == set(names) - gone


async def test_an_unreadable_conversation_is_left_out_and_the_others_are_listed(
    store: RedisSessionStore, redis: Redis, user: str
) -> None:
    broken, good = [await store.create(user) for _ in range(2)]
    await redis.hset(f"asclepius:{{{broken.session_id}}}:session", "message_count", "many")
    await redis.set(f"asclepius:{{{good.session_id}}}:messages", "no list")
    assert ids(await store.summaries(user)) == [good.session_id]


async def test_an_index_that_is_no_index_begins_anew(store: RedisSessionStore, redis: Redis, user: str) -> None:
    before = await indexes(redis)
    await store.create(user)
    (index,) = await indexes(redis) - before
    await redis.set(index, "no index")
    session = await store.create(user)
    assert ids(await store.summaries(user)) == [session.session_id]


async def test_no_key_holds_a_users_name(store: RedisSessionStore, redis: Redis) -> None:
    await store.create("dr.jane.roe@hospital.example")
    assert [key async for key in redis.scan_iter("*jane*")] == []


async def test_many_questions_at_once_are_all_listed(store: RedisSessionStore, user: str) -> None:
    made = await asyncio.gather(*(store.create(user) for _ in range(50)))
    assert set(ids(await store.summaries(user))) == {session.session_id for session in made}
