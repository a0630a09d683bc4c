"""A user's conversations over the HTTP API: list, read, delete. They are those of the session store.

A conversation that expired, never existed or belongs to another user is a 404.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime, Field

from chat_app.agent.chat_manager import title_of
from chat_app.events import OutcomeKind, Reference
from chat_app.interface.api import api_docs
from chat_app.interface.api.dependencies import ServedRuntime, User
from chat_app.interface.runtime import Runtime
from chat_app.interface.security.identity import NotOwner
from chat_app.sessions.session_store import Message, Session, SessionSummary
from tools.types import Frozen, Passage

_MOST_LISTED = 200
ConversationId = Annotated[str, Path(max_length=100, description="The conversation's id.")]


class ConversationSummary(Frozen):
    """A conversation as a list shows it."""

    id: str = Field(examples=["session_" + "0" * 32])
    title: str = Field(description="Its first question, shortened.", examples=["Contraindications for ACE inhibitors?"])
    created_at: AwareDatetime
    last_active_at: AwareDatetime
    message_count: int
    answering: bool = Field(description="Whether a question of it is being answered now.")


class ConversationList(Frozen):
    """The user's conversations, last used first."""

    conversations: tuple[ConversationSummary, ...]


class ConversationMessage(Frozen):
    """One message as it was shown, with the numbered passages that it cites."""

    role: Literal["user", "assistant"]
    content: str
    at: AwareDatetime
    outcome: OutcomeKind | None = Field(None, description="How an answer ended.")
    references: tuple[Reference, ...] = ()


class StoredConversation(ConversationSummary):
    """A whole conversation."""

    messages: tuple[ConversationMessage, ...]


router = APIRouter(prefix="/api/v1/conversations", tags=["conversations"])


@router.get("")
async def list_conversations(
    runtime: ServedRuntime,
    user: User,
    limit: Annotated[int, Query(ge=1, le=_MOST_LISTED, description="At most so many.")] = 50,
) -> ConversationList:
    """Your conversations, last used first. Looking at the list does not prolong them."""
    app = await runtime.ready()
    found = await app.sessions.summaries(user, limit)
    return ConversationList(conversations=tuple(_summary(runtime, user, summary) for summary in found))


@router.get("/{conversation_id}", responses=api_docs.NOT_FOUND)
async def read_conversation(runtime: ServedRuntime, user: User, conversation_id: ConversationId) -> StoredConversation:
    """Read a conversation: its messages with the passages they cite."""
    store = (await runtime.ready()).sessions
    await runtime.keeper.recover()
    session = await store.get(conversation_id, user)
    if session is None:
        raise NotOwner
    messages = await store.messages(session.session_id)
    passages = {found.id: found for found in (await store.retrieved(session.session_id)).values()}
    summary = _summary(runtime, user, SessionSummary(session=session, opening=next(iter(messages), None)))
    shown = tuple(_message(message, passages) for message in messages)
    return StoredConversation(**summary.model_dump(), messages=shown)


@router.delete("/{conversation_id}", status_code=204, response_class=Response, responses=api_docs.NOT_FOUND)
async def delete_conversation(runtime: ServedRuntime, user: User, conversation_id: ConversationId) -> None:
    """Erase a conversation, here and on the page. A question of it that is being answered is stopped."""
    await erase_own(runtime, conversation_id, user)


async def erase_own(runtime: Runtime, conversation_id: str, user: str) -> None:
    """Erase a user's conversation and stop its questions. Raises ``NotOwner``."""
    if await (await runtime.ready()).sessions.get(conversation_id, user) is None:
        raise NotOwner
    threads = await runtime.erasure.threads_with(conversation_id, user)
    if not threads:
        # Else the deletion of each thread is recorded with the thread's id, as its questions are, and then stops them.
        await runtime.audit.record("delete", user, conversation=conversation_id)
        await runtime.turns.end_conversation(conversation_id, user)
        # A question that the history could not take at first is stored with its answer.
        threads = await runtime.erasure.threads_with(conversation_id, user)
    # Delete the session last, so that an interrupted deletion can be repeated.
    for thread_id in threads:
        await runtime.history.delete_thread(thread_id)
    await runtime.erasure.conversation(conversation_id, user)


def _summary(runtime: Runtime, user: str, found: SessionSummary) -> ConversationSummary:
    session: Session = found.session
    live = [turn for turn in runtime.turns.of_owner(user) if turn.log.ended is None]
    return ConversationSummary(
        id=session.session_id,
        title=title_of(found.opening.content) if found.opening else "",
        created_at=session.created_at,
        last_active_at=datetime.fromtimestamp(session.last_active_at, UTC),
        message_count=session.message_count,
        answering=any(turn.is_about(session.session_id) for turn in live),
    )


def _message(message: Message, passages: dict[str, Passage]) -> ConversationMessage:
    """Return a stored message with its citations; ``passages`` maps ids to the conversation's passages."""
    cited = enumerate(message.citations, start=1)
    return ConversationMessage(
        role=message.role,
        content=message.content,
        at=message.at,
        outcome=message.outcome,
        references=tuple(Reference(number=at, passage=passages[name]) for at, name in cited if name in passages),
    )
