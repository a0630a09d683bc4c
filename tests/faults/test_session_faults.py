"""What conversations survive: a Redis that is down, slow, killed or full, cancelled commands, unreadable records."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.asyncio import Redis

from chat_app.embedded.redis_binary import redis_binary
from chat_app.errors import SessionBusy, SessionStoreUnavailable
from chat_app.events import AgentEvent, TextDelta, TurnEnded, agent_event_adapter
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.keeping.turn_writer import _PAUSE_SECONDS, TurnWriter
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_lock import LOCK_SECONDS
from chat_app.sessions.session_store import Message, Session, StreamingState
from tests.support.services import accepts, wait_until
from tests.support.waiting import until
from tools.types import Passage

CANARY = "Mrs Quillfeather, 71, potassium 6.1"


class KillableRedis:
    """A Redis that a test kills, freezes and starts again on the same socket and the same data."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.path = str(folder / "redis.sock")
        self.url = f"unix://{self.path}"
        self._command = [
            redis_binary(),
            "--port",
            "0",
            "--unixsocket",
            self.path,
            "--dir",
            str(data),
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        wait_until(lambda: accepts(self.path), what="Redis")

    def send(self, signal_number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal_number)

    def kill(self) -> None:
        if self._process is not None:
            self.send(signal.SIGKILL)
            self._process.wait()
            self._process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KillableRedis]:
    with tempfile.TemporaryDirectory(prefix="asc-") as short:
        server = KillableRedis(Path(short), tmp_path)
        yield server
        server.kill()


@pytest.fixture
async def store(server: KillableRedis) -> AsyncIterator[RedisSessionStore]:
    store = RedisSessionStore(server.url)
    yield store
    await store.aclose()


@pytest.fixture
async def redis(server: KillableRedis) -> AsyncIterator[Redis]:
    client: Redis = Redis.from_url(server.url)
    yield client
    await client.aclose()


def key(session: Session, part: str) -> str:
    return f"asclepius:{{{session.session_id}}}:{part}"


async def test_a_redis_that_is_away_is_said_plainly_and_used_again_once_it_is_back(
    server: KillableRedis, store: RedisSessionStore
) -> None:
    """Row 26."""
    with pytest.raises(SessionStoreUnavailable, match="cannot be reached"):
        await store.create("anna")

    server.start()
    session = await store.create("anna")
    await store.append_messages(session.session_id, [Message(role="user", content=CANARY)])
    server.kill()
    with pytest.raises(SessionStoreUnavailable):
        await store.get(session.session_id, "anna")

    server.start()
    assert await store.get(session.session_id, "anna") is not None
    assert [message.content for message in await store.messages(session.session_id)] == [CANARY]


async def test_calls_to_a_frozen_redis_end_while_it_is_still_frozen(
    server: KillableRedis, store: RedisSessionStore
) -> None:
    """Row 26, slow."""
    server.start()
    session = await store.create("anna")
    assert not await store.journal.append("turn", [b"event"])
    server.send(signal.SIGSTOP)
    try:
        results = await asyncio.gather(
            *(store.get(session.session_id, "anna") for _ in range(20)),
            store.journal.append("turn", [b"event"]),
            return_exceptions=True,
        )
    finally:
        server.send(signal.SIGCONT)

    assert {type(result) for result in results} == {SessionStoreUnavailable}
    assert await store.get(session.session_id, "anna") is not None
    assert not await store.journal.append("turn", [b"event"])


async def test_a_turn_whose_redis_dies_goes_on_and_the_conversation_is_free_afterwards(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 26, dying mid-turn. The lock gets an expiry that a slow start of Redis cannot pass."""
    server.start()
    session = await store.create("anna")
    lock = key(session, "lock")
    async with store.lock(session.session_id, wait=0):
        await redis.pexpire(lock, 600_000)
        server.kill()
    server.start()

    # Redis kept the lock on disk: it is the expiry that frees it.
    with pytest.raises(SessionBusy):
        async with store.lock(session.session_id, wait=0):
            pytest.fail("the dead turn's lock was ignored")
    await redis.pexpire(lock, 500)
    async with store.lock(session.session_id, wait=60):
        assert await store.get(session.session_id, "anna") is not None


async def test_a_redis_that_comes_back_empty_gets_each_event_of_a_running_turn_once(
    server: KillableRedis, store: RedisSessionStore, tmp_path: Path
) -> None:
    server.start()
    question = PageQuestion("ana", "thread", "message", "How?", "turn", PageOptions(), ["model"])
    turn = question.turns["model"]
    writer = TurnWriter(turn, lambda: question.header_of(turn), lambda: store, question=question)
    turn.write_ahead = writer.write

    async def events() -> AsyncIterator[AgentEvent]:
        for text in ("A ", "B "):
            yield TextDelta(text=text)
            await until(lambda shown=text: turn.log.answer.endswith(shown), what="the text")
            server.kill()
        shutil.rmtree(tmp_path / "appendonlydir")
        server.start()
        await asyncio.sleep(_PAUSE_SECONDS)
        yield TextDelta(text="C ")

    await turn.run(events())
    await writer.close()
    _, *lines = await store.journal.read(turn.id)
    kept = [agent_event_adapter.validate_json(line) for line in lines]
    assert "".join(event.text for event in kept if isinstance(event, TextDelta)) == turn.log.answer == "A B C "
    assert [type(event) for event in kept].count(TurnEnded) == 1


async def test_a_held_lock_is_renewed_before_its_first_expiry(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 28: an answer may take minutes.

    One event loop fires its timers in the order of their times, however busy the machine: a renewal that is due
    within the lock's life is sent before the lock is given back.
    """
    server.start()
    session = await store.create("anna")
    async with store.lock(session.session_id, wait=0):
        await redis.config_resetstat()
        await asyncio.sleep(LOCK_SECONDS)
    assert (await redis.info("commandstats"))["cmdstat_set"]["calls"] >= 1
    assert not await redis.exists(key(session, "lock"))


async def test_a_renewal_sets_the_whole_expiry_again(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 28: the lock gets an expiry that only a renewal ends, so that a busy machine cannot let it expire."""
    server.start()
    session = await store.create("anna")
    lock, longer = key(session, "lock"), 60 * int(LOCK_SECONDS * 1000)
    async with store.lock(session.session_id, wait=0):
        holder = await redis.get(lock)
        await redis.pexpire(lock, longer)
        while (left := await redis.pttl(lock)) > LOCK_SECONDS * 1000:
            await asyncio.sleep(0.1)
        assert left > 0
        assert await redis.get(lock) == holder
    assert not await redis.exists(lock)


async def test_cancelled_commands_never_hand_their_reply_to_another(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 17."""
    server.start()
    sessions = [await store.create(f"user{n}") for n in range(4)]
    chance = random.Random(17)
    for round_ in range(60):
        if round_ % 6 == 0:
            await redis.client_pause(30)
        tasks = [asyncio.create_task(store.get(session.session_id, session.user_id)) for session in sessions]
        await asyncio.sleep(chance.random() * 0.02)
        for task in chance.sample(tasks, 2):
            task.cancel()
        replies = await asyncio.gather(*tasks, return_exceptions=True)
        for session, reply in zip(sessions, replies, strict=True):
            assert reply == session or isinstance(reply, asyncio.CancelledError), reply
    assert [await store.get(session.session_id, session.user_id) for session in sessions] == sessions
    assert store.corrupt_records == 0


async def test_a_write_that_was_cancelled_is_whole_or_absent(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 17."""
    server.start()
    session = await store.create("anna")
    pair = [Message(role="user", content="q"), Message(role="assistant", content="a")]
    # Only writes wait, so that the pause can be ended: it lasts however busy the machine is.
    await redis.client_pause(240_000, all=False)
    writing = asyncio.create_task(store.append_messages(session.session_id, pair))
    await asyncio.sleep(0.02)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await redis.client_unpause()

    assert await store.messages(session.session_id) in ((), tuple(pair))


async def test_a_turn_cancelled_while_it_waits_for_the_lock_leaves_no_lock(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Rows 15 and 28: Stop, then the next question at once."""
    server.start()
    session = await store.create("anna")

    async def turn() -> None:
        async with store.lock(session.session_id, wait=5):
            pytest.fail("the turn was stopped before it began")

    for pause in (0.0, 0.001, 0.02):
        await redis.client_pause(100)
        waiting = asyncio.create_task(turn())
        await asyncio.sleep(pause)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with store.lock(session.session_id, wait=2):
            pass


@pytest.mark.parametrize(
    "damage",
    [
        {"schema_version": "7"},
        {"message_count": "many"},
        {"created_at": "yesterday"},
        {"user_id": None},
        {"session_id": "session_" + "0" * 32},
        {"agent_ready": b"\xff\xfe"},
        {"field_of_another_version": "x"},
    ],
    ids=lambda damage: next(iter(damage)),
)
async def test_an_unreadable_record_is_kept_aside_counted_and_missing(
    server: KillableRedis, store: RedisSessionStore, redis: Redis, damage: dict[str, str | bytes | None]
) -> None:
    """Row 27."""
    server.start()
    session = await store.create("anna")
    await store.append_messages(session.session_id, [Message(role="user", content=CANARY)])
    for name, value in damage.items():
        await (
            redis.hdel(key(session, "session"), name)
            if value is None
            else redis.hset(key(session, "session"), name, value)
        )
    damaged = await redis.hgetall(key(session, "session"))

    assert await store.get(session.session_id, "anna") is None
    assert await store.get(session.session_id, "anna") is None

    assert store.corrupt_records == 1
    assert await redis.hgetall(key(session, "session:aside")) == damaged
    assert await store.messages(session.session_id) == ()
    assert len(await redis.lrange(key(session, "messages:aside"), 0, -1)) == 1
    assert 0 < await redis.ttl(key(session, "session:aside")) <= 86_400
    assert (await store.create("bert", session_id=session.session_id)).message_count == 0


async def test_a_key_of_another_kind_is_kept_aside_too(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 27, a record as an older version may have written it."""
    server.start()
    session = await store.create("anna")
    await redis.set(key(session, "session"), json.dumps({"session_id": session.session_id}))

    assert await store.get(session.session_id, "anna") is None
    assert store.corrupt_records == 1
    assert await redis.type(key(session, "session:aside")) == b"string"


async def test_one_unreadable_entry_costs_only_itself(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    """Row 27."""
    server.start()
    session = await store.create("anna")
    good = Message(role="user", content="q")
    await store.append_messages(session.session_id, [good])
    await redis.lpush(key(session, "messages"), '{"role": "wizard"}')
    items = [Passage(id=name, kind="guideline", document_id="d", title="t", text="x") for name in "abc"]
    await store.add_retrieved(session.session_id, items)
    await redis.hset(key(session, "passages"), "b", "{")
    await redis.hset(key(session, "numbers"), "c", "three")
    await redis.hset(key(session, "streaming"), "r", "null")

    assert await store.messages(session.session_id) == (good,)
    assert [item.id for item in (await store.retrieved(session.session_id)).values()] == ["a"]
    assert await store.streaming_state(session.session_id, "r") is None
    assert store.corrupt_records == 4
    assert await redis.lrange(key(session, "messages:aside"), 0, -1) == [b'{"role": "wizard"}']
    assert await store.add_retrieved(session.session_id, items) == (1, 2, 3)
    assert len(await store.retrieved(session.session_id)) == 3


async def test_a_redis_that_refuses_writes_is_said_plainly(
    server: KillableRedis, store: RedisSessionStore, redis: Redis
) -> None:
    server.start()
    session = await store.create("anna")
    await redis.config_set("maxmemory", "1")

    with pytest.raises(SessionStoreUnavailable, match="memory limit"):
        await store.append_messages(session.session_id, [Message(role="user", content=CANARY)])

    await redis.config_set("maxmemory", "0")
    await store.append_messages(session.session_id, [Message(role="user", content="q")])


async def test_a_refused_login_names_the_setting_and_not_the_password(server: KillableRedis, redis: Redis) -> None:
    server.start()
    await redis.config_set("requirepass", "right-secret")
    store = RedisSessionStore(server.url + "?password=wrong-secret")
    with pytest.raises(SessionStoreUnavailable, match="REDIS_URL") as refused:
        await store.ping()
    assert "secret" not in repr(refused.value)
    await store.aclose()


async def test_no_log_or_error_holds_what_a_patient_is_about(
    server: KillableRedis, store: RedisSessionStore, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 46."""
    caplog.set_level(logging.DEBUG)
    server.start()
    session = await store.create("anna")
    said = [Message(role="user", content=CANARY)]
    await store.append_messages(session.session_id, said)
    await redis.rpush(key(session, "messages"), CANARY)
    await store.messages(session.session_id)
    errors: list[str] = []
    await redis.config_set("maxmemory", "1")
    with suppress(SessionStoreUnavailable):
        await store.append_messages(session.session_id, said)
    server.kill()
    for failing in (
        store.append_messages(session.session_id, said),
        store.set_streaming_state(session.session_id, CANARY, StreamingState(status="streaming")),
    ):
        with pytest.raises(SessionStoreUnavailable) as caught:
            await failing
        errors += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.args)]

    assert store.corrupt_records == 1
    assert "Quillfeather" not in caplog.text + " ".join(errors)
