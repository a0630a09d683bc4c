"""The stored state of a conversation, and the interface of its stores.

A conversation expires ``session_ttl`` seconds after its last use (24 hours by default). Ids are 128 random bits, so
that they cannot be guessed. ``get``, ``update`` and ``delete`` compare the owner; the other calls take a session id
that ``get`` or ``create`` of the same turn has returned.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pydantic import AwareDatetime, Field

from chat_app.events import OutcomeKind
from chat_app.sessions.turn_journal import TurnJournal
from tools.types import Frozen, Passage

SCHEMA_VERSION = 1
_SESSION_ID = re.compile(r"session_[0-9a-f]{32}")


def new_session_id() -> str:
    """Return ``session_`` and 128 random bits as 32 hexadecimal digits."""
    return f"session_{secrets.token_hex(16)}"


def is_session_id(text: str) -> bool:
    """Return whether ``text`` has the form of a session id."""
    return _SESSION_ID.fullmatch(text) is not None


def _now() -> datetime:
    return datetime.now(UTC)


class Session(Frozen):
    """A conversation's state between turns."""

    session_id: str
    user_id: str
    created_at: AwareDatetime = Field(default_factory=_now)
    last_active_at: int = 0
    """Unix time in seconds; the store sets it whenever it writes."""
    vector_store_id: str | None = None
    """The vector store at the model server that the conversation was last searched in."""
    root_response_id: str | None = None
    """The first response of the chain."""
    last_response_id: str | None = None
    """The last complete response, which the next turn chains to."""
    message_count: int = Field(default=0, ge=0)
    """Messages ever appended; the store counts them."""
    agent_ready: bool = False
    model_key: str = ""
    """The server and model of the chain; a response id is valid only there."""
    schema_version: int = Field(default=SCHEMA_VERSION, ge=SCHEMA_VERSION, le=SCHEMA_VERSION)
    """Records of other versions are not read."""


class Message(Frozen):
    """One message as the reader saw it."""

    role: Literal["user", "assistant"]
    content: str
    at: AwareDatetime = Field(default_factory=_now)
    response_id: str | None = None
    outcome: OutcomeKind | None = None
    """How the answer ended; None for a question."""
    citations: tuple[str, ...] = ()
    """Ids of the cited passages, in the order of their display numbers."""
    response_ids: tuple[str, ...] = ()
    """Every response of the turn at the model server, to be erased with the conversation."""
    turn_id: str | None = None
    """The turn of the question or answer; None for messages of earlier versions."""


class SessionSummary(Frozen):
    """A conversation in a list."""

    session: Session
    opening: Message | None = None
    """The oldest stored message, usually the first question."""


class RetrievedPassage(Frozen):
    """A passage that this conversation has retrieved, with its number in the model's markers."""

    number: int = Field(ge=1)
    passage: Passage


class ResumableTurn(Frozen):
    """A turn whose responses the model server goes on writing when the process that asked dies."""

    question: str
    options: dict[str, Any]
    response_ids: tuple[str, ...]


class StreamingState(Frozen):
    """The progress of the answer to one request, readable by other processes."""

    status: Literal["streaming"] | OutcomeKind
    chunk_count: int = Field(default=0, ge=0)
    last_chunk_at: AwareDatetime = Field(default_factory=_now)
    response_id: str | None = None
    resumable: ResumableTurn | None = None
    """Set while background responses are written."""


class SessionStore(Protocol):
    """Conversations, shared by all processes that use the same store.

    Every call raises ``SessionStoreUnavailable`` when the store cannot be reached or does not answer in time. Writing
    to a conversation that was deleted or has expired raises ``ChainConflict`` and leaves nothing behind. A record that
    cannot be read is moved aside, counted in ``corrupt_records`` and treated as missing.
    """

    @property
    def corrupt_records(self) -> int:
        """Number of records that this process found unreadable and moved aside."""
        ...

    @property
    def journal(self) -> TurnJournal:
        """The journal of running turns."""
        ...

    async def create(
        self,
        user_id: str,
        *,
        session_id: str | None = None,
        vector_store_id: str | None = None,
        model_key: str = "",
        agent_ready: bool = False,
    ) -> Session:
        """Create an empty conversation.

        ``session_id`` keeps an id from ``new_session_id`` that was assigned while the store was unavailable.

        Raises:
            ChainConflict: That id is taken.
            ValueError: That id does not have the form of a session id.
        """
        ...

    async def get(self, session_id: str, user_id: str) -> Session | None:
        """Return the conversation and renew its expiry; None when it does not exist or is another user's."""
        ...

    async def summaries(self, user_id: str, limit: int = 100) -> tuple[SessionSummary, ...]:
        """Return at most ``limit`` of the user's conversations, last used first; renews no expiry."""
        ...

    async def update(self, session: Session, *, expected_last_response_id: str | None) -> Session:
        """Store ``session`` and return it with the store's ``message_count`` and ``last_active_at``.

        Raises:
            ChainConflict: The stored chain does not end at ``expected_last_response_id``.
        """
        ...

    async def append_messages(self, session_id: str, messages: Sequence[Message]) -> None:
        """Append messages in this order, all or none; the newest 1,000 are kept."""
        ...

    async def messages(self, session_id: str, limit: int = 1000) -> tuple[Message, ...]:
        """Return the newest ``limit`` messages, oldest first."""
        ...

    async def add_retrieved(self, session_id: str, passages: Sequence[Passage]) -> tuple[int, ...]:
        """Return the number of each passage, counted from 1 within the conversation.

        A passage id keeps its number and the content of its first retrieval; no two ids share a number.
        """
        ...

    async def retrieved(self, session_id: str) -> tuple[RetrievedPassage, ...]:
        """Return all passages that the conversation has retrieved, sorted by number."""
        ...

    async def set_streaming_state(self, session_id: str, request_id: str, state: StreamingState) -> None:
        """Store the progress of the answer to ``request_id``."""
        ...

    async def streaming_state(self, session_id: str, request_id: str) -> StreamingState | None:
        """Return what was last stored for ``request_id``."""
        ...

    async def keep_response(self, session_id: str, turn_id: str, body: str) -> None:
        """Store the answer to a turn as a client of the model API got it."""
        ...

    async def kept_response(self, session_id: str, turn_id: str) -> str | None:
        """Return what was stored for ``turn_id``."""
        ...

    def lock(self, session_id: str, *, wait: float) -> AbstractAsyncContextManager[None]:
        """Lock the conversation for one turn, in all processes; raise ``SessionBusy`` after ``wait`` seconds.

        The lock is renewed while held and expires within seconds when its holder dies. When the store fails meanwhile,
        the turn continues: ``update`` still refuses to fork the chain.
        """
        ...

    async def delete(self, session_id: str, user_id: str) -> bool:
        """Erase the conversation with its records that were moved aside; return False when it is not the user's."""
        ...

    async def compact(self) -> None:
        """Write the store's files again without what was deleted; returns before that is done."""
        ...

    async def ping(self) -> None:
        """Return when the store answers."""
        ...

    async def version(self) -> str:
        """Return the version of its server."""
        ...

    async def aclose(self) -> None:
        """Close all connections; the store cannot be used afterwards."""
        ...
