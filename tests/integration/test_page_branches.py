"""Which conversation each model goes on in: its own, or a copy of the main one; what nobody goes on in is deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chat_app.interface.history.branches import branch, conversations_of, went_on_in
from chat_app.interface.history.history_layer import History
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import Message

THREAD = "thread"


@dataclass
class Talk:
    """A thread of the page and the store of the agent's conversations."""

    history: History
    store: RedisSessionStore
    user: str = field(default_factory=lambda: f"user-{uuid4()}")

    async def begin(self, question: str) -> str:
        """A conversation in which ``question`` was answered."""
        made = await self.store.create(self.user)
        await self.say(made.session_id, question)
        return made.session_id

    async def say(self, conversation: str, question: str) -> None:
        said = [Message(role="user", content=question), Message(role="assistant", content=f"Re: {question}")]
        await self.store.append_messages(conversation, said)

    async def questions(self, conversation: str | None) -> list[str]:
        assert conversation is not None
        return [m.content for m in await self.store.messages(conversation) if m.role == "user"]

    async def branch(self, *models: str) -> dict[str, str | None]:
        return await branch(self.history, self.store, THREAD, self.user, models)

    async def answered(self, conversations: dict[str, str | None], question: str) -> None:
        """Every model has answered ``question``; one that began anew has a conversation now."""
        kept: dict[str, Any] = {}
        for place, (model, known) in enumerate(conversations.items()):
            conversation = known or await self.begin(question)
            if known:
                await self.say(known, question)
            kept |= went_on_in(model, conversation, compared=len(conversations) > 1, first=place == 0)
        await self.history.save_turn(THREAD, [], [], kept)

    async def there(self) -> list[str]:
        return [summary.session.session_id for summary in await self.store.summaries(self.user)]


@pytest.fixture
async def talk(redis_url: str, tmp_path: Path) -> AsyncIterator[Talk]:
    history = History(f"sqlite+aiosqlite:///{tmp_path / 'history.sqlite3'}")
    await history.setup()
    store = RedisSessionStore(redis_url, ttl=3600)
    yield Talk(history, store)
    await store.aclose()
    await history.close()


async def test_models_that_begin_together_keep_apart(talk: Talk) -> None:
    first = await talk.branch("a", "b")
    assert first == {"a": None, "b": None}
    await talk.answered(first, "one")
    second = await talk.branch("a", "b")
    assert None not in second.values()
    assert second["a"] != second["b"]
    assert await talk.branch("a", "b") == second


async def test_a_model_that_joins_knows_what_was_said_before(talk: Talk) -> None:
    await talk.answered(await talk.branch("a"), "one")
    chosen = await talk.branch("a", "b")
    assert chosen["a"] != chosen["b"]
    assert await talk.questions(chosen["a"]) == ["one"]
    assert await talk.questions(chosen["b"]) == ["one"]


async def test_a_model_asked_alone_goes_on_in_its_own_branch_and_the_others_are_deleted(talk: Talk) -> None:
    await talk.answered(await talk.branch("a", "b"), "one")
    both = await talk.branch("a", "b")
    await talk.answered(both, "two")
    assert await talk.branch("b") == {"b": both["b"]}
    assert await talk.there() == [both["b"]]
    assert conversations_of(await talk.history.metadata_of(THREAD)) == [both["b"]]


async def test_another_model_asked_alone_goes_on_from_the_first_column(talk: Talk) -> None:
    await talk.answered(await talk.branch("a", "b"), "one")
    both = await talk.branch("a", "b")
    assert await talk.branch("c") == {"c": both["a"]}


async def test_a_column_that_is_replaced_goes_on_from_the_first_one(talk: Talk) -> None:
    await talk.answered(await talk.branch("a", "b"), "one")
    both = await talk.branch("a", "b")
    assert both["a"] is not None
    await talk.say(both["a"], "only a heard this")
    later = await talk.branch("b", "c")
    assert later["b"] == both["b"]
    assert await talk.questions(later["c"]) == ["one", "only a heard this"]
    assert set(await talk.there()) == set(later.values())


async def test_the_thread_names_every_branch_to_erase(talk: Talk) -> None:
    await talk.history.save_turn(THREAD, owner=talk.user, name="x")
    await talk.answered(await talk.branch("a", "b"), "one")
    named = conversations_of(await talk.history.metadata_of(THREAD))
    assert sorted(named) == sorted(await talk.there())
    assert len(named) == 2
