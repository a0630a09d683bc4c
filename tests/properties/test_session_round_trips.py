"""Whatever is stored in a conversation comes back exactly, for any text."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message, Session, new_session_id
from tools.types import Passage

texts = st.text(max_size=60)
optional = st.none() | texts
moments = st.datetimes(timezones=st.just(UTC))
sessions = st.builds(
    Session,
    session_id=st.builds(new_session_id),
    user_id=texts,
    created_at=moments,
    last_active_at=st.just(0),
    vector_store_id=optional,
    root_response_id=optional,
    last_response_id=optional,
    message_count=st.just(0),
    agent_ready=st.booleans(),
    model_key=texts,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    content=texts,
    at=moments,
    response_id=optional,
    outcome=st.sampled_from([None, "completed", "incomplete", "refused", "failed"]),
    citations=st.lists(texts, max_size=4).map(tuple),
)
passages = st.builds(
    Passage,
    id=texts,
    kind=st.sampled_from(["guideline", "drug_record"]),
    document_id=texts,
    title=texts,
    text=texts,
    section=texts,
    page=st.none() | st.integers(1, 900),
    page_label=optional,
    score=st.floats(allow_nan=False),
)
against_redis = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
Check = Callable[[RedisSessionStore], Coroutine[None, None, None]]


@pytest.fixture
def with_store(redis_url: str) -> Callable[[Check], Coroutine[None, None, None]]:
    async def run(check: Check) -> None:
        store = RedisSessionStore(redis_url)
        try:
            await check(store)
            assert store.corrupt_records == 0
        finally:
            await store.aclose()

    return run


@against_redis
@given(wanted=sessions)
async def test_any_session_record_comes_back_as_it_was_written(
    with_store: Callable[[Check], Coroutine[None, None, None]], wanted: Session
) -> None:
    async def check(store: RedisSessionStore) -> None:
        await store.create(wanted.user_id, session_id=wanted.session_id)
        written = await store.update(wanted, expected_last_response_id=None)
        assert written == wanted.model_copy(update={"last_active_at": written.last_active_at})
        assert await store.get(wanted.session_id, wanted.user_id) == written

    await with_store(check)


@against_redis
@given(wanted=st.lists(messages, max_size=8))
async def test_any_messages_come_back_character_by_character(
    with_store: Callable[[Check], Coroutine[None, None, None]], wanted: list[Message]
) -> None:
    async def check(store: RedisSessionStore) -> None:
        session = await store.create("anna")
        await store.append_messages(session.session_id, wanted)
        assert await store.messages(session.session_id) == tuple(wanted)

    await with_store(check)


@against_redis
@given(batches=st.lists(st.lists(passages, max_size=6), max_size=4))
async def test_any_passages_keep_first_content_and_a_number_of_their_own(
    with_store: Callable[[Check], Coroutine[None, None, None]], batches: list[list[Passage]]
) -> None:
    async def check(store: RedisSessionStore) -> None:
        session = await store.create("anna")
        first: dict[str, tuple[int, Passage]] = {}
        for batch in batches:
            numbers = await store.add_retrieved(session.session_id, batch)
            for item, number in zip(batch, numbers, strict=True):
                assert first.setdefault(item.id, (len(first) + 1, item))[0] == number
        found = await store.retrieved(session.session_id)
        assert list(found.items()) == sorted(first.values(), key=lambda pair: pair[0])

    await with_store(check)
