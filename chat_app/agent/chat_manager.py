"""Conversations: their owner, chain, messages and retrieved passages.

When the session store cannot be reached, the turn is still answered, numbered and chained in memory, and the reader is
told that the conversation was not saved.
"""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from chat_app.errors import ChainConflict, SessionStoreUnavailable
from chat_app.events import Notice, RunnerResult
from chat_app.generation.generator import input_message
from chat_app.sessions.redis_store import RedisSessionStore
from chat_app.sessions.session_store import (
    Message,
    ResumableTurn,
    Session,
    StreamingState,
    is_session_id,
    new_session_id,
)
from tools.types import Passage

logger = logging.getLogger(__name__)

TRANSCRIPT_MESSAGES = 40
"""The newest messages of a conversation that a server gets which does not store it."""
_NO_ANSWER = "(no answer)"
_TITLE_CHARS = 60

NOT_SAVED = Notice(
    code="history_not_saved",
    message="This conversation cannot be saved at the moment: the session store (Redis) does not answer. "
    "Answers still come, but follow-up questions may lack their context.",
)
LOST = Notice(
    code="conversation_lost",
    message="The session store (Redis) lost this conversation while the question was answered: follow-up questions may "
    "lack their context.",
)
NEW_CONVERSATION = Notice(
    code="new_conversation",
    message="The earlier conversation has expired or is not known here; this question starts a new one.",
)


@dataclass(kw_only=True, slots=True)
class Conversation:
    """One conversation during one turn."""

    store: RedisSessionStore | None
    """None once it could not be reached, or has lost the conversation."""
    session: Session
    model_key: str
    """The server and model of this turn."""
    messages: Sequence[Message] = ()
    retrieved: dict[int, Passage] = field(default_factory=dict[int, Passage])
    """What this conversation has retrieved, by number."""
    notices: list[Notice] = field(default_factory=list[Notice])

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.session.session_id

    @property
    def vector_store_id(self) -> str | None:
        """The vector store that the conversation was last searched in."""
        return self.session.vector_store_id

    def searched_in(self, vector_store_id: str | None) -> None:
        """Remember the vector store of this turn, which the session keeps when the turn is recorded."""
        if vector_store_id is not None:
            self.session = self.session.model_copy(update={"vector_store_id": vector_store_id})

    async def report(self, turn_id: str, state: StreamingState) -> None:
        """Store the progress of a turn for other processes; a store that cannot take it is ignored."""
        if self.store is not None:
            with suppress(SessionStoreUnavailable, ChainConflict):
                await self.store.set_streaming_state(self.id, turn_id, state)

    @property
    def previous_response_id(self) -> str | None:
        """The response that the next request chains to; None when the chain belongs to another server or model."""
        session = self.session
        return session.last_response_id if session.model_key == self.model_key else None

    def transcript(self) -> tuple[dict[str, Any], ...]:
        """Return the conversation so far as input items, for a server that does not store it."""
        return _input_items(self.messages[-TRANSCRIPT_MESSAGES:])

    def unchained(self) -> tuple[dict[str, Any], ...]:
        """Return the messages since the chain's last response, from turns that were stopped or broke off."""
        last = self.previous_response_id
        ends = [at for at, message in enumerate(self.messages) if message.response_id == last]
        # Later messages with the same id belong to turns that did not advance the chain.
        since = self.messages[ends[0] + 1 :] if last and ends else ()
        return _input_items(since)

    async def number_passages(self, passages: Sequence[Passage]) -> tuple[int, ...]:
        """Return the number of each passage in this conversation, as ``citation_manager.PassageNumberer``."""
        numbers: tuple[int, ...] | None = None
        if self.store is not None:
            try:
                numbers = await self.store.add_retrieved(self.id, passages)
            except SessionStoreUnavailable:
                self._lost()
            except ChainConflict:
                self._lost(LOST)
        if numbers is None:
            numbers = self._number_here(passages)
        self.retrieved.update(zip(numbers, passages, strict=True))
        return numbers

    def _number_here(self, passages: Sequence[Passage]) -> tuple[int, ...]:
        known = {passage.id: number for number, passage in self.retrieved.items()}
        for passage in passages:
            known.setdefault(passage.id, max(known.values(), default=0) + 1)
        return tuple(known[passage.id] for passage in passages)

    async def record(
        self, question: str, result: RunnerResult, citations: Sequence[str], *, turn_id: str | None = None
    ) -> None:
        """Save both messages and, when the answer is complete, advance the chain."""
        if self.store is None:
            return
        answer = Message(
            role="assistant",
            content=result.answer,
            response_id=result.response_id,
            outcome=result.outcome.kind,
            citations=tuple(citations),
            turn_id=turn_id,
            response_ids=tuple(step.response_id for step in result.step_history if step.response_id),
        )
        try:
            asked = Message(role="user", content=question, turn_id=turn_id)
            await self._append(self.store, asked, answer)
            if result.response_id not in {None, self.previous_response_id}:
                await self._advance(self.store, result.response_id)
        except SessionStoreUnavailable:
            self._lost()
        except ChainConflict:
            logger.warning("A conversation changed during a turn; its chain was not advanced.")

    async def _append(self, store: RedisSessionStore, *messages: Message) -> None:
        try:
            await store.append_messages(self.id, messages)
        except ChainConflict:
            self.notices.append(LOST)
            raise

    async def _advance(self, store: RedisSessionStore, response_id: str | None) -> None:
        session = self.session
        same_chain = self.previous_response_id is not None
        moved = session.model_copy(
            update={
                "last_response_id": response_id,
                "root_response_id": session.root_response_id if same_chain else response_id,
                "model_key": self.model_key,
                "agent_ready": True,
            }
        )
        self.session = await store.update(moved, expected_last_response_id=session.last_response_id)

    def _lost(self, notice: Notice = NOT_SAVED) -> None:
        self.store = None
        self.notices.append(notice)


@dataclass(frozen=True, slots=True)
class ChatManager:
    """Opens conversations in ``store``; waits up to ``lock_wait`` seconds for the turn before."""

    store: RedisSessionStore
    lock_wait: float = 10.0

    @asynccontextmanager
    async def open(
        self, conversation_id: str | None, user_id: str, *, model_key: str
    ) -> AsyncGenerator[Conversation, None]:
        """Lock the conversation for this turn; a new one when ``conversation_id`` is None or unknown to this user.

        ``model_key`` identifies the server and model of the chain. Raises ``SessionBusy`` when another question of the
        conversation is still being answered.
        """
        async with AsyncExitStack() as held:
            try:
                conversation = await self._load(conversation_id, user_id, model_key, held)
            except SessionStoreUnavailable:
                session = Session(session_id=_keep(conversation_id), user_id=user_id, model_key=model_key)
                conversation = Conversation(store=None, session=session, model_key=model_key, notices=[NOT_SAVED])
            yield conversation

    async def _load(self, wanted: str | None, user_id: str, key: str, held: AsyncExitStack) -> Conversation:
        known = await self.store.get(wanted, user_id) if wanted else None
        conversation = Conversation(
            store=self.store, session=known or await self._create(wanted, user_id, key), model_key=key
        )
        await held.enter_async_context(self.store.lock(conversation.id, wait=self.lock_wait))
        if known is not None:
            # Read again under the lock: the turn that held it may have advanced the chain.
            conversation.session = await self.store.get(conversation.id, user_id) or known
            conversation.messages = await self.store.messages(conversation.id, limit=TRANSCRIPT_MESSAGES)
            conversation.retrieved = await self.store.retrieved(conversation.id)
        elif wanted:
            conversation.notices.append(NEW_CONVERSATION)
        return conversation

    async def _create(self, wanted: str | None, user_id: str, key: str) -> Session:
        """Create a conversation, under the requested id if it is free: it may have been assigned but not saved."""
        if wanted and is_session_id(wanted):
            with suppress(ChainConflict):
                return await self.store.create(user_id, session_id=wanted, model_key=key)
        return await self.store.create(user_id, model_key=key)

    async def resumable(self, conversation_id: str, turn_id: str) -> ResumableTurn | None:
        """Return the turn's background responses so far; None when it has none or has ended."""
        state = await self.store.streaming_state(conversation_id, turn_id)
        return state.resumable if state is not None else None

    async def delete(self, conversation_id: str, user_id: str) -> bool:
        """Erase a conversation; return False when this user has no such conversation."""
        return await self.store.delete(conversation_id, user_id)


def title_of(question: str) -> str:
    """Return a conversation's title: its first question on one line, cut at a word."""
    line = " ".join(question.split())
    if len(line) <= _TITLE_CHARS:
        return line
    return line[:_TITLE_CHARS].rsplit(" ", 1)[0] + "…"


def _keep(conversation_id: str | None) -> str:
    return conversation_id if conversation_id and is_session_id(conversation_id) else new_session_id()


def _input_items(messages: Sequence[Message]) -> tuple[dict[str, Any], ...]:
    """Return the messages as input items; an empty answer is named, so that two questions do not become one."""
    return tuple(input_message(message.role, message.content or _NO_ANSWER) for message in messages)
