"""The stored state of a conversation.

A conversation expires ``session_ttl`` seconds after its last use (24 hours by default). Ids are 128 random bits, so
that they cannot be guessed. ``get``, ``update`` and ``delete`` compare the owner; the other calls take a session id
that ``get`` or ``create`` of the same turn has returned.
"""

import re
import secrets
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, Field

from chat_app.events import OutcomeKind
from tools.types import Frozen

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
