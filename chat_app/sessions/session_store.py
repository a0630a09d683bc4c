"""What a conversation's stored state is, and what every store of it promises.

A conversation lives for ``session_ttl`` seconds after its last use (24 hours unless set otherwise); then all of it
is gone. Ids are random: 128 bits, so that nobody finds another's by counting. ``get``, ``update`` and ``delete``
compare the owner; the other calls take a session id that ``get`` or ``create`` of the same turn has returned.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Literal, Protocol

from pydantic import AwareDatetime, Field

from chat_app.events import OutcomeKind
from tools.types import Frozen, Passage

SCHEMA_VERSION = 1
_SESSION_ID = re.compile(r"session_[0-9a-f]{32}")


def new_session_id() -> str:
    """``session_`` and 128 random bits as 32 hexadecimal digits."""
    return f"session_{secrets.token_hex(16)}"


def is_session_id(text: str) -> bool:
    """True for what ``new_session_id`` can return; anything else names no session."""
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
    root_response_id: str | None = None
    """The first response of the chain."""
    last_response_id: str | None = None
    """The last complete response: what the next turn chains to."""
    message_count: int = Field(default=0, ge=0)
    """Messages ever appended; the store counts them."""
    agent_ready: bool = False
    model_key: str = ""
    """The server and model that the chain belongs to; a response id means nothing to another one."""
    schema_version: int = Field(default=SCHEMA_VERSION, ge=SCHEMA_VERSION, le=SCHEMA_VERSION)
    """A record of any other version is not read."""


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


class SessionSummary(Frozen):
    """A conversation as a list shows it."""

    session: Session
    opening: Message | None = None
    """The oldest message that is kept: the first question."""


class RetrievedPassage(Frozen):
    """A passage that this conversation has retrieved, under the number that the model knows it by."""

    number: int = Field(ge=1)
    passage: Passage


class StreamingState(Frozen):
    """How far the answer to one request has come, for whoever asks from outside the turn."""

    status: Literal["streaming"] | OutcomeKind
    chunk_count: int = Field(default=0, ge=0)
    last_chunk_at: AwareDatetime = Field(default_factory=_now)
    response_id: str | None = None


class SessionStore(Protocol):
    """Conversations, shared by all processes that use the same store.

    Every call raises ``SessionStoreUnavailable`` when the store cannot be reached or does not answer in time, and
    works again by itself once it can. A call that writes to a conversation that was deleted or has expired raises
    ``ChainConflict`` and leaves nothing behind. A record that cannot be read is kept aside, counted in
    ``corrupt_records`` and from then on missing.
    """

    @property
    def corrupt_records(self) -> int:
        """Records that this process found unreadable and put aside."""
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
        """A new, empty conversation. ``session_id`` keeps an id from ``new_session_id`` that was given out while the
        store was away; ``ChainConflict`` when that id is taken, ``ValueError`` when it is not of that form."""
        ...

    async def get(self, session_id: str, user_id: str) -> Session | None:
        """The conversation, its time to live renewed; None when there is none or it is another user's."""
        ...

    async def summaries(self, user_id: str, limit: int = 100) -> tuple[SessionSummary, ...]:
        """The user's conversations, last used first, at most ``limit``. Looking at the list uses none of them."""
        ...

    async def update(self, session: Session, *, expected_last_response_id: str | None) -> Session:
        """Writes ``session`` if the stored chain still ends at ``expected_last_response_id``, else ``ChainConflict``.

        Returns what is stored: ``message_count`` and ``last_active_at`` are the store's own.
        """
        ...

    async def append_messages(self, session_id: str, messages: Sequence[Message]) -> None:
        """Adds messages in this order, all or none. The newest 1,000 are kept."""
        ...

    async def messages(self, session_id: str, limit: int = 1000) -> tuple[Message, ...]:
        """The newest ``limit`` messages, oldest first."""
        ...

    async def add_retrieved(self, session_id: str, passages: Sequence[Passage]) -> tuple[int, ...]:
        """The number of each passage, in the order given, counted from 1 within the conversation.

        A passage id keeps its number and the content of its first retrieval; no two ids share a number.
        """
        ...

    async def retrieved(self, session_id: str) -> tuple[RetrievedPassage, ...]:
        """All passages that the conversation has retrieved, by number."""
        ...

    async def set_streaming_state(self, session_id: str, request_id: str, state: StreamingState) -> None:
        """Records how far the answer to ``request_id`` has come."""
        ...

    async def streaming_state(self, session_id: str, request_id: str) -> StreamingState | None:
        """What was last recorded for ``request_id``."""
        ...

    def lock(self, session_id: str, *, wait: float) -> AbstractAsyncContextManager[None]:
        """Holds the conversation for one turn, in all processes; ``SessionBusy`` after ``wait`` seconds.

        The lock is renewed while held and expires by itself within seconds when its holder dies. Should the
        store fail in the middle, the turn goes on: ``update`` still refuses to fork the chain.
        """
        ...

    async def delete(self, session_id: str, user_id: str) -> bool:
        """Erases everything about the conversation, records kept aside included; False when it is not the user's."""
        ...

    async def ping(self) -> None:
        """Returns when the store answers."""
        ...

    async def aclose(self) -> None:
        """Ends all connections. The store cannot be used afterwards."""
        ...
