"""What a conversation's stored state promises, against a real Redis."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from redis.asyncio import ConnectionPool, Redis

from chat_app.errors import ChainConflict, ConfigurationError, SessionBusy, SessionStoreUnavailable
from chat_app.sessions.batched_redis import BatchedRedis
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message, StreamingState, is_session_id, new_session_id
from tools.types import Passage


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisSessionStore]:
    store = RedisSessionStore(redis_url)
    yield store
    await store.aclose()


@pytest.fixture
async def other(redis_url: str) -> AsyncIterator[RedisSessionStore]:
    """The same conversations, as another process sees them."""
    store = RedisSessionStore(redis_url)
    yield store
    await store.aclose()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client: Redis = Redis.from_url(redis_url)
    yield client
    await client.aclose()


def passage(name: str, text: str = "Avoid in pregnancy.") -> Passage:
    return Passage(id=name, kind="guideline", document_id="d", title="Hypertension", text=text)


async def keys_of(redis: Redis, session_id: str) -> list[bytes]:
    return [key async for key in redis.scan_iter(f"*{session_id}*")]


async def test_a_conversation_is_found_again_by_its_owner_in_any_process(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    created = await store.create("anna", vector_store_id="vs_1", model_key="https://llm.example|m")

    assert await other.get(created.session_id, "anna") == created
    assert abs(created.last_active_at - datetime.now(UTC).timestamp()) < 60


async def test_another_users_conversation_is_as_if_it_did_not_exist(store: RedisSessionStore, redis: Redis) -> None:
    session = await store.create("anna")
    await redis.expire(f"asclepius:{{{session.session_id}}}:session", 100)

    assert await store.get(session.session_id, "bert") is None
    assert not await store.delete(session.session_id, "bert")
    with pytest.raises(ChainConflict):
        await store.update(
            session.model_copy(update={"user_id": "bert", "last_response_id": "r"}), expected_last_response_id=None
        )
    assert await redis.ttl(f"asclepius:{{{session.session_id}}}:session") <= 100, "a stranger's look renewed it"
    assert await store.get(session.session_id, "anna") == session


@pytest.mark.parametrize("name", ["", "session_1704067200", "session_" + "g" * 32, "session_" + "a" * 32 + "\n", "*"])
async def test_what_is_no_session_id_names_no_session(store: RedisSessionStore, name: str) -> None:
    assert await store.get(name, "anna") is None
    assert not await store.delete(name, "anna")


def test_session_ids_carry_128_random_bits() -> None:
    ids = {new_session_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert all(is_session_id(name) and len(name) == len("session_") + 32 for name in ids)


async def test_an_id_given_out_while_redis_was_away_is_kept_but_never_taken_over(store: RedisSessionStore) -> None:
    kept = new_session_id()

    assert (await store.create("anna", session_id=kept)).session_id == kept
    with pytest.raises(ChainConflict):
        await store.create("bert", session_id=kept)
    owned = await store.get(kept, "anna")
    assert owned is not None
    assert owned.user_id == "anna"


async def test_the_chain_moves_only_from_where_the_turn_began(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    session = await store.create("anna")
    first = session.model_copy(update={"root_response_id": "resp_1", "last_response_id": "resp_1"})
    await store.update(first, expected_last_response_id=None)

    with pytest.raises(ChainConflict, match="went on elsewhere"):
        await other.update(first.model_copy(update={"last_response_id": "resp_x"}), expected_last_response_id=None)
    second = first.model_copy(update={"last_response_id": "resp_2"})
    assert (await other.update(second, expected_last_response_id="resp_1")).last_response_id == "resp_2"
    restarted = second.model_copy(update={"last_response_id": None})
    kept = await store.update(restarted, expected_last_response_id="resp_2")
    assert kept.last_response_id is None
    assert await store.get(session.session_id, "anna") == kept


async def test_of_two_stores_that_race_for_the_chain_exactly_one_wins_each_round(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    session = await store.create("anna")
    last: str | None = None
    for step in range(30):
        results = await asyncio.gather(
            *(
                racer.update(
                    session.model_copy(update={"last_response_id": f"{name}{step}"}), expected_last_response_id=last
                )
                for name, racer in (("a", store), ("b", other))
            ),
            return_exceptions=True,
        )
        assert [type(result) for result in results].count(ChainConflict) == 1, results
        stored = await store.get(session.session_id, "anna")
        assert stored in results
        assert stored is not None
        last = stored.last_response_id


async def test_messages_come_back_in_order_and_are_counted_by_the_store(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    session = await store.create("anna")
    question = Message(role="user", content="  HER2:negative?\n\n| a |\n")
    answer = Message(role="assistant", content="\n5*3*2 ", response_id="r1", outcome="completed", citations=("p", "q"))

    await store.append_messages(session.session_id, [question, answer])
    await other.append_messages(session.session_id, [question])
    # A turn that began before those messages must not count them back.
    updated = await store.update(session, expected_last_response_id=None)

    assert await store.messages(session.session_id) == (question, answer, question)
    assert await store.messages(session.session_id, limit=2) == (answer, question)
    assert updated.message_count == 3
    assert await store.get(session.session_id, "anna") == updated


async def test_the_newest_thousand_messages_are_kept(store: RedisSessionStore) -> None:
    session = await store.create("anna")
    await store.append_messages(session.session_id, [Message(role="user", content=str(n)) for n in range(1003)])

    kept = await store.messages(session.session_id)

    assert [message.content for message in kept] == [str(n) for n in range(3, 1003)]
    stored = await store.get(session.session_id, "anna")
    assert stored is not None
    assert stored.message_count == 1003


async def test_a_passage_keeps_its_number_for_the_whole_conversation(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    session = await store.create("anna")

    assert await store.add_retrieved(session.session_id, [passage("a"), passage("b"), passage("a")]) == (1, 2, 1)
    assert await other.add_retrieved(session.session_id, [passage("c"), passage("b", "changed")]) == (3, 2)
    assert await store.add_retrieved(session.session_id, []) == ()
    found = await store.retrieved(session.session_id)
    assert [(number, item.id) for number, item in found.items()] == [(1, "a"), (2, "b"), (3, "c")]
    assert found[2] == passage("b"), "an answer already cites the first content"


async def test_numbers_stay_unique_when_two_stores_retrieve_at_once(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    session = await store.create("anna")
    batches = [[passage(f"p{n % 40}") for n in range(start, start + 7)] for start in range(0, 80, 3)]

    replies = await asyncio.gather(
        *((store, other)[n % 2].add_retrieved(session.session_id, batch) for n, batch in enumerate(batches))
    )

    given = {
        (item.id, number)
        for batch, numbers in zip(batches, replies, strict=True)
        for item, number in zip(batch, numbers, strict=True)
    }
    assert sorted(number for _, number in given) == list(range(1, 41))
    assert {(item.id, number) for number, item in (await store.retrieved(session.session_id)).items()} == given


async def test_a_streaming_state_is_read_by_another_process(store: RedisSessionStore, other: RedisSessionStore) -> None:
    session = await store.create("anna")
    state = StreamingState(status="streaming", chunk_count=7, response_id="resp_1")

    await store.set_streaming_state(session.session_id, "request-1", state)

    assert await other.streaming_state(session.session_id, "request-1") == state
    assert await other.streaming_state(session.session_id, "request-2") is None


async def test_every_key_expires_and_each_use_renews_all_of_them(redis_url: str, redis: Redis) -> None:
    store = RedisSessionStore(redis_url, ttl=500)
    session = await store.create("anna")
    await store.append_messages(session.session_id, [Message(role="user", content="q")])
    await store.add_retrieved(session.session_id, [passage("a")])
    await store.set_streaming_state(session.session_id, "r", StreamingState(status="completed"))
    keys = await keys_of(redis, session.session_id)
    for key in keys:
        await redis.expire(key, 10)

    await store.get(session.session_id, "anna")

    assert len(keys) == 5
    assert all([495 < await redis.ttl(key) <= 500 for key in keys])
    await store.aclose()


async def test_nothing_of_a_deleted_conversation_remains_or_comes_back(store: RedisSessionStore, redis: Redis) -> None:
    session = await store.create("anna")
    await store.append_messages(session.session_id, [Message(role="user", content="q")])
    await redis.rpush(f"asclepius:{{{session.session_id}}}:messages", "not a message")
    await store.messages(session.session_id)

    assert await store.delete(session.session_id, "anna")

    for write in (
        store.append_messages(session.session_id, [Message(role="user", content="q")]),
        store.add_retrieved(session.session_id, [passage("a")]),
        store.set_streaming_state(session.session_id, "r", StreamingState(status="streaming")),
        store.update(session, expected_last_response_id=None),
    ):
        with pytest.raises(ChainConflict, match="deleted or has expired"):
            await write
    assert await keys_of(redis, session.session_id) == []


async def test_a_conversation_answers_one_question_at_a_time(
    store: RedisSessionStore, other: RedisSessionStore
) -> None:
    """Row 28: the second question waits, or is told that the first still runs."""
    session = await store.create("anna")
    order: list[str] = []

    async def turn(racer: RedisSessionStore, name: str) -> None:
        async with racer.lock(session.session_id, wait=60):
            order.append(f"{name} in")
            await racer.ping()
            order.append(f"{name} out")

    async with store.lock(session.session_id, wait=0):
        with pytest.raises(SessionBusy, match="still being answered"):
            async with other.lock(session.session_id, wait=0.1):
                pytest.fail("two turns at once")
    await asyncio.gather(*(turn((store, other)[n % 2], str(n)) for n in range(6)))

    assert len(order) == 12
    assert all(order[n].split()[0] == order[n + 1].split()[0] for n in range(0, 12, 2)), order


async def test_the_lock_is_given_back_when_the_turn_fails_or_is_cancelled(store: RedisSessionStore) -> None:
    session = await store.create("anna")
    inside = asyncio.Event()

    async def turn() -> None:
        async with store.lock(session.session_id, wait=0):
            inside.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(turn())
    await inside.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(RuntimeError):
        async with store.lock(session.session_id, wait=0):
            raise RuntimeError
    async with store.lock(session.session_id, wait=0):
        pass


async def test_only_its_holder_gives_a_lock_back(store: RedisSessionStore, redis: Redis) -> None:
    session = await store.create("anna")
    key = f"asclepius:{{{session.session_id}}}:lock"

    async with store.lock(session.session_id, wait=0):
        assert 0 < await redis.pttl(key) <= 15_000, "a holder that dies must not hold it for ever"
        await redis.set(key, "another turn's token")

    assert await redis.get(key) == b"another turn's token"


@pytest.mark.parametrize("url", ["http://redis:6379", "redis.example", ""])
def test_a_url_that_is_not_for_redis_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigurationError, match="REDIS_URL"):
        RedisSessionStore(url)


async def test_turns_that_append_at_once_share_a_round_trip_and_each_gets_its_own_answer(
    store: RedisSessionStore, redis: Redis
) -> None:
    journal = store.journal
    for turn in ("t0", "t1", "t2"):
        await journal.begin(turn, "thread", "question", "header", owner="ana")
    assert not await journal.append("lost", [b"connects"])
    sent = (await redis.info("stats"))["total_reads_processed"]
    names = ["t0", "t1", "lost", "t2"]
    known = await asyncio.gather(*(journal.append(name, [b"%b a" % name.encode(), b"b"]) for name in names))
    assert (await redis.info("stats"))["total_reads_processed"] - sent <= 3, "one read, and those of INFO"
    assert known == [True, True, False, True]
    for turn in ("t0", "t1", "t2"):
        assert await journal.append(turn, [b"c"])
        assert await journal.read_after(turn, 0) == [f"{turn} a", "b", "c"]


async def test_what_an_append_of_many_turns_computes_is_bounded(store: RedisSessionStore) -> None:
    journal, turns, called = store.journal, [f"turn {number}" for number in range(20)], Counter[str]()
    for turn in turns:
        await journal.begin(turn, "thread", "question", "header", owner="ana")

    def counted(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and {"redis", "chat_app"} & set(Path(frame.f_code.co_filename).parts):
            called[frame.f_code.co_qualname] += 1

    for profile in (None, counted):
        sys.setprofile(profile)
        known = await asyncio.gather(*(journal.append(turn, [b"text"]) for turn in turns))
        sys.setprofile(None)
        assert known == [True] * len(turns)
    assert called.total() <= 14 * len(turns), called.most_common(20)


async def test_a_reply_that_cannot_be_read_is_not_taken_for_that_of_the_next_command(redis_url: str) -> None:
    client = BatchedRedis(ConnectionPool.from_url(redis_url, max_connections=1))

    def unreadable(response: Any, **_: Any) -> None:
        raise ZeroDivisionError

    client.response_callbacks["ECHO"] = unreadable
    for _ in range(2):
        given = await asyncio.gather(
            client.execute_command("ECHO", "a"), client.blpop(["asclepius:none"], 0.5), return_exceptions=True
        )
        assert [type(reply) for reply in given] == [ZeroDivisionError] * 2
        assert await client.execute_command("INCRBYFLOAT", "asclepius:test", "0.5") == 0.5
        assert await client.delete("asclepius:test") == 1
    await client.aclose(close_connection_pool=True)


async def test_a_turn_whose_journal_redis_refuses_disturbs_no_other(store: RedisSessionStore, redis: Redis) -> None:
    journal = store.journal
    await journal.begin("good", "thread", "question", "header", owner="ana")
    await redis.set("asclepius:{turn:bad}", "not a list")
    given = await asyncio.gather(*(journal.append(n, [b"a"]) for n in ("bad", "good")), return_exceptions=True)
    assert [type(value) for value in given] == [SessionStoreUnavailable, bool]
    assert "bad" not in str(given[0])


async def test_a_redis_that_is_down_fails_all_that_append() -> None:
    journal = RedisSessionStore("unix:///nonexistent/redis.sock").journal
    given = await asyncio.gather(*(journal.append(n, [b"a"]) for n in ("one", "two")), return_exceptions=True)
    assert [type(value) for value in given] == [SessionStoreUnavailable] * 2


async def test_batches_keep_their_connection_and_start_one_task_each(redis_url: str) -> None:
    client = BatchedRedis(ConnectionPool.from_url(redis_url))
    started: list[str] = []

    def start(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        started.append(work.__qualname__)
        return asyncio.Task(work, loop=loop, **options)

    await client.ping()
    async with Redis.from_url(redis_url) as other:
        before = (await other.info("stats"))["total_connections_received"]
        asyncio.get_running_loop().set_task_factory(start)
        try:
            for _ in range(5):
                await asyncio.gather(*(client.execute_command("PING") for _ in range(3)))
        finally:
            asyncio.get_running_loop().set_task_factory(None)
        await other.client_kill_filter(skipme=True)
        assert await client.ping(), "connects again by itself"
        assert (await other.info("stats"))["total_connections_received"] - before == 1
    assert len([name for name in started if not name.endswith("execute_command")]) == 5
    await client.aclose(close_connection_pool=True)
