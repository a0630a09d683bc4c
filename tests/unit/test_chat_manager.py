"""What a conversation means: its owner, its chain, its transcript, and what becomes of it when Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from chat_app.agent.chat_manager import NEW_CONVERSATION, NOT_SAVED, ChatManager, title_of
from chat_app.answer_options import ConsultOptions
from chat_app.events import Notice, Outcome, RunnerResult, TurnStarted
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_lock import LOCK_SECONDS
from chat_app.sessions.session_store import Message, new_session_id
from tests.support.engine import chained, clinic, consult, ended, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, calls_reply, text_reply
from tools.function_tool import FunctionTool

ASK = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
NOWHERE = "unix:///nowhere/redis.sock"


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisSessionStore]:
    store = RedisSessionStore(redis_url)
    yield store
    await store.aclose()


def said(answer: str, response_id: str | None, kind: str = "completed") -> RunnerResult:
    return RunnerResult(answer=answer, response_id=response_id, outcome=Outcome.model_validate({"kind": kind}))


async def test_the_chain_moves_with_whole_answers_and_remembers_what_it_lacks(store: RedisSessionStore) -> None:
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        assert (talk.previous_response_id, talk.transcript(), talk.unchained()) == (None, (), ())
        await talk.record("1?", said("One.", "resp_1"), [])
    for question, answer in (("2?", "Tw"), ("3?", "")):
        async with chats.open(talk.id, "anna", model_key="a") as talk:
            await talk.record(question, said(answer, talk.previous_response_id, "incomplete"), [])
    async with chats.open(talk.id, "anna", model_key="a") as talk:
        assert talk.previous_response_id == "resp_1"
        assert [item["content"][0]["text"] for item in talk.unchained()] == ["2?", "Tw", "3?", "(no answer)"]
        assert [item["role"] for item in talk.unchained()] == ["user", "assistant"] * 2
        assert len(talk.transcript()) == 6
        await talk.record("4?", said("Four.", "resp_4"), [])
    async with chats.open(talk.id, "anna", model_key="a") as talk:
        assert (talk.previous_response_id, talk.unchained()) == ("resp_4", ())


async def test_a_chain_belongs_to_the_model_it_was_begun_with(store: RedisSessionStore) -> None:
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        await talk.record("1?", said("One.", "resp_1"), [])
    async with chats.open(talk.id, "anna", model_key="b") as talk:
        assert (talk.previous_response_id, talk.unchained()) == (None, ())
        assert len(talk.transcript()) == 2
        await talk.record("2?", said("Two.", "other_2"), [])
    async with chats.open(talk.id, "anna", model_key="b") as talk:
        assert talk.previous_response_id == "other_2"


async def test_another_users_conversation_is_not_there(store: RedisSessionStore) -> None:
    """Row 33, the conversation's side."""
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        await talk.record("1?", said("One.", "resp_1"), [])
    async with chats.open(talk.id, "ben", model_key="a") as other:
        assert other.id != talk.id
        assert other.notices == [NEW_CONVERSATION]
        assert other.transcript() == ()
    assert await store.get(talk.id, "ben") is None
    assert await chats.delete(talk.id, "ben") is False
    assert [message.content for message in await store.messages(talk.id)] == ["1?", "One."]
    assert await chats.delete(talk.id, "anna") is True
    assert await chats.delete("session_1", "anna") is False
    assert await store.get(talk.id, "anna") is None


async def test_an_id_that_was_given_out_unsaved_is_kept(store: RedisSessionStore) -> None:
    chats, wanted = ChatManager(store), new_session_id()
    async with chats.open(wanted, "anna", model_key="a") as talk:
        assert (talk.id, talk.notices) == (wanted, [NEW_CONVERSATION])
    async with chats.open("no id at all", "anna", model_key="a") as talk:
        assert talk.id.startswith("session_")
        assert talk.notices == [NEW_CONVERSATION]


async def test_without_redis_the_answer_comes_and_the_reader_is_told() -> None:
    """Row 26."""
    tools = [guideline_tool(passage("a:1"), passage("b:1"))]
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("So [2] and so [1].", response_id="resp_2"))]
    async with ScriptedServer(turns) as server, clinic(server, NOWHERE, tools) as agent:
        wanted = new_session_id()
        events = await consult(agent, conversation_id=wanted)
    assert isinstance(events[0], TurnStarted)
    assert events[0].conversation_id == wanted
    assert [event for event in events if isinstance(event, Notice)] == [NOT_SAVED]
    end = ended(events)
    assert (end.outcome.kind, end.answer) == ("completed", "So  and so .")


async def test_a_store_that_fails_in_the_middle_of_a_turn_is_noticed_once(store: RedisSessionStore) -> None:
    """Row 26: Redis answered when the turn began."""
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        assert await talk.number_passages([passage("a:1")]) == (1,)
        talk.store = RedisSessionStore(NOWHERE)
        assert await talk.number_passages([passage("b:1"), passage("a:1")]) == (2, 1)
        await talk.record("1?", said("One.", "resp_1"), [])
        assert talk.notices == [NOT_SAVED]
    async with chats.open(None, "anna", model_key="a") as talk:
        talk.store = RedisSessionStore(NOWHERE)
        await talk.record("1?", said("One.", "resp_1"), [])
        await talk.record("2?", said("Two.", "resp_2"), [])
        assert talk.notices == [NOT_SAVED]


async def test_a_conversation_deleted_during_its_turn_does_not_come_back(store: RedisSessionStore) -> None:
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        assert await chats.delete(talk.id, "anna")
        assert await talk.number_passages([passage("a:1")]) == (1,)
        await talk.record("1?", said("One.", "resp_1"), [])
    async with chats.open(None, "anna", model_key="a") as talk:
        assert await chats.delete(talk.id, "anna")
        await talk.record("1?", said("One.", "resp_1"), [])
    assert await store.get(talk.id, "anna") is None


async def test_a_chain_that_moved_on_elsewhere_is_left_as_it_is(
    store: RedisSessionStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 28: the second bolt behind the lock."""
    chats = ChatManager(store)
    async with chats.open(None, "anna", model_key="a") as talk:
        session = await store.get(talk.id, "anna")
        assert session is not None
        moved = session.model_copy(update={"last_response_id": "resp_other"})
        await store.update(moved, expected_last_response_id=None)
        await talk.record("1?", said("One.", "resp_1"), [])
    session = await store.get(talk.id, "anna")
    assert session is not None
    assert session.last_response_id == "resp_other"
    assert "its chain was not advanced" in caplog.text


async def test_an_unforeseen_error_ends_the_turn_and_keeps_its_words_to_itself(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 46: the message of an error nobody planned may hold anything."""

    async def search_clinical_guidelines(question: str) -> str:
        """Search."""
        return question

    turns: list[ScriptedTurn] = [calls_reply(ASK)]
    tool = FunctionTool(search_clinical_guidelines)
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [tool]) as agent:
        # What no tool can do, a defect of our own might.
        tool.astream = _explode  # type: ignore[method-assign, assignment]
        events = await consult(agent)
    end = ended(events)
    assert (end.outcome.kind, end.outcome.retryable) == ("failed", True)
    assert _PATIENT not in caplog.text + end.outcome.message
    assert "A turn failed: " in caplog.text
    assert "ArithmeticError" in caplog.text
    assert "in _explode" in caplog.text


_PATIENT = "Mrs Quillfeather"


async def _explode(*_: object) -> AsyncIterator[None]:
    if _PATIENT:
        raise ArithmeticError(_PATIENT)
    yield


async def test_a_prompt_with_a_hole_is_said_to_be_one(redis_url: str) -> None:
    async with ScriptedServer([]) as server, clinic(server, redis_url) as agent:
        request = agent._request("q", ConsultOptions())
        hole = replace(request, prompt_kwargs={})
        events = [event async for event in agent.responses.process_streaming_query(hole)]
    assert ended(events).outcome.kind == "failed"
    assert "lacks a value" in ended(events).outcome.message


class SlowStore(RedisSessionStore):
    """A Redis that accepts messages only after ``release`` is set."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.release, self.saved = asyncio.Event(), asyncio.Event()

    async def append_messages(self, session_id: str, messages: Sequence[Message]) -> None:
        await self.release.wait()
        await super().append_messages(session_id, messages)
        self.saved.set()


async def test_a_save_that_takes_too_long_does_not_hold_the_end_up(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Row 26, slow."""
    store = SlowStore(redis_url)
    async with (
        ScriptedServer([text_reply("Fine.")]) as server,
        clinic(server, redis_url, store=store, save_seconds=0.1) as agent,
    ):
        events = await consult(agent)
        assert ended(events).answer == "Fine."
        assert "could not be saved within 0.1 s" in caplog.text
        store.release.set()
        async with asyncio.timeout(60):
            await store.saved.wait()
        assert isinstance(events[0], TurnStarted)
        history = await agent.chats.store.messages(events[0].conversation_id)
    assert history[1].content == "Fine.", "it is saved all the same"


async def test_stop_while_the_conversation_is_held_by_another_turn_leaves_no_lock(redis_url: str) -> None:
    """Row 15."""
    never = asyncio.Event()
    turns: list[ScriptedTurn] = [text_reply("One."), chained(text_reply("Two."))]
    async with ScriptedServer(turns) as server, clinic(server, redis_url) as agent:
        opened = await consult(agent)
        assert isinstance(opened[0], TurnStarted)
        store = RedisSessionStore(redis_url)
        async with store.lock(opened[0].conversation_id, wait=60):
            waiting = asyncio.create_task(consult(agent, "2?", conversation_id=opened[0].conversation_id))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(never.wait(), 0.2)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(60):
            assert ended(await consult(agent, "3?", conversation_id=opened[0].conversation_id)).answer == "Two."
        await store.aclose()


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How much metformin?", "How much metformin?"),
        ("  two\n lines ", "two lines"),
        ("word " * 30, "word " * 11 + "word…"),
        ("x" * 80, "x" * 60 + "…"),
    ],
)
def test_a_title_is_the_first_question_on_one_line(question: str, title: str) -> None:
    assert title_of(question) == title


@pytest.mark.slow
async def test_a_question_waits_longer_than_the_lock_of_a_dead_process_lasts(
    store: RedisSessionStore, redis_url: str
) -> None:
    """Row 28."""
    session = await store.create("anna")
    async with Redis.from_url(redis_url) as redis:
        await redis.set(f"asclepius:{{{session.session_id}}}:lock", "a dead process", px=int(LOCK_SECONDS * 1000))
    async with ChatManager(store).open(session.session_id, "anna", model_key="m") as conversation:
        assert conversation.id == session.session_id


async def test_other_processes_can_read_how_far_a_turn_has_come(redis_url: str) -> None:
    store = RedisSessionStore(redis_url)
    async with ScriptedServer([text_reply("Fine.")]) as server, clinic(server, redis_url) as agent:
        events = await consult(agent, turn_id="turn-1")
        started = events[0]
        assert isinstance(started, TurnStarted)
        state = await store.streaming_state(started.conversation_id, "turn-1")
    await store.aclose()
    assert state is not None
    assert (state.status, state.response_id, state.chunk_count > 0) == ("completed", "resp_1", True)


async def test_a_conversation_keeps_the_vector_store_that_it_was_searched_in(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [text_reply("a"), *[chained(text_reply("b", response_id=f"r{n}")) for n in range(2)]]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [guideline_tool()]) as agent:
        started = (await consult(agent, vector_store_id="vs_1"))[0]
        assert isinstance(started, TurnStarted)
        await consult(agent, conversation_id=started.conversation_id)
        await consult(agent, conversation_id=started.conversation_id, use_clinical_guidelines=False)
    searched = [
        [tool["vector_store_ids"] for tool in request.json.get("tools", []) if tool["type"] == "file_search"]
        for request in server.requests
    ]
    assert searched == [[["vs_1"]], [["vs_1"]], []]
